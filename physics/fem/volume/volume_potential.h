#pragma once

#include <span>
#include <string>
#include <vector>

#include "physics/fem/volume/enclosed_volume.h"
#include "physics/fem/volume/volume_law.h"
#include "solvers/linalg/low_rank/low_rank_cholesky.h"

namespace pliant::physics {

// Matter in a closed volume of a body: gas in its cavities, or a region that resists a change of
// its volume.
struct VolumeParameters {
  std::string name;                           // of the constraint
  std::vector<std::array<int, 3>> triangles;  // as EnclosedVolume has them
  const VolumeLaw* law = nullptr;
  std::vector<double> parameters;  // as the law names them
  double rest_volume = 0;          // > 0 [m³]
  double gauge_pressure = 0;       // at the rest volume, at the start [Pa]
};

// The energy of that matter as a function of the positions of the body's nodes.
class VolumePotential {
 public:
  VolumePotential(VolumeParameters parameters, const solvers::BlockPattern& pattern)
      : parameters_(std::move(parameters)), volume_(parameters_.triangles, pattern) {}

  const VolumeParameters& parameters() const { return parameters_; }
  double CalcVolume(std::span<const double> q) const { return volume_.CalcVolume(q); }
  // At volume V, with a gauge pressure at the rest volume.
  VolumeResponse Respond(double V, double gauge) const {
    return parameters_.law->Respond(
        {V, parameters_.rest_volume, gauge, parameters_.parameters.data()});
  }
  // Whether V is too small for a solution: the surface has collapsed, or turned inside out.
  bool HasCollapsed(double V) const;
  const EnclosedVolume& volume() const { return volume_; }

 private:
  VolumeParameters parameters_;
  EnclosedVolume volume_;
};

// Which parts of the tangent AssembleVolumes computes.
enum class VolumeTangent {
  kNone,
  kExact,
  kConvex,  // without the curvature of the volume, which may be indefinite
};

// Forces −∂W/∂q and tangent of the volumes at positions q: m −= impulse · f, and
//   ∂²W/∂q² = W″ g gᵀ + W′ ∂²V/∂q²  with the gradient g of the volume,
// of which scale · W″ g gᵀ goes to `dense` (a column for each volume) and scale · W′ ∂²V/∂q² is
// added to A. Returns the energy [J].
double AssembleVolumes(std::span<const VolumePotential> volumes, std::span<const double> q,
                       std::span<const double> gauges, double impulse, double scale,
                       VolumeTangent tangent, std::vector<double>* scratch, solvers::BlockMatrix* A,
                       solvers::LowRank* dense, std::vector<double>* residual);

}  // namespace pliant::physics
