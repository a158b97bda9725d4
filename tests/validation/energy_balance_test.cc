// The balance of a step's energy: the change is the supplied work less the dissipation.

#include <algorithm>
#include <string>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// Sum of the gains and of the losses of all steps until t, and the work [J].
struct Sums {
  double gains = 0, losses = 0, work = 0, change = 0;
};
Sums RunAndSum(double t, World* world) {
  world->WatchEnergy(true);
  Sums sums;
  while (world->state().time < t - 1e-6 * world->model().time_step) {
    const absl::Status status = world->Step();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) break;
    const EnergyBalance& energy = world->report().energy;
    sums.gains += std::max(0.0, energy.gain());
    sums.losses -= std::min(0.0, energy.gain());
    sums.work += energy.work;
    sums.change += energy.after - energy.before;
  }
  return sums;
}

class EnergySupply : public ::testing::TestWithParam<std::string> {
 protected:
  // Contacts of `smooth`, which act from a distance of 1 mm, lift 1 kg to less than twice that [J].
  double lift() const { return GetParam() == "smooth" ? 2e-3 * kGravity : 0; }
  // Energy that four of them store under 1 kg that starts at gap 0, each 4 m g δ / 3 [J].
  double stored() const { return GetParam() == "smooth" ? 16e-3 / 3 * kGravity : 0; }
};

// A force of 20 N moves 1 kg over a smooth floor for 0.5 s: 10 m/s, 50 J, without loss.
TEST_P(EnergySupply, WorkOfAForceBecomesKineticEnergy) {
  World world = LoadWorld(Fill(R"(
name: pushed
time_step: 0.005
method: {$METHOD: {}}
contact: {friction: 0}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: cube
    rigid: {motion: FREE, mass: 1, shapes: [{box: {size: [0.1, 0.1, 0.1]}}],
            pose: {position: [0, 0, 0.05]}}
script:
  - {target: {force: cube}, times: [0, 10], values: [[20, 0, 0], [20, 0, 0]]}
)",
                               {{"$METHOD", GetParam()}}));
  const Sums sums = RunAndSum(0.5, &world);
  EXPECT_NEAR(sums.work, 50, 1e-3);
  EXPECT_NEAR(sums.change, 50, 1e-3 + lift());
  EXPECT_LT(sums.gains, 1e-5 + lift());  // the error of the method's forces, times the distance
}

// A conveyor at 1 m/s brings a cube of 1 kg to its speed: it supplies 1 J, of which friction takes
// a half.
TEST_P(EnergySupply, AConveyorSuppliesTwiceWhatTheCubeKeeps) {
  World world = LoadWorld(Fill(R"(
name: conveyor
time_step: 0.002
method: {$METHOD: {}}
contact: {friction: 0.5}
bodies:
  - name: belt
    rigid: {motion: KINEMATIC, shapes: [{box: {size: [20, 1, 0.1]}}],
            pose: {position: [0, 0, -0.05]}}
  - name: cube
    rigid: {motion: FREE, mass: 1, shapes: [{box: {size: [0.2, 0.2, 0.1]}}],
            pose: {position: [0, 0, 0.05]}}
script:
  - {target: {pose: belt}, times: [0, 2], values: [[0, 0, -0.05], [2, 0, -0.05]]}
)",
                               {{"$METHOD", GetParam()}}));
  const Sums sums = RunAndSum(1, &world);
  // the first step moves the belt by h v at once
  EXPECT_NEAR(sums.work, 1, 0.02);
  EXPECT_NEAR(sums.change, 0.5, 0.01 + lift());
  EXPECT_NEAR(sums.losses, 0.5 + stored(), 0.02);
  EXPECT_LT(sums.gains, 1e-3);
}

// A soft bar is bent by the body that holds its ends, and released: what the holder supplied is in
// the bar, less what damping took.
TEST(Energy, AHolderSuppliesWhatABarStores) {
  for (const std::string model : {"LINEAR_COROTATIONAL", "NEO_HOOKEAN"}) {
    World world = LoadWorld(Fill(R"(
name: bar
time_step: 0.002
gravity: [0, 0, 0]
bodies:
  - {name: wall, rigid: {motion: FIXED, shapes: [{box: {size: [0.02, 0.1, 0.1]}}],
      pose: {position: [-0.11, 0, 0]}}}
  - {name: hand, rigid: {motion: KINEMATIC, shapes: [{box: {size: [0.02, 0.1, 0.1]}}],
      pose: {position: [0.11, 0, 0]}}}
  - name: bar
    deformable:
      mesh: {box: {size: [0.2, 0.04, 0.04]}, edge_length: 0.02}
      material: {model: $MODEL, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      damping: {beta: 0}
      attachments:
        - {to: wall, within: {box: {size: [0.01, 0.1, 0.1], pose: {position: [-0.1, 0, 0]}}}}
        - {to: hand, within: {box: {size: [0.01, 0.1, 0.1], pose: {position: [0.1, 0, 0]}}}}
script:
  - {target: {pose: hand}, times: [0, 0.5, 1], values: [[0.11, 0, 0], [0.15, 0, 0], [0.15, 0, 0]]}
pairs:
  - {bodies: [bar, wall], enabled: false}
  - {bodies: [bar, hand], enabled: false}
)",
                                 {{"$MODEL", model}}));
    const Sums sums = RunAndSum(1, &world);
    const Energies energies = CalcEnergies(world.model(), world.state(), -1);
    // stretched by 20 %: E ε² V / 2 is 0.64 J for small strains
    EXPECT_NEAR(energies.elastic, 0.64, 0.15) << model;
    EXPECT_NEAR(sums.work, sums.change + sums.losses - sums.gains, 1e-12) << model;
    EXPECT_LT(sums.losses, 0.05 * sums.work) << model;
    EXPECT_LT(sums.gains, 1e-3 * sums.work) << model;
  }
}

// A robot's drive lifts its arm: the work is the gain of potential and kinetic energy, less losses
// of the integrator.
TEST(Energy, ADriveSuppliesWhatAnArmGains) {
  World world = LoadWorld(R"(
name: arm
time_step: 0.001
robots:
  - name: arm
    file: )" PLIANT_SOURCE_DIR R"(/scenes/robots/iiwa14.urdf
    actuators: [{joint: ".*", pd: {stiffness: 800, damping: 60}}]
script:
  - {target: {joint: arm/iiwa_joint_2}, times: [0, 1, 2], values: [0, 1, 1]}
)");
  const Sums sums = RunAndSum(2, &world);
  EXPECT_GT(std::abs(sums.work), 5);
  EXPECT_NEAR(sums.change + sums.losses - sums.gains, sums.work, 1e-9);
  EXPECT_LT(sums.losses, 0.05 * std::abs(sums.work));
  EXPECT_LT(sums.gains, 0.01 * std::abs(sums.work));
}

INSTANTIATE_TEST_SUITE_P(All, EnergySupply,
                         ::testing::Values("convex", "corrective", "nonsmooth", "smooth"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
