#include "physics/fem/volume/log_volume.h"
#include "physics/fem/volume/volume_law.h"

namespace pliant::physics {
namespace {

// An ideal gas at constant temperature: (p + P) V = (g + P) V0 with the outer pressure P = 1 atm,
// so that W = P (V − V0) − (g + P) V0 ln(V/V0) (larionov2023 (17), where g = 0).
class IdealGas final : public VolumeLaw {
 public:
  std::string_view name() const override { return "IDEAL_GAS"; }
  std::span<const VolumeParameter> parameters() const override { return {}; }
  bool is_gas() const override { return true; }
  VolumeResponse Respond(const VolumeAt& at) const override {
    const double absolute = at.gauge + kAtmosphere;
    const VolumeLog log = CalcVolumeLog(at.V / at.V0);
    return {kAtmosphere * (at.V - at.V0) - absolute * at.V0 * log.value,
            absolute * log.slope - kAtmosphere, -absolute * log.curvature / at.V0};
  }
};

}  // namespace

const VolumeLaw* IdealGasLaw() {
  static const IdealGas law;
  return &law;
}

}  // namespace pliant::physics
