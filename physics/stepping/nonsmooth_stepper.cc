#include "physics/stepping/nonsmooth_stepper.h"

#include <algorithm>
#include <cmath>

#include "physics/dynamics/parallel.h"
#include "physics/stepping/integrators/theta_method.h"
#include "physics/stepping/report/step_timer.h"
#include "physics/stepping/solve.h"
#include "solvers/nonsmooth/law_residual.h"
#include "solvers/nonsmooth/near_rigid_contacts.h"
#include "solvers/nonsmooth/nonsmooth_newton.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::ConstraintSystem;
using solvers::NonsmoothProblem;

// steps with at most this many rows solve their islands on one thread
constexpr int kMaxSerialIslandRows = 64;
// limit on μ, beyond which no loaded contact slips: wider cones cost digits and gain nothing
constexpr double kMaxConeFriction = 1e4;
// tolerance of the recomputed residual of the laws, relative to that of the solver
constexpr double kLawRounding = 1.001;

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

// A spring k with damper τ k gives the force −k (φ + τ φ̇); in terms of h φ̇, this scales gap and
// compliance by h / (h + τ).
NonsmoothProblem::Contact MakeContact(const ConstraintSystem::Contact& contact, double h) {
  NonsmoothProblem::Contact made;
  made.gap = contact.gap + contact.allowed_overlap;
  made.friction = std::min(contact.friction, kMaxConeFriction);
  if (std::isfinite(contact.stiffness)) {
    const double share = h / (h + contact.relaxation_time);
    made.gap *= share;
    made.compliance = share / contact.stiffness;
  }
  return made;
}

// force = feedforward − k (g + h r) − d (r − r_target), as gap + h r + compliance · force = 0.
NonsmoothProblem::Row MakeRow(const ConstraintSystem::Row& row, double h) {
  NonsmoothProblem::Row made;
  made.lower = row.lower;
  made.upper = row.upper;
  if (row.dry_friction) return made;
  if (std::isinf(row.stiffness)) {
    made.gap = row.error;
    return made;
  }
  const auto [offset, slope] = row.CalcForce(h);
  made.compliance = h / slope;
  made.gap = -h * offset / slope;
  return made;
}

// Sets of rows of an island's blocks in compliance form.
class IslandSets final : public solvers::RowSets {
 public:
  void Clear() { count_ = 0; }
  bool empty() const { return count_ == 0; }
  // Appends a block's sets to the problem, in which the block's velocities begin at `first`.
  void Add(const StepStages& stages, const Participation::Block& participant, int first,
           NonsmoothProblem* problem) {
    CompliantForm* form = stages.blocks.abilities[participant.block].compliance;
    const std::span<const double> v_free =
        stages.blocks.spaces.Part(participant.block, stages.reduction.v_star);
    if (count_ == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[count_++];
    block.parts.clear();
    block.form = form;
    block.v.assign(v_free.begin(), v_free.end());
    const BlockStep& step = *stages.blocks.steps[participant.block];
    const Participation& participation = stages.participation;
    place_.assign(v_free.size(), -1);
    for (int k = 0; k < participant.num_groups; ++k) {
      const int g = participant.first_group + k;
      const int offset = step.space().group_offset(participation.groups[g]),
                size = participation.size_of_group(g),
                place = first + participation.group_velocities[g] - participant.first;
      block.parts.push_back({offset, place, size});
      for (int i = 0; i < size; ++i) place_[offset + i] = place + i;
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
    int offset, place, size;  // offset in the block, place in the problem
  };
  struct Block {
    CompliantForm* form;
    std::vector<Part> parts;
    std::vector<double> v;  // of the whole block
  };
  std::vector<Block> blocks_;  // the first count_ are in use; the others keep their memory
  std::size_t count_ = 0;
  std::vector<int> place_;
};

class NonsmoothStepper final : public Stepper {
 public:
  explicit NonsmoothStepper(const Model& model)
      : model_(model),
        stages_(model, model.method.is_maximal() ? Terms::kCompliance : Terms::kFreeMotion),
        solver_options_(ToSolver(model.method.nonsmooth)) {}

  absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) override {
    report->Clear();
    StepTimer timer(report);

    // set up momentum, contacts and free motion: implicit Euler
    absl::Status status = PoseStep(inputs, ThetaMethod(h), *state, &stages_);
    if (!status.ok()) return status;
    timer.Lap(Phase::kPose);

    // forces and velocities, island by island
    const NonsmoothOptions& options = model_.method.nonsmooth;
    const SolveLimits limits{
        .relinearisations = {options.relinearisations, options.momentum_tolerance}};
    status = SolveStep(
        *state, limits, &stages_, report, &solution_,
        [&](int round) { return SolveIslands(h, round, report); },
        [&] {
          return RecoverPositions(*state, &rotational_closing_, &recovery_, &stages_, &solution_);
        });
    if (!status.ok()) return status;
    timer.Lap(Phase::kSolve);

    // the laws of contacts and rows at the velocities returned; in maximal coordinates also those
    // of the sets, and the momentum balance under their forces
    const double law = CalcLawResidual();
    if (report->converged && !(law <= kLawRounding * options.tolerance))
      report->End(solvers::StopReason::kResidual);
    report->residual = law;
    // momentum balance on the full system
    if (!model_.method.is_maximal()) {
      report->momentum_residual = CalcSolutionResidual(solution_, &stages_);
      if (report->converged && !(report->momentum_residual <= options.momentum_tolerance))
        report->End(solvers::StopReason::kLinearised);
    }
    timer.Lap(Phase::kCheck);

    if (described() != nullptr) DescribeStep(stages_, solution_, described());
    if (reports_work()) ReportSuppliedWork(stages_, &solution_, report);
    CommitStep(solution_, &stages_, state, report);
    if (model_.method.nonsmooth.warm_start)
      KeepConstraintImpulses(solution_.impulses, stages_.blocks, stages_.warm_start, state);
    timer.Lap(Phase::kCommit);
    return absl::OkStatus();
  }

 private:
  // One island's problem and its solver; kept between steps only to reuse memory.
  struct Work {
    NonsmoothProblem problem;
    std::vector<Vector3d> contact_guess;
    std::vector<double> row_guess;
    IslandSets sets;
    solvers::NonsmoothNewton solver;
    solvers::NonsmoothResult result;
    // those of rigid contacts, which did not converge
    solvers::NonsmoothResult rigid_result;
    std::vector<NonsmoothProblem::Contact> rigid_contacts;
    std::vector<double> pressed, harder;
    bool solved = false, is_softened = false;
  };

  // Fills the island's problem; the initial forces are those of the last step, or of the last
  // round.
  void MakeProblem(const solvers::IslandView& island, double h, int round, Work* work) const {
    const ConstraintSystem& system = *island.system;
    NonsmoothProblem& problem = work->problem;
    problem.Clear();
    problem.h = h;
    problem.island = island;
    work->sets.Clear();
    for (const int b : island.blocks) {
      if (!system.blocks[b].is_in_compliance_form()) continue;
      work->sets.Add(stages_, stages_.participation.blocks[b], island.local_first[b], &problem);
    }
    if (!work->sets.empty()) problem.set_rows = &work->sets;
    const bool warm = model_.method.nonsmooth.warm_start;
    work->contact_guess.clear();
    for (const int c : island.contacts) {
      problem.contacts.push_back(MakeContact(system.contacts[c], h));
      const Vector3d& impulse =
          round > 0 ? solution_.impulses.contacts[c] : stages_.warm_start.contacts[c];
      work->contact_guess.push_back(warm ? Vector3d(impulse / h) : Vector3d::Zero());
    }
    work->row_guess.clear();
    for (const int k : island.rows) {
      problem.rows.push_back(MakeRow(system.rows[k], h));
      const double impulse = round > 0 ? solution_.impulses.rows[k] : stages_.warm_start.rows[k];
      work->row_guess.push_back(warm ? impulse / h : 0.0);
    }
  }

  // Whether forces that satisfy the laws would be found if there were any. Schemes that a scene
  // chooses end where it wants them to.
  bool IsPatient() const {
    return solver_options_.friction == solvers::NonsmoothOptions::Friction::kFixedPointThenCone;
  }

  // Solves an island with its rigid contacts made near-rigid, with R times `stiffer`, and gets the
  // normal impulses as speeds that each would cause alone. False if there are no rigid contacts, or
  // the solver does not converge.
  bool PressNearRigidly(double stiffer, Work* work, std::vector<double>* pressed) const {
    work->problem.contacts = work->rigid_contacts;
    if (!solvers::MakeNearRigid(stiffer, FrameSet::kRigidBeta, &work->problem)) return false;
    work->contact_guess.assign(work->rigid_contacts.size(), Vector3d::Zero());
    if (!work->solver.Solve(work->problem, work->contact_guess, work->row_guess, solver_options_,
                            &work->result))
      return false;
    solvers::GetPressures(work->problem, work->result, pressed);
    return work->result.converged;
  }

  void SolveIsland(const solvers::IslandView& island, double h, int round, Work* work) {
    MakeProblem(island, h, round, work);
    work->solved = work->solver.Solve(work->problem, work->contact_guess, work->row_guess,
                                      solver_options_, &work->result);
    work->is_softened = false;
    if (work->solved && !work->result.converged && work->sets.empty() && IsPatient()) {
      std::swap(work->result, work->rigid_result);
      work->rigid_contacts = work->problem.contacts;
      work->is_softened = PressNearRigidly(solvers::kStiffer, work, &work->harder) &&
                          PressNearRigidly(1, work, &work->pressed) &&
                          solvers::IsSqueezed(work->pressed, work->harder);
      if (!work->is_softened) {
        std::swap(work->result, work->rigid_result);
        work->problem.contacts = work->rigid_contacts;
      }
    }
    if (!work->solved) return;
    island.Scatter(work->result.v, solution_.v_participating);
    for (std::size_t c = 0; c < island.contacts.size(); ++c)
      solution_.impulses.contacts[island.contacts[c]] = h * work->result.contact_forces[c];
    for (std::size_t k = 0; k < island.rows.size(); ++k)
      solution_.impulses.rows[island.rows[k]] = h * work->result.row_forces[k];
  }

  absl::Status SolveIslands(double h, int round, StepReport* report) {
    const std::vector<solvers::IslandView>& islands = stages_.islands.views;
    if (work_.size() < islands.size()) work_.resize(islands.size());
    const int count = static_cast<int>(islands.size());
    const std::size_t num_rows =
        3 * solution_.impulses.contacts.size() + solution_.impulses.rows.size();
    if (count > 1 && num_rows > kMaxSerialIslandRows) {
      ParallelFor(count, 1, [&](int k) { SolveIsland(islands[k], h, round, &work_[k]); });
    } else {
      for (int k = 0; k < count; ++k) SolveIsland(islands[k], h, round, &work_[k]);
    }

    // report the last solve only
    solvers::StopReason reason = solvers::StopReason::kConverged;
    report->iterations = report->linear_iterations = 0;
    report->residual = report->complementarity = 0;
    int over_budget = 0, softened = 0;
    for (int k = 0; k < count; ++k) {
      const solvers::NonsmoothResult& result = work_[k].result;
      if (!work_[k].solved) {
        const int block = stages_.participation.blocks[islands[k].blocks[0]].block;
        return FailAtBlock(model_, block, absl::InternalError("the forces on it are not finite"));
      }
      reason = std::max(reason, result.reason);
      softened += work_[k].is_softened;
      report->residual = std::max(report->residual, result.residual);
      report->complementarity = std::max(report->complementarity, result.residual / h);
      report->linear_iterations += result.linear_iterations;
      const int iterations = result.iterations + result.cone_iterations;
      over_budget += std::max(0, iterations - solver_options_.newton_iterations);
      if (iterations >= report->iterations) {
        report->iterations = iterations;
        report->iteration_residuals.assign(result.residuals.begin(), result.residuals.end());
        if (result.iterations > 0)
          report->linear_residuals.assign(result.linear_residuals.begin(),
                                          result.linear_residuals.end());
      }
    }
    report->End(reason);
    report->compromises[Compromise::kConeIterationsOverBudget] = over_budget;
    report->compromises[Compromise::kSoftened] += softened;
    report->compromises[Compromise::kFrictionClamped] = std::ranges::count_if(
        stages_.system.contacts, [](const ConstraintSystem::Contact& contact) {
          return contact.friction > kMaxConeFriction;
        });
    return absl::OkStatus();
  }

  double CalcLawResidual() {
    double worst = 0;
    // keeps NaN
    const auto note = [&](double law) { worst = worst >= law || std::isnan(worst) ? worst : law; };
    for (std::size_t k = 0; k < stages_.islands.views.size(); ++k) {
      const NonsmoothProblem& problem = work_[k].problem;
      note(solvers::CalcLawResidual(problem, solution_.impulses, solution_.v_participating));
      if (!model_.method.is_maximal()) continue;
      note(solvers::CalcSetResidual(problem, solution_.impulses, work_[k].result.set_forces,
                                    solution_.v_participating, &set_residual_));
    }
    return worst;
  }

  const Model& model_;
  StepStages stages_;
  solvers::NonsmoothOptions solver_options_;
  std::vector<Work> work_;
  StepSolution solution_;
  solvers::SetResidualScratch set_residual_;
  RotationalClosing rotational_closing_{model_};
  RecoveryScratch recovery_;
};

}  // namespace

std::unique_ptr<Stepper> MakeNonsmoothStepper(const Model& model) {
  return std::make_unique<NonsmoothStepper>(model);
}

}  // namespace pliant::physics
