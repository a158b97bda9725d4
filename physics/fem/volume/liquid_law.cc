#include "physics/fem/volume/log_volume.h"
#include "physics/fem/volume/volume_law.h"

namespace pliant::physics {
namespace {

// A liquid of constant compressibility κ_v = 1/K: integrating (16) gives p = −K ln(V/V0), and W =
// K (V ln(V/V0) − V + V0) (larionov2023 (18)); with a gauge pressure g at rest, −g (V − V0) in
// addition.
class Liquid final : public VolumeLaw {
 public:
  std::string_view name() const override { return "LIQUID"; }
  std::span<const VolumeParameter> parameters() const override { return BulkModulus(); }
  VolumeResponse Respond(const VolumeAt& at) const override {
    const double K = at.parameters[0], change = at.V - at.V0;
    const VolumeLog log = CalcVolumeLog(at.V / at.V0);
    return {K * at.V0 * log.integral - at.gauge * change, at.gauge - K * log.value,
            K * log.slope / at.V0};
  }
};

}  // namespace

const VolumeLaw* LiquidLaw() {
  static const Liquid law;
  return &law;
}

}  // namespace pliant::physics
