#include "server/host/robot_joints.h"

#include "physics/rigid/joint_tree.h"

namespace pliant::server {

bool IsPrismatic(const physics::Robot& robot, const physics::RobotJoint& joint) {
  for (const physics::Robot::Tree& entry : robot.trees) {
    if (entry.block != joint.block) continue;
    const physics::JointTree& tree = *entry.tree;
    return tree.links()[tree.link_of_velocity(joint.velocity)].joint.type ==
           physics::JointType::kPrismatic;
  }
  return false;
}

}  // namespace pliant::server
