#pragma once

#include <array>
#include <limits>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/delassus/delassus.h"
#include "solvers/delassus/mapping_compliance.h"

namespace pliant::solvers {

// Mapped degrees of freedom are the velocities of the nodes and frames that contacts and
// constraints stand on, and single velocities that constraints name: y = H v. What a contact reads
// of one node or frame, and exerts on it: u += J y, F += Jᵀ g. World axes.
struct MappedPart {
  int block = -1;  // of W_H; −1: moves as prescribed, whatever acts on it
  int row = 0, height = 0;
  std::array<double, 18> J{};  // 3 × height, column-major
};

// One contact of the corrective motion in its present frame, normal last; or a scalar constraint,
// which is the normal row of a contact whose other two are empty, with bounds of its own. Its
// displacement is given at the reference point of the linearisation, where u = Σ J y was
// `u_reference`:  δ = (slip, gap) + h Rᵀ (u − u_reference).
struct CorrectiveContact {
  int first_part = 0, num_parts = 0;
  Eigen::Matrix3d R_WC = Eigen::Matrix3d::Identity();
  double gap = 0;                                    // φ [m]; the error of a scalar constraint
  Eigen::Vector3d slip_W = Eigen::Vector3d::Zero();  // since the step's start [m]
  Eigen::Vector3d u_reference = Eigen::Vector3d::Zero();  // [m/s]
  double friction = 0;                                    // μ ≥ 0
  // R: velocity that a unit impulse may cost [s/kg], 1/(h² k) of a spring; 0: rigid
  double compliance = 0;
  double lower = 0;  // bounds of the normal impulse [N·s]
  double upper = std::numeric_limits<double>::infinity();
  // A spring whose Jᵀ J / R is in A: an implicit drive. It takes no part in sweeps, and no bounds
  // hold it.
  bool is_in_tangent = false;
};

// It does not share the layout of ConstraintSystem. A row of H belongs to a node or a frame that
// several contacts may read, not to a contact; and what a contact reads, its parts, changes with
// the geometry in every recursion, while H and W_H = H A⁻¹ Hᵀ stay: that is the method.
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

// Where contacts are once the nodes and frames that they stand on have moved: knows the geometry
// that the solver does not.
class Relinearisation {
 public:
  virtual ~Relinearisation() = default;
  // Brings frames, gaps, slips and parts of the contacts `first` … `last` − 1 up to mapped
  // velocities y under the impulses F. Leaves u_reference alone.
  virtual void Update(std::span<const double> y, std::span<const double> F, int first, int last,
                      CorrectiveProblem* problem) = 0;
};

struct CorrectionOptions {
  enum class Scheme {
    kFast,      // Algorithm 3: W_H once, its product with the present directions
    kStandard,  // Algorithm 2: W = J A⁻¹ Jᵀ anew in each recursion, the motion by solving with A
    kSingle     // one linearisation at the start of the step (Algorithm 1)
  };
  enum class Directions { kRecursion, kSweep, kContact };  // when frames are brought up to date
  Scheme scheme = Scheme::kFast;
  Directions directions = Directions::kRecursion;
  double h = 0;             // [s]
  double tolerance = 1e-5;  // largest change of an impulse in a sweep, relative to the largest one
  int recursions = 5;
  int sweeps = 30;  // in each recursion
};

struct CorrectionResult {
  bool converged = false;  // a fresh linearisation changed nothing above the tolerance
  int recursions = 0;
  int sweeps = 0;  // of all recursions
  // That of the first sweep of the last recursion; of the last sweep of a single linearisation.
  double residual = 0;
  double complementarity = 0;            // largest |min(gap / h, W_nn λ_n)| of contacts [m/s]
  std::vector<double> residuals;         // of each sweep
  std::vector<Eigen::Vector3d> impulse;  // in the last frames [N·s], cone satisfied exactly
};

// The recursive corrective motion (zeng2022 §5, §6) on total impulses: frames are taken anew from
// the moved proximity points, projected Gauss–Seidel with Coulomb's cone runs on the present
// linearisation, and again. What a contact exerted stays the same force in the world when its frame
// turns, but for the projection onto its new cone. Keeps its memory.
class RecursiveCorrection {
 public:
  // `guess` starts the impulses, in the contacts' first frames. `compliance` is of the problem's
  // blocks, entries and values.
  void Solve(const MappingCompliance& compliance, std::span<const Eigen::Vector3d> guess,
             const CorrectionOptions& options, CorrectiveProblem* problem,
             Relinearisation* geometry);

  const CorrectionResult& result() const { return result_; }
  // Total impulses on the mapped degrees of freedom, and their velocities under them.
  const std::vector<double>& F() const { return F_; }
  const std::vector<double>& y() const { return y_; }
  // W_ii of each contact in its last frame, as the sweeps had it; not of springs in A.
  const std::vector<Eigen::Matrix3d>& diagonals() const { return W_ii_; }

 private:
  struct Work {
    Eigen::Vector3d delta;  // δ − h Rᵀ u: what does not change in a sweep
    Eigen::Vector3d impulse_W;
  };
  Eigen::Matrix3d CalcDiagonal(const MappingCompliance& compliance,
                               const CorrectiveProblem& problem, int contact) const;
  // Takes contacts first … last − 1 to new frames: their forces stay, but for what leaves the cone.
  // Springs in A get what A does not give of them. Returns how much these change.
  double Refresh(const MappingCompliance& compliance, const CorrectionOptions& options,
                 bool is_first, int first, int last, CorrectiveProblem* problem,
                 Relinearisation* geometry);
  void Push(const MappingCompliance& compliance, const CorrectiveProblem& problem, int contact,
            const Eigen::Vector3d& impulse_W, bool moves);
  double CalcSpringPush(const CorrectiveProblem& problem, int contact, double h) const;
  double Sweep(const MappingCompliance& compliance, const CorrectionOptions& options,
               CorrectiveProblem* problem, Relinearisation* geometry);
  // y from F, by solving with A.
  void Move(const MappingCompliance& compliance, const CorrectiveProblem& problem);
  void SolveStandard(const MappingCompliance& compliance, const CorrectionOptions& options,
                     const CorrectiveProblem& problem, double* first_residual);

  std::vector<Work> work_;
  std::vector<Eigen::Matrix3d> W_ii_;
  std::vector<double> F_, y_, dv_;
  // of the standard scheme: W in contact space, what it is made of, and velocities in contact
  // frames
  DelassusOperator W_;
  std::vector<DelassusOperator::Block> w_blocks_;
  std::vector<DelassusOperator::Entry> w_entries_;
  std::vector<double> w_values_;
  std::vector<Eigen::Vector3d> u_;
  std::vector<MappedPart> old_parts_;
  CorrectionResult result_;
};

// u = Σ J y of a contact, in world axes.
Eigen::Vector3d CalcRelativeVelocity(const CorrectiveProblem& problem,
                                     const CorrectiveContact& contact, std::span<const double> y);

// One contact's step of projected Gauss–Seidel on totals:
//   λ_n ← clamp(λ_n − δ_n / (h (W_nn + R)));
//   λ_t ← λ_t − 2 δ_t / (h (W_11 + W_22)), ‖λ_t‖ ≤ μ λ_n,
// with δ_t taken after λ_n has changed. `delta` is the displacement under `impulse`, without R.
// W_nn ≤ 0: it stays.
Eigen::Vector3d RelaxContact(const CorrectiveContact& contact, const Eigen::Matrix3d& W,
                             const Eigen::Vector3d& delta, const Eigen::Vector3d& impulse,
                             double h);

}  // namespace pliant::solvers
