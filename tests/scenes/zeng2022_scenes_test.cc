// Properties of recursive corrective motion (Zeng et al. 2022, §5 and Figure 2).

#include "physics/spatial/trig.h"
#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Quaterniond;

// Both forces of the grip, and the rotation error of the block relative to the palm.
struct Grip {
  double left, right;  // [N]
  double error;        // [°]
};

Grip ReadGrip(const World& world) {
  const auto rotation = [&](const std::string& probe) {
    const std::vector<double> q = Read(world, probe);
    return Quaterniond(q[0], q[1], q[2], q[3]);
  };
  const Eigen::Vector3d turn =
      VectorFromRotation(rotation("turn") * rotation("wanted").conjugate());
  return {ReadVector(world, "left").norm(), ReadVector(world, "right").norm(),
          std::sqrt(turn.squaredNorm()) * 180 / kPi};
}

// The grip after each step, starting with the first that turns it.
std::vector<Grip> RunGrip(const std::vector<std::string>& overrides) {
  World world = LoadShipped("turned_grip", overrides);
  std::vector<Grip> grips;
  for (int step = 1; step <= 12; ++step) {
    EXPECT_TRUE(world.Step().ok());
    if (step > 2) grips.push_back(ReadGrip(world));
  }
  return grips;
}

class TurnedGrip : public testing::TestWithParam<const char*> {};

TEST_P(TurnedGrip, KeepsItsForceThroughEighteenDegreesAStep) {
  const std::vector<Grip> grips = RunGrip({std::string("method.corrective.scheme=") + GetParam()});
  for (std::size_t k = 0; k < grips.size(); ++k) {
    EXPECT_NEAR(grips[k].left, 10, 0.2) << k;
    EXPECT_NEAR(grips[k].right, 10, 0.2) << k;
    EXPECT_LE(grips[k].error, 0.1) << k;
  }
}
INSTANTIATE_TEST_SUITE_P(Schemes, TurnedGrip, testing::Values("FAST", "STANDARD"));

// Control experiment: the same sweeps without updated contact directions lose the grip.
TEST(TurnedGripOnce, ASingleLinearisationErrsInMostSteps) {
  const std::vector<Grip> grips =
      RunGrip({"method.corrective.scheme=SINGLE", "method.corrective.recursions=1"});
  int wrong = 0, lost = 0;
  for (const Grip& grip : grips) {
    // the recursions keep 10 ± 0.2 N
    wrong += std::abs(grip.left - 10) > 0.4 || std::abs(grip.right - 10) > 0.4;
    lost += grip.left < 1;
  }
  EXPECT_GT(2 * wrong, static_cast<int>(grips.size()));
  EXPECT_GT(lost, 0);
}

// Updating directions more often gives the same result when steps turn by less than two degrees.
// At 18 degrees it does not, since every sweep then sees a different configuration.
TEST(TurnedGripVariants, DirectionsRenewedInEachSweepOrContactGripAsWell) {
  const auto load = [](const std::string& directions) {
    return LoadShipped("turned_grip",
                       {"time_step=0.01", "method.corrective.directions=" + directions});
  };
  World by_recursion = load("RECURSION"), by_sweep = load("SWEEP"), by_contact = load("CONTACT");
  for (int step = 1; step <= 60; ++step) {
    for (World* world : {&by_recursion, &by_sweep, &by_contact}) ASSERT_TRUE(world->Step().ok());
    const Grip grip = ReadGrip(by_recursion);
    for (const World* world : {&by_sweep, &by_contact}) {
      EXPECT_NEAR(ReadGrip(*world).left, grip.left, 0.01) << step;
      EXPECT_LE(ReadGrip(*world).error, 0.01) << step;
    }
  }
}

}  // namespace
}  // namespace pliant::physics
