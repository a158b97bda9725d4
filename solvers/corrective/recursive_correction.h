#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "solvers/corrective/anderson_acceleration.h"
#include "solvers/delassus/delassus.h"
#include "solvers/delassus/mapping_compliance.h"

namespace pliant::solvers {

// Mapped degrees of freedom are the velocities of the nodes and frames that contacts and
// constraints are attached to, and single velocities that constraints refer to: y = H v. A
// MappedPart is the Jacobian of one contact with respect to one node or frame: u += J y, F += Jᵀ g.
// World axes.
struct MappedPart {
  int block = -1;  // of W_H; −1: motion is prescribed
  int row = 0, height = 0;
  std::array<double, 18> J{};  // 3 × height, column-major
};

// One contact of the corrective motion in its current frame, normal last. A scalar constraint is
// the normal row of a contact whose other two rows are empty, with its own bounds. Displacements
// are relative to the linearisation point, where u = Σ J y was `u_reference`:
//   δ = (slip, gap) + h Rᵀ (u − u_reference).
struct CorrectiveContact {
  int first_part = 0, num_parts = 0;
  Eigen::Matrix3d R_WC = Eigen::Matrix3d::Identity();
  double gap = 0;                                    // φ [m]; the error of a scalar constraint
  Eigen::Vector3d slip_W = Eigen::Vector3d::Zero();  // since the step's start [m]
  Eigen::Vector3d u_reference = Eigen::Vector3d::Zero();  // [m/s]
  double friction = 0;                                    // μ ≥ 0
  // R: compliance as velocity per impulse [1/kg], 1/(h² k) of a spring; 0: rigid
  double compliance = 0;
  double lower = 0;  // bounds of the normal impulse [N·s]
  double upper = std::numeric_limits<double>::infinity();
  // A spring whose Jᵀ J / R is in A: an implicit drive. Sweeps skip it, and its bounds are not
  // applied.
  bool is_in_tangent = false;
};

// The layout differs from ConstraintSystem's on purpose. A row of H belongs to a node or frame that
// several contacts may share. Each recursion changes the parts of the contacts with the geometry,
// while H and W_H = H A⁻¹ Hᵀ stay fixed.
struct CorrectiveProblem {
  std::vector<CorrectiveContact> contacts;
  std::vector<MappedPart> parts;
  std::vector<double> y_free;  // mapped velocities in free motion
  // H, for the standard scheme
  std::vector<MappingCompliance::Block> blocks;
  std::vector<MappingCompliance::Entry> entries;
  std::vector<double> values;

  void Clear();
};

// Updates the contact geometry, which is unknown to the solver, after nodes and frames have moved.
class Relinearisation {
 public:
  virtual ~Relinearisation() = default;
  // Updates frames, gaps, slips and parts of the contacts `first` … `last` − 1 to mapped velocities
  // y and impulses F. Does not change u_reference.
  virtual void Update(std::span<const double> y, std::span<const double> F, int first, int last,
                      CorrectiveProblem* problem) = 0;
};

// The contact problem of one linearisation: impulses λ displace the contacts by δ = δ₀ + h W λ,
// with W = J A⁻¹ Jᵀ. It excludes springs in A.
struct FixedLinearisation {
  const CorrectiveProblem& problem;
  std::span<const DelassusOperator::Entry> entries;  // of J, in contact frames; contacts ascend
  std::span<const double> values;
  std::span<const Eigen::Vector3d> displacements;  // δ₀ [m]
  std::span<const Eigen::Matrix3d> diagonals;      // of W [1/kg]
  // δ / h under the present impulses [m/s], and the blocks' velocities due to them
  std::span<const Eigen::Vector3d> rates;
  std::span<const double> velocities;
  double h;          // [s]
  double tolerance;  // of impulses, relative to the largest
  bool is_exact;     // solve it; false: take one proximal step
  double proximal;   // R of a proximal step relative to W
};

// Solves the problem of one linearisation by Newton's method, for problems on which sweeps converge
// too slowly.
class LinearisationSolver {
 public:
  virtual ~LinearisationSolver() = default;
  // `impulses` [N·s] holds a guess, and those of springs in A, which stay. False, and unchanged, if
  // there is no finite solution.
  virtual bool Solve(const FixedLinearisation& given, std::vector<Eigen::Vector3d>* impulses) = 0;
  // Whether the bodies of rigid contacts are squeezed between others which give no way, so that no
  // impulses keep them apart.
  virtual bool IsSqueezed(const FixedLinearisation& given) = 0;
};

// Whether a contact is a scalar constraint, with bounds of its own.
inline bool IsScalar(const CorrectiveContact& contact) {
  return std::isinf(contact.lower) || contact.lower != 0 || !std::isinf(contact.upper);
}

struct CorrectionOptions {
  enum class Scheme {
    kFast,      // Algorithm 3: W_H once, multiplied by the current directions
    kStandard,  // Algorithm 2: W = J A⁻¹ Jᵀ anew in each recursion, the motion by solving with A
    kSingle     // one linearisation at the start of the step (Algorithm 1)
  };
  enum class Directions { kRecursion, kSweep, kContact };  // when frames are updated
  Scheme scheme = Scheme::kFast;
  Directions directions = Directions::kRecursion;
  double h = 0;             // [s]
  double tolerance = 1e-5;  // largest change of an impulse in a sweep, relative to the largest one
  // After meeting the tolerance, recursions with a LinearisationSolver continue towards this, at
  // most twice.
  double refined_tolerance = std::numeric_limits<double>::infinity();
  // They also continue until the laws hold to this velocity at each contact [m/s]: where light
  // bodies carry heavy ones, the error of large impulses moves them.
  double refined_velocity = std::numeric_limits<double>::infinity();
  int recursions = 5;  // planned
  // If the planned ones do not converge, more follow up to this number, which use a
  // LinearisationSolver instead of sweeps.
  int max_recursions = 0;
  bool begins_with_sweeps = true;  // false: no recursions with sweeps
  // Whether a LinearisationSolver replaces the sweeps as soon as they do not solve a linearisation,
  // instead of after the planned recursions.
  bool leaves_slow_sweeps = true;
  int sweeps = 30;  // in each recursion
  // Continue from the frames and the motion at the end of the last solve, without sweeps.
  bool continues = false;
};

struct CorrectionResult {
  bool converged = false;    // a fresh linearisation changed nothing above the tolerance
  bool is_squeezed = false;  // see LinearisationSolver
  bool left_sweeps = false;  // before the planned number of recursions
  int recursions = 0;
  int sweeps = 0;  // of all recursions
  // Relative change in the first sweep of the last recursion; with kSingle, in the last sweep.
  double residual = 0;
  double complementarity = 0;            // largest |min(gap / h, W_nn λ_n)| of contacts [m/s]
  std::vector<double> residuals;         // of each sweep
  std::vector<Eigen::Vector3d> impulse;  // in the last frames [N·s], cone satisfied exactly
};

// Change of impulses, relative to the largest one; or, if it is smaller, the largest change
// relative to the impulse that moves its own contact by a nanometre (or a nanoradian), so that
// contacts which barely touch converge.
class ImpulseChange {
 public:
  void Clear() { *this = {}; }
  // Takes an impulse [N·s] into account that has not changed.
  void Scale(const Eigen::Vector3d& impulse);
  // Impulse of a contact or spring before and after [N·s]; its normal compliance W [1/kg] (of a
  // spring: its R); 0: unknown, only the largest impulse counts.
  void Add(const Eigen::Vector3d& before, const Eigen::Vector3d& after, double W, double h);
  double CalcRelative() const;
  // Largest change of the velocity of a contact by its own impulse [m/s].
  double velocity() const { return velocity_; }

 private:
  double largest_ = 0, change_ = 0, velocity_ = 0, to_smallest_ = 0;
};

// The recursive corrective motion (zeng2022 §5, §6) on total impulses. Each recursion recomputes
// the contact frames from the moved proximity points, then runs projected Gauss–Seidel with
// Coulomb's cone on that linearisation. When a frame turns, the contact's impulse in world axes is
// kept, except for the projection onto the new cone. Keeps its memory.
class RecursiveCorrection {
 public:
  // `guess` holds the initial impulses, in the contacts' present frames. `compliance` is built from
  // the problem's blocks, entries and values. Without a `solver`, no recursions follow the planned
  // ones.
  void Solve(const MappingCompliance& compliance, std::span<const Eigen::Vector3d> guess,
             const CorrectionOptions& options, CorrectiveProblem* problem,
             Relinearisation* geometry, LinearisationSolver* solver = nullptr);

  const CorrectionResult& result() const { return result_; }
  // Total impulses on the mapped degrees of freedom, and the resulting mapped velocities.
  const std::vector<double>& F() const { return F_; }
  const std::vector<double>& y() const { return y_; }
  // W_ii of each contact in its last frame, as used by the sweeps; not set for springs in A.
  const std::vector<Eigen::Matrix3d>& diagonals() const { return W_ii_; }

 private:
  struct Work {
    Eigen::Vector3d delta;  // δ − h Rᵀ u: the part of δ that is constant in a sweep
    Eigen::Vector3d impulse_W;
  };
  Eigen::Matrix3d CalcDiagonal(const MappingCompliance& compliance,
                               const CorrectiveProblem& problem, int contact) const;
  // Updates contacts first … last − 1 to new frames. Impulses in world axes are kept, clipped to
  // the new cones. Recomputes the impulses of springs in A, whose change is spring_change_.
  void Refresh(const MappingCompliance& compliance, const CorrectionOptions& options, bool is_first,
               int first, int last, CorrectiveProblem* problem, Relinearisation* geometry);
  void ApplyImpulse(const MappingCompliance& compliance, const CorrectiveProblem& problem,
                    int contact, const Eigen::Vector3d& impulse_W, bool moves);
  double CalcSpringImpulse(const CorrectiveProblem& problem, int contact, double h) const;
  double Sweep(const MappingCompliance& compliance, const CorrectionOptions& options,
               CorrectiveProblem* problem, Relinearisation* geometry);
  // Fills w_entries_ and w_values_ with J = Rᵀ P H.
  void BuildJacobian(const CorrectiveProblem& problem);
  // Relinearises all contacts at y; impulses in world axes are kept, clipped to the new cones.
  void UpdateAll(const MappingCompliance& compliance, double h, CorrectiveProblem* problem,
                 Relinearisation* geometry);
  // Says how accurately one linearisation is solved, as FixedLinearisation does.
  struct Accuracy {
    bool is_exact;
    double tolerance, proximal;
  };
  // The present linearisation; y_ and F_ become those without impulses.
  FixedLinearisation FixLinearisation(const MappingCompliance& compliance,
                                      const CorrectionOptions& options, const Accuracy& accuracy,
                                      const CorrectiveProblem& problem);
  bool IsSqueezed(const MappingCompliance& compliance, const CorrectionOptions& options,
                  const CorrectiveProblem& problem, LinearisationSolver* solver);
  // Solves the present linearisation without sweeps, or takes a proximal step. Returns false, with
  // impulses unchanged, if that fails.
  bool SolveLinearisation(const MappingCompliance& compliance, const CorrectionOptions& options,
                          const Accuracy& accuracy, const CorrectiveProblem& problem,
                          LinearisationSolver* solver);
  // Impulses, including the part of its springs that A contributes.
  void CalcTotals(const CorrectiveProblem& problem, std::vector<Eigen::Vector3d>* impulses) const;
  // Impulses in world axes.
  void GetImpulses(const CorrectiveProblem& problem, std::vector<Eigen::Vector3d>* world) const;
  void SetImpulses(const MappingCompliance& compliance, std::span<const Eigen::Vector3d> world,
                   const CorrectiveProblem& problem);
  // Replaces the solution of a linearisation, found from start_F_ and start_y_, by the accelerated
  // one.
  void Accelerate(const MappingCompliance& compliance, const CorrectiveProblem& problem);
  // Takes the fraction `part` of the change of impulses since start_.
  void Shorten(const MappingCompliance& compliance, double part, const CorrectiveProblem& problem);
  // Runs recursions with Newton's method from F_ until the laws hold to the tolerance.
  void Converge(const MappingCompliance& compliance, const CorrectionOptions& options,
                CorrectiveProblem* problem, Relinearisation* geometry, LinearisationSolver* solver);
  // Computes y from F by solving with A.
  void Move(const MappingCompliance& compliance, const CorrectiveProblem& problem);
  void SolveStandard(const MappingCompliance& compliance, const CorrectionOptions& options,
                     const CorrectiveProblem& problem, double* first_residual);
  // Completes the result at the end of a solve.
  void Finish(const CorrectiveProblem& problem, double h);

  std::vector<Work> work_;
  std::vector<Eigen::Matrix3d> W_ii_;
  ImpulseChange change_, spring_change_;  // in a sweep, and in Refresh
  std::vector<double> F_, y_, dv_;
  // for the standard scheme: W in contact space, its inputs, and velocities in contact frames
  DelassusOperator W_;
  std::vector<DelassusOperator::Block> w_blocks_;
  std::vector<DelassusOperator::Entry> w_entries_;
  std::vector<double> w_values_;
  std::vector<int> first_entry_;
  std::vector<Eigen::Vector3d> u_;
  std::vector<MappedPart> old_parts_;
  std::vector<Eigen::Vector3d> displacements_;  // see FixedLinearisation
  std::vector<Eigen::Vector3d> rates_, before_, totals_;
  AndersonAcceleration acceleration_;
  struct Iterate {
    double residual, velocity;  // of the laws
    std::vector<double> F, y;
    std::vector<Eigen::Vector3d> impulse_W;
  };
  Iterate tried_, best_;
  std::vector<double> start_F_, start_y_;       // before a recursion, then its change
  std::vector<Eigen::Vector3d> start_, image_;  // impulses in world axes
  std::vector<double> velocities_;
  bool ended_exactly_ = false;  // whether the last recursion was an exact solution
  CorrectionResult result_;
};

// u = Σ J y of a contact, in world axes.
Eigen::Vector3d CalcRelativeVelocity(const CorrectiveProblem& problem,
                                     const CorrectiveContact& contact, std::span<const double> y);

// One contact's step of projected Gauss–Seidel on totals:
//   λ_n ← clamp(λ_n − δ_n / (h (W_nn + R)));
//   λ_t ← λ_t − 2 δ_t / (h (W_11 + W_22)), ‖λ_t‖ ≤ μ λ_n,
// with δ_t evaluated after the update of λ_n. `delta` is the displacement under `impulse`, without
// R. With W_nn ≤ 0 the impulse is unchanged.
Eigen::Vector3d RelaxContact(const CorrectiveContact& contact, const Eigen::Matrix3d& W,
                             const Eigen::Vector3d& delta, const Eigen::Vector3d& impulse,
                             double h);

}  // namespace pliant::solvers
