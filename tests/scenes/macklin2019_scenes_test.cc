// The examples of Macklin et al. 2019 by the method of that paper, at its step of 8.3 ms, and the
// control experiments that must fail.
//
// Schemes of friction: the paper's own is the fixed point (FIXED_POINT), which misses the tolerance
// in many steps of its examples (measured counts at each use). The method's default falls back to
// cones where the fixed point does not converge. The scenes of arch, fingers and grasps choose
// cones from the start (CONE), which is faster; their tests run all three.

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

// The paper's budget for the stack: 6 Newton iterations of 40 linear iterations each.
std::vector<std::string> StackBudget(const std::vector<std::string>& more) {
  std::vector<std::string> overrides{
      kPaperStep, "sleeping=false", "method.nonsmooth.friction=FIXED_POINT",
      "method.nonsmooth.newton_iterations=6", "method.nonsmooth.linear_iterations=40"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

// Outcome of the stack after two seconds.
struct Stack {
  double deepest = 0;  // largest penetration at any time [m]
  double moved = 0;    // final displacement of the uppermost cube [m]
  double force = 0;    // final force on the ground over the weight
  int converged = 0;   // converged steps of 240
};

Stack RunStack(const std::vector<std::string>& overrides) {
  World world = LoadShipped("heavy_stack", overrides, "nonsmooth");
  const Vector3d top = ReadVector(world, "top");
  Stack stack;
  for (int step = 1; step <= 240; ++step) {
    RunRegardless(step / 120.0, &world);
    stack.deepest = std::max(stack.deepest, ReadNumber(world, "penetration"));
    stack.converged += world.report().converged;
  }
  stack.moved = (ReadVector(world, "top") - top).norm();
  stack.force = -ReadVector(world, "ground_force").z() / kHeavyWeight;
  return stack;
}

TEST(Macklin2019, RelaxationLetsTheHeavyStackSinkInWhereKrylovDoesNot) {
  for (const char* solver : {"PCR", "PCG", "DIRECT"}) {
    const Stack stack =
        RunStack(StackBudget({std::string("method.nonsmooth.linear_solver=") + solver}));
    EXPECT_LT(stack.deepest, 1e-6) << solver;
    EXPECT_LT(stack.moved, 1e-6) << solver;
    EXPECT_NEAR(stack.force, 1, 1e-3) << solver;
  }
  // Cubes sink in by decimetres, until the stack is thrown apart, unless overlap is corrected at
  // position level.
  for (const char* solver : {"JACOBI", "GAUSS_SEIDEL"}) {
    const Stack stack = RunStack(StackBudget(
        {std::string("method.nonsmooth.linear_solver=") + solver, "contact.recovery_speed=0"}));
    EXPECT_GT(stack.deepest, 0.1) << solver;
    EXPECT_GT(stack.moved, 0.01) << solver;
  }
  // without warm start, six iterations do not always carry the weight of all five cubes to the
  // ground; they come close, and twelve suffice
  EXPECT_LT(RunStack(StackBudget({"method.nonsmooth.warm_start=false"})).deepest, 1e-3);
  EXPECT_LT(RunStack(StackBudget({"method.nonsmooth.warm_start=false",
                                  "method.nonsmooth.newton_iterations=12"}))
                .deepest,
            1e-8);
}

// r = 1 does not scale with large masses: from a cold start within the paper's budget, and under
// tilted gravity, where friction has to hold as well, cubes sink into each other.
TEST(Macklin2019, IdentityScalingFailsOnTheHeavyStack) {
  const std::string identity = "method.nonsmooth.preconditioner=IDENTITY";
  // otherwise position-level correction would remove the overlap that these steps leave
  const std::string as_it_is = "contact.recovery_speed=0";
  const Stack cold =
      RunStack(StackBudget({identity, "method.nonsmooth.warm_start=false", as_it_is}));
  EXPECT_GT(cold.deepest, 1e-4);

  const std::vector<std::string> leaning = {"gravity=[1, 0.5, -9.81]", as_it_is,
                                            "method.nonsmooth.newton_iterations=30"};
  std::vector<std::string> overrides = StackBudget(leaning);
  const Stack scaled = RunStack(overrides);
  EXPECT_LT(scaled.deepest, 1e-6);
  EXPECT_LT(scaled.moved, 1e-6);
  EXPECT_GE(scaled.converged, 228);
  overrides.push_back(identity);
  const Stack unscaled = RunStack(overrides);
  EXPECT_GT(unscaled.deepest, 1e-4);
  EXPECT_GT(unscaled.moved, 1e-4);
}

void CheckArchStands(FrictionScheme scheme) {
  SCOPED_TRACE(scheme.may_miss);
  scheme.overrides.push_back("sleeping=false");
  World world = LoadShipped("parabolic_arch", scheme.overrides, scheme.method);
  double mass = 0;
  for (const Body& body : world.model().bodies) {
    if (body.motion != Motion::kFree) continue;
    mass += body.mass;
    EXPECT_GT(body.mass, 14.9);
    EXPECT_LT(body.mass, 110.1);
  }
  int missed = RunAndCountMissed(0.2, &world);
  // stones that still move by the residual of a step have further corners in reach now and
  // then. Where all steps converge, contacts are therefore counted at rest.
  const bool is_exact = scheme.may_miss == 0;
  if (!is_exact) {
    EXPECT_EQ(world.report().contacts.size(), 168u);
  }
  const Vector3d crown = ReadVector(world, "crown");
  missed += RunAndCountMissed(3, &world);
  if (is_exact) {
    EXPECT_EQ(world.report().contacts.size(), 168u);
  }
  EXPECT_LE(missed, scheme.may_miss);
  EXPECT_LT((ReadVector(world, "crown") - crown).norm(), scheme.may_miss > 0 ? 1e-5 : 1e-6);
  EXPECT_LT(ReadNumber(world, "penetration"), 1e-6);
  const Vector3d thrust = ReadVector(world, "thrust");
  EXPECT_NEAR(thrust.z(), -0.5 * mass * kGravity, 0.02 * mass * kGravity);
  // thrust of a parabolic arch: H = w a² / 2 f at its foot, V = w a; the feet are cut level, which
  // moves them slightly
  EXPECT_NEAR(thrust.x() / thrust.z(), 0.31, 0.03);
}

TEST(Macklin2019, ParabolicArchStandsByFriction) {
  for (const FrictionScheme& scheme : SchemesBesideTheScenes(25))  // measured: 23 of 360 steps
    CheckArchStands(scheme);
}

// Its solutions move the stones to and fro by some micrometres per second, within the tolerance.
TEST(Macklin2019, ParabolicArchFallsAsleepByTheCorrectiveMethod) {
  World world = LoadShipped("parabolic_arch", {}, "corrective");
  RunUntil(5, &world);
  EXPECT_EQ(world.report().asleep, 20);
}

TEST(Macklin2019, ParabolicArchFallsOnLittleFriction) {
  for (FrictionScheme scheme : SchemesBesideTheScenes(0)) {
    scheme.overrides.push_back("contact.friction=0.2");
    World world = LoadShipped("parabolic_arch", scheme.overrides, scheme.method);
    const double crown = ReadVector(world, "crown").z();
    RunRegardless(1, &world);
    EXPECT_LT(ReadVector(world, "crown").z(), 0.5 * crown);
  }
}

void CheckFingersLift(const FrictionScheme& scheme) {
  SCOPED_TRACE(scheme.may_miss);
  World world = LoadShipped("pneunet", scheme.overrides, scheme.method);
  std::size_t tetrahedra = 0;
  for (const Body& body : world.model().bodies) tetrahedra += body.mesh.tetrahedra.size();
  EXPECT_GE(tetrahedra, 2241u);
  int missed = RunAndCountMissed(1.4, &world);
  // three fingers hold it: friction of 0.7 at this grip could carry more than its weight
  EXPECT_GT(ReadVector(world, "grip").norm(), 0.32 * kGravity / (3 * 0.7));
  EXPECT_NEAR(ReadVector(world, "ball").z(), 0.04, 1e-4);
  missed += RunAndCountMissed(3.2, &world);
  const double lifted = ReadVector(world, "ball").z() - 0.04;
  EXPECT_NEAR(lifted, ReadNumber(world, "palm"), 0.003);
  EXPECT_GT(lifted, 0.095);
  // and then stays at rest in the hand
  missed += RunAndCountMissed(3.5, &world);
  EXPECT_NEAR(ReadVector(world, "ball").z() - 0.04, lifted, 1e-4);
  EXPECT_LE(missed, scheme.may_miss);
}

TEST(Macklin2019, FingersLiftTheBall) {
  for (const FrictionScheme& scheme : SchemesBesideTheScenes(12))  // measured: 10 of 420 steps
    CheckFingersLift(scheme);
}

// When warm started from the forces of the strains, rows kept the last step's errors times their
// stiffness, and diverged within ten steps.
TEST(Macklin2019, FingersOfCompliantElementsStayTogetherOnThePapersBudget) {
  World world =
      LoadShipped("pneunet",
                  {kPaperStep, "method.nonsmooth.coordinates=MAXIMAL",
                   "method.nonsmooth.newton_iterations=4", "method.nonsmooth.linear_iterations=80"},
                  "nonsmooth");
  for (int step = 1; step <= 15; ++step) {
    RunRegardless(step / 120.0, &world);
    EXPECT_LT(world.report().residual, 5e-6);  // [m] of fingers of 0.1 m
  }
}

// With a caster on the floor both in front of and behind the wheels, the weight on the wheels was
// undetermined: with some methods they carried none of it and spun.
TEST(Macklin2019, WheelsOfTheFetchRollAsFarAsTheyTurn) {
  for (const char* method : {"convex", "corrective", "nonsmooth"}) {
    World world = LoadShipped("fetch", {kPaperStep}, method);
    RunRegardless(2.8, &world);
    // starts at -0.3 m; wheels of 0.06 m turn by 5 rad
    EXPECT_NEAR(ReadVector(world, "base").x(), 0, 1e-3) << method;
  }
}

TEST(Macklin2019, YumiPullsTheDrawerOpenByFriction) {
  for (const FrictionScheme& scheme : Schemes(590)) {  // measured: 581 of 1000 steps
    World world = LoadShipped("yumi_cabinet", scheme.overrides, "nonsmooth");
    EXPECT_LE(RunAndCountMissed(5, &world), scheme.may_miss);
    EXPECT_NEAR(ReadNumber(world, "drawer"), 0.2, 0.01);
  }
  for (FrictionScheme scheme : Schemes(60)) {  // measured: 58 of 1000 steps
    scheme.overrides.push_back("pairs[0].friction=0.02");
    World slippery = LoadShipped("yumi_cabinet", scheme.overrides, "nonsmooth");
    EXPECT_LE(RunAndCountMissed(5, &slippery), scheme.may_miss);
    EXPECT_LT(ReadNumber(slippery, "drawer"), 0.1);
  }
}

TEST(Macklin2019, HumanoidStandsWhereTheOtherFalls) {
  for (const FrictionScheme& scheme : Schemes(310)) {  // measured: 305 of 600 steps
    World world = LoadShipped("humanoid", scheme.overrides, "nonsmooth");
    const double head = ReadVector(world, "head").z();
    EXPECT_LE(RunAndCountMissed(3, &world), scheme.may_miss);
    EXPECT_NEAR(ReadVector(world, "head").z(), head, 0.005);
    EXPECT_LT(ReadVector(world, "fallen_head").z(), 0.5);
  }
}

TEST(Macklin2019, BeamComesOutBelowTheSlot) {
  // with the fixed point of friction that falls back to cones, and with cones alone; with the fixed
  // point alone 471 of 864 steps do not converge, and the beam falls beside the slot
  for (const bool on_cones : {false, true}) {
    World world = LoadShipped("beam_insertion",
                              on_cones ? std::vector<std::string>{"method.nonsmooth.friction=CONE"}
                                       : std::vector<std::string>{},
                              "nonsmooth");
    EXPECT_LT(MaximumUntil(7.2, "penetration", &world), 1e-4);
    const Vector3d foot = ReadVector(world, "foot");
    // the plates end at 0.22 m and are 42.2 mm apart
    EXPECT_LT(foot.z(), 0.22 - 0.1);
    EXPECT_NEAR(foot.x(), 0.6508, 0.0011);
    EXPECT_NEAR(ReadVector(world, "gripper").z() - foot.z(), 0.465, 1e-3);
  }
}

TEST(Macklin2019, LinearMaterialLosesVolumeWhereNeoHookeanKeepsIt) {
  World world = LoadShipped("extension");
  RunUntil(2.5, &world);
  const double volume = 0.2 * 0.05 * 0.05;
  // loses 1 − 2 (1 − ν)² = 0.395 where the small strain is 100 %, less near the clamps
  EXPECT_NEAR(ReadNumber(world, "linear_volume"), (1 - 0.38) * volume, 0.02 * volume);
  EXPECT_NEAR(ReadNumber(world, "neo_hookean_volume"), 1.06 * volume, 0.02 * volume);
  EXPECT_GT(ReadNumber(world, "neo_hookean_middle"), 1);
}

}  // namespace
}  // namespace pliant::physics
