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
  // Distance of each particle from the surface of the solid, at most half a spacing [m].
  std::vector<double> radii;
  double particle_volume = 0;  // of each particle: volume of the solid / their number [m³]
  std::vector<Eigen::Vector3d> surface;  // points on the surface, see SpreadOverSurface [m]
};

// Fills a solid, bitwise the same on every machine. A lattice is fitted to the bounds of the solid:
// along each axis, its spacing divides their length evenly. A Poisson disk sample has exactly
// round(volume / spacing³) particles, at least one, unless the solid is too thin for enough random
// points to hit it. Neighbouring particles have close indices.
//
// is_cancelled  polled often
// errors        CANCELLED
// returns       no particles if the spacing is too wide for the solid
absl::StatusOr<ParticleFill> FillSolid(const Solid& solid, const FillOptions& options,
                                       const IsCancelled& is_cancelled = {});

}  // namespace pliant::physics
