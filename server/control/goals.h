#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "physics/dynamics/inputs.h"
#include "server/control/drive.h"

namespace pliant::server {

// Goal of an actuator, by its kind: a position [rad] or [m], a rate, or an effort.
struct JointGoal {
  int actuator;  // index in Model::actuators
  double value;
};
// Rate at which the target of a position actuator moves, or target of a velocity actuator [rad/s],
// [m/s].
struct JogGoal {
  int actuator;
  double rate;
};
// Goal of the link of a differential-IK controller.
struct ToolGoal {
  int controller;  // index in Model::controllers
  DriveGoal goal;
};
// New gains of an actuator. Missing ones are unchanged.
struct GainGoal {
  int actuator;
  std::optional<double> stiffness, damping, effort_limit;
};
// A force on a body, constant or by a spring.
using Pull = std::variant<physics::Inputs::AppliedForce, physics::Inputs::PointSpring>;

// Goals of one command for its target, clamped to its limits.
struct Goals {
  std::optional<DriveGoal> body;  // of a KINEMATIC body
  std::optional<Pull> pull;
  std::vector<JointGoal> joints;
  std::vector<JogGoal> jogs;
  std::vector<ToolGoal> tools;
  std::vector<GainGoal> gains;
};

}  // namespace pliant::server
