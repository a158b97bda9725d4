#include "physics/fem/volume/volume_potential.h"

#include "physics/fem/volume/log_volume.h"

namespace pliant::physics {

bool VolumePotential::HasCollapsed(double V) const {
  return !(V > kMinVolumeRatio * parameters_.rest_volume);
}

double AssembleVolumes(std::span<const VolumePotential> volumes, std::span<const double> q,
                       std::span<const double> gauges, double impulse, double scale,
                       VolumeTangent tangent, std::vector<double>* scratch, solvers::BlockMatrix* A,
                       solvers::LowRank* dense, std::vector<double>* residual) {
  const bool has_tangent = tangent != VolumeTangent::kNone;
  if (has_tangent) {
    dense->weights.assign(volumes.size(), 0.0);
    dense->columns.resize(volumes.size());
  }
  double energy = 0;
  for (std::size_t k = 0; k < volumes.size(); ++k) {
    const VolumePotential& one = volumes[k];
    const VolumeResponse response = one.Respond(one.CalcVolume(q), gauges[k]);
    energy += response.energy;
    std::vector<double>& gradient = has_tangent ? dense->columns[k] : *scratch;
    gradient.resize(q.size());
    one.volume().CalcGradient(q, gradient);
    for (std::size_t i = 0; i < q.size(); ++i)
      (*residual)[i] -= impulse * response.pressure * gradient[i];
    if (!has_tangent) continue;
    dense->weights[k] = scale * response.stiffness;
    if (tangent == VolumeTangent::kExact)
      one.volume().AddCurvature(q, -scale * response.pressure, A);
  }
  return energy;
}

}  // namespace pliant::physics
