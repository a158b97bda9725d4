#include "physics/stepping/convex_stepper.h"

#include <algorithm>
#include <cmath>

#include <tbb/parallel_for.h>

#include "physics/spatial/trig.h"
#include "physics/stepping/posed_step.h"
#include "solvers/convex/sap.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::ConvexProblem;

// One island's problem, and where its velocities and contacts come from.
struct Island {
  ConvexProblem problem;
  std::vector<int> contacts;
  std::vector<int> velocities;  // participating velocity of each of the problem's
};

// Near-rigid regularisation: as stiff as the conditioning allows, or as the contact says (han2023 §IV; methods of SAP).
Vector3d Regularisation(const ContactPoint& contact, const Eigen::Matrix3d& W,
                        const ConvexOptions& options, double h) {
  const double w = std::sqrt(W.squaredNorm()) / 3;
  const double near_rigid = options.beta * options.beta * w / (4 * kPi * kPi);
  const double compliant = std::isfinite(contact.stiffness)
                               ? 1 / (h * contact.stiffness * (h + contact.relaxation_time))
                               : 0;
  const double R_t = options.sigma * w;
  return {R_t, R_t, std::max(near_rigid, compliant)};
}

class ConvexStepper final : public Stepper {
 public:
  explicit ConvexStepper(const Model& model) : model_(model), posed_(model) {}

  absl::StatusOr<StepReport> Step(const Inputs& inputs, double h, State* state) override {
    const auto start = std::chrono::steady_clock::now();
    const ConvexOptions& options = model_.method.convex;
    StepReport report;
    std::vector<double> v;
    std::vector<Vector3d> impulses;

    // pose momentum, contacts and free motion
    {
      const PhaseTimer timer(&report, "pose");
      const absl::Status status =
          posed_.Pose(inputs, {h, options.theta, options.theta_vq, model_.gravity}, *state);
      if (!status.ok()) return status;
    }

    // contacts, an island at a time
    {
      const PhaseTimer timer(&report, "solve");
      impulses.resize(posed_.contacts().size());
      std::vector<double> v_p = posed_.v_star();
      SolveIslands(h, &v_p, &impulses, &report);
      const absl::Status status = posed_.Complete(v_p, &v);
      if (!status.ok()) return status;
    }

    // the criterion once more, on the full system
    {
      const PhaseTimer timer(&report, "check");
      report.residual = posed_.CalcResidual(v, impulses);
      report.converged = report.residual <= options.tolerance;
      report.stalled = report.stalled && !report.converged;
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
  Island MakeIsland(const std::vector<int>& contacts, double h) const {
    Island island;
    island.contacts = contacts;
    ConvexProblem& problem = island.problem;

    // its blocks, in order
    std::vector<int> blocks;
    for (const int c : contacts) {
      const PosedStep::ContactRows& rows = posed_.rows()[c];
      for (int e = 0; e < rows.num_entries; ++e)
        blocks.push_back(posed_.entries()[rows.first_entry + e].active);
    }
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    std::vector<int> first_of(posed_.active_blocks().size(), -1);
    for (const int b : blocks) {
      const PosedStep::ActiveBlock& active = posed_.active_blocks()[b];
      first_of[b] = problem.size;
      problem.blocks.push_back({problem.size, active.size, active.A.data()});
      for (int i = 0; i < active.size; ++i) {
        island.velocities.push_back(active.first + i);
        problem.v_star.push_back(posed_.v_star()[active.first + i]);
      }
      problem.size += active.size;
    }

    for (const int c : contacts) {
      const ContactPoint& contact = posed_.contacts()[c];
      const PosedStep::ContactRows& rows = posed_.rows()[c];
      ConvexProblem::Contact constraint;
      constraint.R = Regularisation(contact, rows.W, model_.method.convex, h);
      constraint.v_hat = Vector3d(0, 0, -contact.gap / (h + contact.relaxation_time));
      constraint.bias = rows.bias;
      constraint.friction = contact.friction;
      constraint.first_entry = static_cast<int>(problem.entries.size());
      constraint.num_entries = rows.num_entries;
      problem.contacts.push_back(constraint);
      for (int e = rows.first_entry; e < rows.first_entry + rows.num_entries; ++e) {
        const PosedStep::Entry& entry = posed_.entries()[e];
        const int first =
            entry.first - posed_.active_blocks()[entry.active].first + first_of[entry.active];
        problem.entries.push_back({first, entry.columns, problem.values.size()});
        const double* J = &posed_.values()[entry.values];
        problem.values.insert(problem.values.end(), J, J + 3 * entry.columns);
      }
    }
    return island;
  }

  void SolveIslands(double h, std::vector<double>* v_p, std::vector<Vector3d>* impulses,
                    StepReport* report) const {
    const ConvexOptions& options = model_.method.convex;
    solvers::SapOptions sap;
    // the reduced system is solved tighter, so that the full one meets the tolerance in its own norms
    sap.relative_tolerance = 0.1 * options.tolerance;
    sap.max_iterations = options.max_iterations;
    sap.line_search = options.line_search == ConvexOptions::LineSearch::kExact
                          ? solvers::SapOptions::LineSearch::kExact
                          : solvers::SapOptions::LineSearch::kBacktracking;
    const std::vector<std::vector<int>> islands = posed_.FindIslands();
    std::vector<solvers::SapResult> results(islands.size());
    tbb::parallel_for(0, static_cast<int>(islands.size()), [&](int k) {
      const Island island = MakeIsland(islands[k], h);
      std::vector<double> guess = island.problem.v_star;
      if (options.warm_start) {
        for (std::size_t i = 0; i < guess.size(); ++i)
          guess[i] = posed_.v_start()[island.velocities[i]];
      }
      results[k] = SolveSap(island.problem, guess, sap);
      for (std::size_t i = 0; i < guess.size(); ++i) (*v_p)[island.velocities[i]] = results[k].v[i];
      for (std::size_t c = 0; c < islands[k].size(); ++c)
        (*impulses)[islands[k][c]] = results[k].gamma[c];
    });

    // whether the step converged is decided on the full system; an island may stall just short of its tighter tolerance
    for (const solvers::SapResult& result : results) {
      report->stalled = report->stalled || result.stalled;
      report->refactorisations += result.factorisations;
      if (result.iterations >= report->iterations) {
        report->iterations = result.iterations;
        report->iteration_residuals = result.residuals;
      }
    }
    for (std::size_t c = 0; c < impulses->size(); ++c) {
      // natural map of the rigid contact law: what the regularisation leaves open
      const double w = std::sqrt(posed_.rows()[c].W.squaredNorm()) / 3;
      const double v_n = posed_.CalcContactVelocity(static_cast<int>(c), *v_p).z();
      const double open = posed_.contacts()[c].gap / h + v_n;
      report->complementarity =
          std::max(report->complementarity, std::abs(std::min(open, w * (*impulses)[c].z())));
    }
  }

  const Model& model_;
  PosedStep posed_;
};

}  // namespace

std::unique_ptr<Stepper> MakeConvexStepper(const Model& model) {
  return std::make_unique<ConvexStepper>(model);
}

}  // namespace pliant::physics
