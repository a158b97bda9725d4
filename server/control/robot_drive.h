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

// What an actuator is to reach: a position [rad], [m], a rate, or an effort, by its kind.
struct JointGoal {
  int actuator;  // index in Model::actuators
  double value;
};
// Where the link of a differential-IK controller is to go.
struct ToolGoal {
  int controller;  // index in Model::controllers
  DriveGoal goal;
};
using RobotGoal = std::variant<std::vector<JointGoal>, ToolGoal>;

// Moves a robot's targets towards what is commanded. Positions move within the joint's velocity and
// acceleration limits, and come to rest where they are sent; rates change within its acceleration
// limit, and what a tool is given follows DriveLimits; all within the joint's limits. Where the
// targets are is in the State, so that taking over or letting go never makes the robot jump. The
// later command on a joint wins: targets take it from a controller, a controller from its targets.
class RobotDrive {
 public:
  // A tool's goal is held this long, then the link ramps to rest. Goals of joints hold until the
  // next.
  static constexpr std::chrono::milliseconds kToolTime{100};

  RobotDrive(const physics::Model& model, int robot, const DriveLimits& limits = {});

  // Goals are of this robot's actuators and controllers.
  void Take(const RobotGoal& goal, SteadyTime now);

  // Ends what is commanded: positions stay where the robot is under its load, tools ramp to rest,
  // activations keep their stress, rates and efforts go back to zero.
  void Freeze();

  // Forgets what is commanded; nothing moves, and scripts have the robot again.
  void Release();

  // Adds the targets of the step that starts at `state`. What was commanded once stays with the
  // drive, so that a script does not snatch it back with a jump.
  void Advance(const physics::State& state, SteadyTime now, physics::Inputs* inputs);

 private:
  struct JointDrive {
    int actuator = 0;
    double speed = 0, acceleration = 0;  // at most, of its target
    double rate = 0;                     // of a target that is a position, in the last step
    bool engaged = false;
    bool freeze = false;  // where it is at the next step
    std::optional<double> goal = std::nullopt;
  };
  struct ToolDrive {
    int controller = 0;
    bool engaged = false;
    std::optional<DriveGoal> goal = std::nullopt;
    SteadyTime received{};
    DriveTwist twist{};
  };

  JointDrive* FindJoint(int actuator);
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
