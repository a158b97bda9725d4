#include "physics/stepping/corrective_stepper.h"

#include <algorithm>
#include <cmath>

#include "physics/stepping/corrective_geometry.h"
#include "physics/stepping/integrators/theta_method.h"
#include "physics/stepping/nonsmooth_linearisation.h"
#include "physics/stepping/report/step_timer.h"
#include "physics/stepping/solve.h"
#include "solvers/corrective/correction_residual.h"
#include "solvers/corrective/recursive_correction.h"
#include "solvers/delassus/mapping_compliance.h"
#include "solvers/problem/near_rigid.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::ConstraintSystem;

constexpr int kMaxStaleRounds = 5, kMaxBalanceRounds = 20;
// fraction of the tolerance at which sweeps stop: the residual at the end of the step is up to 1.4
// times their last change
constexpr double kSweepTolerance = 0.5;
constexpr double kMinCompliance = 1e-6;  // of a rigid constraint, relative to its W

// Residual of the contact laws beyond which a step is solved with the directions at its start.
constexpr double kMaxEndResidual = 1e-2;
// Recursions allowed in a step, as a multiple of max_recursions. All relinearisations,
// re-detections and attempts share them, so that a solution that does not converge is not repeated
// in each.
constexpr int kMaxRecursionsFactor = 3;
// Number of contacts and constraints up to which sweeps cost less than Newton's method.
constexpr int kMaxSwept = 12;

// If sweeps meet their tolerance but the residual at the end of the step is too large, another
// attempt multiplies the tolerance by this.
constexpr double kSharpening = 0.1;
constexpr int kMaxAttempts = 3;
// Speed of all participants below which a step is refined to a tenth of the tolerance, and below
// which contacts may have only this speed by an error of their impulses, or this share of the
// participants' largest [m/s], [rad/s]. Otherwise the error of large forces keeps a body at rest
// faster than sleep allows.
constexpr double kNearRest = 1e-4, kSlow = 0.05, kNegligibleSpeed = 1e-6, kSpeedShare = 0.1;
// Sweeps and recursions of a step for whose residuals the report has memory from the start: more
// than the planned ones, so that steps seldom allocate.
constexpr int kReservedResiduals = 256;

solvers::CorrectionOptions OptionsOf(const CorrectiveOptions& given, double h, double tolerance) {
  using To = solvers::CorrectionOptions;
  using From = CorrectiveOptions;
  To options;
  options.scheme = given.scheme == From::Scheme::kFast       ? To::Scheme::kFast
                   : given.scheme == From::Scheme::kStandard ? To::Scheme::kStandard
                                                             : To::Scheme::kSingle;
  options.directions = given.directions == From::Directions::kRecursion ? To::Directions::kRecursion
                       : given.directions == From::Directions::kSweep   ? To::Directions::kSweep
                                                                        : To::Directions::kContact;
  options.h = h;
  options.tolerance = tolerance;
  options.recursions = given.recursions;
  options.max_recursions = given.max_recursions;
  options.sweeps = given.sweeps;
  return options;
}

class CorrectiveStepper final : public Stepper {
 public:
  explicit CorrectiveStepper(const Model& model)
      : model_(model), stages_(model, Terms::kFreeMotion), geometry_(model, stages_) {
    geometry_.SetCompliance(&compliance_);
  }

  absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) override {
    report->Clear();
    StepTimer timer(report);

    // set up momentum, contacts and free motion: implicit Euler
    absl::Status status = PoseStep(inputs, ThetaMethod(h), *state, &stages_);
    if (!status.ok()) return status;
    timer.Lap(Phase::kPose);

    // impulses at the contacts, then the corrective motion they cause; SINGLE never re-detects
    const bool is_single = model_.method.corrective.scheme == CorrectiveOptions::Scheme::kSingle;
    const CorrectiveOptions& options = model_.method.corrective;
    const double tolerance = options.tolerance;
    report->iteration_residuals.reserve(kReservedResiduals);
    // with a fixed number of recursions, only stale tangents are renewed
    SolveLimits limits{.relinearisations = {kMaxStaleRounds}};
    if (is_single) limits.redetections = 0;
    if (IsUnlimited()) limits.relinearisations = {kMaxBalanceRounds, tolerance};
    bool is_settled = true;
    sweep_tolerance_ = kSweepTolerance * tolerance;
    speed_ = FindLargestSpeed();
    recursions_left_ = kMaxRecursionsFactor * options.max_recursions;
    bool keeps = false;  // whether another attempt starts from the last solution
    const SolveCalls method{
        [&](int relinearisation) {
          const bool continues = keeps && !is_single && !Sweeps();
          relinearisation > 0 || keeps ? KeepAsGuess() : MakeGuess();
          keeps = false;
          return Correct(*state, h, continues, report);
        },
        [&] { return CalcSolvedBalance(); },
        // the step is judged by its residual at the end, not by that of the sweeps
        [&](int attempt) {
          timer.Lap(Phase::kSolve);
          is_settled =
              stages_.system.blocks.empty() || (correction_.result().converged && !is_along_start_);
          report->residual = CalcEndResidual(h);
          timer.Lap(Phase::kCheck);
          keeps = !(report->residual <= tolerance) && is_settled && IsUnlimited() &&
                  attempt + 1 < kMaxAttempts;
          sweep_tolerance_ *= kSharpening;
          return !keeps;
        },
        [&] {
          return RecoverPositions(*state, &rotational_closing_, &recovery_, &stages_, &solution_);
        }};
    status = SolveStep(*state, limits, &stages_, report, &solution_, method);
    if (!status.ok()) return status;
    timer.Lap(Phase::kSolve);

    StoreImpulses();
    report->End(report->residual <= tolerance ? solvers::StopReason::kConverged
                : is_settled                  ? solvers::StopReason::kResidual
                                              : solvers::StopReason::kMaxIterations);

    if (described() != nullptr) DescribeStep(stages_, solution_, described());
    if (reports_work()) ReportSuppliedWork(stages_, &solution_, report);
    TurnFrames();
    CommitStep(solution_, &stages_, state, report);
    if (options.warm_start)
      KeepConstraintImpulses(solution_.impulses, stages_.blocks, stages_.warm_start, state);
    timer.Lap(Phase::kCommit);
    return absl::OkStatus();
  }

 private:
  // A scalar constraint is the normal row of a contact whose other two rows are empty.
  void FillScalar(int k, double h, solvers::CorrectiveContact* scalar) {
    const ConstraintSystem::Row& row = stages_.system.rows[k];
    scalar->lower = h * row.lower;
    scalar->upper = h * row.upper;
    // avoid dividing by rounding errors in rows along which nothing can move
    scalar->compliance = kMinCompliance * row.W;
    scalar->gap = 0;
    if (row.dry_friction) return;
    if (std::isinf(row.stiffness)) {
      scalar->gap = row.error;
      return;
    }
    const auto [offset, slope] = row.CalcForce(h);
    scalar->compliance = std::max(scalar->compliance, 1 / (h * slope));
    scalar->gap = -h * offset / slope;
  }

  // Moves springs and drives that act on a single block into its A while they are within their
  // bounds: as rows, they would take many sweeps. One at its limit is a constant force, and a row
  // like others.
  void FindSprings() {
    const ConstraintSystem& system = stages_.system;
    for (std::size_t k = 0; k < system.rows.size(); ++k) {
      const ConstraintSystem::Row& row = system.rows[k];
      if (row.dry_friction || !std::isfinite(row.stiffness)) continue;
      const auto entries = system.entries_of(row);
      solvers::CorrectiveContact& spring = problem_.contacts[system.contacts.size() + k];
      // one that was at its limit is likely to remain there
      const double guess = guess_[system.contacts.size() + k].z();
      spring.is_in_tangent =
          guess > spring.lower && guess < spring.upper &&
          std::ranges::all_of(entries, [&](const ConstraintSystem::Entry& entry) {
            return entry.block == entries[0].block;
          });
    }
  }

  // Adds the springs of each block to its A: A + Σ Jᵀ J / R.
  void AddSprings() {
    const ConstraintSystem& system = stages_.system;
    if (tangents_.size() < system.blocks.size()) tangents_.resize(system.blocks.size());
    for (std::size_t b = 0; b < system.blocks.size(); ++b) {
      tangents_[b].clear();
      problem_.blocks[b].A = system.blocks[b].A.dense.data();
    }
    for (std::size_t k = 0; k < system.rows.size(); ++k) {
      const solvers::CorrectiveContact& spring = problem_.contacts[system.contacts.size() + k];
      if (!spring.is_in_tangent) continue;
      const auto entries = system.entries_of(system.rows[k]);
      const int b = entries[0].block;
      const ConstraintSystem::Block& block = system.blocks[b];
      std::vector<double>& A = tangents_[b];
      if (A.empty()) A.assign(block.A.dense.begin(), block.A.dense.end());
      problem_.blocks[b].A = A.data();
      for (const ConstraintSystem::Entry& left : entries) {
        for (const ConstraintSystem::Entry& right : entries) {
          for (int j = 0; j < right.columns; ++j) {
            const double factor = system.J(right)[j] / spring.compliance;
            double* column = &A[std::size_t(right.first + j) * block.size + left.first];
            for (int i = 0; i < left.columns; ++i) column[i] += factor * system.J(left)[i];
          }
        }
      }
    }
  }

  // Removes springs beyond their bounds from A. Returns whether there were any.
  bool ReleaseSprings() {
    bool is_released = false;
    for (std::size_t i = stages_.system.contacts.size(); i < problem_.contacts.size(); ++i) {
      solvers::CorrectiveContact& spring = problem_.contacts[i];
      const double impulse = correction_.result().impulse[i].z();
      if (!spring.is_in_tangent || (impulse >= spring.lower && impulse <= spring.upper)) continue;
      spring.is_in_tangent = false;
      is_released = true;
    }
    return is_released;
  }

  void MakeGuess() {
    guess_.assign(stages_.system.contacts.size() + stages_.system.rows.size(), Vector3d::Zero());
    if (!model_.method.corrective.warm_start) return;
    const ConstraintSystem& system = stages_.system;
    std::ranges::copy(stages_.warm_start.contacts, guess_.begin());
    for (std::size_t k = 0; k < system.rows.size(); ++k) {
      guess_[system.contacts.size() + k].z() =
          std::clamp(stages_.warm_start.rows[k], system.h * system.rows[k].lower,
                     system.h * system.rows[k].upper);
    }
  }

  // Takes the impulses found so far as the guess, in the contact frames at the start of the step.
  void KeepAsGuess() {
    for (std::size_t i = 0; i < guess_.size(); ++i) {
      const solvers::CorrectiveContact& row = problem_.contacts[i];
      guess_[i] = correction_.result().impulse[i];
      if (i < stages_.system.contacts.size()) {
        guess_[i] = stages_.contacts.points[i].R_WC.transpose() * (frames_[i] * guess_[i]);
      } else {
        guess_[i].z() = std::clamp(guess_[i].z(), row.lower, row.upper);
      }
    }
  }

  // Keeps the frames that the impulses are expressed in.
  void KeepFrames() {
    frames_.clear();
    for (const solvers::CorrectiveContact& contact : problem_.contacts)
      frames_.push_back(contact.R_WC);
  }

  // Copies the impulses to the solution, in the contact frames of the system.
  void StoreImpulses() {
    if (stages_.system.blocks.empty()) return;
    const std::vector<Vector3d>& found = correction_.result().impulse;
    solvers::Impulses& impulses = solution_.impulses;
    for (std::size_t c = 0; c < impulses.contacts.size(); ++c)
      impulses.contacts[c] = stages_.contacts.points[c].R_WC.transpose() * (frames_[c] * found[c]);
    for (std::size_t k = 0; k < impulses.rows.size(); ++k)
      impulses.rows[k] = found[impulses.contacts.size() + k].z();
  }

  // Turns the contacts and their impulses to the frames in which these were found, for the report
  // and the memory of contacts.
  void TurnFrames() {
    if (stages_.system.blocks.empty()) return;
    const std::vector<Vector3d>& found = correction_.result().impulse;
    for (std::size_t c = 0; c < solution_.impulses.contacts.size(); ++c) {
      ContactPoint& point = stages_.contacts.points[c];
      solution_.impulses.contacts[c] = found[c];
      if (stages_.impacts.is_any) {
        Vector3d& impact = stages_.impacts.impulses.contacts[c];
        impact = frames_[c].transpose() * (point.R_WC * impact);
      }
      point.R_WC = frames_[c];
    }
  }

  // Relative residual of the momentum balance under the impulses found, with the directions of the
  // solution. Relinearisation can reduce it.
  double CalcSolvedBalance() {
    if (stages_.system.blocks.empty())
      return CalcStepResidual(solution_.v, solution_.impulses, &stages_);
    return CalcBalance(correction_.result().impulse);
  }

  // The same with the directions at the end of the step. SINGLE is judged by its one linearisation.
  double CalcEndBalance() {
    if (stages_.system.blocks.empty()) return CalcSolvedBalance();
    const std::vector<Vector3d>& found = correction_.result().impulse;
    if (model_.method.corrective.scheme != CorrectiveOptions::Scheme::kSingle) {
      geometry_.Update(correction_.y(), correction_.F(), 0, static_cast<int>(found.size()),
                       &problem_);
      solvers::SetReferences(correction_.y(), &problem_);
    }
    end_impulses_.clear();
    for (std::size_t i = 0; i < found.size(); ++i)
      end_impulses_.push_back(problem_.contacts[i].R_WC.transpose() * (frames_[i] * found[i]));
    return CalcBalance(end_impulses_);
  }

  // The same under `impulses` of contacts and constraints, in the problem's frames.
  double CalcBalance(std::span<const Vector3d> impulses) {
    solvers::CalcMappedImpulses(problem_, impulses, &mapped_impulses_);
    exerted_.assign(solution_.v_participating.size(), 0.0);
    compliance_.CalcImpulse(mapped_impulses_, exerted_);
    // the impulses on a gripped body nearly cancel, so the scale is the largest one
    double size = 0;
    for (std::size_t c = 0; c < stages_.system.contacts.size(); ++c)
      size = std::max(size, impulses[c].dot(correction_.diagonals()[c] * impulses[c]));
    return CalcStepResidual(solution_.v, exerted_, std::sqrt(size), &stages_);
  }

  // The larger of the residuals of the balance and of the contact and constraint laws at the end.
  double CalcEndResidual(double h) {
    const double balance = CalcEndBalance();
    if (stages_.system.blocks.empty()) return balance;
    return std::max(balance, solvers::CalcLawResidual(problem_, end_impulses_,
                                                      correction_.diagonals(), correction_.y(), h)
                                 .relative);
  }

  double FindLargestSpeed() {
    GatherParticipants(stages_.blocks.v_start, stages_.blocks, stages_.participation, &change_);
    double largest = 0;
    for (const double v : change_) largest = std::max(largest, std::abs(v));
    return largest;
  }

  // Whether a solution may take more recursions than `recursions`.
  bool IsUnlimited() const {
    const CorrectiveOptions& options = model_.method.corrective;
    return options.max_recursions > options.recursions;
  }
  // Whether a solve begins with sweeps.
  bool Sweeps() const {
    const ConstraintSystem& system = stages_.system;
    return system.contacts.size() + system.rows.size() <= kMaxSwept || !IsUnlimited();
  }

  // Builds the problem at the start of the step.
  void MakeProblem(const State& state, double h) {
    const int num_contacts = static_cast<int>(stages_.system.contacts.size());
    const int num_rows = num_contacts + static_cast<int>(stages_.system.rows.size());
    geometry_.Build(state, h, &problem_);
    for (int c = 0; c < num_contacts; ++c) {
      const double stiffness = stages_.system.contacts[c].stiffness;
      problem_.contacts[c].compliance = std::isfinite(stiffness) ? 1 / (h * h * stiffness) : 0.0;
    }
    for (int k = num_contacts; k < num_rows; ++k) {
      FillScalar(k - num_contacts, h, &problem_.contacts[k]);
      geometry_.SetError(k - num_contacts, problem_.contacts[k].gap);
    }
    if (Sweeps()) FindSprings();
  }

  // Makes the rigid contacts near-rigid. Returns whether there are any.
  bool Soften() {
    const std::vector<ConstraintSystem::Contact>& contacts = stages_.system.contacts;
    bool is_any = false;
    for (std::size_t c = 0; c < contacts.size(); ++c) {
      if (problem_.contacts[c].compliance > 0) continue;
      problem_.contacts[c].compliance = solvers::NearRigid(contacts[c].W, FrameSet::kRigidBeta);
      is_any = true;
    }
    return is_any;
  }

  // Finds the impulses, from guess_ or, if `continues`, from the impulses and frames of the last
  // call.
  absl::Status Correct(const State& state, double h, bool continues, StepReport* report) {
    if (stages_.system.blocks.empty()) return absl::OkStatus();
    if (!continues) MakeProblem(state, h);
    const CorrectiveOptions& options = model_.method.corrective;
    const solvers::CorrectionResult& result = correction_.result();
    do {
      AddSprings();
      const int failed = compliance_.Build(problem_.blocks, problem_.entries, problem_.values);
      if (failed >= 0) {
        return FailAtBlock(
            model_, stages_.participation.blocks[failed].block,
            absl::InternalError("the tangent matrix of what touches is not positive definite"));
      }
      report->refactorisations += compliance_.num_blocks() - compliance_.num_kept();
      solvers::CorrectionOptions of_solver = OptionsOf(options, h, sweep_tolerance_);
      of_solver.begins_with_sweeps = Sweeps();
      of_solver.continues = continues;
      if (speed_ < kNearRest) of_solver.refined_tolerance = kSharpening * of_solver.tolerance;
      if (speed_ < kSlow)
        of_solver.refined_velocity = std::max(kNegligibleSpeed, kSpeedShare * speed_);
      of_solver.max_recursions =
          std::clamp(recursions_left_, options.recursions, options.max_recursions);
      correction_.Solve(compliance_, continues ? end_impulses_ : guess_, of_solver, &problem_,
                        &geometry_, &newton_);
      const auto record = [&] {
        report->iterations += result.sweeps;
        report->iteration_residuals.insert(report->iteration_residuals.end(),
                                           result.residuals.begin(), result.residuals.end());
      };
      record();
      if (!result.converged && result.left_sweeps && !result.is_squeezed) {
        // the planned sweeps lead to another solution to start from
        of_solver.leaves_slow_sweeps = false;
        geometry_.Reset(&problem_);
        correction_.Solve(compliance_, guess_, of_solver, &problem_, &geometry_, &newton_);
        record();
      }
      recursions_left_ -= result.recursions;
      report->compromises[Compromise::kRecursionsOverPlan] +=
          std::max(0, result.recursions - options.recursions);
      is_along_start_ = false;
      const auto solve_along_start = [&] {
        is_along_start_ = true;
        geometry_.Reset(&problem_);
        of_solver.scheme = solvers::CorrectionOptions::Scheme::kSingle;
        of_solver.begins_with_sweeps = of_solver.continues = false;
        guess_.assign(guess_.size(), Vector3d::Zero());
        correction_.Solve(compliance_, guess_, of_solver, &problem_, &geometry_, &newton_);
        record();
      };
      if (result.is_squeezed && Soften()) {
        ++report->compromises[Compromise::kSoftened];
        solve_along_start();
      } else if (IsUnlimited() && !result.converged && result.residual > kMaxEndResidual) {
        // solve with the directions at the start instead: with them, contacts gain no energy
        ++report->compromises[Compromise::kStartDirections];
        solve_along_start();
      }
      KeepFrames();
      if (!ReleaseSprings()) break;
      KeepAsGuess();
      geometry_.Reset(&problem_);
    } while (true);
    report->complementarity = result.complementarity;
    std::copy_n(result.impulse.begin(), stages_.system.contacts.size(),
                solution_.impulses.contacts.begin());
    // v = v_free + A⁻¹ Hᵀ F on the participants
    std::vector<double>& v = solution_.v_participating;
    change_.assign(v.size(), 0.0);
    compliance_.CalcVelocityChange(correction_.F(), change_);
    for (std::size_t i = 0; i < change_.size(); ++i) v[i] += change_[i];
    return absl::OkStatus();
  }

  const Model& model_;
  StepStages stages_;
  CorrectiveGeometry geometry_;
  solvers::CorrectiveProblem problem_;
  solvers::MappingCompliance compliance_;
  solvers::RecursiveCorrection correction_;
  NonsmoothLinearisation newton_;
  std::vector<std::vector<double>> tangents_;  // A with springs, of blocks that have some
  std::vector<double> change_, exerted_, mapped_impulses_;
  std::vector<Vector3d> end_impulses_;  // in the frames at the end of the step
  std::vector<Vector3d> guess_;
  std::vector<Eigen::Matrix3d> frames_;  // of the impulses found
  int recursions_left_ = 0;              // in this step
  // whether the last solve has only the directions at the start of the step
  bool is_along_start_ = false;
  double sweep_tolerance_ = 0;
  double speed_ = 0;  // largest of the participants [m/s], [rad/s]
  StepSolution solution_;
  RotationalClosing rotational_closing_{model_};
  RecoveryScratch recovery_;
};

}  // namespace

std::unique_ptr<Stepper> MakeCorrectiveStepper(const Model& model) {
  return std::make_unique<CorrectiveStepper>(model);
}

}  // namespace pliant::physics
