// Oscillations that friction drives, which only friction implicit in normal force and speed
// reproduces: flutter of a point on coupled springs, stick-slip, and the speed at which it ends.

#include <fstream>

#include "absl/strings/str_format.h"

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

std::string WriteRobot(const std::string& name, const std::string& text) {
  const std::string file = PathOfTest(name + ".urdf");
  std::ofstream(file) << text;
  return file;
}

constexpr char kLink[] = R"(
  <link name="$NAME"><inertial><mass value="$MASS"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>$MORE</link>)";
constexpr char kSlide[] = R"(
  <joint name="$NAME" type="prismatic"><parent link="$A"/><child link="$B"/><axis xyz="$AXIS"/>
    <limit lower="-10" upper="10" effort="1e6" velocity="1e3"/></joint>)";

constexpr char kBall[] = R"(<collision><geometry><sphere radius="0.05"/></geometry></collision>)";

// A ball of 1 kg that does not turn, on springs along x and z with the stiffness
// [2000, −500; −500, 1000] N/m: along its two principal directions, at 22.5° to x and z.
std::string SpringMount() {
  return WriteRobot(
      "spring_mount",
      absl::StrCat(R"(<robot name="mount"><link name="base"/>)",
                   Fill(kLink, {{"$NAME", "slider"}, {"$MASS", "1e-9"}, {"$MORE", ""}}),
                   Fill(kLink, {{"$NAME", "ball"}, {"$MASS", "1"}, {"$MORE", kBall}}),
                   Fill(kSlide, {{"$NAME", "stiff"},
                                 {"$A", "base"},
                                 {"$B", "slider"},
                                 {"$AXIS", "0.9238795325112867 0 -0.3826834323650898"}}),
                   Fill(kSlide, {{"$NAME", "soft"},
                                 {"$A", "slider"},
                                 {"$B", "ball"},
                                 {"$AXIS", "0.3826834323650898 0 0.9238795325112867"}}),
                   "</robot>"));
}

// Growth rate of the ball's oscillation [1/s], from its speeds over `seconds`, after one second.
// The belt below it moves to +x, so that the ball slides to −x. Its contact has the stiffness 1000
// N/m where it rests, and gravity balances contact and friction there.
double MeasureGrowth(double friction, double h, double seconds) {
  World world = LoadWorld(Fill(
      R"(
time_step: $H
gravity: [$GX, 0, -10]
sleeping: false
method: {smooth: {integrator: SDIRK2, contact_distance: 0.04, contact_stiffness: 333.3333333333333}}
contact: {friction: $MU}
bodies:
  - name: belt
    rigid:
      motion: KINEMATIC
      pose: {position: [-10, 0, -0.5]}
      shapes: [{box: {size: [60, 1, 1]}}]
robots:
  - name: mount
    file: $FILE
    pose: {position: [0, 0, 0.07]}
    actuators:
      - {joint: stiff, pd: {stiffness: 2207.1067811865473, damping: 0}}
      - {joint: soft, pd: {stiffness: 792.8932188134525, damping: 0}}
script:
  - {target: {pose: belt}, times: [0, 20], values: [[-10, 0, -0.5], [10, 0, -0.5]]}
probes:
  - {name: v, velocity: {body: mount/ball}}
)",
      {{"$H", Number(h)},
       {"$GX", absl::StrFormat("%.17g", -10 * friction)},
       {"$MU", Number(friction)},
       {"$FILE", SpringMount()}}));
  Inputs push;
  push.forces.resize(1);
  push.forces[0].body = FindBody(world.model(), "mount/ball");
  push.forces[0].force_W = {1e-5 / h, 0, 0};
  EXPECT_TRUE(world.Step(push).ok());
  // sums of squared speeds over one period of 2π/√2000 s at the start and at the end
  const auto energy = [&] {
    const double end = world.state().time + 2 * kPi / std::sqrt(2000.0);
    double sum = 0;
    while (world.state().time < end) {
      EXPECT_TRUE(world.Step().ok());
      EXPECT_TRUE(world.report().converged) << world.report().residual;
      sum += ReadVector(world, "v").squaredNorm();
    }
    return sum;
  };
  RunUntil(1, &world);
  const double first = energy();
  RunUntil(1 + seconds, &world);
  return 0.5 * std::log(energy() / first) / seconds;
}

// The stiffness [2000, −500 + 1000 μ; −500, 2000] has a double eigenvalue at μ = 0.5, and complex
// ones beyond.
TEST(PointContact, FluttersBeyondACoefficientOfOneHalf) {
  EXPECT_LT(MeasureGrowth(0.485, 0.001, 3), 0.1);
  EXPECT_NEAR(MeasureGrowth(0.515, 0.001, 3), 0.967, 0.05 * 0.967);
}

TEST(PointContact, FluttersAtTheRateOfItsEigenvalue) {
  EXPECT_NEAR(MeasureGrowth(0.6, 0.001, 2), 2.496, 0.02 * 2.496);
}

// A slider of 1 kg on the ground behind a spring of 1 kN/m whose other end is drawn along x.
World LoadDrawnSlider(double speed, const std::string& pair, double stick_speed) {
  const std::string file = WriteRobot(
      "slider",
      absl::StrCat(
          R"(<robot name="slider"><link name="base"/>)",
          Fill(kLink, {{"$NAME", "cart"}, {"$MASS", "1e-9"}, {"$MORE", ""}}),
          Fill(kLink, {{"$NAME", "block"}, {"$MASS", "1"}, {"$MORE", kBall}}),
          Fill(kSlide, {{"$NAME", "draw"}, {"$A", "base"}, {"$B", "cart"}, {"$AXIS", "1 0 0"}}),
          Fill(kSlide, {{"$NAME", "fall"}, {"$A", "cart"}, {"$B", "block"}, {"$AXIS", "0 0 1"}}),
          "</robot>"));
  return LoadWorld(Fill(R"(
time_step: 0.001
sleeping: false
method: {smooth: {integrator: SDIRK2, stick_speed: $EPS}}
contact: {anchored: false}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
robots:
  - name: slider
    file: $FILE
    pose: {position: [0, 0, 0.0505]}
    actuators:
      - {joint: draw, pd: {stiffness: 1000, damping: 0}}
pairs: [{bodies: [ground, slider/block], $PAIR}]
script: [{target: {joint: slider/draw}, times: [0, 100], values: [0, $FAR]}]
probes:
  - {name: v, velocity: {body: slider/block}}
  - {name: x, position: {body: slider/block}}
)",
                        {{"$EPS", Number(stick_speed)},
                         {"$FILE", file},
                         {"$PAIR", pair},
                         {"$FAR", Number(100 * speed)}}));
}

TEST(StickSlip, SwingsBetweenStaticFrictionAndItsMirrorAboutSliding) {
  constexpr double kSpeed = 1e-3;
  World world =
      LoadDrawnSlider(kSpeed, "friction: 0.3, static_friction: 0.5, stribeck_speed: 1.0e-3", 1e-5);
  // turning points of the force of the spring [weights], and when it turned from rising to falling
  std::vector<double> highest, lowest, times;
  double turning = 0, time = 0;
  bool is_rising = true;
  while (world.state().time < 14) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged) << world.report().residual;
    const double force =
        1000 * (kSpeed * world.state().time - ReadVector(world, "x").x()) / kGravity;
    if (is_rising ? force > turning : force < turning) {
      turning = force;
      time = world.state().time;
    } else if (std::abs(force - turning) > 0.05) {
      (is_rising ? highest : lowest).push_back(turning);
      if (is_rising) times.push_back(time);
      is_rising = !is_rising;
      turning = force;
    }
  }
  ASSERT_GE(times.size(), 3u);
  for (std::size_t k = 2; k < times.size(); ++k) {
    EXPECT_NEAR(highest[k], 0.5, 0.02 * 0.5);
    EXPECT_NEAR(lowest[k - 1], 0.1, 0.02 * 0.1);
    // The force falls in half a period of the free oscillation and rises at k v, less what the
    // ball creeps while it sticks: at most the stick speed, a hundredth of v. Both ends are at
    // whole steps.
    const double rise = (highest[k] - lowest[k - 1]) * kGravity / (1000 * kSpeed);
    const double fall = kPi / std::sqrt(1000.0), period = times[k] - times[k - 1];
    EXPECT_GT(period, rise + fall - 2e-3);
    EXPECT_LT(period, 1.01 * rise + fall + 2e-3);
  }
}

// Friction falls with speed at half the Stribeck speed by 1.5 (μ_s − μ_d) λ/v_s; more viscous
// friction than that makes sliding steady.
TEST(StickSlip, EndsWhereViscousFrictionOutweighsTheFallOfTheCurve) {
  constexpr double kStribeck = 0.01, kSpeed = 0.5 * kStribeck;
  const double critical = 1.5 * 0.2 * kGravity / kStribeck;
  const auto swing = [&](double viscous) {
    World world = LoadDrawnSlider(
        kSpeed,
        absl::StrCat("friction: 0.3, static_friction: 0.5, stribeck_speed: ", kStribeck,
                     ", viscous_friction: ", viscous),
        1e-5);
    double smallest = 1, largest = 0;
    while (world.state().time < 4) {
      EXPECT_TRUE(world.Step().ok());
      EXPECT_TRUE(world.report().converged) << world.report().residual;
      if (world.state().time < 3) continue;
      const double v = ReadVector(world, "v").x();
      smallest = std::min(smallest, v);
      largest = std::max(largest, v);
    }
    return (largest - smallest) / kSpeed;
  };
  EXPECT_LT(swing(1.03 * critical), 0.02);
  EXPECT_GT(swing(0.97 * critical), 0.2);
}

}  // namespace
}  // namespace pliant::physics
