#include "physics/stepping/corrective_stepper.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "physics/stepping/corrective_geometry.h"
#include "physics/stepping/posed_step.h"
#include "solvers/corrective/recursive_correction.h"
#include "solvers/delassus/mapping_compliance.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr int kMostRelinearisations = 5;
constexpr double kLeastCompliance = 1e-6;  // of a rigid constraint, relative to what it moves

solvers::CorrectionOptions OptionsOf(const CorrectiveOptions& given, double h) {
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
  options.tolerance = given.tolerance;
  options.recursions = given.recursions;
  options.sweeps = given.sweeps;
  return options;
}

class CorrectiveStepper final : public Stepper {
 public:
  explicit CorrectiveStepper(const Model& model)
      : model_(model), posed_(model), geometry_(model, posed_) {
    geometry_.SetCompliance(&compliance_);
  }

  absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) override {
    report->Clear();
    StepTimer timer(report);

    // pose momentum, contacts and free motion: implicit Euler
    absl::Status status = posed_.Pose(inputs, {h, 1, 1, model_.gravity}, *state);
    if (!status.ok()) return status;
    timer.Lap(Phase::kPose);

    // impulses on what carries the contacts, then the corrective motion they cause
    for (int look = 0;; ++look) {
      MakeGuess();
      impulses_.contacts.clear();
      impulses_.constraints.clear();
      for (int k = 0;; ++k) {
        v_p_.assign(posed_.v_star().begin(), posed_.v_star().end());
        if (!posed_.active_blocks().empty()) {
          status = Correct(*state, h, report);
          if (!status.ok()) return status;
        }
        status = posed_.Complete(v_p_, &v_);
        if (!status.ok()) return status;
        if (k == kMostRelinearisations) break;

        // tangents that the correction has left behind are taken to where it led
        const absl::StatusOr<int> stale = posed_.Relinearise(v_, *state);
        if (!stale.ok()) return stale.status();
        if (*stale == 0) break;
        report->refactorisations += *stale;
        KeepAsGuess();
      }
      // impacts turn bodies to where nothing was looked for yet; one linearisation is one
      const bool is_single = model_.method.corrective.scheme == CorrectiveOptions::Scheme::kSingle;
      if (is_single || look == PosedStep::kLooksAgain) break;
      const absl::StatusOr<bool> more = posed_.LookAgain(v_, *state);
      if (!more.ok()) return more.status();
      if (!*more) break;
    }
    TakeOver();
    timer.Lap(Phase::kSolve);

    if (described() != nullptr) posed_.Describe(v_p_, impulses_, described());
    posed_.Commit(v_, impulses_, state, report);
    timer.Lap(Phase::kCommit);
    return absl::OkStatus();
  }

 private:
  // A scalar constraint is the normal row of a contact whose other two rows are empty.
  void FillScalar(int k, double h, solvers::CorrectiveContact* scalar) {
    const ConstraintRow& row = posed_.constraints()[k];
    scalar->lower = h * row.lower;
    scalar->upper = h * row.upper;
    // keeps rows along which nothing can move from dividing by rounding
    scalar->compliance = kLeastCompliance * posed_.constraint_rows()[k].W;
    scalar->gap = 0;
    if (row.dry_friction) return;
    if (std::isinf(row.stiffness)) {
      scalar->gap = row.error;
      return;
    }
    const double rate = h * row.stiffness + row.damping;
    scalar->compliance = std::max(scalar->compliance, 1 / (h * rate));
    scalar->gap =
        -h * (row.feedforward + row.damping * row.target_rate - row.stiffness * row.error) / rate;
  }

  // Springs and drives that act on one block alone belong to its A, as long as they are within their bounds: sweeps over
  // them would be many. One at its limit is a constant force, and a row like others.
  void FindSprings() {
    const int num_contacts = static_cast<int>(posed_.contacts().size());
    for (std::size_t k = 0; k < posed_.constraints().size(); ++k) {
      const ConstraintRow& row = posed_.constraints()[k];
      if (row.dry_friction || !std::isfinite(row.stiffness)) continue;
      const PosedStep::ScalarRows& rows = posed_.constraint_rows()[k];
      bool is_alone = true;
      for (int e = 1; e < rows.num_entries; ++e) {
        is_alone = is_alone && posed_.entries()[rows.first_entry + e].active ==
                                   posed_.entries()[rows.first_entry].active;
      }
      problem_.contacts[num_contacts + k].is_in_tangent = is_alone;
    }
  }

  // A + Σ Jᵀ J / R over the springs of each block.
  void AddSprings() {
    const int num_contacts = static_cast<int>(posed_.contacts().size());
    if (tangents_.size() < posed_.active_blocks().size())
      tangents_.resize(posed_.active_blocks().size());
    for (std::size_t b = 0; b < posed_.active_blocks().size(); ++b) {
      tangents_[b].clear();
      problem_.blocks[b].A = posed_.active_blocks()[b].A.dense.data();
    }
    for (std::size_t k = 0; k < posed_.constraints().size(); ++k) {
      const solvers::CorrectiveContact& spring = problem_.contacts[num_contacts + k];
      if (!spring.is_in_tangent) continue;
      const PosedStep::ScalarRows& rows = posed_.constraint_rows()[k];
      const auto begin = posed_.entries().begin() + rows.first_entry,
                 end = begin + rows.num_entries;
      const PosedStep::ActiveBlock& active = posed_.active_blocks()[begin->active];
      std::vector<double>& A = tangents_[begin->active];
      if (A.empty()) A.assign(active.A.dense.begin(), active.A.dense.end());
      problem_.blocks[begin->active].A = A.data();
      for (auto left = begin; left != end; ++left) {
        for (auto right = begin; right != end; ++right) {
          for (int j = 0; j < right->columns; ++j) {
            const double factor = posed_.values()[right->values + j] / spring.compliance;
            double* column = &A[std::size_t(right->first - active.first + j) * active.size];
            for (int i = 0; i < left->columns; ++i)
              column[left->first - active.first + i] += factor * posed_.values()[left->values + i];
          }
        }
      }
    }
  }

  // Springs beyond their bounds leave A. Returns whether there was one.
  bool ReleaseSprings() {
    bool is_released = false;
    for (std::size_t i = posed_.contacts().size(); i < problem_.contacts.size(); ++i) {
      solvers::CorrectiveContact& spring = problem_.contacts[i];
      const double impulse = correction_.result().impulse[i].z();
      if (!spring.is_in_tangent || (impulse >= spring.lower && impulse <= spring.upper)) continue;
      spring.is_in_tangent = false;
      is_released = true;
    }
    return is_released;
  }

  void MakeGuess() {
    guess_.assign(posed_.contacts().size() + posed_.constraints().size(), Vector3d::Zero());
    if (!model_.method.corrective.warm_start) return;
    const std::vector<Vector3d>& remembered = posed_.remembered_impulses();
    std::copy(remembered.begin(), remembered.end(), guess_.begin());
  }

  // What has been found, in the frames of the start.
  void KeepAsGuess() {
    for (std::size_t i = 0; i < guess_.size(); ++i) {
      const solvers::CorrectiveContact& row = problem_.contacts[i];
      guess_[i] = correction_.result().impulse[i];
      if (i < posed_.contacts().size()) {
        guess_[i] = posed_.contacts()[i].R_WC.transpose() * (row.R_WC * guess_[i]);
      } else {
        guess_[i].z() = std::clamp(guess_[i].z(), row.lower, row.upper);
      }
    }
  }

  // The impulses, in the frames that they were found in.
  void TakeOver() {
    if (posed_.active_blocks().empty()) return;
    const std::vector<Vector3d>& found = correction_.result().impulse;
    const int num_contacts = static_cast<int>(posed_.contacts().size());
    impulses_.contacts.assign(found.begin(), found.begin() + num_contacts);
    for (std::size_t k = num_contacts; k < found.size(); ++k)
      impulses_.constraints.push_back(found[k].z());
    for (int c = 0; c < num_contacts; ++c) posed_.SetContactFrame(c, problem_.contacts[c].R_WC);
  }

  absl::Status Correct(const State& state, double h, StepReport* report) {
    const int num_contacts = static_cast<int>(posed_.contacts().size());
    const int num_rows = num_contacts + static_cast<int>(posed_.constraints().size());
    geometry_.Build(state, h, &problem_);
    for (int c = 0; c < num_contacts; ++c) {
      const double stiffness = posed_.contacts()[c].stiffness;
      problem_.contacts[c].compliance = std::isfinite(stiffness) ? 1 / (h * h * stiffness) : 0.0;
    }
    for (int k = num_contacts; k < num_rows; ++k) {
      FillScalar(k - num_contacts, h, &problem_.contacts[k]);
      geometry_.SetError(k - num_contacts, problem_.contacts[k].gap);
    }
    FindSprings();
    const CorrectiveOptions& options = model_.method.corrective;
    const solvers::CorrectionResult& result = correction_.result();
    do {
      AddSprings();
      const int failed = compliance_.Build(problem_.blocks, problem_.entries, problem_.values);
      if (failed >= 0) {
        return absl::InternalError(
            absl::StrCat("the tangent matrix of what touches is not positive definite in block ",
                         posed_.active_blocks()[failed].block));
      }
      report->refactorisations += compliance_.num_blocks() - compliance_.num_kept();
      correction_.Solve(compliance_, guess_, OptionsOf(options, h), &problem_, &geometry_);
      report->iterations += result.sweeps;
      report->iteration_residuals.insert(report->iteration_residuals.end(),
                                         result.residuals.begin(), result.residuals.end());
      if (!ReleaseSprings()) break;
      KeepAsGuess();
      geometry_.Reset(&problem_);
    } while (true);
    report->converged = result.converged;
    report->residual = result.residual;
    report->complementarity = result.complementarity;
    // v = v_free + A⁻¹ Hᵀ F on the participants
    change_.assign(v_p_.size(), 0.0);
    compliance_.CalcVelocityChange(correction_.F(), change_);
    for (std::size_t i = 0; i < change_.size(); ++i) v_p_[i] += change_[i];
    return absl::OkStatus();
  }

  const Model& model_;
  PosedStep posed_;
  CorrectiveGeometry geometry_;
  solvers::CorrectiveProblem problem_;
  solvers::MappingCompliance compliance_;
  solvers::RecursiveCorrection correction_;
  std::vector<std::vector<double>> tangents_;  // A with springs, of blocks that have some
  std::vector<double> v_p_, v_, change_;
  std::vector<Vector3d> guess_;
  Impulses impulses_;
};

}  // namespace

std::unique_ptr<Stepper> MakeCorrectiveStepper(const Model& model) {
  return std::make_unique<CorrectiveStepper>(model);
}

}  // namespace pliant::physics
