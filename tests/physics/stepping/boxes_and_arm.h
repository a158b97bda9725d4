#pragma once

#include "physics/dynamics/model.h"
#include "physics/rigid/joint_tree_block.h"
#include "physics/rigid/maximal_tree_block.h"
#include "physics/rigid/rigid_body_block.h"
#include "tests/physics/rigid/sample_trees.h"

namespace pliant::physics {

// Three stacked boxes beside a driven arm whose last links lie on the ground.
inline Model MakeBoxesAndArm(bool is_maximal = false) {
  Model model;
  model.time_step = 0.005;
  Body ground;
  ground.name = "ground";
  ground.motion = Motion::kFixed;
  ground.shapes.push_back({{}, HalfSpace{}});
  model.bodies.push_back(ground);
  for (int i = 0; i < 3; ++i) {
    RigidBodyParameters parameters;
    parameters.mass = 2;
    parameters.inertia = 2.0 / 150 * Eigen::Matrix3d::Identity();
    parameters.X_WB.p = {2, 0.01 * i, 0.1 + 0.2 * i};
    Body box;
    box.name = "box";
    box.motion = Motion::kFree;
    box.block = static_cast<int>(model.blocks.size());
    box.X_WB = parameters.X_WB;
    box.shapes.push_back({{}, Box{{0.1, 0.1, 0.1}}});
    model.bodies.push_back(box);
    model.blocks.push_back(MakeFreeBodyBlock(parameters));
  }
  const auto tree = MakeArm();
  const int block = static_cast<int>(model.blocks.size());
  const std::vector<double> zero(tree->num_velocities());
  std::vector<double> q = zero;
  q[1] = 1.2;
  model.blocks.push_back(is_maximal ? MakeMaximalTreeBlock({tree, q, zero})
                                    : MakeJointTreeBlock({tree, q, zero}));
  model.robots.emplace_back().name = "arm";
  for (int i = 0; i < tree->num_links(); ++i) {
    RobotJoint joint;
    joint.block = block;
    joint.position = tree->position_start(i);
    joint.velocity = joint.channel = tree->velocity_start(i);
    joint.num_positions = joint.num_velocities = 1;
    joint.body = static_cast<int>(model.bodies.size());
    model.robots[0].joints.push_back(joint);
    Body link;
    link.name = "link";
    link.motion = Motion::kFree;
    link.block = block;
    link.frame = i;
    if (i == tree->num_links() - 1) link.shapes.push_back({{}, Sphere{0.05}});
    model.bodies.push_back(link);
    Actuator actuator;
    actuator.joint = i;
    actuator.kind = Actuator::Kind::kPosition;
    actuator.stiffness = 20;
    actuator.damping = 5;
    actuator.gravity_compensation = i % 2 == 0;
    actuator.initial_target = q[i];
    model.actuators.push_back(actuator);
  }
  model.Finish();
  return model;
}

}  // namespace pliant::physics
