#pragma once

#include <functional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/hessian/contact_jacobian.h"
#include "solvers/hessian/dense_hessian.h"
#include "solvers/nonsmooth/packed_rows.h"

namespace pliant::solvers {

struct NonsmoothProblem;

// Semismooth Newton method on velocities for contacts with exact friction cones; normal and
// tangential parts of friction are coupled. Converges where the fixed point of macklin2019 on
// friction cycles.
//
// A proximal iteration on the forces f. With ũ = u + e_n (gap / h + μ ‖u_t‖), which makes slip on
// Coulomb's cone complementary to the force (de Saxcé), it solves
//   A (v − v*) = h Σ Jᵀ γ,   γ = the point of the cone that is nearest to f − ũ / R,
// and sets f ← γ, with R decreasing while that converges well. The Jacobian A + h Jᵀ K (1 + μ e_n
// t̂ᵀ) J is not symmetric: GMRES solves with it, preconditioned by the factor of A + h Jᵀ K J. If a
// few Newton steps do not converge, ‖u_t‖ is held fixed: the remaining problem is convex, and
// Newton's method with line search minimises its cost.
//
// Keeps its memory.
class ConeNewton {
 public:
  // `rows`: J. `lambda`: initial forces, three per contact, then those of rows. Ends when `is_done`
  // accepts the forces found, after `max_iterations`, or when numbers are not finite.
  void Solve(const NonsmoothProblem& problem, const PackedRows& rows, int max_iterations,
             const std::function<bool(std::span<const double> lambda)>& is_done,
             std::span<const double> lambda);
  int iterations() const { return iterations_; }  // with one factorisation each

 private:
  // Values at velocities v.
  struct Point {
    std::vector<double> v, gamma, residual;
    std::vector<Eigen::Matrix3d> K;     // −∂γ/∂ũ of contacts
    std::vector<Eigen::Vector2d> slip;  // direction of u_t
    std::vector<double> speed;          // ‖u_t‖
    std::vector<double> row_K;
    double size = 0;  // ‖residual‖ in the norm of A⁻¹
    double cost = 0;  // its gradient is the residual while ‖u_t‖ is held fixed
  };
  bool FactorMasses();
  // z ← A⁻¹ z, and z ← L⁻¹ z with A = L Lᵀ
  void SolveMasses(std::span<double> z) const;
  void SolveHalf(std::span<double> z) const;
  // y ← A x
  void MultiplyMasses(std::span<const double> x, std::span<double> y) const;
  // z ← Jᵀ x, y ← J z
  void MultiplyTransposed(std::span<const double> x, std::span<double> z);
  void MultiplyRows(std::span<const double> z, std::span<double> y);

  void Analyse();
  void SetScales(double proximal);
  // Computes γ, K and the residual at point->v. `speeds`, if given, replace ‖u_t‖.
  void Evaluate(const std::vector<double>* speeds, Point* point);
  bool FactorAt(const Point& at, std::span<double> x);
  void AddCoupling(const Point& at, std::span<const double> x, std::span<double> y);
  // x ← −H⁻¹ residual
  bool FindCoupledStep(const Point& at);
  bool TakeCoupledSteps();
  void Descend();

  const NonsmoothProblem* problem_ = nullptr;
  const PackedRows* rows_ = nullptr;
  std::vector<double> padded_;          // velocities, padded for PackedRows
  std::vector<double> factors_;         // Cholesky factors of the blocks of A
  std::vector<std::size_t> factor_of_;  // by block
  ContactJacobian jacobian_;
  std::vector<SchurComplement> masses_;  // A, by block
  DenseHessian hessian_;
  std::vector<double> force_, R_;  // of contacts, then rows
  std::vector<double> v_star_, rates_, scratch_, step_, product_, speeds_;
  std::vector<std::vector<double>> basis_;
  Point now_, trial_, best_;
  double smoothing_ = 0;
  double floor_ = 0;  // rounding level of Point::size
  int iterations_ = 0;
};

}  // namespace pliant::solvers
