#include "server/store/inputs_message.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

using physics::Inputs;

physics::RigidTransform MakePose() {
  physics::RigidTransform X;
  X.R = physics::RotationFromVector({0.1, 1.0 / 3, -2}).toRotationMatrix();
  X.p = {1e-300, -0.0, std::numeric_limits<double>::denorm_min()};
  return X;
}

Inputs MakeInputs() {
  Inputs inputs;
  inputs.poses.push_back({3, MakePose()});
  inputs.forces.push_back({.body = 1, .node = 7, .force_W = {0.1, 0.2, 0.3}});
  inputs.forces.push_back({.body = 2,
                           .at_center_of_mass = false,
                           .p_BP = {1, 2, std::nextafter(3, 4)},
                           .torque_W = {-1e9, 0, 1e-9}});
  inputs.actuators.push_back({4, std::nextafter(0.5, 1)});
  inputs.joint_forces.push_back({5, 6, -1.0 / 7});
  inputs.twists.push_back({1, {1, 2, 3}, {4, 5, 6}});
  inputs.link_poses.push_back({0, MakePose()});
  inputs.grippers.push_back({2, 0.04});
  inputs.gains.push_back({3, 1.0 / 3, 0.1, std::numeric_limits<double>::infinity()});
  inputs.holds.push_back({1, std::nextafter(2, 3)});
  inputs.springs.push_back({.body = 4, .node = 9, .p_WA = {0.1, 0.2, 0.3}, .stiffness = 1e5});
  inputs.pressures.push_back({6, std::nextafter(1e5, 1e6)});
  inputs.drives = {1, std::nextafter(0.1, 1), -0.0};
  return inputs;
}

TEST(InputsMessage, EveryMemberSurvivesWithAllItsBits) {
  const Inputs inputs = MakeInputs();
  const absl::StatusOr<Inputs> read = ReadInputs(WriteInputs(inputs));
  ASSERT_TRUE(read.ok()) << read.status();
  // equal messages have equal bits, since doubles are written as they are
  EXPECT_EQ(WriteInputs(*read).SerializeAsString(), WriteInputs(inputs).SerializeAsString());
  ASSERT_EQ(read->poses.size(), 1);
  EXPECT_EQ(read->poses[0].body, 3);
  EXPECT_EQ(read->poses[0].X_WB.R, MakePose().R);
  EXPECT_TRUE(std::signbit(read->poses[0].X_WB.p.y()));
  ASSERT_EQ(read->forces.size(), 2);
  EXPECT_EQ(read->forces[0].node, 7);
  EXPECT_TRUE(read->forces[0].at_center_of_mass);
  EXPECT_FALSE(read->forces[1].at_center_of_mass);
  EXPECT_EQ(read->forces[1].p_BP.z(), std::nextafter(3, 4));
  EXPECT_EQ(read->actuators.at(0).value, std::nextafter(0.5, 1));
  EXPECT_EQ(read->joint_forces.at(0).velocity, 6);
  EXPECT_EQ(read->twists.at(0).linear_W, Eigen::Vector3d(4, 5, 6));
  EXPECT_EQ(read->link_poses.at(0).X_WL.R, MakePose().R);
  EXPECT_EQ(read->grippers.at(0).position, 0.04);
  EXPECT_EQ(read->gains.at(0).stiffness, 1.0 / 3);
  EXPECT_EQ(read->holds.at(0).position, std::nextafter(2, 3));
  EXPECT_EQ(read->springs.at(0).node, 9);
  EXPECT_EQ(read->springs.at(0).p_WA, Eigen::Vector3d(0.1, 0.2, 0.3));
  EXPECT_EQ(read->springs.at(0).force_limit, std::numeric_limits<double>::infinity());
  EXPECT_EQ(read->pressures.at(0).constraint, 6);
  EXPECT_EQ(read->pressures.at(0).gauge, std::nextafter(1e5, 1e6));
  EXPECT_EQ(read->drives.at(1), std::nextafter(0.1, 1));
  EXPECT_TRUE(std::signbit(read->drives.at(2)));
}

TEST(InputsMessage, EmptyMeansNoInputOfAnyKind) {
  EXPECT_TRUE(IsEmpty({}));
  Inputs inputs;
  inputs.grippers.push_back({2, 0.04});
  EXPECT_FALSE(IsEmpty(inputs));
  inputs = {};
  inputs.pressures.push_back({0, 1e5});
  EXPECT_FALSE(IsEmpty(inputs));
}

TEST(InputsMessage, ListsOfTheWrongLengthAreRefused) {
  v1::StepInputs message = WriteInputs(MakeInputs());
  message.mutable_poses(0)->add_rotation(0);
  EXPECT_EQ(ReadInputs(message).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace pliant::server
