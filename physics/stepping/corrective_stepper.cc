#include "physics/stepping/corrective_stepper.h"

#include <algorithm>
#include <cmath>

#include "physics/stepping/posed_step.h"
#include "solvers/corrective/projected_gauss_seidel.h"
#include "solvers/delassus/delassus.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kLeastCompliance = 1e-6;  // of a rigid constraint, relative to what it moves

class CorrectiveStepper final : public Stepper {
 public:
  explicit CorrectiveStepper(const Model& model) : model_(model), posed_(model) {}

  absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) override {
    const auto start = std::chrono::steady_clock::now();
    report->Clear();

    // pose momentum, contacts and free motion: implicit Euler
    {
      const PhaseTimer timer(report, Phase::kPose);
      const absl::Status status = posed_.Pose(inputs, {h, 1, 1, model_.gravity}, *state);
      if (!status.ok()) return status;
    }

    // impulses in contact space, then the corrective motion they cause
    {
      const PhaseTimer timer(report, Phase::kSolve);
      v_p_.assign(posed_.v_star().begin(), posed_.v_star().end());
      impulses_.contacts.clear();
      impulses_.constraints.clear();
      SolveRows(h, report);
      const absl::Status status = posed_.Complete(v_p_, &v_);
      if (!status.ok()) return status;
    }
    {
      const PhaseTimer timer(report, Phase::kCommit);
      posed_.Commit(v_, impulses_, state, report);
    }
    report->seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return absl::OkStatus();
  }

 private:
  using Entries = std::vector<solvers::DelassusOperator::Entry>;

  // A scalar constraint is the normal row of a contact whose other two rows are empty.
  solvers::CorrectiveContact MakeScalar(int k, double h) const {
    const ConstraintRow& row = posed_.constraints()[k];
    solvers::CorrectiveContact scalar{};
    scalar.v_free = Vector3d(0, 0, posed_.CalcConstraintRate(k, posed_.v_star()));
    scalar.lower = h * row.lower;
    scalar.upper = h * row.upper;
    // keeps rows along which nothing can move from dividing by rounding
    scalar.compliance = kLeastCompliance * posed_.constraint_rows()[k].W;
    if (row.dry_friction) return scalar;
    if (std::isinf(row.stiffness)) {
      scalar.gap = row.error;
      return scalar;
    }
    const double rate = h * row.stiffness + row.damping;
    scalar.compliance = std::max(scalar.compliance, 1 / (h * rate));
    scalar.gap =
        -h * (row.feedforward + row.damping * row.target_rate - row.stiffness * row.error) / rate;
    return scalar;
  }

  void SolveRows(double h, StepReport* report) {
    const int num_contacts = static_cast<int>(posed_.contacts().size());
    const int num_rows = num_contacts + static_cast<int>(posed_.constraints().size());
    if (num_rows == 0) return;

    std::vector<solvers::DelassusOperator::Block> blocks;
    for (const PosedStep::ActiveBlock& active : posed_.active_blocks())
      blocks.push_back({active.size, active.A.data()});
    std::vector<Entries> entries(num_rows);
    std::vector<solvers::CorrectiveContact> rows(num_rows);
    const auto place = [&](const PosedStep::Entry& entry, const double* values) {
      return solvers::DelassusOperator::Entry{
          entry.active, entry.first - posed_.active_blocks()[entry.active].first, entry.columns,
          values};
    };
    for (int c = 0; c < num_contacts; ++c) {
      const PosedStep::ContactRows& source = posed_.contact_rows()[c];
      for (int e = source.first_entry; e < source.first_entry + source.num_entries; ++e) {
        const PosedStep::Entry& entry = posed_.entries()[e];
        entries[c].push_back(place(entry, &posed_.values()[entry.values]));
      }
      const ContactPoint& contact = posed_.contacts()[c];
      rows[c] = {contact.gap, posed_.CalcContactVelocity(c, posed_.v_star()), contact.friction,
                 std::isfinite(contact.stiffness) ? 1 / (h * h * contact.stiffness) : 0.0};
    }
    std::vector<std::vector<double>> padded;  // scalar rows under two empty ones
    for (int k = 0; k < num_rows - num_contacts; ++k) {
      const PosedStep::ScalarRows& source = posed_.constraint_rows()[k];
      for (int e = source.first_entry; e < source.first_entry + source.num_entries; ++e) {
        const PosedStep::Entry& entry = posed_.entries()[e];
        std::vector<double> values(3 * std::size_t(entry.columns), 0.0);
        for (int j = 0; j < entry.columns; ++j)
          values[3 * j + 2] = posed_.values()[entry.values + j];
        padded.push_back(std::move(values));
        entries[num_contacts + k].push_back(place(entry, padded.back().data()));
      }
      rows[num_contacts + k] = MakeScalar(k, h);
    }
    const solvers::DelassusOperator W(blocks, entries);

    const CorrectiveOptions& options = model_.method.corrective;
    std::vector<Vector3d> guess(num_rows, Vector3d::Zero());
    if (options.warm_start) {
      const std::vector<Vector3d>& remembered = posed_.remembered_impulses();
      std::copy(remembered.begin(), remembered.end(), guess.begin());
    }
    const solvers::GaussSeidelResult result =
        SolveProjectedGaussSeidel(W, rows, guess, {h, options.tolerance, options.sweeps});
    report->converged = result.converged;
    report->iterations = result.sweeps;
    report->residual = result.residual;
    report->iteration_residuals = result.residuals;
    impulses_.contacts.assign(result.impulse.begin(), result.impulse.begin() + num_contacts);
    for (int k = num_contacts; k < num_rows; ++k)
      impulses_.constraints.push_back(result.impulse[k].z());

    // v = v_free + A⁻¹ Jᵀ λ on the participants
    std::vector<double> change;
    posed_.CalcExertedImpulse(impulses_, &change);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      W.SolveBlock(static_cast<int>(b),
                   {&change[posed_.active_blocks()[b].first], std::size_t(blocks[b].size)});
    }
    for (std::size_t i = 0; i < change.size(); ++i) v_p_[i] += change[i];
    for (int c = 0; c < num_contacts; ++c) {
      const double open = rows[c].gap / h + posed_.CalcContactVelocity(c, v_p_).z();
      report->complementarity =
          std::max(report->complementarity,
                   std::abs(std::min(open, W.block(c, c)(2, 2) * impulses_.contacts[c].z())));
    }
  }

  const Model& model_;
  PosedStep posed_;
  std::vector<double> v_p_, v_;
  Impulses impulses_;
};

}  // namespace

std::unique_ptr<Stepper> MakeCorrectiveStepper(const Model& model) {
  return std::make_unique<CorrectiveStepper>(model);
}

}  // namespace pliant::physics
