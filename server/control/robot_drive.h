#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "server/control/drive.h"
#include "server/host/clock.h"

namespace pliant::server {

// Goal of an actuator, by its kind: a position [rad] or [m], a rate, or an effort.
struct JointGoal {
  int actuator;  // index in Model::actuators
  double value;
};
// Goal of the link of a differential-IK controller.
struct ToolGoal {
  int controller;  // index in Model::controllers
  DriveGoal goal;
};
using RobotGoal = std::variant<std::vector<JointGoal>, ToolGoal>;

// Moves a robot's targets towards the commanded goals, all within the joint limits. Positions move
// within the joint's velocity and acceleration limits and come to rest at the goal; rates change
// within its acceleration limit; tool goals follow DriveLimits. The current targets are in the
// State, so that taking over or releasing never makes the robot jump. The latest command on a joint
// wins, whether it is a joint goal or a controller's.
class RobotDrive {
 public:
  // Lifetime of the goals that keep a robot moving: after it a tool's link ramps to rest, and rates
  // and efforts return to zero. Positions and activations hold until the next goal.
  static constexpr std::chrono::milliseconds kGoalTime{100};

  RobotDrive(const physics::Model& model, int robot, const DriveLimits& limits = {});

  // `goal` must be for this robot's actuators and controllers.
  void Take(const RobotGoal& goal, SteadyTime now);

  // Ends the commanded motion: positions stay where the robot is under its load, tools ramp to
  // rest, activations keep their stress, rates and efforts return to zero.
  void Freeze();

  // Ends the goals that keep the robot moving, as if their lifetime were over.
  void Lapse();

  // Drops all goals; nothing moves, and scripts control the robot again.
  void Release();

  // Adds the targets of the step that starts at `state`. A target commanded once stays with the
  // drive, so that a script does not take it back with a jump.
  void Advance(const physics::State& state, SteadyTime now, physics::Inputs* inputs);

 private:
  struct JointDrive {
    int actuator = 0;
    double speed = 0, acceleration = 0;  // limits of its target
    double rate = 0;                     // of a position target in the last step
    bool engaged = false;
    bool freeze = false;  // at its position in the next step
    std::optional<double> goal = std::nullopt;
    SteadyTime received{};
  };
  struct ToolDrive {
    int controller = 0;
    bool engaged = false;
    std::optional<DriveGoal> goal = std::nullopt;
    SteadyTime received{};
    DriveTwist twist{};
  };

  JointDrive* FindJoint(int actuator);
  bool KeepsMoving(const JointDrive& joint) const;
  double CalcRestTarget(const physics::State& state, const JointDrive& joint) const;
  double AdvanceJoint(const physics::State& state, JointDrive* joint) const;
  physics::RigidTransform CalcComingPose(const physics::State& state,
                                         const physics::Controller& controller) const;
  void AdvanceTool(const physics::State& state, SteadyTime now, ToolDrive* tool) const;

  const physics::Model& model_;
  const DriveLimits limits_;
  std::vector<JointDrive> joints_;  // ascending actuators
  std::vector<ToolDrive> tools_;
};

}  // namespace pliant::server
