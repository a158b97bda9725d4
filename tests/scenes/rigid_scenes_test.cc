// The shipped stacks, arches and piles carry their weight and stand still.

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// 8 + 64 + 512 + 4096 + 32768 kg (methods.md §6)
constexpr double kStackWeight = 37448 * kGravity;  // [N]

TEST(HeavyStack, PressesOnTheGroundWithItsWeight) {
  World world = LoadShipped("heavy_stack");
  RunUntil(3, &world);
  const Vector3d force = ReadVector(world, "ground_force");
  EXPECT_NEAR(force.z(), -kStackWeight, 1e-5 * kStackWeight);
  // the load is vertical: lateral forces are within the solver's tolerance, 1e-6 of the weight
  EXPECT_LT(std::hypot(force.x(), force.y()), 1e-6 * kStackWeight);
}

TEST(HeavyStack, DoesNotSinkIn) {
  World world = LoadShipped("heavy_stack");
  EXPECT_LT(MaximumUntil(3, "penetration", &world), 1e-4);
}

// The lowest cube carries 4,681 times its weight, and an error of a millionth of that would keep it
// moving.
TEST(HeavyStack, FallsAsleepByTheCorrectiveMethod) {
  World world = LoadShipped("heavy_stack", {}, "corrective");
  RunUntil(2, &world);
  EXPECT_EQ(world.report().asleep, 5);
}

TEST(Arch, FallsAsleepByTheCorrectiveMethod) {
  World world = LoadShipped("arch", {}, "corrective");
  RunUntil(4, &world);
  EXPECT_EQ(world.report().asleep, 25);
}

// A contact yields by R_n γ_n (h + τ_d), R_n = w β² / 4π²: β = 0.1 instead of the scene's 0.02
// yields (0.1 / 0.02)² = 25 times as much.
TEST(HeavyStack, SinksAsTheSquareOfBeta) {
  World stiff = LoadShipped("heavy_stack"),
        soft = LoadShipped("heavy_stack", {"method.convex.beta=0.1"});
  RunUntil(3, &stiff);
  RunUntil(3, &soft);
  const double ratio = ReadNumber(soft, "penetration") / ReadNumber(stiff, "penetration");
  // to first order in penetration over edge length, 2 mm of 1 m
  EXPECT_NEAR(ratio, 25, 0.05 * 25);
}

// At the default β = 1 each cube sinks into the one below by the amount that the contact formula
// gives.
TEST(HeavyStack, SinksByWhatItsContactsCarry) {
  World world = LoadShipped("heavy_stack", {"method.convex.beta=1", "sleeping=false"});
  RunUntil(80, &world);  // the soft stack oscillates for half a minute
  const Model& model = world.model();
  const double h = model.time_step;
  StepStages stages(model, Terms::kFreeMotion);
  ASSERT_TRUE(PoseStep({}, ThetaMethod(h), world.state(), &stages).ok());
  const absl::Status status = world.Step();
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<ContactForce>& contacts = world.report().contacts;
  ASSERT_EQ(contacts.size(), stages.system.contacts.size());
  ASSERT_EQ(contacts.size(), 20u);
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const double w = std::sqrt(stages.system.contacts[c].W.squaredNorm()) / 3;
    const double R_n = w / (4 * kPi * kPi);
    const double impulse = contacts[c].impulse_W.dot(contacts[c].normal_W);
    // R_n γ_n (h + τ_d), and τ_d = h; up to 20 µm of overlap are left beyond that
    EXPECT_NEAR(-contacts[c].gap, R_n * impulse * 2 * h, 2e-5) << c;
  }
}

TEST(Arch, StandsStill) {
  World world = LoadShipped("arch");
  RunUntil(5, &world);
  const Vector3d crown = ReadVector(world, "crown");
  EXPECT_NEAR(crown.x(), 0, 1e-6);
  // 25 joints that yield by a tenth of a millimetre each
  EXPECT_NEAR(crown.z(), 59.99185, 25 * 1e-4);
  RunUntil(60, &world);
  // anchored friction does not creep
  EXPECT_LT((ReadVector(world, "crown") - crown).norm(), 1e-6);
  EXPECT_LT(ReadNumber(world, "penetration"), 1e-4);
}

TEST(Arch, FallsApartOnLittleFriction) {
  World world = LoadShipped("arch", {"contact.friction=0.2"});
  RunUntil(20, &world);
  EXPECT_LT(ReadVector(world, "crown").z(), 30);
}

TEST(TablePile, ComesToRestUnderItsWeight) {
  World world = LoadShipped("table_pile");
  RunUntil(11, &world);
  const double weight = 54 * 4.7 * kGravity;
  // at rest to nanometres a second: Σ ½ m v²
  EXPECT_LT(MaximumUntil(12, "kinetic", &world), 54 * 0.5 * 4.7 * 1e-18);
  EXPECT_NEAR(ReadVector(world, "weight").z(), -weight, 1e-5 * weight);
  EXPECT_LT(ReadNumber(world, "penetration"), 1e-3);
}

}  // namespace
}  // namespace pliant::physics
