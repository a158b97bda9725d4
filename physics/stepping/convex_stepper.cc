#include "physics/stepping/convex_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <tbb/enumerable_thread_specific.h>

#include "physics/dynamics/parallel.h"
#include "physics/stepping/integrators/integrator.h"
#include "physics/stepping/integrators/theta_method.h"
#include "physics/stepping/report/step_timer.h"
#include "physics/stepping/solve.h"
#include "solvers/convex/law_residual.h"
#include "solvers/convex/sap.h"
#include "solvers/problem/near_rigid.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::ConstraintSystem;
using solvers::ConvexProblem;

// smallest transition speed from stick to slip of smooth friction [m/s]
constexpr double kSlipSpeed = 1e-4;

// steps with at most this many rows solve their islands on one thread
constexpr int kMaxSerialRows = 64;

// Fraction of the compression under its last impulse beyond which the overlap of a contact counts
// as due to its load.
constexpr double kBearing = 0.25;
// Largest overlap that the regularisation of a near-rigid contact leaves after an impact [m].
constexpr double kImpactOverlap = 2e-6;
// Largest approach speed that it leaves after an impact [m/s]. In the next step, the bodies
// separate at half of it.
constexpr double kImpactSpeed = 5e-4;

// Regularisation by a contact's own compliance.
double OwnRegularisation(const ConstraintSystem::Contact& contact, double h) {
  return std::isfinite(contact.stiffness)
             ? 1 / (h * contact.stiffness * (h + contact.relaxation_time))
             : 0;
}

// Regularisation of a contact under a load: near-rigid, or its own if that is larger.
Vector3d LoadRegularisation(const ConstraintSystem::Contact& contact, double beta, double sigma,
                            double h) {
  const double w = solvers::CalcMeanCompliance(contact.W), R_t = sigma * w;
  return {R_t, R_t, std::max(solvers::NearRigid(w, beta), OwnRegularisation(contact, h))};
}

// Normal regularisation that a contact has at most in an impact, since a near-rigid contact leaves
// the fraction R/w of the approach speed. `impact`: speed at which the bodies would overlap without
// the contact, beyond the speed that gravity adds in a step [m/s].
double ImpactRegularisation(const ConstraintSystem::Contact& contact, double impact, double h) {
  // slower impacts leave less anyway, also where the bodies cannot move along the normal (W_nn = 0)
  const double through = std::min(kImpactOverlap / h, kImpactSpeed);
  if (!(impact > through)) return std::numeric_limits<double>::infinity();
  return std::max(contact.W(2, 2) * through / impact, OwnRegularisation(contact, h));
}

// R_n of an impact, relative to that under a load, below which it is solved in two stages, and the
// relative tolerance of the first one.
constexpr double kHardImpact = 0.1, kRoughTolerance = 0.1;

// Tolerance of an island as a fraction of that of the step, so that the full system meets its own
// in its own norms. It is smaller where the guess is rough: the velocities of particles at rest are
// interpolated anew in each step, so the forces on them vary by as much as is tolerated.
constexpr double kIslandFraction = 0.1, kRoughGuessFraction = 0.03;

// Positions need not be exact: the next steps remove the rest of an overlap.
constexpr double kRecoveryTolerance = 1e-3;
constexpr int kMaxRecoveryIterations = 2;

// Row of a spring and damper in implicit Euler, γ = (v̂ − r)/R. Near-rigid rows keep the ratio of
// damping to stiffness.
ConvexProblem::Row Regularise(const ConstraintSystem::Row& constraint, const ConvexOptions& options,
                              double h) {
  const double w = constraint.W;
  const double R = solvers::NearRigid(w, options.beta > 0 ? options.beta : FrameSet::kRigidBeta);
  ConvexProblem::Row row{};
  row.lower = h * constraint.lower;
  row.upper = h * constraint.upper;
  if (constraint.dry_friction) {
    row.R = options.sigma * w;
  } else if (std::isinf(constraint.stiffness)) {
    // the relaxation time is h, in addition to the step itself
    row.R = R;
    row.v_hat = -constraint.error / (2 * h);
  } else {
    const auto [offset, slope] = constraint.CalcForce(h);
    row.R = std::max(R, 1 / (h * slope));
    row.v_hat = offset / slope;
  }
  return row;
}

class ConvexStepper final : public Stepper {
 public:
  // a cold start begins with the free motion
  explicit ConvexStepper(const Model& model)
      : model_(model),
        stages_(model, model.method.convex.warm_start ? Terms::kMomentum : Terms::kFreeMotion) {}

  absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) override {
    report->Clear();
    StepTimer timer(report);
    const ConvexOptions& options = model_.method.convex;

    // set up momentum, contacts and free motion
    const Stage stage = options.integrator != nullptr
                            ? options.integrator->MakeStage(h)
                            : ThetaMethod(h, options.theta, options.theta_vq);
    absl::Status status = PoseStep(inputs, stage, *state, &stages_);
    if (!status.ok()) return status;
    timer.Lap(Phase::kPose);

    // contacts and constraints, island by island
    const SolveLimits limits{.relinearisations = {options.relinearisations, options.tolerance}};
    status = SolveStep(
        *state, limits, &stages_, report, &solution_,
        [&](int) {
          rotational_closing_.Start(*state, stages_);
          SolveIslands(h, report);
          return absl::OkStatus();
        },
        [&] { return is_recovering_; });
    if (!status.ok()) return status;
    timer.Lap(Phase::kSolve);

    // convergence is judged on the full system: momentum, and the laws of contacts and rows
    report->momentum_residual = CalcSolutionResidual(solution_, &stages_);
    report->complementarity = CalcComplementarity(h);
    const double law =
        solvers::CalcLawResidual(stages_.system, contact_laws_, row_laws_, options.law,
                                 solution_.impulses, solution_.v_participating);
    report->residual = std::max(law, report->momentum_residual);
    report->End(EndOf(report->residual <= options.tolerance, *report));
    timer.Lap(Phase::kCheck);

    if (described() != nullptr) DescribeStep(stages_, solution_, described());
    if (reports_work()) ReportSuppliedWork(stages_, &solution_, report);
    CommitStep(solution_, &stages_, state, report);
    timer.Lap(Phase::kCommit);
    return absl::OkStatus();
  }

 private:
  // One island's problem and its solver; kept between steps only to reuse memory.
  struct Work {
    ConvexProblem problem;
    std::vector<std::pair<int, double>> impacts;  // contacts in a hard impact, and their R_n [1/kg]
    std::vector<double> guess;
    std::vector<double> rough_residuals;  // of the solution from which impacts start
    solvers::SapSolver solver;
    solvers::SapResult result, moving;
  };

  struct Outcome {
    bool is_recovering = false;
    solvers::StopReason reason = solvers::StopReason::kConverged;
    int iterations = 0, factorisations = 0, linear_iterations = 0;
    std::vector<double> residuals;
  };

  // β of a contact: the option if it is set, else the larger β of its sides.
  double FindBeta(const ContactPoint& point) const {
    if (model_.method.convex.beta > 0) return model_.method.convex.beta;
    double beta = FrameSet::kRigidBeta;
    for (const Attachment* side : {&point.a, &point.b}) {
      if (side->block != kWorldBlock)
        beta = std::max(beta, stages_.blocks.contact_beta[side->block]);
    }
    return beta;
  }

  void MakeProblem(const solvers::IslandView& island, double h, Work* work) {
    const ConstraintSystem& system = *island.system;
    ConvexProblem& problem = work->problem;
    problem.Clear();
    problem.island = island;
    const ConvexOptions& options = model_.method.convex;
    problem.law = options.law;
    work->impacts.clear();
    for (const int c : island.contacts) {
      const ConstraintSystem::Contact& contact = system.contacts[c];
      ConvexProblem::Contact& added = problem.contacts.emplace_back();
      const Vector3d& last = stages_.warm_start.contacts[c];
      // with an impulse in the last step, the speed that gravity adds is due to a load
      const double by_load = last.z() > 0 ? 2 * h * gravity_ : 0;
      const double impact = -CalcContactVelocity(system, c, system.v_star).z() -
                            std::max(0.0, contact.gap) / h - by_load;
      const double beta = FindBeta(stages_.contacts.points[c]);
      const Vector3d under_load = LoadRegularisation(contact, beta, options.sigma, h);
      const double relaxation = h + contact.relaxation_time,
                   borne = under_load.z() * last.z() * relaxation, overlap = -contact.gap;
      // a contact under a load that outweighs the impact keeps its compliance: changing it in every
      // step would keep light bodies between heavy ones in motion
      const double w = solvers::CalcMeanCompliance(contact.W);
      const bool bears = overlap > kBearing * borne && w * last.z() > impact;
      added.R = under_load;
      if (impact > 0 && !bears) {
        const double R_n = std::min(under_load.z(), ImpactRegularisation(contact, impact, h));
        if (R_n < kHardImpact * under_load.z()) {
          work->impacts.emplace_back(static_cast<int>(problem.contacts.size()) - 1, R_n);
        } else {
          added.R.z() = R_n;
        }
      }
      added.friction = contact.friction;
      // Overlap may remain, except for the compression under the last impulse: with less, a load
      // would sink in; with more, contacts on a body that cannot move would press harder in every
      // step. If the overlap is much less than this compression, the last impulse was an impact's.
      const double loaded = overlap > kBearing * borne ? borne : 0;
      const double remains = std::clamp(overlap - loaded, 0.0, contact.allowed_overlap);
      // an open gap may close within the step; only then does the contact act
      added.v_hat = Vector3d(0, 0, overlap < 0 ? overlap / h : (overlap - remains) / relaxation);
      if (problem.law != nullptr) {
        added.lagged = last.z();
        // R_t = σ w
        added.slip = std::max(kSlipSpeed, contact.friction * added.R.x() * last.z());
      } else if (model_.contact.anchored) {
        // keep the tangential stretch of the last step
        added.v_hat.head<2>() = added.R.x() * last.head<2>();
      }
      added.expected = c < stages_.contacts.num_solved ? solved_[c] : last;
      added.expected_slip = stages_.warm_start.slips[c];
      contact_laws_[c] = added;
    }
    for (const int k : island.rows) {
      row_laws_[k] = Regularise(system.rows[k], options, h);
      problem.rows.push_back(row_laws_[k]);
    }
    for (const int b : island.blocks) problem.terms.push_back(FindTerm(b));
    // the velocities of blocks with a map are not part of the state
    problem.has_rough_guess = std::ranges::any_of(island.blocks, [&](int b) {
      return stages_.blocks.abilities[stages_.participation.blocks[b].block].map != nullptr;
    });
    // with momentum that is not linear, two stages cost more iterations than they save
    if (std::ranges::any_of(problem.terms, [](const auto* term) { return term != nullptr; }))
      Harden(work);
  }

  // The convex potential of a block of the system, if it has one and all of its velocities
  // participate.
  solvers::MomentumTerm* FindTerm(int b) const {
    const Participation::Block& of = stages_.participation.blocks[b];
    const BlockStep& step = *stages_.blocks.steps[of.block];
    const bool is_whole = of.num_groups == step.space().num_groups();
    if (!is_whole || stages_.blocks.terms != Terms::kMomentum) return nullptr;
    return stages_.blocks.abilities[of.block].beyond_linear;
  }

  // Gives contacts in hard impacts their own regularisation.
  void Harden(Work* work) {
    for (const auto& [c, R_n] : work->impacts) {
      work->problem.contacts[c].R.z() = R_n;
      contact_laws_[work->problem.island.contacts[c]].R.z() = R_n;
    }
    work->impacts.clear();
  }

  // Solves an island's problem from the guess. Hard impacts are first solved roughly with the
  // regularisation under a load: from there, their stiffer one takes half as many iterations.
  void SolveProblem(const solvers::SapOptions& options, Work* work) {
    solvers::SapResult& result = work->result;
    work->rough_residuals.clear();
    if (work->impacts.empty()) {
      work->solver.Solve(work->problem, work->guess, options, &result);
      return;
    }
    solvers::SapOptions rough = options;
    rough.relative_tolerance = kRoughTolerance;
    work->solver.Solve(work->problem, work->guess, rough, &result);
    const int iterations = result.iterations, factorisations = result.factorisations,
              linear_iterations = result.linear_iterations;
    work->rough_residuals.assign(result.residuals.begin(), result.residuals.end());
    for (std::size_t c = 0; c < work->problem.contacts.size(); ++c)
      work->problem.contacts[c].expected = result.gamma[c];
    Harden(work);
    work->solver.SolveRegularised(options, &result);
    result.iterations += iterations;
    result.factorisations += factorisations;
    result.linear_iterations += linear_iterations;
  }

  void SolveIsland(const solvers::IslandView& island, double h, Work* work, Outcome* outcome) {
    const ConvexOptions& options = model_.method.convex;
    solvers::SapOptions sap;
    sap.max_iterations = options.max_iterations;
    sap.line_search = options.line_search == ConvexOptions::LineSearch::kExact
                          ? solvers::SapOptions::LineSearch::kExact
                          : solvers::SapOptions::LineSearch::kBacktracking;
    MakeProblem(island, h, work);
    sap.relative_tolerance =
        options.tolerance * (work->problem.has_rough_guess ? kRoughGuessFraction : kIslandFraction);
    island.Gather(options.warm_start ? stages_.warm_start.v : stages_.system.v_star, &work->guess);
    SolveProblem(sap, work);
    island.Scatter(work->result.v, solution_.v_participating);
    island.Scatter(work->result.v, solution_.v_position_participating);
    for (std::size_t c = 0; c < island.contacts.size(); ++c)
      solution_.impulses.contacts[island.contacts[c]] = work->result.gamma[c];
    for (std::size_t k = 0; k < island.rows.size(); ++k)
      solution_.impulses.rows[island.rows[k]] = work->result.row_gamma[k];
    outcome->reason = work->result.reason;
    outcome->iterations = work->result.iterations;
    outcome->factorisations = work->result.factorisations;
    outcome->linear_iterations = work->result.linear_iterations;
    outcome->residuals.assign(work->rough_residuals.begin(), work->rough_residuals.end());
    outcome->residuals.insert(outcome->residuals.end(), work->result.residuals.begin(),
                              work->result.residuals.end());
    outcome->is_recovering = Recover(island, h, work);
  }

  // Finds velocities that advance an island's positions if its rigid bodies overlap: the solution
  // of the same problem with recovery velocities at the contacts. Returns whether it solved again.
  bool Recover(const solvers::IslandView& island, double h, Work* work) {
    const double recovery_speed = model_.contact.recovery_speed;
    if (!(recovery_speed > 0)) return false;
    solvers::SapOptions sap;
    sap.relative_tolerance = kRecoveryTolerance;
    sap.max_iterations = kMaxRecoveryIterations;
    for (int round = 0; round < kMaxRecoveryRounds; ++round) {
      bool is_due = false;
      rotational_closing_.Find(island.contacts, solution_.v_position_participating, closing_);
      for (std::size_t c = 0; c < island.contacts.size(); ++c) {
        const int contact = island.contacts[c];
        const ConstraintSystem::Contact& of = stages_.system.contacts[contact];
        if (!(of.allowed_overlap > 0 || closing_[contact] > 0)) continue;
        const double rate =
            CalcContactVelocity(stages_.system, contact, solution_.v_position_participating).z();
        ConvexProblem::Contact& posed = work->problem.contacts[c];
        const double borne = posed.R.z() * (h + of.relaxation_time) * work->result.gamma[c].z();
        const double recovery = CalcRecoveryRate(of, stages_.contacts.points[contact], rate, borne,
                                                 closing_[contact], recovery_speed, h);
        posed.v_hat.z() += recovery;
        is_due = is_due || recovery > MinRecoveryRate(round, h);
      }
      if (!is_due) return round > 0;
      work->solver.SolveAgain(sap, &work->moving);
      island.Scatter(work->moving.v, solution_.v_position_participating);
    }
    return true;
  }

  void SolveIslands(double h, StepReport* report) {
    // impulses found before re-detection added contacts
    const std::vector<Vector3d>& found = solution_.impulses.contacts;
    solved_.assign(found.begin(), found.begin() + stages_.contacts.num_solved);
    solution_.v_position_participating = solution_.v_participating;
    closing_.resize(found.size());
    contact_laws_.resize(found.size());
    row_laws_.resize(solution_.impulses.rows.size());
    const std::vector<solvers::IslandView>& islands = stages_.islands.views;
    const int count = static_cast<int>(islands.size());
    if (outcomes_.size() < islands.size()) outcomes_.resize(islands.size());
    int coupled = 0;
    for (const solvers::IslandView& island : islands) coupled += island.blocks.size() > 1;
    if (work_.size() < static_cast<std::size_t>(coupled)) work_.resize(coupled);
    work_of_.assign(count, nullptr);
    for (int k = 0, next = 0; k < count; ++k)
      if (islands[k].blocks.size() > 1) work_of_[k] = &work_[next++];
    const auto solve = [&](int k) {
      // an island of one block keeps nothing of use: share one workspace per thread
      Work* work = work_of_[k] != nullptr ? work_of_[k] : &single_work_.local();
      SolveIsland(islands[k], h, work, &outcomes_[k]);
    };
    if (count > 1 && CountRows() > kMaxSerialRows) {
      ParallelFor(count, 1, solve);
    } else {
      for (int k = 0; k < count; ++k) solve(k);
    }

    // convergence is judged on the full system; an island may stall just short of its tighter
    // tolerance
    report->iterations = 0;
    report->reason = solvers::StopReason::kConverged;
    is_recovering_ = false;
    for (int k = 0; k < count; ++k) {
      const Outcome& result = outcomes_[k];
      report->reason = std::max(report->reason, result.reason);
      is_recovering_ = is_recovering_ || result.is_recovering;
      report->refactorisations += result.factorisations;
      report->linear_iterations += result.linear_iterations;
      if (result.iterations >= report->iterations) {
        report->iterations = result.iterations;
        report->iteration_residuals.assign(result.residuals.begin(), result.residuals.end());
      }
    }
  }

  // Natural map of the rigid contact law: the error of the regularisation [m/s].
  double CalcComplementarity(double h) const {
    double worst = 0;
    for (std::size_t c = 0; c < stages_.system.contacts.size(); ++c) {
      const ConstraintSystem::Contact& contact = stages_.system.contacts[c];
      const double w = solvers::CalcMeanCompliance(contact.W);
      const double v_n =
          CalcContactVelocity(stages_.system, static_cast<int>(c), solution_.v_participating).z();
      const double open = (contact.gap + contact.allowed_overlap) / h + v_n;
      worst = std::max(worst, std::abs(std::min(open, w * solution_.impulses.contacts[c].z())));
    }
    return worst;
  }

  // Reason why the step ended. `is_met`: whether the method's criterion is met.
  solvers::StopReason EndOf(bool is_met, const StepReport& report) const {
    if (is_met) return solvers::StopReason::kConverged;
    const bool is_linearised = report.compromises[Compromise::kRelinearisationLimit] > 0;
    return std::max(report.reason, is_linearised ? solvers::StopReason::kLinearised
                                                 : solvers::StopReason::kResidual);
  }

  int CountRows() const {
    return 3 * static_cast<int>(solution_.impulses.contacts.size()) +
           static_cast<int>(solution_.impulses.rows.size());
  }

  const Model& model_;
  bool is_recovering_ = false;
  const double gravity_ = std::sqrt(model_.gravity.squaredNorm());  // [m/s²]
  StepStages stages_;
  RotationalClosing rotational_closing_{model_};
  std::vector<double> closing_;  // by rotation, per contact [m]; see RotationalClosing
  std::vector<ConvexProblem::Contact> contact_laws_;  // as solved, of the whole system
  std::vector<ConvexProblem::Row> row_laws_;
  std::vector<Work> work_;  // of islands of several blocks, in their order
  std::vector<Work*> work_of_;
  tbb::enumerable_thread_specific<Work> single_work_;
  std::vector<Outcome> outcomes_;  // of each island
  std::vector<Vector3d> solved_;   // impulses of the contacts that have been solved before
  StepSolution solution_;
};

}  // namespace

std::unique_ptr<Stepper> MakeConvexStepper(const Model& model) {
  return std::make_unique<ConvexStepper>(model);
}

}  // namespace pliant::physics
