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

// Parts of a step whose wall time is kept apart.
enum class Phase { kPose, kSolve, kCheck, kCommit };
inline constexpr std::array<std::string_view, 4> kPhaseNames{"pose", "solve", "check", "commit"};

// What a step relaxed, clamped or cut off where it might have failed instead.
enum class Compromise {
  // Free motions whose Newton's method ended above its tolerance, where rounding left no descent.
  kNewtonAboveTolerance,
  kFrictionClamped,           // contacts whose friction is more than the method resolves
  kConeIterationsOverBudget,  // iterations on the friction cones beyond `newton_iterations`
  kRedetectionLimit,       // re-detections that ended at their limit, with new contacts in the last
  kRelinearisationLimit,   // relinearisations of soft bodies that ended at their limit
  kManifoldPointsDropped,  // points beyond the largest number that a pair of shapes keeps
  kSpeculativeDropped,     // contacts ahead that were too deep when they were found
  kCollapsedDropped,       // contacts without a direction, on surfaces without area
};
inline constexpr std::array<std::string_view, 8> kCompromiseNames{
    "newton_above_tolerance", "friction_clamped",      "cone_iterations_over_budget",
    "redetection_limit",      "relinearisation_limit", "manifold_points_dropped",
    "speculative_dropped",    "collapsed_dropped"};

// How often each of them was made.
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

// What one step did. Everything that is observed but does not affect the future.
struct StepReport {
  bool converged = true;  // the method's tolerance was met
  bool stalled = false;   // stopped short of it, at the limit of precision or of the criterion
  // Why the solve ended; CONVERGED exactly when `converged`.
  solvers::StopReason reason = solvers::StopReason::kConverged;
  CompromiseCounts compromises;
  int iterations = 0;            // Newton iterations, or sweeps
  int linear_iterations = 0;     // of the linear solvers within them, where these are iterative
  double residual = 0;           // relative, in the method's norm, recomputed on the full system
  double momentum_residual = 0;  // of the momentum balance at the end, linear or not; relative
  double complementarity = 0;    // largest violation [m/s]
  double cone_violation = 0;     // largest ‖γ_t‖ − μ γ_n, relative to γ_n
  double joint_drift = 0;  // how far joints in maximal coordinates are apart at the end [m], [rad]
  int refactorisations = 0;
  int relinearisations = 0;  // rounds in which tangents of nonlinear bodies were taken anew
  // Of Newton's method on the free motion of blocks that are not linear: the largest number of
  // iterations, and the largest relative residual.
  int newton_iterations = 0;
  double newton_residual = 0;
  // Elements whose stiffness, or compliance, was not definite and was projected: the largest
  // number in any one iteration, summed over all bodies.
  int projected_elements = 0;
  int participating = 0;  // degrees of freedom
  int constraints = 0;    // scalar rows
  int asleep = 0;         // blocks that were not computed, or not any more
  std::vector<ContactForce> contacts;
  std::vector<ConstraintForce> constraint_forces;  // of every scalar constraint
  std::vector<double> efforts;                     // what each actuator exerted [N·m], [N], [Pa]
  // External forces on frames, by block, and all velocities at the start of the step: reactions are
  // computed from these.
  std::vector<std::pair<int, BlockForce>> applied;
  std::vector<double> v_start;
  std::vector<double> iteration_residuals;
  std::vector<double> linear_residuals;  // of the last linear system within them, relative
  std::array<double, kPhaseNames.size()> phase_seconds{};  // wall time
  double seconds = 0;

  void Clear();  // as a fresh one, keeping its memory

  // Sets `reason`, and `converged` with it.
  void End(solvers::StopReason why) {
    reason = why;
    converged = why == solvers::StopReason::kConverged;
  }
};

// What is counted over many steps.
struct StepTotals {
  std::array<std::int64_t, solvers::kStopReasonNames.size()> ended{};  // steps, by their reason
  CompromiseCounts compromises;

  void Add(const StepReport& report);
};

}  // namespace pliant::physics
