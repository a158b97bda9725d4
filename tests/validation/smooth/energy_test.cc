// The energy balance of steps of the smooth method by BE: contacts store energy, and prescribed
// motions supply it.

#include <algorithm>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

struct Balance {
  double work = 0, change = 0, largest_gain = 0;  // [J]
};

// Runs a scene for 0.4 s.
Balance RunScene(const std::string& bodies) {
  World world = LoadWorld(
      "time_step: 0.002\nsleeping: false\nmax_substeps: 1\n"
      // so stiff that it need not be raised, which would supply energy
      "method: {smooth: {contact_stiffness: 1.0e8}}\n" +
      bodies);
  world.WatchEnergy(true);
  Balance balance;
  while (world.state().time < 0.4) {
    RunUntil(world.state().time + 0.002, &world);
    const EnergyBalance& energy = world.report().energy;
    EXPECT_TRUE(energy.is_exact);
    balance.work += energy.work;
    balance.change += energy.after - energy.before;
    balance.largest_gain = std::max(balance.largest_gain, energy.gain());
  }
  return balance;
}

constexpr char kSoftBox[] = R"(
  - name: soft
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.0505]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      damping: {beta: 0.01})";

TEST(SmoothEnergy, OfAPlateThatSqueezesASoftBoxIsItsWork) {
  const Balance balance = RunScene(absl::StrCat(R"(
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: plate
    rigid:
      motion: KINEMATIC
      pose: {position: [0, 0, 0.111]}
      shapes: [{box: {size: [0.2, 0.2, 0.02]}}])",
                                                kSoftBox, R"(
script:
  - {target: {pose: plate}, times: [0, 0.4], values: [[0, 0, 0.111], [0, 0, 0.091]]}
)"));
  // E A s² / 2 L of a strip that bulges freely, in part held by friction
  EXPECT_GT(balance.work, 0.9 * 0.5 * 1e5 * 0.1 * 0.02 * 0.02);
  EXPECT_LT(balance.change, balance.work);
  EXPECT_GT(balance.change, 0.8 * balance.work);
  EXPECT_LT(balance.largest_gain, 1e-3 * balance.work);
}

TEST(SmoothEnergy, OfASoftBoxThatIsLiftedByItsNodesIsTheirWork) {
  const Balance balance = RunScene(absl::StrCat(R"(
bodies:
  - name: hand
    rigid:
      motion: KINEMATIC
      pose: {position: [0, 0, 0.11]}
      shapes: [{box: {size: [0.1, 0.1, 0.01]}}])",
                                                kSoftBox, R"(
      attachments: [{to: hand, within: {box: {size: [1, 1, 0.02], pose: {position: [0, 0, 0.05]}}}}]
script:
  - {target: {pose: hand}, times: [0, 0.4], values: [[0, 0, 0.11], [0, 0, 0.31]]}
)"));
  // its weight is lifted by 0.2 m; the jump to 0.5 m/s takes m v², of which half is lost
  const double mass = 1000 * 0.1 * 0.1 * 0.1;
  EXPECT_NEAR(balance.work, mass * (kGravity * 0.2 + 0.5 * 0.5), 0.1);
  EXPECT_LT(balance.change, balance.work);
  EXPECT_LT(balance.largest_gain, 1e-3 * balance.work);
}

// The rates at the end of a step would let damping compress the ball as it turns.
TEST(SmoothEnergy, OfADampedBallThatSpinsFastIsNotGained) {
  const Balance balance = RunScene(R"(
bodies:
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.04}, edge_length: 0.03}
      velocity: {linear: [0, 0, 0], angular: [0, 0, 300]}   # 0.6 rad a step
      material: {model: NEO_HOOKEAN, youngs_modulus: 2.0e6, poissons_ratio: 0.38, density: 650}
      damping: {beta: 0.01}
)");
  EXPECT_LT(balance.change, 0);
  EXPECT_LT(balance.largest_gain, 1e-3 * -balance.change);
}

TEST(SmoothEnergy, OfABoxThatLandsIsNeverGained) {
  const Balance balance = RunScene(R"(
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: box
    rigid:
      motion: FREE
      density: 500
      pose: {position: [0, 0, 0.2], rpy_degrees: [20, 30, 0]}
      velocity: {linear: [0.5, 0, -1], angular: [2, 1, 3]}
      shapes: [{box: {size: [0.3, 0.2, 0.1]}}]
)");
  EXPECT_LT(balance.change, -5);
  EXPECT_LT(balance.largest_gain, 1e-3 * -balance.change);
}

}  // namespace
}  // namespace pliant::physics
