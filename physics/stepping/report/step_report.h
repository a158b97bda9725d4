#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/model.h"
#include "solvers/problem/stop_reason.h"

namespace pliant::physics {

// Phases of a step with separate wall times.
enum class Phase { kPose, kSolve, kCheck, kCommit };
inline constexpr std::array<std::string_view, 4> kPhaseNames{"pose", "solve", "check", "commit"};

// Cases in which a step relaxed, clamped or truncated something instead of failing.
enum class Compromise {
  // Free motions whose Newton iteration ended above its tolerance, when rounding left no descent.
  kNewtonAboveTolerance,
  kFrictionClamped,           // contacts with more friction than the method resolves
  kConeIterationsOverBudget,  // friction-cone iterations beyond `newton_iterations`
  kRedetectionLimit,       // re-detections that ended at their limit, with new contacts in the last
  kRelinearisationLimit,   // relinearisations of soft bodies that ended at their limit
  kManifoldPointsDropped,  // points beyond the limit of a pair of shapes
  kSpeculativeDropped,     // speculative contacts that were too deep when found
  kCollapsedDropped,       // contacts without a normal, on surfaces without area
  kImmovableDropped,       // contacts along whose normal neither body can move
  kTravelBeyondSize,       // bodies that move farther in the step than they are long
  kImpactLimit,            // islands in which a collision was left out or not solved exactly
  kHalved,                 // steps and substeps repeated in halves (Model::max_substeps)
  kHalvedInVain,           // steps and substeps kept because their halves were no better
  kStiffened,              // solves repeated with stiffer contacts, as bodies overlapped
  kRecursionsOverPlan,     // corrective recursions beyond `recursions`
  // Corrections solved again with the directions at the start of the step, since the recursions
  // ended far from a solution.
  kStartDirections,
  kSoftened,  // solves repeated with near-rigid contacts instead of rigid ones (see NearRigid)
};
inline constexpr std::array<std::string_view, 17> kCompromiseNames{"newton_above_tolerance",
                                                                   "friction_clamped",
                                                                   "cone_iterations_over_budget",
                                                                   "redetection_limit",
                                                                   "relinearisation_limit",
                                                                   "manifold_points_dropped",
                                                                   "speculative_dropped",
                                                                   "collapsed_dropped",
                                                                   "immovable_dropped",
                                                                   "travel_beyond_size",
                                                                   "impact_limit",
                                                                   "halved",
                                                                   "halved_in_vain",
                                                                   "stiffened",
                                                                   "recursions_over_plan",
                                                                   "start_directions",
                                                                   "softened"};

// Whether a compromise is only further work, after which the step is as exact as any other.
constexpr bool IsFurtherWork(Compromise kind) {
  return kind == Compromise::kConeIterationsOverBudget || kind == Compromise::kHalved ||
         kind == Compromise::kHalvedInVain || kind == Compromise::kRecursionsOverPlan;
}

// Number of occurrences of each compromise.
class CompromiseCounts {
 public:
  std::int64_t& operator[](Compromise kind) { return counts_[static_cast<int>(kind)]; }
  std::int64_t operator[](Compromise kind) const { return counts_[static_cast<int>(kind)]; }
  void Add(const CompromiseCounts& others);
  // Calls f(name, count) for every kind.
  template <typename F>
  void ForEach(const F& f) const {
    for (std::size_t k = 0; k < counts_.size(); ++k) f(kCompromiseNames[k], counts_[k]);
  }

 private:
  std::array<std::int64_t, kCompromiseNames.size()> counts_{};
};

// Balance of a world's energy over a step [J].
struct EnergyBalance {
  double before = 0, after = 0;  // kinetic, elastic and potential energy
  double work = 0;               // of inputs, drives and prescribed motions
  double released = 0;           // by contacts and joint limits of `smooth`, which store energy
  bool is_exact = true;  // false after collisions, by which positions lag, and for rules of order 2

  // Energy without a source; negative if energy is dissipated.
  double gain() const { return after - before - work - released; }
};

// Diagnostics of one step: observed quantities that do not affect the future.
struct StepReport {
  bool converged = true;  // the method's tolerance was met
  // Why the solve ended; CONVERGED exactly when `converged`.
  solvers::StopReason reason = solvers::StopReason::kConverged;
  CompromiseCounts compromises;
  int iterations = 0;            // Newton iterations, or sweeps
  int linear_iterations = 0;     // of iterative linear solvers, in total
  double residual = 0;           // relative, in the method's norm, recomputed on the full system
  double momentum_residual = 0;  // of the momentum balance at the end, linear or not; relative
  double complementarity = 0;    // largest violation [m/s]
  double cone_violation = 0;     // largest ‖γ_t‖ − μ γ_n, relative to γ_n
  EnergyBalance energy;          // zero unless World::WatchEnergy
  double joint_drift = 0;        // joint error in maximal coordinates at the end [m], [rad]
  int refactorisations = 0;
  int relinearisations = 0;  // rounds of relinearising nonlinear bodies
  // Newton's method on the free motion of nonlinear blocks: largest number of iterations, and
  // largest relative residual.
  int newton_iterations = 0;
  double newton_residual = 0;
  // Elements whose indefinite stiffness or compliance was projected: the largest number in any one
  // iteration, summed over all bodies.
  int projected_elements = 0;
  int participating = 0;  // degrees of freedom
  int constraints = 0;    // scalar rows
  int asleep = 0;         // sleeping blocks, including those that fell asleep in this step
  std::vector<ContactForce> contacts;
  std::vector<ConstraintForce> constraint_forces;  // of every scalar constraint, by substep
  std::vector<double> efforts;                     // effort of each actuator [N·m], [N], [Pa]
  // External forces on frames, by block, and all velocities at the start of the step, from which
  // reactions are computed.
  std::vector<std::pair<int, BlockForce>> applied;
  std::vector<double> v_start;
  std::vector<double> iteration_residuals;
  std::vector<double> linear_residuals;                    // of the last linear system, relative
  std::array<double, kPhaseNames.size()> phase_seconds{};  // wall time
  double seconds = 0;

  void Clear();  // resets all but allocated memory

  // Sets `reason` and `converged`.
  void End(solvers::StopReason why) {
    reason = why;
    converged = why == solvers::StopReason::kConverged;
  }
  bool stalled() const { return solvers::IsStalled(reason); }
};

// Counts over many steps.
struct StepTotals {
  std::array<std::int64_t, solvers::kStopReasonNames.size()> ended{};  // steps, by reason
  CompromiseCounts compromises;

  void Add(const StepReport& report);
};

}  // namespace pliant::physics
