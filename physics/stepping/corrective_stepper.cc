#include "physics/stepping/corrective_stepper.h"

#include <algorithm>
#include <cmath>

#include "physics/stepping/posed_step.h"
#include "solvers/corrective/projected_gauss_seidel.h"
#include "solvers/delassus/delassus.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

class CorrectiveStepper final : public Stepper {
 public:
  explicit CorrectiveStepper(const Model& model) : model_(model), posed_(model) {}

  absl::StatusOr<StepReport> Step(const Inputs& inputs, double h, State* state) override {
    const auto start = std::chrono::steady_clock::now();
    StepReport report;
    std::vector<double> v;
    std::vector<Vector3d> impulses;

    // pose momentum, contacts and free motion: implicit Euler
    {
      const PhaseTimer timer(&report, "pose");
      const absl::Status status = posed_.Pose(inputs, {h, 1, 1, model_.gravity}, *state);
      if (!status.ok()) return status;
    }

    // impulses in contact space, then the corrective motion they cause
    {
      const PhaseTimer timer(&report, "solve");
      std::vector<double> v_p = posed_.v_star();
      SolveContacts(h, *state, &v_p, &impulses, &report);
      const absl::Status status = posed_.Complete(v_p, &v);
      if (!status.ok()) return status;
    }
    {
      const PhaseTimer timer(&report, "commit");
      posed_.Commit(v, impulses, state, &report);
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  }

 private:
  void SolveContacts(double h, const State& state, std::vector<double>* v_p,
                     std::vector<Vector3d>* impulses, StepReport* report) {
    const int num_contacts = static_cast<int>(posed_.contacts().size());
    if (num_contacts == 0) return;

    std::vector<solvers::DelassusOperator::Block> blocks;
    for (const PosedStep::ActiveBlock& active : posed_.active_blocks())
      blocks.push_back({active.size, active.A.data()});
    std::vector<std::vector<solvers::DelassusOperator::Entry>> entries(num_contacts);
    std::vector<solvers::CorrectiveContact> contacts(num_contacts);
    for (int c = 0; c < num_contacts; ++c) {
      const PosedStep::ContactRows& rows = posed_.rows()[c];
      for (int e = rows.first_entry; e < rows.first_entry + rows.num_entries; ++e) {
        const PosedStep::Entry& entry = posed_.entries()[e];
        entries[c].push_back({entry.active,
                              entry.first - posed_.active_blocks()[entry.active].first,
                              entry.columns, &posed_.values()[entry.values]});
      }
      const ContactPoint& contact = posed_.contacts()[c];
      contacts[c] = {contact.gap, posed_.CalcContactVelocity(c, posed_.v_star()), contact.friction,
                     std::isfinite(contact.stiffness) ? 1 / contact.stiffness : 0.0};
    }
    const solvers::DelassusOperator W(blocks, entries);

    const CorrectiveOptions& options = model_.method.corrective;
    const solvers::GaussSeidelResult result = SolveProjectedGaussSeidel(
        W, contacts,
        options.warm_start ? Recall(state) : std::vector<Vector3d>(num_contacts, Vector3d::Zero()),
        {h, options.tolerance, options.sweeps});
    report->converged = result.converged;
    report->iterations = result.sweeps;
    report->residual = result.residual;
    report->iteration_residuals = result.residuals;
    *impulses = result.impulse;

    // v = v_free + A⁻¹ Jᵀ λ on the participants
    std::vector<double> change = posed_.CalcExertedImpulse(*impulses);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      W.SolveBlock(static_cast<int>(b),
                   {&change[posed_.active_blocks()[b].first], std::size_t(blocks[b].size)});
    }
    for (std::size_t i = 0; i < change.size(); ++i) (*v_p)[i] += change[i];
    for (int c = 0; c < num_contacts; ++c) {
      const double open = contacts[c].gap / h + posed_.CalcContactVelocity(c, *v_p).z();
      report->complementarity =
          std::max(report->complementarity,
                   std::abs(std::min(open, W.block(c, c)(2, 2) * (*impulses)[c].z())));
    }
  }

  // last step's impulses of the contacts that are still there, in their new frames
  std::vector<Vector3d> Recall(const State& state) const {
    std::vector<Vector3d> guess;
    for (const ContactPoint& contact : posed_.contacts()) {
      const auto found = std::lower_bound(
          state.contacts.begin(), state.contacts.end(), contact.key,
          [](const ContactMemory& memory, std::uint64_t key) { return memory.key < key; });
      const bool known = found != state.contacts.end() && found->key == contact.key;
      guess.push_back(known ? Vector3d(contact.R_WC.transpose() * found->impulse_W)
                            : Vector3d(Vector3d::Zero()));
      // a turned frame may have tilted it out of the cone
      Vector3d& lambda = guess.back();
      lambda.z() = std::max(lambda.z(), 0.0);
      const double length = std::sqrt(lambda.x() * lambda.x() + lambda.y() * lambda.y());
      if (length > contact.friction * lambda.z())
        lambda.head<2>() *= contact.friction * lambda.z() / length;
    }
    return guess;
  }

  const Model& model_;
  PosedStep posed_;
};

}  // namespace

std::unique_ptr<Stepper> MakeCorrectiveStepper(const Model& model) {
  return std::make_unique<CorrectiveStepper>(model);
}

}  // namespace pliant::physics
