#include "server/run/import_scene.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/run/check.h"
#include "server/run/exit_status.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

using ::testing::HasSubstr;

constexpr char kHangingRod[] = R"(<robot name="pendulum"><link name="base"/>
<link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/><inertia ixx="0.1" iyy="0.1"
izz="0.01"/></inertial></link>
<joint name="pin" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="1 0 0"/>
<origin xyz="0 0 1"/></joint></robot>)";

TEST(ImportScene, WhatItWritesIsAValidScene) {
  const TemporaryFolder folder;
  const std::string robot = folder.Write("pendulum.urdf", kHangingRod);
  const std::string scene = folder.Write("scene.yaml", "");
  std::ostringstream out, err;
  ASSERT_EQ(ImportScene({.files = {robot}, .out = scene}, out, err), kDone) << err.str();
  EXPECT_EQ(out.str(), "");
  CheckOptions check;
  check.scene = scene;
  EXPECT_EQ(Check(check, out, err), kDone) << err.str();
  // the robot file itself is valid too
  check.scene = robot;
  EXPECT_EQ(Check(check, out, err), kDone) << err.str();
}

TEST(ImportScene, WithoutAFileItWritesToTheOutput) {
  const TemporaryFolder folder;
  std::ostringstream out, err;
  ASSERT_EQ(ImportScene({.files = {folder.Write("pendulum.urdf", kHangingRod)}}, out, err), kDone);
  EXPECT_THAT(out.str(), HasSubstr("joint: \"pin\""));
}

TEST(ImportScene, ReportsWhatCannotBeRead) {
  const TemporaryFolder folder;
  std::ostringstream out, err;
  EXPECT_EQ(ImportScene({.files = {folder.Write("a.txt", "hello"), "/none.urdf"}}, out, err),
            kInvalidScene);
  EXPECT_THAT(err.str(), HasSubstr("a.txt: is neither a robot"));
  EXPECT_THAT(err.str(), HasSubstr("/none.urdf: no such file"));
}

}  // namespace
}  // namespace pliant::server
