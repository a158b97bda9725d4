#include "solvers/nonsmooth/cone_newton.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "solvers/linalg/dense.h"
#include "solvers/nonsmooth/nonsmooth_newton.h"
#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

// R relative to h W of a contact: initially, and where forces cannot improve further. It decreases
// faster while Newton's method converges within kFewIterations.
constexpr double kFirstProximal = 1, kMinProximal = 1e-8;
constexpr double kDecrease = 0.2, kFastDecrease = 0.05, kIncrease = 1.5;
constexpr int kFewIterations = 2;
constexpr int kMaxCoupledSteps = 4, kMaxDescents = 6;
constexpr double kTargetReduction = 1e-3;  // residual relative to its start that counts as solved
constexpr int kMaxDirections = 40;
constexpr double kForcing = 1e-3;  // relative tolerance of the linear systems
constexpr double kMinStep = 1.0 / 40;
// Smoothing ε of ‖u_t‖ ≈ √(‖u_t‖² + ε²) − ε [m/s]; it shrinks with R.
constexpr double kSmoothing = 1e-3, kMinSmoothing = 1e-12;
constexpr double kRounding = 1e-12;

double Norm(std::span<const double> x) {
  return std::sqrt(Dot(static_cast<int>(x.size()), x.data(), x.data()));
}

}  // namespace

bool ConeNewton::FactorMasses() {
  const IslandView& island = problem_->island;
  factor_of_.clear();
  std::size_t total = 0;
  for (const int b : island.blocks) {
    const std::size_t size = island.system->blocks[b].size;
    factor_of_.push_back(total);
    total += size * size;
  }
  factors_.resize(total);
  for (int b = 0; b < island.num_blocks(); ++b) {
    const IslandView::Block& block = island.block(b);
    double* L = &factors_[factor_of_[b]];
    std::ranges::copy(block.A.dense, L);
    if (FactorCholesky(block.size, L, block.size) >= 0) return false;
  }
  return true;
}

void ConeNewton::SolveMasses(std::span<double> z) const {
  const IslandView& island = problem_->island;
  for (int b = 0; b < island.num_blocks(); ++b) {
    const int size = island.block(b).size;
    const double* L = &factors_[factor_of_[b]];
    double* own = &z[island.first_of_block(b)];
    SolveLower(size, L, size, own);
    SolveLowerTransposed(size, L, size, own);
  }
}

void ConeNewton::SolveHalf(std::span<double> z) const {
  const IslandView& island = problem_->island;
  for (int b = 0; b < island.num_blocks(); ++b) {
    const int size = island.block(b).size;
    SolveLower(size, &factors_[factor_of_[b]], size, &z[island.first_of_block(b)]);
  }
}

void ConeNewton::MultiplyMasses(std::span<const double> x, std::span<double> y) const {
  const IslandView& island = problem_->island;
  for (int b = 0; b < island.num_blocks(); ++b) {
    const int first = island.first_of_block(b), size = island.block(b).size;
    MultiplySymmetric(size, island.block(b).A.dense.data(), size, &x[first], &y[first]);
  }
}

void ConeNewton::MultiplyTransposed(std::span<const double> x, std::span<double> z) {
  std::ranges::fill(padded_, 0.0);
  rows_->AddTransposed(x.data(), padded_.data());
  std::copy_n(padded_.begin(), problem_->size(), z.begin());
}

void ConeNewton::MultiplyRows(std::span<const double> z, std::span<double> y) {
  std::copy_n(z.begin(), problem_->size(), padded_.begin());
  std::fill(padded_.begin() + problem_->size(), padded_.end(), 0.0);
  rows_->Multiply(padded_.data(), y.data());
}

void ConeNewton::Analyse() {
  const IslandView& island = problem_->island;
  jacobian_.Start(island, ContactJacobian::Weights::kExpanded);
  for (int c = 0; c < island.num_contacts(); ++c) jacobian_.Fill(c);
  masses_.clear();
  for (int b = 0; b < island.num_blocks(); ++b) masses_.push_back(island.block(b).A);
  hessian_.Analyse(island, jacobian_, masses_);
}

void ConeNewton::SetScales(double proximal) {
  const NonsmoothProblem& problem = *problem_;
  smoothing_ = std::max(kSmoothing * proximal, kMinSmoothing);
  R_.clear();
  // rows that no force moves get scale 1
  const auto scale = [&](double W) { return W > 0 ? proximal * problem.h * W : 1; };
  const IslandView& island = problem.island;
  for (int c = 0; c < island.num_contacts(); ++c)
    R_.push_back(scale(island.contact(c).W.trace() / 3));
  for (int k = 0; k < island.num_rows(); ++k) R_.push_back(scale(island.row(k).W));
}

void ConeNewton::Evaluate(const std::vector<double>* speeds, Point* point) {
  const NonsmoothProblem& problem = *problem_;
  const double h = problem.h;
  const std::size_t num_contacts = problem.contacts.size(), num_rows = problem.rows.size();
  MultiplyRows(point->v, rates_);
  point->gamma.resize(rates_.size());
  point->K.resize(num_contacts);
  point->slip.resize(num_contacts);
  point->speed.resize(num_contacts);
  point->row_K.resize(num_rows);
  double cost = 0;
  for (std::size_t c = 0; c < num_contacts; ++c) {
    const NonsmoothProblem::Contact& contact = problem.contacts[c];
    Vector3d u = Vector3d(rates_[3 * c], rates_[3 * c + 1], rates_[3 * c + 2]) +
                 problem.island.contact(static_cast<int>(c)).bias;
    const double speed = std::sqrt(u.x() * u.x() + u.y() * u.y());
    const double smoothed = std::sqrt(speed * speed + smoothing_ * smoothing_);
    point->speed[c] = smoothed - smoothing_;
    point->slip[c] = Vector2d(u.x(), u.y()) / smoothed;
    u.z() +=
        contact.gap / h + contact.friction * (speeds == nullptr ? point->speed[c] : (*speeds)[c]);
    // project in the norm of D = (R, R, R + compliance / h)
    const double R = R_[c];
    const Vector3d D(R, R, R + contact.compliance / h);
    const Vector3d y = (R * Eigen::Map<const Vector3d>(&force_[3 * c]) - u).cwiseQuotient(D);
    const ConeProjection projection = ProjectOntoFrictionCone(y, D, contact.friction);
    point->K[c] = projection.G;
    cost += projection.gamma.dot(D.cwiseProduct(projection.gamma));
    Eigen::Map<Vector3d>(&point->gamma[3 * c]) = projection.gamma;
  }
  for (std::size_t k = 0; k < num_rows; ++k) {
    const NonsmoothProblem::Row& row = problem.rows[k];
    const std::size_t i = 3 * num_contacts + k;
    const double R = R_[num_contacts + k], D = R + row.compliance / h;
    const double bias = problem.island.row(static_cast<int>(k)).bias;
    const double y = (R * force_[i] - (rates_[i] + bias + row.gap / h)) / D;
    const double gamma = std::min(std::max(y, row.lower), row.upper);
    point->gamma[i] = gamma;
    point->row_K[k] = y > row.lower && y < row.upper ? 1 / D : 0;
    cost += D * gamma * (2 * y - gamma);
  }

  // residual A (v − v*) − h Jᵀ γ
  point->residual.resize(problem.size());
  MultiplyTransposed(point->gamma, scratch_);
  for (int i = 0; i < problem.size(); ++i) product_[i] = point->v[i] - v_star_[i];
  MultiplyMasses(product_, point->residual);
  const double kinetic = Dot(problem.size(), product_.data(), point->residual.data());
  for (int i = 0; i < problem.size(); ++i) point->residual[i] -= h * scratch_[i];
  point->cost = 0.5 * (kinetic + h * cost);
  std::copy(point->residual.begin(), point->residual.end(), scratch_.begin());
  SolveHalf(scratch_);
  point->size = Norm(scratch_);
}

bool ConeNewton::FactorAt(const Point& at, std::span<double> x) {
  ++iterations_;
  const double h = problem_->h;
  const auto weigh = [&](int c, Matrix3d* G) {
    *G = h * at.K[c];
    return at.K[c](2, 2) != 0;
  };
  const auto weigh_row = [&](int k) { return h * at.row_K[k]; };
  return hessian_.FactorAndSolve({weigh, weigh_row}, x);
}

// y ← y + h Jᵀ K μ e_n t̂ᵀ J x, which the factored A + h Jᵀ K J lacks.
void ConeNewton::AddCoupling(const Point& at, std::span<const double> x, std::span<double> y) {
  const NonsmoothProblem& problem = *problem_;
  MultiplyRows(x, rates_);
  for (std::size_t c = 0; c < problem.contacts.size(); ++c) {
    Eigen::Map<Vector3d> u(&rates_[3 * c]);
    const double slip = at.slip[c].x() * u.x() + at.slip[c].y() * u.y();
    u = problem.contacts[c].friction * slip * at.K[c].col(2);
  }
  std::fill(rates_.begin() + 3 * problem.contacts.size(), rates_.end(), 0.0);
  MultiplyTransposed(rates_, scratch_);
  for (int i = 0; i < problem.size(); ++i) y[i] += problem.h * scratch_[i];
}

// GMRES from zero, right-preconditioned by the factor of A + h Jᵀ K J, whose product with a
// solution is the right-hand side.
bool ConeNewton::FindCoupledStep(const Point& at) {
  const int n = problem_->size();
  const double size = Norm(at.residual);
  std::vector<double> H((kMaxDirections + 1) * kMaxDirections), g(kMaxDirections + 1);
  std::vector<double> cosines(kMaxDirections), sines(kMaxDirections);
  const auto basis = [&](int k) -> std::vector<double>& {
    if (static_cast<int>(basis_.size()) <= k) basis_.resize(k + 1);
    basis_[k].resize(n);
    return basis_[k];
  };
  std::vector<double>& first = basis(0);
  for (int i = 0; i < n; ++i) first[i] = -at.residual[i] / size;
  g[0] = size;
  int k = 0;
  while (k < kMaxDirections) {
    std::copy(basis_[k].begin(), basis_[k].end(), step_.begin());
    if (k == 0) {
      if (!FactorAt(at, step_)) return false;
    } else {
      hessian_.Solve(step_);
    }
    std::vector<double>& w = basis(k + 1);
    w = basis_[k];
    AddCoupling(at, step_, w);
    double* column = &H[k * (kMaxDirections + 1)];
    for (int j = 0; j <= k; ++j) {
      column[j] = Dot(n, w.data(), basis_[j].data());
      for (int i = 0; i < n; ++i) w[i] -= column[j] * basis_[j][i];
    }
    const double length = Norm(w);
    column[k + 1] = length;
    for (int j = 0; j < k; ++j) {
      const double a = column[j], b = column[j + 1];
      column[j] = cosines[j] * a + sines[j] * b;
      column[j + 1] = -sines[j] * a + cosines[j] * b;
    }
    const double diagonal = std::sqrt(column[k] * column[k] + length * length);
    if (!(diagonal > 0) || !std::isfinite(diagonal)) return false;
    cosines[k] = column[k] / diagonal;
    sines[k] = length / diagonal;
    column[k] = diagonal;
    g[k + 1] = -sines[k] * g[k];
    g[k] *= cosines[k];
    ++k;
    if (std::abs(g[k]) <= kForcing * size || length <= kRounding * size) break;
    for (double& x : w) x /= length;
  }
  for (int j = k - 1; j >= 0; --j) {
    for (int i = j + 1; i < k; ++i) g[j] -= H[i * (kMaxDirections + 1) + j] * g[i];
    g[j] /= H[j * (kMaxDirections + 1) + j];
  }
  std::fill(step_.begin(), step_.end(), 0.0);
  for (int j = 0; j < k; ++j) {
    for (int i = 0; i < n; ++i) step_[i] += g[j] * basis_[j][i];
  }
  hessian_.Solve(step_);
  return true;
}

// Newton's method on the coupled problem. True when the residual has fallen far enough.
bool ConeNewton::TakeCoupledSteps() {
  Evaluate(nullptr, &now_);
  const double start = now_.size;
  const double enough = std::max(kTargetReduction * start, 10 * floor_);
  for (int k = 0; k < kMaxCoupledSteps && now_.size > floor_; ++k) {
    if (!FindCoupledStep(now_)) return false;
    bool any = false;
    for (double step = 1; step >= kMinStep; step /= 2) {
      trial_.v.resize(now_.v.size());
      for (std::size_t i = 0; i < step_.size(); ++i) trial_.v[i] = now_.v[i] + step * step_[i];
      Evaluate(nullptr, &trial_);
      if (std::isfinite(trial_.size) && (!any || trial_.size < best_.size)) {
        std::swap(best_, trial_);
        any = true;
      }
      if (any && best_.size < (1 - 0.3 * step) * now_.size) break;
    }
    if (!any || best_.size >= 0.98 * now_.size) break;
    std::swap(now_, best_);
  }
  return now_.size <= enough;
}

// Minimises the cost with ‖u_t‖ held fixed, by Newton's method with line search.
void ConeNewton::Descend() {
  speeds_ = now_.speed;
  Evaluate(&speeds_, &now_);
  for (int k = 0; k < kMaxDescents; ++k) {
    for (std::size_t i = 0; i < step_.size(); ++i) step_[i] = -now_.residual[i];
    if (!FactorAt(now_, step_)) return;
    const double slope = Dot(static_cast<int>(step_.size()), step_.data(), now_.residual.data());
    if (!(slope < -floor_ * floor_)) return;
    const double rounding = 1e-14 * std::abs(now_.cost);
    double step = 1;
    for (;; step /= 2) {
      trial_.v.resize(now_.v.size());
      for (std::size_t i = 0; i < step_.size(); ++i) trial_.v[i] = now_.v[i] + step * step_[i];
      Evaluate(&speeds_, &trial_);
      if (trial_.cost <= now_.cost + 1e-4 * step * slope + rounding) break;
      if (step < 1e-6) return;
    }
    std::swap(now_, trial_);
  }
}

void ConeNewton::Solve(const NonsmoothProblem& problem, const PackedRows& rows, int max_iterations,
                       const std::function<bool(std::span<const double> lambda)>& is_done,
                       std::span<const double> lambda) {
  problem_ = &problem;
  rows_ = &rows;
  iterations_ = 0;
  if (!FactorMasses()) return;
  rates_.resize(lambda.size());
  for (std::vector<double>* x : {&scratch_, &step_, &product_, &now_.v}) x->resize(problem.size());
  padded_.resize(problem.size() + PackedRows::kBeyond);
  problem.island.Gather(problem.island.system->v_star, &v_star_);
  Analyse();
  force_.assign(lambda.begin(), lambda.end());

  // start from v* + h A⁻¹ Jᵀ λ
  MultiplyTransposed(lambda, now_.v);
  SolveMasses(now_.v);
  for (int i = 0; i < problem.size(); ++i) now_.v[i] = v_star_[i] + problem.h * now_.v[i];
  double energy = 0;
  for (const std::vector<double>* v : {&v_star_, &now_.v}) {
    MultiplyMasses(*v, product_);
    energy += Dot(problem.size(), v->data(), product_.data());
  }
  if (!std::isfinite(energy)) return;
  floor_ = kRounding * std::sqrt(energy);

  double proximal = kFirstProximal;
  while (iterations_ < max_iterations) {
    const int before = iterations_;
    SetScales(proximal);
    const bool solved = TakeCoupledSteps();
    if (!solved) Descend();
    if (!std::isfinite(now_.size)) return;
    force_.assign(now_.gamma.begin(), now_.gamma.end());
    if (is_done(force_)) return;
    // no step was taken at the smallest R: the forces cannot improve further
    if (iterations_ == before && proximal == kMinProximal) return;
    if (solved) {
      const bool is_fast = iterations_ - before <= kFewIterations;
      proximal = std::max((is_fast ? kFastDecrease : kDecrease) * proximal, kMinProximal);
    } else {
      proximal = std::min(kIncrease * proximal, kFirstProximal);
    }
  }
}

}  // namespace pliant::solvers
