#include "physics/fem/volume/volume_law.h"

namespace pliant::physics {
namespace {

// larionov2023 (19): W = K (V − V0)²/(2 V0), so that the relative loss of volume is κ_v p with κ_v
// = 1/K; with a gauge pressure g at rest, −g (V − V0) in addition.
class Quadratic final : public VolumeLaw {
 public:
  std::string_view name() const override { return "QUADRATIC"; }
  std::span<const VolumeParameter> parameters() const override { return BulkModulus(); }
  VolumeResponse Respond(const VolumeAt& at) const override {
    const double K = at.parameters[0], change = at.V - at.V0;
    return {change * (0.5 * K * change / at.V0 - at.gauge), at.gauge - K * change / at.V0,
            K / at.V0};
  }
};

}  // namespace

const VolumeLaw* QuadraticLaw() {
  static const Quadratic law;
  return &law;
}

}  // namespace pliant::physics
