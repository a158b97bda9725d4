// Properties that every registered volume law must have.

#include "physics/fem/volume/volume_law.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

constexpr double kRest = 2e-3;  // [m³]

class EveryVolumeLaw : public testing::TestWithParam<const VolumeLaw*> {
 protected:
  EveryVolumeLaw() {
    for (const VolumeParameter& parameter : GetParam()->parameters())
      parameters_.push_back(parameter.example);
  }
  VolumeResponse At(double ratio, double gauge = 3e4) const {
    return GetParam()->Respond({ratio * kRest, kRest, gauge, parameters_.data()});
  }
  std::vector<double> parameters_;
};

INSTANTIATE_TEST_SUITE_P(Registered, EveryVolumeLaw,
                         testing::ValuesIn(AllVolumeLaws().begin(), AllVolumeLaws().end()),
                         [](const auto& info) { return std::string(info.param->name()); });

TEST_P(EveryVolumeLaw, IsFoundByItsName) {
  EXPECT_EQ(FindVolumeLaw(GetParam()->name()), GetParam());
  EXPECT_EQ(FindVolumeLaw("SAND"), nullptr);
  ASSERT_LE(GetParam()->parameters().size(), std::size_t{kMaxVolumeParameters});
  for (const VolumeParameter& p : GetParam()->parameters()) {
    EXPECT_LE(p.min, p.example);
    EXPECT_GE(p.max, p.example);
  }
}

TEST_P(EveryVolumeLaw, HasItsGaugePressureAndNoEnergyAtRest) {
  for (const double gauge : {-5e4, 0.0, 1e5}) {
    EXPECT_EQ(At(1, gauge).energy, 0);
    EXPECT_NEAR(At(1, gauge).pressure, gauge, 1e-10);  // 8 ulp of an atmosphere
  }
}

// Extrapolated central differences: the error is d⁴ times the fifth derivative, at most 24 times
// that of a logarithm, plus rounding over d.
TEST_P(EveryVolumeLaw, PressureAndStiffnessAreDerivativesOfTheEnergy) {
  for (const double ratio : {0.05, 0.4, 0.9, 1.0, 1.3, 4.0}) {
    const double d = 1e-3 * ratio;
    const auto energy = [&](double e) {
      return (At(ratio + e).energy - At(ratio - e).energy) / (2 * e * kRest);
    };
    const auto pressure = [&](double e) {
      return (At(ratio + e).pressure - At(ratio - e).pressure) / (2 * e * kRest);
    };
    const VolumeResponse at = At(ratio);
    const double scale = 1e6 / ratio;  // of the pressure [Pa]
    EXPECT_NEAR((4 * energy(d / 2) - energy(d)) / 3, -at.pressure, 1e-8 * scale) << ratio;
    EXPECT_NEAR((4 * pressure(d / 2) - pressure(d)) / 3, -at.stiffness,
                1e-8 * scale / (ratio * kRest))
        << ratio;
  }
}

TEST_P(EveryVolumeLaw, IsConvexAndFiniteForAnyVolume) {
  double last = At(-1).pressure;
  for (double ratio = -1; ratio < 3; ratio += 0.001) {
    const VolumeResponse at = At(ratio);
    EXPECT_TRUE(std::isfinite(at.energy) && std::isfinite(at.pressure)) << ratio;
    EXPECT_GE(at.stiffness, 0) << ratio;
    EXPECT_LE(at.pressure, last) << ratio;
    last = at.pressure;
  }
}

TEST(VolumeLaws, AreThoseOfThePaper) {
  const double K = 5e5, g = 2e4, ratio = 0.8;
  const VolumeAt at{ratio * kRest, kRest, g, &K};
  // the relative loss of volume is κ_v p, with κ_v = 1/K
  EXPECT_NEAR(FindVolumeLaw("QUADRATIC")->Respond(at).pressure, g + K * 0.2, 1e-9 * K);
  // integrating κ_v = −(1/V) dV/dp
  EXPECT_NEAR(FindVolumeLaw("LIQUID")->Respond(at).pressure, g - K * std::log(ratio), 1e-9 * K);
  // the absolute pressure times the volume is constant
  const VolumeResponse gas = FindVolumeLaw("IDEAL_GAS")->Respond(at);
  EXPECT_NEAR((gas.pressure + kAtmosphere) * ratio, g + kAtmosphere, 1e-9 * K);
  // (17), where the pressure at rest is that outside
  const VolumeAt open{ratio * kRest, kRest, 0, &K};
  EXPECT_NEAR(FindVolumeLaw("IDEAL_GAS")->Respond(open).energy,
              kAtmosphere * kRest * (ratio - (1 + std::log(ratio))), 1e-12 * kAtmosphere * kRest);
  // (18)
  EXPECT_NEAR(FindVolumeLaw("LIQUID")->Respond(open).energy,
              K * kRest * (1 - ratio * (1 - std::log(ratio))), 1e-12 * K * kRest);
}

}  // namespace
}  // namespace pliant::physics
