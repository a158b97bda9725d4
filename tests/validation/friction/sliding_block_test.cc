// A block slides to rest on a plane over Coulomb's stopping distance, in any direction.

#include <algorithm>

#include "tests/validation/friction/friction_scenes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kMu = 0.5;
constexpr double kStart = 1;                                          // [m/s]
constexpr double kStopping = kStart * kStart / (2 * kMu * kGravity);  // [m]
constexpr double kOvershoot = kMu * kGravity / kStart;                // [1/s]

// Stopping distance of the block when it starts at `heading` from x [degrees]; its sides stay along
// x and y [m].
double MeasureStoppingDistance(double heading, bool anchored, double h) {
  const double angle = heading * kPi / 180;
  World world =
      LoadSlidingBlock(kStart * Vector3d(std::cos(angle), std::sin(angle), 0), anchored, h);
  RunUntil(0.4, &world);  // it stops after v / μg = 0.204 s
  // without anchors it creeps by the regularisation of the plain model, far below the measured
  // distances
  EXPECT_LT(ReadVector(world, "v").norm(), 1e-6);
  const Vector3d p = ReadVector(world, "p");
  // it keeps its heading
  EXPECT_LT(std::abs(p.x() * std::sin(angle) - p.y() * std::cos(angle)), 1e-3 * kStopping);
  return p.head<2>().norm();
}

TEST(SlidingBlock, StopsAfterItsKineticEnergyIsSpent) {
  for (const bool anchored : {true, false})
    EXPECT_NEAR(MeasureStoppingDistance(0, anchored, 0.001), kStopping, 0.01 * kStopping);
}

TEST(SlidingBlock, ErrorOfTheDistanceFallsWithTheStep) {
  const auto error = [](double h) {
    return std::abs(MeasureStoppingDistance(0, true, h) - kStopping) / kStopping;
  };
  const double coarse = error(0.004), middle = error(0.002), fine = error(0.001);
  // summing end-of-step velocities overshoots by μ g h / v, 0.5 % at 1 ms, plus the first contacts
  EXPECT_NEAR(fine, kOvershoot * 0.001, 0.2 * kOvershoot * 0.001);
  EXPECT_NEAR(coarse / middle, 2, 0.2) << coarse << " " << middle << " " << fine;
  EXPECT_NEAR(middle / fine, 2, 0.2) << coarse << " " << middle << " " << fine;
}

TEST(SlidingBlock, GoesEquallyFarInEveryDirection) {
  for (const bool anchored : {true, false}) {
    double shortest = 1, longest = 0;
    for (double heading = 0; heading <= 90; heading += 10) {
      const double distance = MeasureStoppingDistance(heading, anchored, 0.001);
      EXPECT_NEAR(distance, kStopping, 0.01 * kStopping) << heading;
      shortest = std::min(shortest, distance);
      longest = std::max(longest, distance);
    }
    // a friction pyramid would differ by 41 %
    EXPECT_LT(longest - shortest, 1e-3 * kStopping) << (anchored ? "anchored" : "plain");
    RecordProperty(anchored ? "anchored_spread" : "plain_spread",
                   std::to_string((longest - shortest) / kStopping));
  }
}

}  // namespace
}  // namespace pliant::physics
