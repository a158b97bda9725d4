#pragma once

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "physics/rigid/joint_tree.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {

// A rod of the given mass along −z of its frame, with its joint at the top.
inline Link MakeRod(int parent, double length, double mass, Joint joint) {
  Link link;
  link.name = "rod" + std::to_string(parent + 1);
  link.parent = parent;
  link.joint = std::move(joint);
  link.joint.name = "joint" + std::to_string(parent + 1);
  link.mass = mass;
  link.p_BoBcm = {0, 0, -0.5 * length};
  const double side = mass * length * length / 12, core = 0.01 * side;
  link.inertia = Eigen::Vector3d(side, side, core).asDiagonal();
  return link;
}

inline Joint MakeHinge(const Eigen::Vector3d& p_P, const Eigen::Vector3d& axis) {
  Joint joint;
  joint.type = JointType::kRevolute;
  joint.X_PF.p = p_P;
  joint.axis = axis;
  return joint;
}

// A pendulum of `count` rods, each 0.5 m and 1 kg, on hinges about y.
inline std::shared_ptr<const JointTree> MakePendulum(int count) {
  std::vector<Link> links;
  for (int i = 0; i < count; ++i) {
    links.push_back(MakeRod(
        i - 1, 0.5, 1,
        MakeHinge(i == 0 ? Eigen::Vector3d(0, 0, 0) : Eigen::Vector3d(0, 0, -0.5), {0, 1, 0})));
  }
  return std::make_shared<const JointTree>(std::move(links));
}

// An arm of seven hinges, alternating about z and y, with its links pointing up and the limits of
// an industrial arm.
inline std::shared_ptr<const JointTree> MakeArm() {
  std::vector<Link> links;
  for (int i = 0; i < 7; ++i) {
    Joint joint = MakeHinge({0, 0, i == 0 ? 0.1 : 0.2},
                            i % 2 == 0 ? Eigen::Vector3d(0, 0, 1) : Eigen::Vector3d(0, 1, 0));
    joint.lower = -2.9;
    joint.upper = 2.9;
    joint.velocity_limit = 1.7;
    joint.acceleration_limit = 10;
    Link link = MakeRod(i - 1, 0.2, 2, std::move(joint));
    link.p_BoBcm = {0, 0, 0.1};
    links.push_back(std::move(link));
  }
  return std::make_shared<const JointTree>(std::move(links));
}

}  // namespace pliant::physics
