#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// What runs inside a step between Inputs and the joints: targets hold until the next, controllers
// move them, drives turn them into rows of the step's problem or into torques. `controls` is what
// each actuator aims at (State::controls), and becomes the next state's.

// Takes over the targets given in this step, grippers included.
void ApplyTargets(const Model& model, const Inputs& inputs, std::vector<double>* controls);

// Room for RunDifferentialIk to work in, kept from call to call.
struct DifferentialIkMemory {
  // One joint that a controller moves.
  struct Axis {
    Eigen::Matrix<double, 6, 1> J;    // twist of the link per unit of its velocity
    double target = 0, previous = 0;  // of its actuator; rate commanded in the last step
    double slowest = 0, fastest = 0;  // rate that its limits allow in this step
    double posture_rate = 0;
    bool is_held = false;  // at a limit: moves with the rate that is left to it
    double rate = 0;
  };
  std::vector<Axis> axes;
  BlockRows angular, linear;
};

// Differential inverse kinematics of the controllers that are given a twist or a pose in this step:
// moves the targets of their actuators. Damped least squares (λ grows as the manipulability falls)
// with the posture in the null space; joint position, velocity and acceleration limits are kept by
// scaling the whole motion, so that the link stays on its path, before a joint is left out. Needs
// posed `steps` of all blocks.
void RunDifferentialIk(const Model& model, const Inputs& inputs, const State& state,
                       const BodyMotions& motions, double h,
                       std::span<const std::unique_ptr<BlockStep>> steps,
                       DifferentialIkMemory* memory, std::vector<double>* controls);

// What an actuator of an effort gives at a target, clamped to its limit [N·m], [N] or [Pa].
double CalcEffort(const Actuator& actuator, double target);

// Rows of position and velocity actuators: springs and dampers of the step's problem, with their
// effort limits. Those of blocks that are not awake are left out. `scratch` keeps memory from call
// to call.
void AppendActuatorRows(const Model& model, const State& state, std::span<const double> controls,
                        std::span<const std::unique_ptr<BlockStep>> steps,
                        const std::function<bool(int block)>& is_awake,
                        std::vector<double>* scratch, ConstraintSet* constraints);

}  // namespace pliant::physics
