// The examples of Macklin et al. 2019 by the method of that paper, at its step of 8.3 ms, and the controls that must fail.

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr char kPaperStep[] = "time_step=0.008333333333333333";

// 8 + 64 + 512 + 4096 + 32768 kg
constexpr double kHeavyWeight = 37448 * kGravity;  // [N]

TEST(Macklin2019, HeavyStackPressesWithItsWeightAndDoesNotSinkIn) {
  World world = LoadShipped("heavy_stack", {kPaperStep, "sleeping=false"}, "nonsmooth");
  EXPECT_LT(MaximumUntil(2, "penetration", &world), 1e-7);
  const Vector3d force = ReadVector(world, "ground_force");
  EXPECT_NEAR(force.z(), -kHeavyWeight, 1e-6 * kHeavyWeight);
  EXPECT_TRUE(world.report().converged);
}

// At the paper's 6 × 40, from zero in every step, Krylov's residuals are small enough and those of relaxation are not.
TEST(Macklin2019, RelaxationLetsTheHeavyStackSinkInWhereKrylovDoesNot) {
  const std::vector<std::string> budget = {kPaperStep,
                                           "sleeping=false",
                                           "method.nonsmooth.friction=FIXED_POINT",
                                           "method.nonsmooth.warm_start=false",
                                           "method.nonsmooth.newton_iterations=6",
                                           "method.nonsmooth.linear_iterations=40"};
  const auto sinks_by = [&](const std::string& solver) {
    std::vector<std::string> overrides = budget;
    overrides.push_back("method.nonsmooth.linear_solver=" + solver);
    World world = LoadShipped("heavy_stack", overrides, "nonsmooth");
    double deepest = 0;
    for (int step = 1; step <= 240; ++step) {
      RunRegardless(step / 120.0, &world);
      deepest = std::max(deepest, ReadNumber(world, "penetration"));
    }
    return std::pair(deepest, ReadNumber(world, "penetration"));
  };
  // the impact of all its weight in the first step takes Krylov some steps too, and then it stands
  const auto [deepest, at_rest] = sinks_by("PCR");
  EXPECT_LT(deepest, 0.02);
  EXPECT_LT(at_rest, 1e-4);
  EXPECT_GT(sinks_by("JACOBI").first, 0.1);
  EXPECT_GT(sinks_by("GAUSS_SEIDEL").first, 0.1);
}

TEST(Macklin2019, ParabolicArchStandsByFriction) {
  World world = LoadShipped("parabolic_arch", {"sleeping=false"});
  double mass = 0;
  for (const Body& body : world.model().bodies) {
    if (body.motion != Motion::kFree) continue;
    mass += body.mass;
    EXPECT_GT(body.mass, 14.9);
    EXPECT_LT(body.mass, 110.1);
  }
  RunUntil(0.2, &world);
  EXPECT_EQ(world.report().contacts.size(), 168u);
  const Vector3d crown = ReadVector(world, "crown");
  RunUntil(3, &world);
  EXPECT_LT((ReadVector(world, "crown") - crown).norm(), 1e-6);
  EXPECT_LT(ReadNumber(world, "penetration"), 1e-6);
  const Vector3d thrust = ReadVector(world, "thrust");
  EXPECT_NEAR(thrust.z(), -0.5 * mass * kGravity, 0.02 * mass * kGravity);
  // the thrust of a parabola: H = w a² / 2 f at its foot, V = w a; the feet are cut level, which moves them a little
  EXPECT_NEAR(thrust.x() / thrust.z(), 0.31, 0.03);
}

TEST(Macklin2019, ParabolicArchFallsOnLittleFriction) {
  World world = LoadShipped("parabolic_arch", {"contact.friction=0.2"});
  const double crown = ReadVector(world, "crown").z();
  RunRegardless(1, &world);
  EXPECT_LT(ReadVector(world, "crown").z(), 0.5 * crown);
}

TEST(Macklin2019, FingersLiftTheBall) {
  World world = LoadShipped("pneunet");
  std::size_t tetrahedra = 0;
  for (const Body& body : world.model().bodies) tetrahedra += body.mesh.tetrahedra.size();
  EXPECT_GE(tetrahedra, 2241u);
  RunUntil(1.4, &world);
  // three fingers hold it: their friction at 0.7 could carry more than its weight
  EXPECT_GT(ReadVector(world, "grip").norm(), 0.32 * kGravity / (3 * 0.7));
  EXPECT_NEAR(ReadVector(world, "ball").z(), 0.04, 1e-4);
  RunUntil(3.2, &world);
  const double lifted = ReadVector(world, "ball").z() - 0.04;
  EXPECT_NEAR(lifted, ReadNumber(world, "palm"), 0.003);
  EXPECT_GT(lifted, 0.095);
  // and holds still
  RunUntil(3.5, &world);
  EXPECT_NEAR(ReadVector(world, "ball").z() - 0.04, lifted, 1e-4);
}

TEST(Macklin2019, YumiPullsTheDrawerOpenByFriction) {
  World world = LoadShipped("yumi_cabinet", {"method.nonsmooth.friction=CONE"}, "nonsmooth");
  RunUntil(5, &world);
  EXPECT_NEAR(ReadNumber(world, "drawer"), 0.2, 0.01);
  World slippery = LoadShipped(
      "yumi_cabinet", {"method.nonsmooth.friction=CONE", "pairs[0].friction=0.02"}, "nonsmooth");
  RunUntil(5, &slippery);
  EXPECT_LT(ReadNumber(slippery, "drawer"), 0.1);
}

TEST(Macklin2019, HumanoidStandsWhereTheOtherFalls) {
  World world = LoadShipped("humanoid", {"method.nonsmooth.friction=CONE"}, "nonsmooth");
  const double head = ReadVector(world, "head").z();
  RunUntil(3, &world);
  EXPECT_NEAR(ReadVector(world, "head").z(), head, 0.005);
  EXPECT_LT(ReadVector(world, "fallen_head").z(), 0.5);
}

TEST(Macklin2019, LinearMaterialLosesVolumeWhereNeoHookeanKeepsIt) {
  World world = LoadShipped("extension");
  RunUntil(2.5, &world);
  const double volume = 0.2 * 0.05 * 0.05;
  // by 1 − 2 (1 − ν)² = 0.395 where strains are small strains of 100 %, less near the clamps
  EXPECT_NEAR(ReadNumber(world, "linear_volume"), (1 - 0.38) * volume, 0.02 * volume);
  EXPECT_NEAR(ReadNumber(world, "neo_hookean_volume"), 1.06 * volume, 0.02 * volume);
  EXPECT_GT(ReadNumber(world, "neo_hookean_middle"), 1);
}

}  // namespace
}  // namespace pliant::physics
