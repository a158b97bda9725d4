// larionov2023 §V-A1: a block slides down a slope of 10° that nearly holds it, until it stops.

#include <cmath>
#include <string>

#include "absl/strings/str_format.h"

#include "solvers/smooth/contact_law.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr double kSlope = 10 * kPi / 180, kSlideFriction = 0.177, kStartSpeed = 0.1;
constexpr double kStickSpeed = 1e-3, kDistance = 1e-3;

struct Slide {
  double distance, time;  // until the block is slower than the stick speed
};

// The block is flat, since friction tips a high one, and TR does not damp its rocking.
//
// Gap at which the four corners rest with the default stiffness.
double RestGap() {
  return kDistance * (1 - 0.25 * std::sqrt(CalcSinCos(kSlope).cos));
}

std::string SlideScene(double h, const std::string& method, bool anchored, double gap = RestGap()) {
  const SinCos of = CalcSinCos(kSlope);
  return Fill(R"(
time_step: $H
gravity: [$GX, 0, $GZ]
sleeping: false
max_substeps: 1
method: {smooth: {$METHOD}}
contact: {friction: $MU, anchored: $ANCHORED}
bodies:
  - {name: slope, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: block
    rigid:
      motion: FREE
      density: 1000
      pose: {position: [0, 0, $Z]}
      velocity: {linear: [$V, 0, 0]}
      shapes: [{box: {size: [0.4, 0.4, 0.004]}}]
probes:
  - {name: p, position: {body: block}}
  - {name: v, velocity: {body: block}}
)",
              {{"$H", Number(h)},
               {"$GX", Number(kGravity * of.sin)},
               {"$GZ", absl::StrCat(-kGravity * of.cos)},
               {"$METHOD", method},
               {"$MU", Number(kSlideFriction)},
               {"$ANCHORED", anchored ? "true" : "false"},
               {"$Z", absl::StrFormat("%.17g", 0.002 + gap)},
               {"$V", Number(kStartSpeed)}});
}

// Distance and time at which the block becomes slower than the stick speed, interpolated within the
// step. A block that rings may leave a step unsolved.
Slide SlideDown(World* world, bool rings = false) {
  double x = 0, t = 0, v = kStartSpeed;
  while (world->state().time < 30) {
    const absl::Status status = world->Step();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(world->report().converged || rings) << world->report().residual;
    if (!status.ok()) break;
    const double now_v = ReadVector(*world, "v").x(), now_x = ReadVector(*world, "p").x(),
                 now_t = world->state().time;
    if (now_v < kStickSpeed) {
      const double part = (v - kStickSpeed) / (v - now_v);
      return {x + part * (now_x - x), t + part * (now_t - t)};
    }
    x = now_x;
    t = now_t;
    v = now_v;
  }
  return {x, 1e300};
}

class BlockSlide : public ::testing::TestWithParam<std::tuple<const char*, double>> {};

TEST_P(BlockSlide, StopsWhereCoulombSays) {
  const auto& [integrator, h] = GetParam();
  const SinCos of = CalcSinCos(kSlope);
  const double a = kGravity * (kSlideFriction * of.cos - of.sin);
  const double distance = (kStartSpeed * kStartSpeed - kStickSpeed * kStickSpeed) / (2 * a),
               time = (kStartSpeed - kStickSpeed) / a;
  World world = LoadWorld(SlideScene(h, absl::StrCat("integrator: ", integrator), true));
  const Slide slide = SlideDown(&world);
  // implicit Euler moves by v h with the lower velocity of the end of each step
  const bool is_euler = std::string(integrator) == "BE";
  const double lost = is_euler ? 0.5 * (kStartSpeed - kStickSpeed) * h : 0;
  EXPECT_NEAR(slide.distance, distance - lost, 1e-3 * distance);
  EXPECT_NEAR(slide.time, time, 1e-3 * time);
}

INSTANTIATE_TEST_SUITE_P(Rules, BlockSlide,
                         ::testing::Combine(::testing::Values("BE", "TR", "BDF2", "TR_BDF2",
                                                              "SDIRK2"),
                                            ::testing::Values(0.01, 0.1)));

// The same with contacts of a logarithmic barrier, from the gap at which they bear the block.
TEST(BlockSlide, StopsWhereCoulombSaysUnderABarrierToo) {
  const SinCos of = CalcSinCos(kSlope);
  // the stiffness with which one corner would bear the whole weight of 1 N at δ/2
  const solvers::SmoothContactLaw law{
      .is_barrier = true, .distance = kDistance, .stiffness = 4 / (3 * kDistance)};
  double low = 0, high = kDistance;
  while (high - low > 1e-15) {
    const double gap = 0.5 * (low + high);
    const double force = solvers::CalcBarrierForce(law, gap, std::log(gap / kDistance));
    (force > of.cos / 4 ? low : high) = gap;
  }
  const double a = kGravity * (kSlideFriction * of.cos - of.sin);
  const double distance = (kStartSpeed * kStartSpeed - kStickSpeed * kStickSpeed) / (2 * a);
  for (const char* integrator : {"BE", "BDF2", "SDIRK2"}) {
    const double h = 0.01;
    World world = LoadWorld(
        SlideScene(h, absl::StrCat("potential: LOG_BARRIER, integrator: ", integrator), true, low));
    const bool is_euler = std::string(integrator) == "BE";
    const double lost = is_euler ? 0.5 * (kStartSpeed - kStickSpeed) * h : 0;
    EXPECT_NEAR(SlideDown(&world).distance, distance - lost, 1e-3 * distance) << integrator;
  }
}

// From gap δ without load, friction that lags misses one step, in which gravity accelerates.
TEST(BlockSlide, LaggedFrictionMissesTheFirstStepUnlessItIsRepeated) {
  const SinCos of = CalcSinCos(kSlope);
  const double a = kGravity * (kSlideFriction * of.cos - of.sin);
  for (const double h : {0.01, 0.02, 0.05}) {
    const double speed = kStartSpeed + kGravity * h * of.sin;
    World once = LoadWorld(SlideScene(h, "friction: LAGGED", true, kDistance));
    const double missed = speed * speed / (2 * a);
    EXPECT_NEAR(SlideDown(&once).distance, missed, 0.01 * missed) << h;
    const double exact = kStartSpeed * kStartSpeed / (2 * a);
    for (const char* mended : {"friction: LAGGED, passes: 3", "friction: IMPLICIT"}) {
      World world = LoadWorld(SlideScene(h, mended, true, kDistance));
      EXPECT_NEAR(SlideDown(&world).distance, exact - 0.5 * kStartSpeed * h, 0.02 * exact)
          << mended << ", " << h;
    }
  }
}

// From gap δ the contacts ring under TR, and friction with them, unless BE damps them at first.
TEST(BlockSlide, BeginsWithoutRingingAfterHalfStepsOfEuler) {
  const SinCos of = CalcSinCos(kSlope);
  const double a = kGravity * (kSlideFriction * of.cos - of.sin);
  const double exact = (kStartSpeed * kStartSpeed - kStickSpeed * kStickSpeed) / (2 * a);
  double worst = 0;
  for (const double h : {0.01, 0.02, 0.05}) {
    World rings = LoadWorld(SlideScene(h, "integrator: TR", true, kDistance));
    worst = std::max(worst, std::abs(SlideDown(&rings, true).distance - exact));
    World damped = LoadWorld(SlideScene(h, "integrator: TR, damped_start: true", true, kDistance));
    EXPECT_NEAR(SlideDown(&damped).distance, exact, 0.003 * exact) << h;
  }
  EXPECT_GT(worst, 0.05 * exact);
}

TEST(BlockSlide, CreepsAtTheSpeedThatHoldsItWithoutAnchors) {
  World world = LoadWorld(SlideScene(0.05, "integrator: SDIRK2", false));
  SlideDown(&world);
  while (world.state().time < 25) ASSERT_TRUE(world.Step().ok());
  // s(v) = tan θ / μ
  const SinCos of = CalcSinCos(kSlope);
  const double creep = kStickSpeed * (1 - std::sqrt(1 - of.sin / of.cos / kSlideFriction));
  EXPECT_NEAR(ReadVector(world, "v").x(), creep, 1e-4 * creep);
}

TEST(BlockSlide, AnchorsHoldIt) {
  for (const char* integrator : {"BE", "BDF2", "TR_BDF2", "SDIRK2"}) {
    World world = LoadWorld(SlideScene(0.05, absl::StrCat("integrator: ", integrator), true));
    SlideDown(&world);
    while (world.state().time < 20) ASSERT_TRUE(world.Step().ok());
    const double x = ReadVector(world, "p").x();
    while (world.state().time < 30) ASSERT_TRUE(world.Step().ok());
    EXPECT_LT(std::abs(ReadVector(world, "p").x() - x) / 10, 1e-9) << integrator;
  }
}

TEST(BlockSlide, IsRepeatedBitForBitFromItsStateInTheMiddle) {
  World whole = LoadWorld(SlideScene(0.05, "integrator: BDF2", true));
  State half;
  for (int k = 0; k < 40; ++k) {
    ASSERT_TRUE(whole.Step().ok());
    if (k == 19) half = whole.state();
  }
  const absl::StatusOr<State> read =
      ParseState(SerializeState(half, whole.model().hash), whole.model().hash);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const auto stepper = MakeStepper(whole.model());
  State state = *read;
  StepReport report;
  for (int k = 20; k < 40; ++k)
    ASSERT_TRUE(stepper->Step({}, whole.model().time_step, &state, &report).ok());
  EXPECT_EQ(HashState(state), HashState(whole.state()));
}

}  // namespace
}  // namespace pliant::physics
