#include "physics/world/script.h"

#include <cmath>

#include <gtest/gtest.h>

#include "physics/spatial/trig.h"
#include "physics/world/world.h"
#include "tests/physics/world/small_models.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kStep = 0.01;

Script MakeScript(Script::Kind kind, std::vector<double> times,
                  std::vector<std::vector<double>> values) {
  Script script;
  script.kind = kind;
  script.body = 0;
  script.times = std::move(times);
  script.values = std::move(values);
  return script;
}

TEST(Script, IsLinearBetweenTimes) {
  const Script script = MakeScript(Script::Kind::kForce, {0, 2}, {{1, 0, -4}, {3, 0, 4}});
  const std::optional<Vector3d> value = SampleScriptedVector(script, 0.5, kStep);
  ASSERT_TRUE(value);
  EXPECT_DOUBLE_EQ(value->x(), 1.5);
  EXPECT_DOUBLE_EQ(value->z(), -2);
}

TEST(Script, ForcesAreZeroOutsideAndTargetsHold) {
  const Script force = MakeScript(Script::Kind::kForce, {1, 2}, {{1, 2, 3}, {4, 5, 6}});
  EXPECT_FALSE(SampleScriptedVector(force, 0.99, kStep));
  EXPECT_FALSE(SampleScriptedVector(force, 2.01, kStep));

  const Script pose = MakeScript(Script::Kind::kPose, {1, 2}, {{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(SampleScriptedPose(pose, {}, 0, kStep).p, Vector3d(1, 2, 3));
  EXPECT_EQ(SampleScriptedPose(pose, {}, 9, kStep).p, Vector3d(4, 5, 6));
}

TEST(Script, ARepeatedTimeIsAJumpAfterTheStepThatEndsThere) {
  const Script script =
      MakeScript(Script::Kind::kForce, {0, 1, 1, 2}, {{0, 0, 0}, {1, 0, 0}, {7, 0, 0}, {7, 0, 0}});
  EXPECT_EQ(SampleScriptedVector(script, 1, kStep)->x(), 1);
  EXPECT_EQ(SampleScriptedVector(script, 1 + kStep, kStep)->x(), 7);
}

TEST(Script, APositionKeepsTheOrientation) {
  const Script script = MakeScript(Script::Kind::kPose, {0}, {{1, 2, 3}});
  const RigidTransform X_WB0{RotationFromVector({0.3, -0.2, 0.1}).toRotationMatrix(),
                             Vector3d(9, 9, 9)};
  EXPECT_EQ(SampleScriptedPose(script, X_WB0, 0.5, kStep).R, X_WB0.R);
}

TEST(Script, OrientationsTurnAtAConstantRateAlongTheShortArc) {
  // the same end orientation, written as q and as −q: both turn by 90°, never by 270°
  const double c = std::sqrt(0.5);
  for (const double sign : {1.0, -1.0}) {
    const Script script = MakeScript(Script::Kind::kPose, {0, 1},
                                     {{0, 0, 0, 1, 0, 0, 0}, {0, 0, 0, sign * c, 0, 0, sign * c}});
    const Eigen::Matrix3d R = SampleScriptedPose(script, {}, 1.0 / 3, kStep).R;
    EXPECT_NEAR(R(0, 0), std::cos(kPi / 6), 1e-15);
    EXPECT_NEAR(R(1, 0), std::sin(kPi / 6), 1e-15);
  }
}

TEST(Script, QuaternionsOfAnyLengthGiveRotations) {
  const Script script = MakeScript(Script::Kind::kPose, {0}, {{0, 0, 0, 2, 0, 0, 2}});
  const Eigen::Matrix3d R = SampleScriptedPose(script, {}, 0, kStep).R;
  EXPECT_NEAR((R * R.transpose() - Eigen::Matrix3d::Identity()).norm(), 0, 1e-15);
  EXPECT_NEAR(R(1, 0), 1, 1e-15);
}

TEST(Script, AConstantForceGivesItsExactImpulse) {
  // 3 N on 2 kg from 0.1 s to 0.3 s, none before and after: Δv = 0.3 m/s, however the times are
  // rounded
  Model model;
  model.gravity.setZero();
  const int ball = AddBall(&model, "ball", Vector3d::Zero());
  Script script = MakeScript(Script::Kind::kForce, {0.1, 0.3}, {{3, 0, 0}, {3, 0, 0}});
  script.body = ball;
  model.script.push_back(script);

  World world(Finish(std::move(model)));
  for (int k = 0; k < 50; ++k) ASSERT_TRUE(world.Step().ok());
  EXPECT_NEAR(world.state().v[3], 0.3, 1e-15);
}

}  // namespace
}  // namespace pliant::physics
