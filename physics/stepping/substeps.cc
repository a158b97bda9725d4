#include "physics/stepping/substeps.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

namespace pliant::physics {
namespace {

// Energy that a step may gain, relative to the kinetic and elastic energy of its bodies.
constexpr double kMaxStepGain = 1e-3;
// Rotation of a body in a step beyond which the energy of the step is checked [rad].
constexpr double kSmallTurn = 0.05;
// If nothing turns, bodies may gain the energy that lifts them by this [m].
constexpr double kSmallLift = 1e-3;
// The reference of kMaxStepGain includes the kinetic energy of all bodies at this speed, for slow
// bodies [m/s].
constexpr double kSlowSpeed = 0.05;

// Overlap beyond which shorter steps hardly help, relative to the margin of contacts.
constexpr double kDeepMargins = 5;

// Pose half-way of a motion with constant velocities.
RigidTransform Halfway(const RigidTransform& from, const RigidTransform& to) {
  const Eigen::Quaterniond a(from.R), b(to.R);
  const double sign = a.dot(b) < 0 ? -1 : 1;
  RigidTransform pose;
  pose.p = 0.5 * (from.p + to.p);
  pose.R = Eigen::Quaterniond(a.coeffs() + sign * b.coeffs()).normalized().toRotationMatrix();
  return pose;
}

// Whether a body turns so far in a step that its linearisation may gain energy.
bool Turns(const Model& model, const State& state, double h) {
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    if (!state.rest.empty() && state.rest[b] < 0) continue;  // asleep
    const BlockState of_block = model.StateOf(state, static_cast<int>(b));
    const BlockAbilities& abilities = model.abilities[b];
    double spin = 0;
    if (abilities.frames != nullptr) {
      // speeds at radii of 1 m and 0
      spin = abilities.frames->CalcSpeedBound(of_block, 1) -
             abilities.frames->CalcSpeedBound(of_block, 0);
    } else if (abilities.nodes != nullptr) {
      spin = abilities.nodes->CalcRotationRate(of_block);
    }
    // not a number where the bounds are unknown
    if (!(spin * h <= kSmallTurn)) return true;
  }
  return false;
}

template <typename T>
void Append(const std::vector<T>& more, std::vector<T>* list) {
  list->insert(list->end(), more.begin(), more.end());
}

// Adds the report of the next substep, which is the fraction `part` of both.
void AddReport(const StepReport& next, double part, StepReport* report) {
  report->converged = report->converged && next.converged;
  report->reason = std::max(report->reason, next.reason);
  report->compromises.Add(next.compromises);
  report->iterations += next.iterations;
  report->linear_iterations += next.linear_iterations;
  const auto keep_largest = [](double theirs, double* ours) { *ours = std::max(*ours, theirs); };
  keep_largest(next.residual, &report->residual);
  keep_largest(next.momentum_residual, &report->momentum_residual);
  keep_largest(next.complementarity, &report->complementarity);
  keep_largest(next.cone_violation, &report->cone_violation);
  keep_largest(next.newton_residual, &report->newton_residual);
  report->energy.work += next.energy.work;
  report->energy.released += next.energy.released;
  report->energy.is_exact = report->energy.is_exact && next.energy.is_exact;
  report->joint_drift = next.joint_drift;
  report->refactorisations += next.refactorisations;
  report->relinearisations += next.relinearisations;
  report->newton_iterations = std::max(report->newton_iterations, next.newton_iterations);
  report->projected_elements = std::max(report->projected_elements, next.projected_elements);
  report->participating = std::max(report->participating, next.participating);
  report->constraints = std::max(report->constraints, next.constraints);
  report->asleep = next.asleep;
  Append(next.contacts, &report->contacts);
  Append(next.constraint_forces, &report->constraint_forces);
  for (std::size_t i = 0; i < report->efforts.size(); ++i)
    report->efforts[i] += part * (next.efforts[i] - report->efforts[i]);
  Append(next.iteration_residuals, &report->iteration_residuals);
  report->linear_residuals = next.linear_residuals;
  for (std::size_t k = 0; k < report->phase_seconds.size(); ++k)
    report->phase_seconds[k] += next.phase_seconds[k];
  report->seconds += next.seconds;
}

// Converts the impulses stored in a state to steps of another length.
void ScaleMemory(double factor, State* state) {
  for (ContactMemory& memory : state->contacts) memory.impulse_W *= factor;
  for (ConstraintMemory& memory : state->constraints) memory.impulse *= factor;
  for (ConstraintForce& force : state->resting_constraints) force.impulse *= factor;
}

// Energies of the last states that were checked, of each block: most steps begin where the last one
// ended, and blocks that sleep keep theirs.
class KnownEnergies {
 public:
  Energies Calc(const Model& model, const State& state) {
    blocks_.resize(model.blocks.size());
    Energies total;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const BlockState at = model.StateOf(state, static_cast<int>(b));
      OfBlock& known = blocks_[b];
      const bool is_same = known.is_valid && std::ranges::equal(at.q, known.q) &&
                           std::ranges::equal(at.v, known.v) &&
                           std::ranges::equal(at.internals, known.internals);
      if (!is_same) {
        known.is_valid = true;
        known.energies =
            model.blocks[b]->CalcEnergies(at, model.gravity, DynamicsBlock::kWholeBlock);
        known.q.assign(at.q.begin(), at.q.end());
        known.v.assign(at.v.begin(), at.v.end());
        known.internals.assign(at.internals.begin(), at.internals.end());
      }
      total.kinetic += known.energies.kinetic;
      total.elastic += known.energies.elastic;
      total.potential += known.energies.potential;
    }
    return total;
  }

 private:
  struct OfBlock {
    bool is_valid = false;
    std::vector<double> q, v, internals;
    Energies energies;
  };
  std::vector<OfBlock> blocks_;
};

class SubdividingStepper final : public Stepper {
 public:
  SubdividingStepper(const Model& model, std::unique_ptr<Stepper> inner, bool follows_directions)
      : model_(model),
        inner_(std::move(inner)),
        dissipates_(model.method.is_dissipative()),
        follows_directions_(follows_directions) {
    for (int parts = 1; 2 * parts <= model.max_substeps; parts *= 2) levels_.emplace_back();
    double mass = 0;
    for (std::size_t b = 0; b < model.blocks.size(); ++b) {
      const PrescribedMotion* motion = model.abilities[b].prescribed;
      if (motion == nullptr || !motion->is_complete())
        mass += model.blocks[b]->mass(DynamicsBlock::kWholeBlock);
    }
    negligible_energy_ = 0.5 * mass * kSlowSpeed * kSlowSpeed;
    lift_energy_ = mass * model.gravity.norm() * kSmallLift;
  }

  absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) override {
    const auto start = std::chrono::steady_clock::now();
    inner_->ReportWork(reports_work() || dissipates_);
    const std::int64_t step = state->step + 1;
    if (absl::Status status = StepFrom(0, inputs, h, state, report); !status.ok()) return status;
    if (report->compromises[Compromise::kHalved] > 0) {
      state->step = step;
      if (h == model_.time_step) state->time = static_cast<double>(step) * h;
    }
    // judging the step, and attempts that were given up, count as checks
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    report->phase_seconds[static_cast<int>(Phase::kCheck)] += seconds.count() - report->seconds;
    report->seconds = seconds.count();
    return absl::OkStatus();
  }

 private:
  // Memory of one level of halving.
  struct Level {
    State start, halved;
    Inputs inputs;
    StepReport first, second;
  };

  absl::Status StepFrom(std::size_t depth, const Inputs& inputs, double h, State* state,
                        StepReport* report) {
    // an exported problem is that of the whole step, even if halves replace it
    inner_->Describe(depth == 0 ? described() : nullptr);
    if (depth == levels_.size()) return inner_->Step(inputs, h, state, report);
    Level& level = levels_[depth];
    level.start = *state;
    const absl::Status status = inner_->Step(inputs, h, state, report);
    const bool is_whole = status.ok() && report->converged;
    const double gain = status.ok() ? CalcGain(level.start, *state, h, *report) : 0;
    if (is_whole && gain <= 0) return absl::OkStatus();

    level.halved = level.start;
    ScaleMemory(0.5, &level.halved);
    level.inputs = inputs;
    for (Inputs::PoseTarget& target : level.inputs.poses)
      target.X_WB = Halfway(CalcBodyPose(model_, level.start, target.body), target.X_WB);
    const std::size_t next = OverlapsDeeply(*report) ? levels_.size() : depth + 1;
    // If the step does not converge and neither does a half, give up: shorter steps may not
    // converge either. Halves of a step that gains energy may replace it without converging.
    const bool gains = !(gain <= 0);
    for (const bool is_first : {true, false}) {
      StepReport* of_half = is_first ? &level.first : &level.second;
      const absl::Status half =
          StepFrom(next, is_first ? level.inputs : inputs, h / 2, &level.halved, of_half);
      if (!half.ok() || (!gains && !of_half->converged)) {
        ++report->compromises[Compromise::kHalvedInVain];
        return status;
      }
    }
    ScaleMemory(2, &level.halved);
    AddReport(level.second, 0.5, &level.first);
    const bool only_halves_converge = !is_whole && level.first.converged;
    if (!only_halves_converge && CalcGain(level.start, level.halved, h, level.first) >= gain) {
      ++report->compromises[Compromise::kHalvedInVain];
      return status;
    }
    ++level.first.compromises[Compromise::kHalved];
    std::swap(*state, level.halved);
    std::swap(*report, level.first);
    return absl::OkStatus();
  }

  // Whether bodies overlap deeply, as where a script has moved one into another. The contacts that
  // push them apart supply energy in steps of any length, and there may be thousands of them, so
  // StepFrom does not divide the halves of such a step.
  bool OverlapsDeeply(const StepReport& report) const {
    return std::ranges::any_of(report.contacts, [this](const ContactForce& contact) {
      return contact.gap < -kDeepMargins * model_.contact.margin && !contact.impulse_W.isZero(0);
    });
  }

  // Energy beyond what a step may gain [J]; 0 if it is not checked.
  double CalcGain(const State& before, const State& after, double h, const StepReport& report) {
    if (!dissipates_ || !report.energy.is_exact) return 0;
    // at the end, when impacts have set bodies spinning
    const bool turns = Turns(model_, after, h);
    if (!turns && !follows_directions_) return 0;
    const Energies first = known_.Calc(model_, before), last = known_.Calc(model_, after);
    const double held = first.kinetic + first.elastic;
    const double change = last.kinetic + last.elastic + last.potential - held - first.potential;
    double allowed = kMaxStepGain * (held + negligible_energy_);
    // contacts store energy in their compliance and release it
    if (!turns) allowed += lift_energy_;
    return change - report.energy.work - report.energy.released - allowed;
  }

  const Model& model_;
  std::unique_ptr<Stepper> inner_;
  bool dissipates_, follows_directions_;
  double negligible_energy_ = 0, lift_energy_ = 0;  // [J]
  KnownEnergies known_;
  std::vector<Level> levels_;  // by depth
};

}  // namespace

std::unique_ptr<Stepper> MakeSubdividingStepper(const Model& model, std::unique_ptr<Stepper> inner,
                                                bool follows_directions) {
  return std::make_unique<SubdividingStepper>(model, std::move(inner), follows_directions);
}

}  // namespace pliant::physics
