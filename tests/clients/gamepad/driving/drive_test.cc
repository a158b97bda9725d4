// Control of a world by the state of a gamepad, against a real pliantd; no gamepad is needed.

#include "clients/gamepad/driving/drive.h"

#include "tests/clients/pliantd.h"

namespace pliant::clients {
namespace {

using testing::HasSubstr;

TEST(Layout, WhatLiesInTheDeadZoneIsNotUsed) {
  PadState pad;
  EXPECT_FALSE(IsUsed(pad));
  pad.axes = {0.1, -0.1, 0.14, 0};
  EXPECT_FALSE(IsUsed(pad));
  pad.buttons[kStop] = pad.buttons[kGrip] = pad.buttons[kNext] =
      1;  // buttons of actions cause no motion
  EXPECT_FALSE(IsUsed(pad));
  pad.buttons[kUp] = 0.2;
  EXPECT_TRUE(IsUsed(pad));
}

TEST(Layout, AFullDeflectionHasTheSpeedThatWasAskedFor) {
  PadState pad;
  pad.axes = {1, 0, 0, 0};
  EXPECT_DOUBLE_EQ(MakeTwist(pad, 0.5).linear(0), 0.5);
  pad.axes = {0, -1, 0, 0};
  EXPECT_DOUBLE_EQ(MakeTwist(pad, 0.5).linear(1), 0.5);
  pad.axes = {};
  pad.buttons[kDown] = 1;
  EXPECT_DOUBLE_EQ(MakeTwist(pad, 0.5).linear(2), -0.5);
  pad.buttons[kSlow] = 1;
  EXPECT_DOUBLE_EQ(MakeTwist(pad, 0.5).linear(2), -0.1);
}

TEST(Layout, SticksAndTriggersReachTheirEnds) {
  EXPECT_EQ(ScaleStick(-32768), -1);
  EXPECT_EQ(ScaleStick(32767), 1);
  EXPECT_EQ(ScaleTrigger(0), 0);
  EXPECT_EQ(ScaleTrigger(32767), 1);
}

class Driving : public PliantdTest {
 protected:
  static PadState Right() {
    PadState pad;
    pad.axes[0] = 1;
    return pad;
  }
  static double X(const World& world) {
    v1::ProbeWorldRequest paddle;
    v1::Probe& probe = *paddle.add_definitions();
    probe.set_name("x");
    probe.mutable_position()->set_body("paddle");
    const auto response = world.Probe(paddle);
    EXPECT_TRUE(response.ok()) << response.status();
    return response->probes(0).values(0);
  }
};

TEST_F(Driving, AStickMovesTheBodyAndLettingGoStopsIt) {
  const World world = Create("lab");
  ASSERT_TRUE(world.Run().ok());
  const auto drive = Drive::Begin(world, "paddle", 0.5, false);
  ASSERT_TRUE(drive.ok()) << drive.status();
  const double before = X(world);
  EXPECT_TRUE(WaitUntil([&] {
    (*drive)->Update(Right());
    return X(world) > before + 0.05;
  })) << (*drive)->problem();
  EXPECT_TRUE((*drive)->is_driving());
  (*drive)->Update(PadState());
  EXPECT_TRUE(WaitUntil([&] {
    const double at = X(world);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return X(world) == at;
  }));
}

TEST_F(Driving, AnUnpluggedGamepadGivesItsTargetBackAtOnce) {
  const World world = Create("lab");
  ASSERT_TRUE(world.Run().ok());
  const auto drive = Drive::Begin(world, "paddle", 0.5, false);
  (*drive)->Update(Right());
  ASSERT_TRUE((*drive)->is_driving()) << (*drive)->problem();
  EXPECT_FALSE(world.Acquire("paddle").ok());
  (*drive)->Update(std::nullopt);
  EXPECT_TRUE(world.Acquire("paddle").ok());
}

TEST_F(Driving, ATakeoverEndsTheDriveAndTheStopButtonStopsTheWorld) {
  const World world = Create("lab");
  ASSERT_TRUE(world.Run().ok());
  const auto drive = Drive::Begin(world, "", 0.5, false);
  (*drive)->Update(Right());
  const auto other = world.Acquire("paddle", {.takeover = true});
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(WaitUntil([&] {
    (*drive)->Update(Right());
    return !(*drive)->is_driving();
  }));
  EXPECT_THAT((*drive)->problem(), HasSubstr("taken over"));
  PadState pad;
  pad.buttons[kStop] = 1;
  (*drive)->Update(pad);
  EXPECT_TRUE(WaitUntil([&] { return world.Get()->stopped(); }));
}

TEST_F(Driving, AWorldWithoutAnythingToDriveSaysWhatItTakes) {
  const World world = Create(
      "stone",
      "bodies: [{name: s, rigid: {motion: FREE, density: 1, shapes: [{sphere: {radius: 1}}]}}]");
  EXPECT_THAT(std::string(Drive::Begin(world, "", 1, false).status().message()),
              HasSubstr("KINEMATIC"));
  const World lab = Create("lab");
  EXPECT_THAT(std::string(Drive::Begin(lab, "cube", 1, false).status().message()),
              HasSubstr("it has paddle"));
}

}  // namespace
}  // namespace pliant::clients
