#include "physics/stepping/nonsmooth_stepper.h"

#include <algorithm>
#include <cmath>

#include "physics/dynamics/compliant_form.h"
#include "physics/dynamics/parallel.h"
#include "physics/stepping/posed_step.h"
#include "solvers/nonsmooth/nonsmooth_newton.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::NonsmoothProblem;

// islands smaller than this are not worth a thread
constexpr int kRowsWorthAThread = 64;
// friction beyond which nothing slips that carries anything: cones still wider cost digits and hold no better
constexpr double kMostConeFriction = 1e4;

solvers::NonsmoothOptions ToSolver(const NonsmoothOptions& options) {
  using Preconditioner = NonsmoothOptions::Preconditioner;
  using LinearSolver = NonsmoothOptions::LinearSolver;
  solvers::NonsmoothOptions solver;
  solver.ncp = options.ncp == NonsmoothOptions::Ncp::kMinimumMap
                   ? solvers::NcpFunction::kMinimumMap
                   : solvers::NcpFunction::kFischerBurmeister;
  switch (options.friction) {
    case NonsmoothOptions::Friction::kFixedPoint:
      solver.friction = solvers::NonsmoothOptions::Friction::kFixedPoint;
      break;
    case NonsmoothOptions::Friction::kCone:
      solver.friction = solvers::NonsmoothOptions::Friction::kCone;
      break;
    case NonsmoothOptions::Friction::kFixedPointThenCone:
      solver.friction = solvers::NonsmoothOptions::Friction::kFixedPointThenCone;
      break;
  }
  switch (options.preconditioner) {
    case Preconditioner::kEffectiveMass:
      solver.preconditioner = solvers::NonsmoothOptions::Preconditioner::kEffectiveMass;
      break;
    case Preconditioner::kTimeStep:
      solver.preconditioner = solvers::NonsmoothOptions::Preconditioner::kTimeStep;
      break;
    case Preconditioner::kIdentity:
      solver.preconditioner = solvers::NonsmoothOptions::Preconditioner::kIdentity;
      break;
  }
  switch (options.linear_solver) {
    case LinearSolver::kPcr:
      solver.linear_solver = solvers::LinearSolver::kConjugateResidual;
      break;
    case LinearSolver::kPcg:
      solver.linear_solver = solvers::LinearSolver::kConjugateGradient;
      break;
    case LinearSolver::kJacobi:
      solver.linear_solver = solvers::LinearSolver::kJacobi;
      break;
    case LinearSolver::kGaussSeidel:
      solver.linear_solver = solvers::LinearSolver::kGaussSeidel;
      break;
    case LinearSolver::kDirect:
      solver.linear_solver = solvers::LinearSolver::kDirect;
      break;
  }
  if (options.normal_scaling == NonsmoothOptions::NormalScaling::kBothSides)
    solver.normal_scaling = solvers::NonsmoothOptions::NormalScaling::kBothSides;
  solver.geometric_stiffness = options.geometric_stiffness;
  solver.newton_iterations = options.newton_iterations;
  solver.linear_iterations = options.linear_iterations;
  solver.step_length = options.step_length;
  solver.tolerance = options.tolerance;
  return solver;
}

// A spring k and damper τ k push by k (φ + τ φ̇): in terms of h φ̇ its gap and compliance shrink by h / (h + τ).
NonsmoothProblem::Contact MakeContact(const ContactPoint& contact, double h) {
  NonsmoothProblem::Contact made;
  made.gap = contact.gap;
  made.friction = std::min(contact.friction, kMostConeFriction);
  if (std::isfinite(contact.stiffness)) {
    const double share = h / (h + contact.relaxation_time);
    made.gap *= share;
    made.compliance = share / contact.stiffness;
  }
  return made;
}

// force = feedforward − k (g + h r) − d (r − r_target), as gap + h r + compliance · force = 0.
NonsmoothProblem::Row MakeRow(const ConstraintRow& row, double h) {
  NonsmoothProblem::Row made;
  made.lower = row.lower;
  made.upper = row.upper;
  if (row.dry_friction) return made;
  if (std::isinf(row.stiffness)) {
    made.gap = row.error;
    return made;
  }
  const double rate = h * row.stiffness + row.damping;
  made.compliance = h / rate;
  made.gap =
      -h * (row.feedforward + row.damping * row.target_rate - row.stiffness * row.error) / rate;
  return made;
}

// The sets of an island's blocks in compliance form.
class IslandSets final : public solvers::RowSets {
 public:
  void Clear() { count_ = 0; }
  bool empty() const { return count_ == 0; }
  // Appends a block's sets to the problem, in which the block's velocities begin at `first`.
  void Add(const PosedStep& posed, const PosedStep::ActiveBlock& active, CompliantForm* form,
           std::span<const double> v_free, int first, NonsmoothProblem* problem) {
    if (count_ == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[count_++];
    block.parts.clear();
    block.form = form;
    block.v.assign(v_free.begin(), v_free.end());
    const BlockStep& step = posed.step(active.block);
    place_.assign(v_free.size(), -1);
    for (int group = 0; group < step.num_groups(); ++group) {
      const int participating = posed.FindParticipating(active.block, group);
      if (participating < 0) continue;
      const int offset = step.group_offset(group), shift = first - active.first;
      block.parts.push_back({offset, participating + shift, step.group_size(group)});
      for (int i = 0; i < step.group_size(group); ++i)
        place_[offset + i] = participating + shift + i;
    }
    for (const CompliantForm::Set& set : form->sets()) {
      solvers::SetColumns& columns = problem->sets.emplace_back();
      for (int part = 0; part < 4; ++part) columns[part] = set[part] < 0 ? -1 : place_[set[part]];
    }
  }

  bool Evaluate(std::span<const double> v, std::span<const double> lambda, std::span<double> J,
                std::span<double> E, std::span<double> error) override {
    std::size_t set = 0;
    for (Block& block : std::span(blocks_).first(count_)) {
      for (const Part& part : block.parts)
        std::copy_n(&v[part.place], part.size, &block.v[part.offset]);
      const std::size_t count = block.form->sets().size();
      if (!block.form->Evaluate(block.v, lambda.subspan(6 * set, 6 * count),
                                J.subspan(72 * set, 72 * count), E.subspan(36 * set, 36 * count),
                                error.subspan(6 * set, 6 * count)))
        return false;
      set += count;
    }
    return true;
  }

 private:
  struct Part {
    int offset, place, size;  // in the block, in the problem
  };
  struct Block {
    CompliantForm* form;
    std::vector<Part> parts;
    std::vector<double> v;  // of the whole block
  };
  std::vector<Block> blocks_;  // the first count_ of them; the others keep their memory
  std::size_t count_ = 0;
  std::vector<int> place_;
};

class NonsmoothStepper final : public Stepper {
 public:
  explicit NonsmoothStepper(const Model& model)
      : model_(model),
        posed_(model, model.method.is_maximal() ? PosedStep::Terms::kCompliance
                                                : PosedStep::Terms::kFreeMotion),
        solver_options_(ToSolver(model.method.nonsmooth)) {}

  absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) override {
    report->Clear();
    StepTimer timer(report);

    // pose momentum, contacts and free motion: implicit Euler
    absl::Status status = posed_.Pose(inputs, {h, 1, 1, model_.gravity}, *state);
    if (!status.ok()) return status;
    timer.Lap(Phase::kPose);

    // forces and velocities, an island at a time; impacts turn bodies to where nothing was looked for yet
    status =
        posed_.SolveAsSeen(*state, &v_p_, &v_, &impulses_, [&] { return SolveIslands(h, report); });
    if (!status.ok()) return status;
    timer.Lap(Phase::kSolve);

    if (described() != nullptr) posed_.Describe(v_p_, impulses_, described());
    posed_.Commit(v_, impulses_, state, report);
    if (model_.method.nonsmooth.warm_start) posed_.KeepConstraints(impulses_, state);
    timer.Lap(Phase::kCommit);
    return absl::OkStatus();
  }

 private:
  // One island's problem and its solver; kept from step to step for its memory alone.
  struct Work {
    NonsmoothProblem problem;
    std::vector<int> velocities;  // participating velocity of each of the problem's
    std::vector<int> shifts;      // of each block's velocities, from participating ones
    std::vector<Vector3d> contact_guess;
    std::vector<double> row_guess;
    IslandSets sets;
    solvers::NonsmoothNewton solver;
    solvers::NonsmoothResult result;
    bool solved = false;
  };

  void MakeProblem(const PosedStep::Island& island, double h, Work* work) const {
    NonsmoothProblem& problem = work->problem;
    problem.Clear();
    problem.h = h;
    problem.values = posed_.values();
    work->velocities.clear();
    work->contact_guess.clear();
    work->sets.Clear();
    work->shifts.clear();
    for (const int b : island.blocks) {
      const PosedStep::ActiveBlock& active = posed_.active_blocks()[b];
      const int first = problem.size;
      work->shifts.push_back(first - active.first);
      for (int i = 0; i < active.size; ++i) {
        work->velocities.push_back(active.first + i);
        problem.v_star.push_back(posed_.v_star()[active.first + i]);
      }
      problem.size += active.size;
      CompliantForm* form = posed_.compliant_form(active.block);
      if (form == nullptr) {
        problem.blocks.push_back({first, active.size, active.A.dense.data()});
        continue;
      }
      const BlockStep& step = posed_.step(active.block);
      for (int group = 0; group < step.num_groups(); ++group) {
        const std::span<const double> mass = form->group_mass(group);
        if (mass.empty()) continue;
        const int place = posed_.FindParticipating(active.block, group) - active.first + first;
        problem.blocks.push_back(
            {place, step.group_size(group), mass.data(), form->are_particles()});
      }
      const int begin = model_.velocity_offsets[active.block],
                end = model_.velocity_offsets[active.block + 1];
      work->sets.Add(posed_, active, form,
                     std::span<const double>(posed_.v_free()).subspan(begin, end - begin), first,
                     &problem);
    }
    if (!work->sets.empty()) problem.set_rows = &work->sets;
    // rows keep their place within a block
    const auto add_entries = [&](int first_entry, int num_entries) {
      for (int e = first_entry; e < first_entry + num_entries; ++e) {
        const PosedStep::Entry& entry = posed_.entries()[e];
        const auto block =
            std::lower_bound(island.blocks.begin(), island.blocks.end(), entry.active) -
            island.blocks.begin();
        problem.entries.push_back({static_cast<int>(block), entry.first + work->shifts[block],
                                   entry.columns, entry.values});
      }
    };
    const bool warm = model_.method.nonsmooth.warm_start;
    work->row_guess.clear();
    for (const int c : island.contacts) {
      const PosedStep::ContactRows& rows = posed_.contact_rows()[c];
      NonsmoothProblem::Contact contact = MakeContact(posed_.contacts()[c], h);
      contact.bias = rows.bias;
      contact.W = rows.W;
      contact.first_entry = static_cast<int>(problem.entries.size());
      contact.num_entries = rows.num_entries;
      problem.contacts.push_back(contact);
      add_entries(rows.first_entry, rows.num_entries);
      work->contact_guess.push_back(warm ? Vector3d(posed_.remembered_impulses()[c] / h)
                                         : Vector3d::Zero());
    }
    for (const int k : island.constraints) {
      const PosedStep::ScalarRows& rows = posed_.constraint_rows()[k];
      NonsmoothProblem::Row row = MakeRow(posed_.constraints()[k], h);
      row.bias = rows.bias;
      row.W = rows.W;
      row.first_entry = static_cast<int>(problem.entries.size());
      row.num_entries = rows.num_entries;
      problem.rows.push_back(row);
      add_entries(rows.first_entry, rows.num_entries);
      work->row_guess.push_back(warm ? posed_.remembered_constraint_impulses()[k] / h : 0.0);
    }
  }

  void SolveIsland(const PosedStep::Island& island, double h, Work* work) {
    MakeProblem(island, h, work);
    work->solved = work->solver.Solve(work->problem, work->contact_guess, work->row_guess,
                                      solver_options_, &work->result);
    if (!work->solved) return;
    for (std::size_t i = 0; i < work->velocities.size(); ++i)
      v_p_[work->velocities[i]] = work->result.v[i];
    for (std::size_t c = 0; c < island.contacts.size(); ++c)
      impulses_.contacts[island.contacts[c]] = h * work->result.contact_forces[c];
    for (std::size_t k = 0; k < island.constraints.size(); ++k)
      impulses_.constraints[island.constraints[k]] = h * work->result.row_forces[k];
  }

  absl::Status SolveIslands(double h, StepReport* report) {
    const std::vector<PosedStep::Island>& islands = posed_.islands();
    if (work_.size() < islands.size()) work_.resize(islands.size());
    const int count = static_cast<int>(islands.size());
    const std::size_t num_rows = 3 * impulses_.contacts.size() + impulses_.constraints.size();
    if (count > 1 && num_rows > kRowsWorthAThread) {
      ParallelFor(count, 1, [&](int k) { SolveIsland(islands[k], h, &work_[k]); });
    } else {
      for (int k = 0; k < count; ++k) SolveIsland(islands[k], h, &work_[k]);
    }

    // of the last look alone
    report->converged = true;
    report->stalled = false;
    report->iterations = report->linear_iterations = 0;
    report->residual = report->complementarity = 0;
    for (int k = 0; k < count; ++k) {
      const solvers::NonsmoothResult& result = work_[k].result;
      if (!work_[k].solved) {
        const int block = posed_.active_blocks()[islands[k].blocks[0]].block;
        return posed_.Fault(block, absl::InternalError("the forces on it are not finite"));
      }
      report->converged = report->converged && result.converged;
      report->stalled = report->stalled || result.cycled;
      report->residual = std::max(report->residual, result.residual);
      report->complementarity = std::max(report->complementarity, result.residual / h);
      report->linear_iterations += result.linear_iterations;
      const int iterations = result.iterations + result.cone_iterations;
      if (iterations >= report->iterations) {
        report->iterations = iterations;
        report->iteration_residuals.assign(result.residuals.begin(), result.residuals.end());
        if (result.iterations > 0)
          report->linear_residuals.assign(result.linear_residuals.begin(),
                                          result.linear_residuals.end());
      }
    }
    return absl::OkStatus();
  }

  const Model& model_;
  PosedStep posed_;
  solvers::NonsmoothOptions solver_options_;
  std::vector<Work> work_;
  std::vector<double> v_p_, v_;
  Impulses impulses_;
};

}  // namespace

std::unique_ptr<Stepper> MakeNonsmoothStepper(const Model& model) {
  return std::make_unique<NonsmoothStepper>(model);
}

}  // namespace pliant::physics
