#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/mpm/filling/solid.h"

namespace pliant::physics {

struct FillOptions {
  enum class Layout {
    kLattice,     // a lattice of nearly cubic cells, in the frame of the solid
    kPoissonDisk  // random, evenly spread
  };
  Layout layout = Layout::kLattice;
  std::uint64_t seed = 0;  // of kPoissonDisk
  double spacing = 0;      // cube root of a particle's volume [m]
};

// Particles that fill a solid, in its frame.
struct ParticleFill {
  std::vector<Eigen::Vector3d> positions;  // [m]
  // Of each [m]: its distance from the surface of the solid, at most half a spacing.
  std::vector<double> radii;
  double particle_volume = 0;  // of each: all together have the volume of the solid [m³]
  // On the surface, see SpreadOverSurface [m].
  std::vector<Eigen::Vector3d> surface;
};

// Fills a solid, bitwise the same on every machine. A lattice is fitted to the bounds of the solid:
// along each axis, its spacing divides their length evenly. A Poisson disk sample has exactly
// round(volume / spacing³) particles, at least one, unless the solid is too thin to be hit so
// often. Particles near to each other have numbers near to each other.
//
// is_cancelled  asked often
// errors        CANCELLED
// returns       no particles where the spacing is too wide for the solid
absl::StatusOr<ParticleFill> FillSolid(const Solid& solid, const FillOptions& options,
                                       const IsCancelled& is_cancelled = {});

// Cube root of x > 0, bitwise the same on every machine.
double CalcCubeRoot(double x);

}  // namespace pliant::physics
