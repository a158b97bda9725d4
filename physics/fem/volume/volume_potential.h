#pragma once

#include <span>
#include <string>
#include <vector>

#include "physics/fem/volume/enclosed_volume.h"
#include "physics/fem/volume/volume_law.h"
#include "solvers/linalg/low_rank/low_rank_cholesky.h"

namespace pliant::physics {

// A closed volume of a body with a pressure law: gas in its cavities, or a region that resists
// changes of its volume.
struct VolumeParameters {
  std::string name;                           // of the constraint
  std::vector<std::array<int, 3>> triangles;  // as for EnclosedVolume
  const VolumeLaw* law = nullptr;
  std::vector<double> parameters;  // in the order of VolumeLaw::parameters()
  double rest_volume = 0;          // > 0 [m³]
  double gauge_pressure = 0;       // initial value, at the rest volume [Pa]
};

// Energy of a closed volume as a function of the positions of the body's nodes.
class VolumePotential {
 public:
  VolumePotential(VolumeParameters parameters, const solvers::BlockPattern& pattern)
      : parameters_(std::move(parameters)), volume_(parameters_.triangles, pattern) {}

  const VolumeParameters& parameters() const { return parameters_; }
  double CalcVolume(std::span<const double> q) const { return volume_.CalcVolume(q); }
  // Response at volume V [m³], with this gauge pressure at the rest volume [Pa].
  VolumeResponse Respond(double V, double gauge) const {
    return parameters_.law->Respond(
        {V, parameters_.rest_volume, gauge, parameters_.parameters.data()});
  }
  // True if V is too small for a solution: the surface has collapsed or is inverted.
  bool HasCollapsed(double V) const;
  const EnclosedVolume& volume() const { return volume_; }

 private:
  VolumeParameters parameters_;
  EnclosedVolume volume_;
};

// Parts of the tangent that AssembleVolumes computes.
enum class VolumeTangent {
  kNone,
  kExact,
  kConvex,  // without the curvature of the volume, which may be indefinite
};

// Forces f = −∂W/∂q and tangent of the volumes at positions q: residual −= impulse · f, and
//   ∂²W/∂q² = W″ g gᵀ + W′ ∂²V/∂q²  with the gradient g of the volume,
// of which scale · W″ g gᵀ goes to `dense` (a column for each volume) and scale · W′ ∂²V/∂q² is
// added to A. Returns the energy [J].
double AssembleVolumes(std::span<const VolumePotential> volumes, std::span<const double> q,
                       std::span<const double> gauges, double impulse, double scale,
                       VolumeTangent tangent, std::vector<double>* scratch, solvers::BlockMatrix* A,
                       solvers::LowRank* dense, std::vector<double>* residual);

}  // namespace pliant::physics
