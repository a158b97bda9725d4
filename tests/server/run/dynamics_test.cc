#include "server/run/dynamics.h"

#include <cmath>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/run/exit_status.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

// Centre of mass of 2 kg, half a metre below its pin, which turns about y.
constexpr char kPendulum[] = R"(<robot name="pendulum">
  <link name="stand"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pin" type="continuous"><parent link="stand"/><child link="rod"/><origin xyz="0 0 1"/>
    <axis xyz="0 1 0"/><dynamics damping="3" friction="1"/></joint>
</robot>)";
constexpr double kInertia = 0.1 + 2 * 0.25;

class DynamicsTest : public ::testing::Test {
 protected:
  DynamicsTest() {
    folder_.Write("pendulum.urdf", kPendulum);
    options_.scene =
        folder_.Write("scene.yaml",
                      "name: one\n"
                      "robots: [{name: p, file: pendulum.urdf, joint_positions: {pin: 0.5}}]\n");
  }

  int Calc(const std::string& states) {
    options_.states = folder_.Write("states.json", states);
    out_.str("");
    err_.str("");
    return CalcDynamics(options_, out_, err_);
  }
  Json Result() { return Json::parse(out_.str()); }

  TemporaryFolder folder_;
  DynamicsOptions options_;
  std::ostringstream out_, err_;
};

TEST_F(DynamicsTest, APendulumMovesByItsTorqueAndWeight) {
  ASSERT_EQ(Calc(
                R"([{"robot": "p", "q": {"pin": 0.3}, "v": {"pin": 2}, "tau": {"pin": 1.5},
                "a": {"pin": 4}}])"),
            kDone)
      << err_.str();
  const Json result = Result()[0];
  EXPECT_EQ(result["robot"], "p");
  EXPECT_EQ(result["joints"], Json({"pin"}));
  const double bias = 2 * 9.81 * 0.5 * std::sin(0.3);
  EXPECT_NEAR(result["mass_matrix"][0][0].get<double>(), kInertia, 1e-15);
  EXPECT_NEAR(result["bias"][0].get<double>(), bias, 1e-14);
  EXPECT_NEAR(result["acceleration"][0].get<double>(), (1.5 - bias) / kInertia, 1e-13);
  EXPECT_NEAR(result["effort"][0].get<double>(), 4 * kInertia + bias, 1e-14);
  const Json pose = result["link_poses"]["rod"];
  const double expected[] = {0, 0, 1, std::cos(0.15), 0, std::sin(0.15), 0};
  for (int k = 0; k < 7; ++k) EXPECT_NEAR(pose[k].get<double>(), expected[k], 1e-15) << k;
  EXPECT_EQ(result["jacobians"]["rod"], Json({{0.0}, {1.0}, {0.0}, {0.0}, {0.0}, {0.0}}));
  EXPECT_EQ(result["jacobians"]["stand"], Json({{0.0}, {0.0}, {0.0}, {0.0}, {0.0}, {0.0}}));
}

TEST_F(DynamicsTest, WhatAStateLeavesOutIsAsTheSceneStarts) {
  ASSERT_EQ(Calc("[{}, {}]"), kDone) << err_.str();
  ASSERT_EQ(Result().size(), 2);
  EXPECT_NEAR(Result()[1]["bias"][0].get<double>(), 2 * 9.81 * 0.5 * std::sin(0.5), 1e-14);
  EXPECT_FALSE(Result()[1].contains("effort"));
}

TEST_F(DynamicsTest, AFreeBaseHasAJointOfItsName) {
  options_.overrides = {"robots[0].base=FREE"};
  folder_.Write("pendulum.urdf", std::string(kPendulum).replace(
                                     std::string(kPendulum).find("<link name=\"stand\"/>"), 20,
                                     R"(<link name="stand"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>)"));
  ASSERT_EQ(Calc(R"([{"q": {"stand": [2, 0, 0, 0, 1, 2, 3], "pin": 0}}])"), kDone) << err_.str();
  const Json result = Result()[0];
  EXPECT_EQ(result["joints"],
            Json({"stand[0]", "stand[1]", "stand[2]", "stand[3]", "stand[4]", "stand[5]", "pin"}));
  EXPECT_EQ(result["link_poses"]["stand"], Json({1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0}));
  EXPECT_NEAR(result["acceleration"][5].get<double>(), -9.81, 1e-13);
  EXPECT_NEAR(result["acceleration"][6].get<double>(), 0, 1e-13);
}

TEST_F(DynamicsTest, MotionsWithoutInertiaAreAFault) {
  // two slides, across each other at first, with nothing between them that has mass: once the
  // second one is turned along the first, the carriage can move freely
  folder_.Write("pendulum.urdf", R"(<robot name="slides">
    <link name="stand"/><link name="carriage"/><link name="arm"/>
    <link name="load"><inertial><mass value="2"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="pin" type="prismatic"><parent link="stand"/><child link="carriage"/>
        <axis xyz="1 0 0"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
    <joint name="turn" type="continuous"><parent link="carriage"/><child link="arm"/>
        <axis xyz="0 0 1"/></joint>
    <joint name="slide" type="prismatic"><parent link="arm"/><child link="load"/>
        <axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>)");
  EXPECT_EQ(Calc("[{}]"), kDone);
  EXPECT_EQ(Calc(R"([{"q": {"turn": 1.5707963267948966}}])"), kRunFault);
  EXPECT_THAT(err_.str(), HasSubstr("[0]: robot p: its mass matrix is singular: some motion of "
                                    "slide and the joints before it"));
}

TEST_F(DynamicsTest, MistakesInStatesAreNamedByTheirPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {R"([{"q": {"pim": 1}}])",
       "[0].q.pim: no joint of p that moves has this name; expected one of pin"},
      {R"([{"q": {"pin": "high"}}])", "[0].q.pin: expected a number"},
      {R"([{}, {"v": {"pin": [1, 2]}}])", "[1].v.pin: expected a number"},
      {R"([{"q": [1]}])", "[0].q: expected an object of joint names and values"},
      {R"([{"robot": "r"}])", "[0].robot: the scene has no robot r; expected one of p"},
      {R"([{"qdd": {}}])", "[0].qdd: unknown; expected robot, q, v, tau or a"},
      {R"({})", "expected a list of states"},
      {R"([{"q": ]])", "parse error at line 1, column 8"},
  };
  for (const auto& [states, message] : cases) {
    EXPECT_EQ(Calc(states), kWrongUsage) << states;
    EXPECT_THAT(err_.str(), HasSubstr("states.json: "));
    EXPECT_THAT(err_.str(), HasSubstr(message));
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(DynamicsTest, FilesThatCannotBeHadAreSaid) {
  Calc("[]");
  options_.states = folder_.File("absent.json");
  EXPECT_EQ(CalcDynamics(options_, out_, err_), kEnvironment);
  EXPECT_THAT(err_.str(), HasSubstr("absent.json"));
  options_.scene = folder_.File("absent.yaml");
  EXPECT_EQ(CalcDynamics(options_, out_, err_), kInvalidScene);
}

TEST_F(DynamicsTest, TheFileHoldsWhatTheStreamWould) {
  ASSERT_EQ(Calc("[{}]"), kDone);
  const std::string text = out_.str();
  options_.json = folder_.File("out.json");
  ASSERT_EQ(Calc("[{}]"), kDone);
  EXPECT_EQ(TemporaryFolder::Read(options_.json), text);
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace pliant::server
