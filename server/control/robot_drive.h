#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

#include "physics/control/controllers.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "server/control/goals.h"
#include "server/host/clock.h"

namespace pliant::server {

// Moves a robot's targets towards the commanded goals, all within the joint limits. Positions move
// within the joint's velocity and acceleration limits and come to rest at the goal; rates change
// within its acceleration limit; tool goals follow the robot's DriveLimits. The latest command on a
// joint wins, whether it is a joint goal or a controller's.
//
// The State has everything on which the motion depends: the targets among its controls, and the
// rest among its drives. It does not have goals that lapse, which are given again while they hold.
class RobotDrive {
 public:
  // Lifetime of the goals that keep a robot moving: after it a tool's link and jogged joints ramp
  // to rest, and rates and efforts do what the robot's Fallback says. Positions and activations
  // hold until the next goal.
  static constexpr std::chrono::milliseconds kGoalTime{100};

  RobotDrive(const physics::Model& model, int robot);

  // Takes goals for this robot's actuators and controllers, commanded under a lease, or, if
  // `lease_id` is empty, for the next step only.
  void Take(const Goals& goals, const std::string& lease_id, SteadyTime now);
  void TakeJoint(const JointGoal& goal, const std::string& lease_id, SteadyTime now);

  // Ends the commanded motion: positions stay where the robot is under its load, tools ramp to
  // rest, activations keep their stress, rates and efforts do what the Fallback says.
  void Freeze();

  // Forgets the goals that are not in the State. Motion commanded under a lease ends as by Freeze.
  void Drop();

  // Adds the targets of the step that starts at `state`. `from` is the state that the drive saved
  // in the previous step, null if there was none. Motion ends when its lease does. A target
  // commanded once stays with the drive, so that a script does not take it over with a jump.
  void Advance(const physics::State& state, const double* from, SteadyTime now,
               absl::FunctionRef<bool(const std::string& lease_id)> holds, physics::Inputs* inputs);

  // The state of the drive after this step, appended to `to`.
  std::size_t num_saved() const;
  void Save(std::vector<double>* to) const;
  bool engaged() const;

 private:
  // A goal that lapses.
  template <typename T>
  struct Live {
    T goal;
    SteadyTime received;
  };
  struct JointDrive {
    int actuator = 0;
    double speed = 0, acceleration = 0;  // limits of its target

    // in the State
    bool engaged = false;
    bool leased = false;    // the goal was commanded under a lease
    bool has_goal = false;  // a position, or the one held after a rate or an effort
    double goal = 0;
    double rate = 0;  // of a position target in the last step

    // given since the last step
    enum class News { kNone, kEnd, kGoal };
    bool taken = false;
    News news = News::kNone;
    double next_goal = 0;
    std::string next_lease;
    std::optional<GainGoal> gains;

    std::string lease;                 // of the goal; empty: none known to this server
    std::optional<Live<double>> live;  // a rate, an effort or a jog
  };
  struct ToolDrive {
    int controller = 0;
    bool engaged = false;  // in the State, as is the twist
    DriveTwist twist;
    bool taken = false;
    std::string lease;
    std::optional<Live<DriveGoal>> live;
  };

  JointDrive* FindJoint(int actuator);
  void TakeJog(const JogGoal& goal, const std::string& lease_id, SteadyTime now);
  void TakeTool(const ToolGoal& goal, const std::string& lease_id, SteadyTime now);
  void Load(const double* from);
  bool IsActivation(const JointDrive& joint) const;
  double CalcRestTarget(const physics::State& state, const JointDrive& joint) const;
  double AdvanceJoint(const physics::State& state, JointDrive* joint) const;
  double AdvancePosition(double target, JointDrive* joint) const;
  double AdvanceRate(double target, const JointDrive& joint) const;
  void SetGains(const physics::State& state, JointDrive* joint, physics::Inputs* inputs) const;
  void Hold(const physics::State& state, JointDrive* joint, physics::Inputs* inputs) const;
  physics::RigidTransform CalcComingPose(const physics::State& state,
                                         const physics::Controller& controller) const;
  void AdvanceTool(const physics::State& state, ToolDrive* tool) const;

  const physics::Model& model_;
  const physics::Teleoperation& teleop_;
  std::vector<JointDrive> joints_;  // ascending actuators
  std::vector<ToolDrive> tools_;
  bool freezes_ = false;  // in the next step
};

}  // namespace pliant::server
