#include "physics/stepping/smooth/smooth_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "physics/stepping/energy_balance.h"
#include "physics/stepping/integrators/stage_rule.h"
#include "physics/stepping/integrators/theta_method.h"
#include "physics/stepping/report/step_timer.h"
#include "physics/stepping/smooth/smooth_balance.h"
#include "physics/stepping/smooth/smooth_contact_maker.h"
#include "physics/stepping/step/stages.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::StopReason;

// Relative residual of the whole balance at which a step counts as converged.
constexpr double kConverged = 1e-6;
// Maximum number of repetitions of a step with stiffer contacts, and with contacts found along its
// motion.
constexpr int kMaxStiffenings = 10, kMaxRedetections = 3;
// Fraction of the overlap that stiffer contacts may leave, and how much stiffer contacts may become
// than those on which bodies rest at δ/2; beyond, stiffness is in vain.
constexpr double kStiffeningInVain = 0.9, kMaxStiffening = 1e6;
// Iterations of a stage after which it is solved by way of larger stick speeds, unless its residual
// falls by a factor in every further stretch; and these speeds, relative to that of the scene. In
// steps by a factor of three Newton's method takes some five iterations for each.
constexpr int kManyIterations = 30, kStretch = 10;
constexpr double kFallOfStretch = 0.3;
constexpr double kLargerStickSpeeds[] = {100, 30, 10, 3};
// Change of a body's rotation in a step, beyond what it would turn by at its start, at which a
// solution may be one of several, and flings linked bodies: such a step is divided [rad].
constexpr double kMaxTurnChange = 1;
// Maximum number of halvings of a stage's guess until it is within the barriers.
constexpr int kMaxHalvings = 30;

class SmoothStepper final : public Stepper {
 public:
  explicit SmoothStepper(const Model& model)
      : model_(model),
        options_(model.method.smooth),
        stages_(model, Terms::kMass),
        balance_(model),
        maker_(model) {
    balance_.with_sliding_basis = options_.sliding_basis;
    newton_.linear_solver = options_.linear_solver == SmoothOptions::LinearSolver::kIterative
                                ? solvers::NewtonOptions::LinearSolver::kIterative
                                : solvers::NewtonOptions::LinearSolver::kDirect;
    newton_.max_iterations = options_.max_iterations;
    newton_.tolerance = options_.tolerance;
    rule_ = options_.integrator != nullptr ? options_.integrator : FindStageRule("BE");
    first_rule_ = rule_->uses_past() ? FindStageRule("SDIRK2") : rule_;
  }

  absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) override {
    report->Clear();
    StepTimer timer(report);
    solver_.Forget();

    // inputs, contacts and rows at the start of the step
    absl::Status status = PoseStep(inputs, ThetaMethod(h), *state, &stages_);
    if (!status.ok()) return status;
    timer.Lap(Phase::kPose);

    // the step must not cause overlap: if it does, contacts become so stiff that bodies would rest
    // at δ/2 (larionov2023 §IV-D)
    double stiffening = state->smooth.stiffening;
    const auto solve = [&] {
      const double initial = stiffening;
      bool is_in_vain = false;
      for (int k = 0;; ++k) {
        const double last = smallest_gap_;
        absl::Status solved = SolveStep(*state, h, stiffening, report);
        if (!solved.ok() || smallest_gap_ >= 0 || report->reason != StopReason::kConverged ||
            is_in_vain)
          return solved;
        // bodies that are squeezed between others which give no way overlap at any stiffness
        const double next = stiffening * (4 * (1 - smallest_gap_) * (1 - smallest_gap_));
        is_in_vain = next > kMaxStiffening || (k > 0 && smallest_gap_ < kStiffeningInVain * last);
        if (!is_in_vain && k == kMaxStiffenings) {
          report->End(StopReason::kResidual);
          return solved;
        }
        if (is_in_vain && stiffening == initial) return solved;
        stiffening = is_in_vain ? initial : next;
        ++report->compromises[Compromise::kStiffened];
      }
    };
    status = SolveAndRedetect(kMaxRedetections, report, solve, [&] { return Redetect(*state, h); });
    if (!status.ok()) return status;
    timer.Lap(Phase::kSolve);

    report->energy.is_exact = is_euler_ && !options_.contact_at_end;
    // This replaces the check of the energy for rules whose energy is not exact. The parts of a
    // divided step are not divided for this again.
    if (report->reason == StopReason::kConverged && !report->energy.is_exact &&
        h > 0.75 * model_.time_step && IsFlung(h))
      report->End(StopReason::kResidual);
    timer.Lap(Phase::kCheck);

    if (reports_work()) {
      report->energy.work = CalcWork(h);
      report->energy.released = start_energy_ - balance_.CalcStoredEnergy();
    }
    Remember(stiffening, h, state);
    report->v_start.assign(state->v.begin(), state->v.end());
    balance_.Store(state);
    CommitStep(impulses_, &stages_, state, report);
    timer.Lap(Phase::kCommit);
    return absl::OkStatus();
  }

 private:
  // A solved stage, or the start of the step.
  struct Point {
    std::vector<double> v, a;
    std::vector<Vector3d> contact_forces, slips;
    std::vector<double> row_forces;
  };

  // Whether a body's rotation in the step changes by more than kMaxTurnChange.
  bool IsFlung(double h) const {
    const TrialConfiguration end = balance_.configuration();
    double largest = 0;
    for (std::size_t i = 0; i < model_.bodies.size(); ++i) {
      const Body& body = model_.bodies[i];
      if (body.block == kWorldBlock || model_.abilities[body.block].frames == nullptr) continue;
      const Vector3d change = end.frame(body.block, body.frame).omega_W -
                              stages_.blocks.motions[static_cast<int>(i)].omega_W;
      largest = std::max(largest, change.squaredNorm());
    }
    return h * std::sqrt(largest) > kMaxTurnChange;
  }

  absl::Status SolveStep(const State& state, double h, double stiffening, StepReport* report) {
    report->iterations = report->linear_iterations = 0;
    report->iteration_residuals.clear();
    balance_.Start(stages_, state, h, &contacts_, stiffening);
    contacts_.clear();
    balance_.StartStage(state.q, balance_.v_start(), 0, 0);
    unknowns_.assign(balance_.size(), 0.0);
    std::ranges::copy(balance_.v_start(), unknowns_.begin());
    balance_.PlaceAll(unknowns_);
    overlaps_ = maker_.Make(balance_.contact_points(), stages_, state, balance_.configuration(), h,
                            stiffening, &contacts_);

    const bool is_known = state.smooth.past_step == h && !state.smooth.past_q.empty();
    // a rule with forces at the start of the step would apply those of an overlap in full
    const StageRule& rule = overlaps_                                 ? *overlap_rule_
                            : options_.damped_start && state.step < 2 ? *TwoHalvesOfEuler()
                            : is_known                                ? *rule_
                                                                      : *first_rule_;
    is_euler_ = &rule == overlap_rule_;
    balance_.UseMeanRates(is_euler_);
    points_.resize(rule.stages.size() + 1);
    Point& start = points_[0];
    start.v = balance_.v_start();
    const bool is_lagged = options_.friction == SmoothOptions::Friction::kLagged;
    for (int pass = 0; pass < (is_lagged ? options_.passes : 1); ++pass) {
      report->End(StopReason::kConverged);
      report->residual = 0;
      if (pass == 0) {
        for (SmoothContact& contact : contacts_) {
          contact.stretch_W = contact.anchor_W;
          if (options_.contact_at_end) contact.weight = 0;
        }
        if (is_lagged) Lag(balance_.configuration());
        if (!balance_.CalcStartForces(rule.uses_start())) return FailStep();
        start_gaps_.clear();
        for (const SmoothContactForce& force : balance_.contact_forces())
          start_gaps_.push_back(force.gap);
        start_limit_gap_ = balance_.smallest_limit_gap();
        // Contacts that become stiffer in this step store more from its start. That is no gain of
        // the step: shorter ones would not avoid it.
        start_energy_ = balance_.CalcStoredEnergy();
        start.a.assign(balance_.num_velocities(), 0.0);
        if (rule.uses_start() && !balance_.CalcStartAccelerations(&solver_, &start.a))
          return FailAtBlock(model_, 0, absl::InternalError("accelerations are not finite"));
        Record(&start);
      } else {
        Lag(balance_.configuration());
      }
      for (std::size_t k = 0; k < rule.stages.size(); ++k) {
        if (absl::Status status = SolveStage(rule, k, state, h, report); !status.ok())
          return status;
      }
    }
    Average(rule, h);
    return absl::OkStatus();
  }

  // Makes friction use the normal forces and normals of this configuration.
  void Lag(const TrialConfiguration& at) {
    for (SmoothContact& contact : contacts_) {
      const SmoothContactForce force = CalcContactForce(contact, at);
      contact.lag = {true, force.normal_force, force.normal_W};
    }
  }

  absl::Status SolveStage(const StageRule& rule, std::size_t k, const State& state, double h,
                          StepReport* report) {
    const StageRule::Stage& stage = rule.stages[k];
    const int n = balance_.num_velocities();
    // base of the stage: q̂, v̂, and the contacts' stretches
    std::vector<double> x(n, 0.0), v_hat(balance_.v_start()), q_hat(state.q);
    const auto add = [&](const Point& point, double weight) {
      if (weight == 0) return;
      for (int i = 0; i < n; ++i) {
        x[i] += h * weight * point.v[i];
        v_hat[i] += h * weight * point.a[i];
      }
    };
    add(points_[0], stage.start);
    for (std::size_t j = 0; j < k; ++j) add(points_[j + 1], stage.before[j]);
    if (stage.past != 0) {
      std::vector<double> travelled(n);
      balance_.CalcDifference(state.smooth.past_q, state.q, travelled);
      for (int i = 0; i < n; ++i) {
        x[i] += stage.past * travelled[i];
        v_hat[i] += stage.past * (state.v[i] - state.smooth.past_v[i]);
      }
    }
    balance_.Advance(x, q_hat);
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
      SmoothContact& contact = contacts_[c];
      Vector3d stretch = (stage.start + stage.past) * points_[0].slips[c];
      for (std::size_t j = 0; j < k; ++j) stretch += stage.before[j] * points_[j + 1].slips[c];
      contact.stretch_W = contact.anchor_W + stretch / options_.stick_speed;
      contact.stage_length = stage.length;
      if (options_.contact_at_end) contact.weight = stage.time / stage.length;
    }
    balance_.StartStage(q_hat, v_hat, stage.length * h, stage.time * h);

    const int size = balance_.size();
    unknowns_.resize(size);
    if (k == 0) std::ranges::copy(balance_.v_start(), unknowns_.begin());
    residual_.resize(size);
    if (!FindFeasibleGuess(state, q_hat, v_hat, stage.length * h)) return FailStep();
    SolveNewton(report);
    // the stage is judged by its balance, once more, outside the solver
    balance_.CalcResidual(unknowns_, residual_);
    const double relative = CalcRelativeResidual();
    report->residual = report->momentum_residual = std::max(report->residual, relative);
    const StopReason reason = relative <= kConverged                     ? StopReason::kConverged
                              : result_.reason == StopReason::kConverged ? StopReason::kResidual
                                                                         : result_.reason;
    report->End(std::max(report->reason, reason));

    Point& point = points_[k + 1];
    point.v = balance_.v();
    point.a.resize(n);
    for (int i = 0; i < n; ++i) point.a[i] = (point.v[i] - v_hat[i]) / (stage.length * h);
    Record(&point);
    return absl::OkStatus();
  }

  // Solves the stage from the guess in unknowns_. If Newton's method takes many iterations, which
  // is due to friction, contacts first stick at larger speeds, from the same guess.
  void SolveNewton(StepReport* report) {
    const std::vector<double> guess = unknowns_;
    solvers::NewtonOptions options = newton_;
    const auto solve = [&](int max_iterations) {
      options.max_iterations = std::min(max_iterations, newton_.max_iterations);
      solver_.Solve(&balance_, balance_.weights(), balance_.CalcScale(unknowns_), options,
                    unknowns_, &result_);
      report->iterations += result_.iterations;
      report->linear_iterations += result_.linear_iterations;
      report->iteration_residuals.insert(report->iteration_residuals.end(),
                                         result_.residuals.begin(), result_.residuals.end());
      return result_.reason == StopReason::kConverged;
    };
    if (solve(kManyIterations)) return;
    for (int k = kManyIterations; k < newton_.max_iterations && IsFalling(); k += kStretch)
      if (solve(kStretch)) return;
    // at the level of rounding, or limited by the scene
    if (result_.residual <= kConverged || newton_.max_iterations <= kManyIterations) return;
    unknowns_ = guess;
    for (const double factor : kLargerStickSpeeds) {
      ScaleStickSpeeds(factor);
      solve(kManyIterations);
      ScaleStickSpeeds(1 / factor);
    }
    solve(newton_.max_iterations);
  }

  // Whether the last stretch of iterations has decreased the residual by much.
  bool IsFalling() const {
    const std::vector<double>& residuals = result_.residuals;
    const int last = static_cast<int>(residuals.size()) - 1;
    return last >= kStretch && residuals[last] < kFallOfStretch * residuals[last - kStretch];
  }

  void ScaleStickSpeeds(double factor) {
    for (SmoothContact& contact : contacts_) {
      contact.law.stick_speed *= factor;
      contact.stretch_W /= factor;
    }
  }

  // Moves the guess of a stage of length c [s] to where forces are finite: at the velocities of the
  // base, or nearer to the configuration at the start of the step, which is within the barriers.
  // Returns false if there is no such guess.
  bool FindFeasibleGuess(const State& state, std::span<const double> q_hat,
                         std::span<const double> v_hat, double c) {
    if (balance_.CalcResidual(unknowns_, residual_)) return true;
    std::ranges::copy(v_hat, unknowns_.begin());
    if (balance_.CalcResidual(unknowns_, residual_)) return true;
    if (options_.potential != SmoothOptions::Potential::kLogBarrier) return false;
    std::vector<double> still(balance_.num_velocities());
    balance_.CalcDifference(q_hat, state.q, still);
    for (double& v : still) v /= c;
    for (int k = 0; k <= kMaxHalvings; ++k) {
      for (std::size_t i = 0; i < still.size(); ++i)
        unknowns_[i] = k < kMaxHalvings ? 0.5 * (unknowns_[i] + still[i]) : still[i];
      if (balance_.CalcResidual(unknowns_, residual_)) return true;
    }
    return false;
  }

  void Record(Point* point) const {
    point->contact_forces.clear();
    point->slips.clear();
    for (const SmoothContactForce& force : balance_.contact_forces()) {
      point->contact_forces.push_back(force.force_W);
      point->slips.push_back(force.slip_W);
    }
    point->row_forces = balance_.row_forces();
  }

  // Computes the impulses of the step from the forces of its stages, with the weights of the rule.
  void Average(const StageRule& rule, double h) {
    const StageRule::Stage& last = rule.stages.back();
    std::vector<double> weights{last.start};
    for (std::size_t k = 0; k + 1 < rule.stages.size(); ++k) weights.push_back(last.before[k]);
    weights.push_back(last.length);
    double sum = 0;
    for (const double w : weights) sum += w;
    impulses_.contacts.assign(contacts_.size(), Vector3d::Zero());
    impulses_.rows.assign(stages_.system.rows.size(), 0.0);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double weight = h * weights[k] / sum;
      if (weight == 0) continue;
      for (std::size_t c = 0; c < contacts_.size(); ++c)
        impulses_.contacts[c] +=
            weight * (stages_.contacts.points[c].R_WC.transpose() * points_[k].contact_forces[c]);
      for (std::size_t r = 0; r < impulses_.rows.size(); ++r)
        impulses_.rows[r] += weight * points_[k].row_forces[r];
    }
    FindDeepest();
  }

  // Work of inputs, drives and prescribed motions in the step [J]. That of prescribed motions is of
  // the forces and velocities at its end.
  double CalcWork(double h) {
    const TrialConfiguration end = balance_.configuration();
    double work = h * balance_.CalcPrescribedPower();
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
      const ContactPoint& point = *contacts_[c].point;
      const SmoothContactForce& force = balance_.contact_forces()[c];
      work += h * force.force_W.dot(CalcPrescribedVelocity(point.a, end, force.p_W) -
                                    CalcPrescribedVelocity(point.b, end, force.p_W));
    }
    const solvers::Impulses of_rows{{}, impulses_.rows};
    return work + CalcSuppliedWork(balance_.v(), of_rows, stages_, &energy_);
  }

  // The prescribed part of a side's velocity at p_W [m/s].
  Vector3d CalcPrescribedVelocity(const Attachment& side, const TrialConfiguration& trial,
                                  const Vector3d& p_W) const {
    Vector3d v = Vector3d::Zero();
    if (side.block == kWorldBlock) return v;
    if (side.is_on_frame()) {
      return stages_.blocks.is_prescribed[side.block]
                 ? trial.frame(side.block, side.frame).CalcPointVelocity(p_W)
                 : v;
    }
    const NodeSet& nodes = *model_.abilities[side.block].nodes;
    for (int k = 0; k < side.nodes.size(); ++k) {
      const int node = side.nodes.node(k);
      if (model_.abilities[side.block].equation != nullptr && nodes.is_node_prescribed(node))
        v += side.nodes.weight(k) * trial.velocity(side.block, node);
    }
    return v;
  }

  // Finds the smallest gap at the end of the step among those that decreased. Joint limits may rest
  // up to δ deep.
  void FindDeepest() {
    smallest_gap_ = 1;
    if (balance_.smallest_limit_gap() < start_limit_gap_ - kSmallGap)
      smallest_gap_ = balance_.smallest_limit_gap() + 1;
    for (std::size_t c = 0; c < start_gaps_.size(); ++c) {
      const double distance = options_.contact_distance;
      const double gap = balance_.contact_forces()[c].gap / distance;
      if (gap < start_gaps_[c] / distance - kSmallGap) smallest_gap_ = std::min(smallest_gap_, gap);
    }
  }

  absl::StatusOr<bool> Redetect(const State& state, double h) {
    // the mean velocity over the step, in the spaces of the blocks
    const int n = balance_.num_velocities();
    std::vector<double> mean(n);
    balance_.CalcTravel(mean);
    for (double& x : mean) x /= h;
    for (int b = 0; b < stages_.blocks.count(); ++b) {
      if (stages_.blocks.sleeping.sleeps(b))
        std::ranges::fill(stages_.blocks.spaces.Part(b, mean), 0.0);
    }
    return RedetectStep(mean, state, &stages_);
  }

  double CalcRelativeResidual() const {
    double sum = 0;
    for (std::size_t i = 0; i < residual_.size(); ++i) {
      const double scaled = balance_.weights()[i] * residual_[i];
      sum += scaled * scaled;
    }
    const double norm = std::sqrt(sum);
    return norm <= balance_.rounding() ? 0 : norm / balance_.CalcScale(unknowns_);
  }

  void Remember(double stiffening, double h, State* state) const {
    SmoothMemory& memory = state->smooth;
    memory.stiffening = stiffening;
    if (rule_->uses_past()) {
      memory.past_step = h;
      memory.past_q = state->q;
      memory.past_v = state->v;
    }
    const std::vector<SmoothMemory::Anchor> last = std::move(memory.anchors);
    memory.anchors.clear();
    if (!model_.contact.anchored) return;
    for (const ContactPoint& resting : stages_.contacts.resting) {
      const auto anchor =
          std::ranges::lower_bound(last, resting.key, {}, &SmoothMemory::Anchor::key);
      if (anchor != last.end() && anchor->key == resting.key) memory.anchors.push_back(*anchor);
    }
    for (std::size_t c = 0; c < contacts_.size(); ++c) {
      const SmoothContact& contact = contacts_[c];
      const SmoothContactForce& force = balance_.contact_forces()[c];
      if (!(force.normal_force > 0)) continue;
      Vector3d stretch =
          contact.stretch_W + contact.stage_length / options_.stick_speed * force.slip_W;
      stretch -= force.normal_W * force.normal_W.dot(stretch);
      const double norm = std::sqrt(stretch.squaredNorm());
      if (norm > 1) stretch /= norm;
      memory.anchors.push_back({contact.point->key, stretch});
    }
    std::ranges::sort(memory.anchors, {}, &SmoothMemory::Anchor::key);
  }

  // The error of the last residual; of the whole world where no block's forces are to blame.
  absl::Status FailStep() const {
    return balance_.status().ok()
               ? FailAtBlock(model_, 0,
                             absl::InternalError("the forces of contacts are not finite"))
               : balance_.status();
  }

  const Model& model_;
  const SmoothOptions& options_;
  const StageRule *rule_, *first_rule_;
  const StageRule* const overlap_rule_ = FindStageRule("BE");  // for steps that start with overlap
  StepStages stages_;
  SmoothBalance balance_;
  SmoothContactMaker maker_;
  solvers::DampedNewton solver_;
  solvers::NewtonOptions newton_;
  solvers::NewtonResult result_;
  std::vector<SmoothContact> contacts_;
  bool overlaps_ = false;      // whether any do at the start of the step
  bool is_euler_ = true;       // whether the step is one of BE
  std::vector<Point> points_;  // the start of the step, then its stages
  std::vector<double> unknowns_, residual_;
  solvers::Impulses impulses_;
  EnergyScratch energy_;
  std::vector<double> start_gaps_;  // of contacts [m]
  double start_limit_gap_ = 0;      // smallest gap of a joint limit, in units of δ
  double smallest_gap_ = 0;         // at the end of the step, in units of δ
  double start_energy_ = 0;         // stored by contacts and limits [J]
};

}  // namespace

std::unique_ptr<Stepper> MakeSmoothStepper(const Model& model) {
  return std::make_unique<SmoothStepper>(model);
}

}  // namespace pliant::physics
