#include "solvers/convex/sap.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

double Norm(const std::vector<double>& scale, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum = std::fma(scale[i] * x[i], scale[i] * x[i], sum);
  return std::sqrt(sum);
}

}  // namespace

// The iterate and all that depends on it; buffers live on, so that iterations allocate nothing.
struct SapSolver::Workspace {
 public:
  void Start(const ConvexProblem& problem, std::span<const double> guess,
             const SapOptions& options) {
    problem_ = &problem;
    options_ = &options;
    v_.assign(guess.begin(), guess.end());
    const std::size_t n = problem.size, m = problem.contacts.size(), rows = problem.rows.size();
    for (auto* x : {&offset_, &Adv_, &momentum_, &impulse_, &gradient_, &dv_, &scale_, &Av_})
      x->resize(n);
    projections_.resize(m);
    previous_G_.resize(m);
    v_c_.resize(m);
    dv_c_.resize(m);
    row_rate_.resize(rows);
    row_change_.resize(rows);
    row_gamma_.resize(rows);
    row_is_free_.resize(rows);
    previous_row_is_free_.resize(rows);
    hessian_.resize(n * n);
    factored_ = false;
    for (const ConvexProblem::Block& block : problem.blocks) {
      for (int i = 0; i < block.size; ++i) {
        scale_[block.first + i] = 1 / std::sqrt(block.A[std::size_t(i) * block.size + i]);
      }
    }
  }

  void Solve(SapResult* result_out) {
    SapResult& result = *result_out;
    result.converged = result.stalled = false;
    result.iterations = result.factorisations = 0;
    result.residual = 0;
    result.costs.clear();
    result.residuals.clear();
    Evaluate();
    result.costs.push_back(cost_);
    for (int k = 0;; ++k) {
      const double error = Norm(scale_, gradient_);
      MultiplyA(v_, &Av_);
      const double size = std::max(Norm(scale_, Av_), Norm(scale_, impulse_));
      result.residual = size > 0 ? error / size : 0;
      result.residuals.push_back(result.residual);
      if (error <= options_->absolute_tolerance + options_->relative_tolerance * size) {
        result.converged = true;
        break;
      }
      if (k == options_->max_iterations || !FindDirection(&result)) break;
      const double before = cost_;
      const double alpha =
          options_->line_search == SapOptions::LineSearch::kExact ? SearchExactly() : Backtrack();
      for (std::size_t i = 0; i < v_.size(); ++i) v_[i] += alpha * dv_[i];
      Evaluate();
      result.iterations = k + 1;
      result.costs.push_back(cost_);
      const double mean = 0.5 * (std::abs(before) + std::abs(cost_));
      if (std::abs(cost_ - before) < 1e-30 + 1e-15 * mean && alpha > 0.5) {
        // no more to gain in this precision; say whether the tolerance was met on the way
        const double last = Norm(scale_, gradient_);
        MultiplyA(v_, &Av_);
        const double last_size = std::max(Norm(scale_, Av_), Norm(scale_, impulse_));
        result.residual = last_size > 0 ? last / last_size : 0;
        result.residuals.push_back(result.residual);
        result.converged =
            last <= options_->absolute_tolerance + options_->relative_tolerance * last_size;
        result.stalled = !result.converged;
        break;
      }
    }
    result.v.assign(v_.begin(), v_.end());
    result.gamma.clear();
    for (const ConeProjection& p : projections_) result.gamma.push_back(p.gamma);
    result.row_gamma.assign(row_gamma_.begin(), row_gamma_.end());
  }

 private:
  void MultiplyA(const std::vector<double>& x, std::vector<double>* y) const {
    for (const ConvexProblem::Block& block : problem_->blocks) {
      MultiplySymmetric(block.size, block.A, block.size, &x[block.first], &(*y)[block.first]);
    }
  }

  // cost, gradient and projections at v_
  void Evaluate() {
    for (std::size_t i = 0; i < v_.size(); ++i) offset_[i] = v_[i] - problem_->v_star[i];
    MultiplyA(offset_, &momentum_);
    cost_ = 0.5 * Dot(static_cast<int>(v_.size()), offset_.data(), momentum_.data());
    std::fill(impulse_.begin(), impulse_.end(), 0.0);
    for (std::size_t c = 0; c < problem_->contacts.size(); ++c) {
      const ConvexProblem::Contact& contact = problem_->contacts[c];
      v_c_[c] = problem_->ContactVelocity(static_cast<int>(c), v_);
      const Vector3d y = (contact.v_hat - v_c_[c]).cwiseQuotient(contact.R);
      projections_[c] = ProjectOntoFrictionCone(y, contact.R, contact.friction);
      const Vector3d& gamma = projections_[c].gamma;
      cost_ += 0.5 * gamma.dot(contact.R.cwiseProduct(gamma));
      problem_->AddContactImpulse(static_cast<int>(c), gamma, impulse_);
    }
    for (std::size_t k = 0; k < row_gamma_.size(); ++k) {
      const ConvexProblem::Row& row = problem_->rows[k];
      row_rate_[k] = problem_->RowRate(static_cast<int>(k), v_);
      const double y = (row.v_hat - row_rate_[k]) / row.R;
      row_gamma_[k] = std::clamp(y, row.lower, row.upper);
      row_is_free_[k] = row_gamma_[k] == y;
      cost_ += row.R * row_gamma_[k] * (y - 0.5 * row_gamma_[k]);
      problem_->AddRowImpulse(static_cast<int>(k), row_gamma_[k], impulse_);
    }
    for (std::size_t i = 0; i < v_.size(); ++i) gradient_[i] = momentum_[i] - impulse_[i];
  }

  // Δv = −H⁻¹ ∇ℓ, with H = A + JᵀGJ factored only when some G changed
  bool FindDirection(SapResult* result) {
    bool same = factored_;
    for (std::size_t c = 0; same && c < projections_.size(); ++c)
      same = projections_[c].G == previous_G_[c];
    same = same && row_is_free_ == previous_row_is_free_;
    if (!same) {
      AssembleHessian();
      AddRowsToHessian();
      if (FactorCholesky(problem_->size, hessian_.data(), problem_->size) >= 0) return false;
      for (std::size_t c = 0; c < projections_.size(); ++c) previous_G_[c] = projections_[c].G;
      previous_row_is_free_ = row_is_free_;
      factored_ = true;
      ++result->factorisations;
    }
    for (std::size_t i = 0; i < dv_.size(); ++i) dv_[i] = -gradient_[i];
    SolveLower(problem_->size, hessian_.data(), problem_->size, dv_.data());
    SolveLowerTransposed(problem_->size, hessian_.data(), problem_->size, dv_.data());

    // what the line search needs along Δv
    MultiplyA(dv_, &Adv_);
    for (std::size_t c = 0; c < dv_c_.size(); ++c) {
      dv_c_[c] = problem_->ContactVelocity(static_cast<int>(c), dv_) - problem_->contacts[c].bias;
    }
    for (std::size_t k = 0; k < row_change_.size(); ++k)
      row_change_[k] = problem_->RowRate(static_cast<int>(k), dv_) - problem_->rows[k].bias;
    const int n = problem_->size;
    slope_A_ = Dot(n, dv_.data(), momentum_.data());
    curvature_A_ = Dot(n, dv_.data(), Adv_.data());
    return true;
  }

  // lower triangle only
  void AssembleHessian() {
    const int n = problem_->size;
    std::fill(hessian_.begin(), hessian_.end(), 0.0);
    for (const ConvexProblem::Block& block : problem_->blocks) {
      for (int j = 0; j < block.size; ++j) {
        const double* source = block.A + std::size_t(j) * block.size;
        double* target = &hessian_[std::size_t(block.first + j) * n + block.first];
        std::copy(source + j, source + block.size, target + j);
      }
    }
    for (std::size_t c = 0; c < problem_->contacts.size(); ++c) {
      const ConvexProblem::Contact& contact = problem_->contacts[c];
      if (projections_[c].mode == ConeMode::kOpen) continue;
      const Eigen::Matrix3d& G = projections_[c].G;
      for (int a = 0; a < contact.num_entries; ++a) {
        const ConvexProblem::Entry& right = problem_->entries[contact.first_entry + a];
        for (int j = 0; j < right.columns; ++j) {
          const double* J = &problem_->values[right.values + 3 * j];
          const Vector3d GJ = G * Vector3d(J[0], J[1], J[2]);
          const int column = right.first + j;
          for (int b = 0; b < contact.num_entries; ++b) {
            const ConvexProblem::Entry& left = problem_->entries[contact.first_entry + b];
            const double* K = &problem_->values[left.values];
            for (int i = 0; i < left.columns; ++i) {
              const int row = left.first + i;
              if (row < column) continue;
              hessian_[std::size_t(column) * n + row] +=
                  K[3 * i] * GJ.x() + K[3 * i + 1] * GJ.y() + K[3 * i + 2] * GJ.z();
            }
          }
        }
      }
    }
  }

  void AddRowsToHessian() {
    const int n = problem_->size;
    for (std::size_t k = 0; k < problem_->rows.size(); ++k) {
      if (!row_is_free_[k]) continue;
      const ConvexProblem::Row& row = problem_->rows[k];
      const ConvexProblem::Entry* entries = problem_->entries.data() + row.first_entry;
      for (int a = 0; a < row.num_entries; ++a) {
        for (int j = 0; j < entries[a].columns; ++j) {
          const double GJ = problem_->values[entries[a].values + j] / row.R;
          if (GJ == 0) continue;
          const int column = entries[a].first + j;
          for (int b = 0; b < row.num_entries; ++b) {
            for (int i = 0; i < entries[b].columns; ++i) {
              const int line = entries[b].first + i;
              if (line >= column)
                hessian_[std::size_t(column) * n + line] +=
                    problem_->values[entries[b].values + i] * GJ;
            }
          }
        }
      }
    }
  }

  // ℓ′ and ℓ″ along Δv
  double Slope(double alpha, double* curvature) const {
    double slope = slope_A_ + alpha * curvature_A_;
    if (curvature != nullptr) *curvature = curvature_A_;
    for (std::size_t c = 0; c < dv_c_.size(); ++c) {
      const ConvexProblem::Contact& contact = problem_->contacts[c];
      const Vector3d y = (contact.v_hat - v_c_[c] - alpha * dv_c_[c]).cwiseQuotient(contact.R);
      if (curvature != nullptr) {
        const ConeProjection p = ProjectOntoFrictionCone(y, contact.R, contact.friction);
        slope -= dv_c_[c].dot(p.gamma);
        *curvature += dv_c_[c].dot(p.G * dv_c_[c]);
      } else {
        slope -= dv_c_[c].dot(ProjectImpulse(y, contact.R, contact.friction));
      }
    }
    for (std::size_t k = 0; k < row_change_.size(); ++k) {
      const ConvexProblem::Row& row = problem_->rows[k];
      const double y = (row.v_hat - row_rate_[k] - alpha * row_change_[k]) / row.R;
      const double gamma = std::clamp(y, row.lower, row.upper);
      slope -= row_change_[k] * gamma;
      if (curvature != nullptr && gamma == y) *curvature += row_change_[k] * row_change_[k] / row.R;
    }
    return slope;
  }

  // the α at which ℓ′ vanishes: Newton kept inside a bracket
  double SearchExactly() const {
    constexpr double kMax = 1.5;
    double curvature = 0;
    const double start = Slope(0, nullptr);
    if (Slope(kMax, nullptr) <= 0) return kMax;
    double low = 0, high = kMax, alpha = 1;
    for (int k = 0; k < 100; ++k) {
      const double slope = Slope(alpha, &curvature);
      if (std::abs(slope) <= 1e-8 * std::abs(start)) break;
      (slope > 0 ? high : low) = alpha;
      double next = alpha - slope / curvature;
      if (!(next > low && next < high)) next = 0.5 * (low + high);
      if (high - low < 1e-14) break;
      alpha = next;
    }
    return alpha;
  }

  double Cost(double alpha) const {
    double cost = 0.5 * Dot(problem_->size, offset_.data(), momentum_.data()) + alpha * slope_A_ +
                  0.5 * alpha * alpha * curvature_A_;
    for (std::size_t c = 0; c < dv_c_.size(); ++c) {
      const ConvexProblem::Contact& contact = problem_->contacts[c];
      const Vector3d y = (contact.v_hat - v_c_[c] - alpha * dv_c_[c]).cwiseQuotient(contact.R);
      const Vector3d gamma = ProjectImpulse(y, contact.R, contact.friction);
      cost += 0.5 * gamma.dot(contact.R.cwiseProduct(gamma));
    }
    for (std::size_t k = 0; k < row_change_.size(); ++k) {
      const ConvexProblem::Row& row = problem_->rows[k];
      const double y = (row.v_hat - row_rate_[k] - alpha * row_change_[k]) / row.R;
      const double gamma = std::clamp(y, row.lower, row.upper);
      cost += row.R * gamma * (y - 0.5 * gamma);
    }
    return cost;
  }

  // Armijo's rule from α = 1.25, then on while the cost still falls
  double Backtrack() const {
    constexpr double kRho = 0.8, kC = 1e-4;
    const double slope = Slope(0, nullptr);
    // a decrease below the cost's resolution cannot be compared: take Newton's step
    if (-slope < 1e-13 * std::abs(cost_)) return 1;
    double alpha = 1.25;
    double cost = Cost(alpha);
    for (int k = 0; k < 60; ++k) {
      const double next = Cost(kRho * alpha);
      if (cost <= cost_ + kC * alpha * slope && cost <= next) break;
      alpha *= kRho;
      cost = next;
    }
    return alpha;
  }

  const ConvexProblem* problem_ = nullptr;
  const SapOptions* options_ = nullptr;
  std::vector<double> v_, offset_, momentum_, impulse_, gradient_, dv_, Adv_, Av_, scale_, hessian_;
  std::vector<ConeProjection> projections_;
  std::vector<Eigen::Matrix3d> previous_G_;
  std::vector<Vector3d> v_c_, dv_c_;
  std::vector<double> row_rate_, row_change_, row_gamma_;
  std::vector<char> row_is_free_,
      previous_row_is_free_;  // strictly within its bounds, or at one by chance
  double cost_ = 0, slope_A_ = 0, curvature_A_ = 0;
  bool factored_ = false;
};

Vector3d ConvexProblem::ContactVelocity(int contact, std::span<const double> v) const {
  const Contact& c = contacts[contact];
  Vector3d velocity = c.bias;
  for (int e = c.first_entry; e < c.first_entry + c.num_entries; ++e) {
    const Entry& entry = entries[e];
    const double* J = &values[entry.values];
    for (int j = 0; j < entry.columns; ++j, J += 3) {
      velocity += v[entry.first + j] * Vector3d(J[0], J[1], J[2]);
    }
  }
  return velocity;
}

void ConvexProblem::AddContactImpulse(int contact, const Vector3d& gamma,
                                      std::span<double> impulse) const {
  const Contact& c = contacts[contact];
  for (int e = c.first_entry; e < c.first_entry + c.num_entries; ++e) {
    const Entry& entry = entries[e];
    const double* J = &values[entry.values];
    for (int j = 0; j < entry.columns; ++j, J += 3) {
      impulse[entry.first + j] += J[0] * gamma.x() + J[1] * gamma.y() + J[2] * gamma.z();
    }
  }
}

double ConvexProblem::RowRate(int row, std::span<const double> v) const {
  const Row& r = rows[row];
  double rate = r.bias;
  for (int e = r.first_entry; e < r.first_entry + r.num_entries; ++e) {
    const double* J = &values[entries[e].values];
    for (int j = 0; j < entries[e].columns; ++j) rate += J[j] * v[entries[e].first + j];
  }
  return rate;
}

void ConvexProblem::AddRowImpulse(int row, double gamma, std::span<double> impulse) const {
  const Row& r = rows[row];
  for (int e = r.first_entry; e < r.first_entry + r.num_entries; ++e) {
    const double* J = &values[entries[e].values];
    for (int j = 0; j < entries[e].columns; ++j) impulse[entries[e].first + j] += J[j] * gamma;
  }
}

void ConvexProblem::Clear() {
  size = 0;
  blocks.clear();
  contacts.clear();
  rows.clear();
  entries.clear();
  values.clear();
  v_star.clear();
}

SapSolver::SapSolver() : workspace_(std::make_unique<Workspace>()) {}
SapSolver::~SapSolver() = default;
SapSolver::SapSolver(SapSolver&&) noexcept = default;

void SapSolver::Solve(const ConvexProblem& problem, std::span<const double> guess,
                      const SapOptions& options, SapResult* result) {
  workspace_->Start(problem, guess, options);
  workspace_->Solve(result);
}

SapResult SolveSap(const ConvexProblem& problem, std::span<const double> guess,
                   const SapOptions& options) {
  SapResult result;
  SapSolver().Solve(problem, guess, options, &result);
  return result;
}

}  // namespace pliant::solvers
