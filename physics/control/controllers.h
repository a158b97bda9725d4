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

// Control inside a step, between Inputs and the joints: targets hold until the next one,
// controllers move them, drives turn them into rows of the step's problem or into torques.
// `controls` holds the target of each actuator (State::controls) and becomes part of the next
// state.

// Applies the targets given in this step, grippers included.
void ApplyTargets(const Model& model, const Inputs& inputs, std::vector<double>* controls);

// Gains of an actuator in a step, in the units of Actuator: those of `gains` (laid out as
// State::gains), or the Model's if it is empty.
struct Gains {
  double stiffness, damping, effort_limit;
};
Gains GainsOf(const Model& model, std::span<const double> gains, int actuator);

// Sets the gains given in this step.
void ApplyGains(const Model& model, const Inputs& inputs, std::vector<double>* gains);

// Scratch of RunDifferentialIk, kept from call to call.
struct DifferentialIkMemory {
  // One joint that a controller moves.
  struct Axis {
    Eigen::Matrix<double, 6, 1> J;    // link twist per unit joint velocity
    double target = 0, previous = 0;  // actuator target; rate commanded in the last step
    double slowest = 0, fastest = 0;  // rate limits in this step
    double posture_rate = 0;
    bool is_held = false;  // at a limit: moves at its remaining rate
    double rate = 0;
  };
  std::vector<Axis> axes;
  BlockRows angular, linear;
};

// Differential inverse kinematics of the controllers that receive a twist or a pose in this step:
// moves the targets of their actuators. Damped least squares (λ grows as the manipulability falls)
// with the posture in the null space. Joint position, velocity and acceleration limits are met by
// scaling the whole motion, so that the link stays on its path, before a joint is left out. Needs
// posed `steps` of all blocks.
void RunDifferentialIk(const Model& model, const Inputs& inputs, const State& state,
                       const BodyMotions& motions, double h,
                       std::span<const std::unique_ptr<BlockStep>> steps,
                       std::span<const double> gains, DifferentialIkMemory* memory,
                       std::vector<double>* controls);

// Effort of an effort actuator at a target, clamped to its limit [N·m], [N] or [Pa].
double CalcEffort(const Gains& gains, double target);

// Appends the rows of position and velocity actuators, and of effort actuators with damping:
// springs and dampers of the step's problem, with effort limits. Actuators in `holds` hold their
// positions instead. Actuators of blocks that are not awake are skipped. `scratch` keeps memory
// from call to call.
void AppendActuatorRows(const Model& model, const State& state, std::span<const double> controls,
                        std::span<const double> gains, std::span<const Inputs::ActuatorHold> holds,
                        std::span<const std::unique_ptr<BlockStep>> steps,
                        const std::function<bool(int block)>& is_awake,
                        std::vector<double>* scratch, ConstraintSet* constraints);

}  // namespace pliant::physics
