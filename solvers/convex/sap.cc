#include "solvers/convex/sap.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/block_cholesky.h"
#include "solvers/linalg/dense.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

// ‖scale · x‖ in eight fixed lanes
double Norm(const std::vector<double>& scale, const std::vector<double>& x) {
  double lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= x.size(); i += 8) {
    for (int l = 0; l < 8; ++l) {
      const double scaled = scale[i + l] * x[i + l];
      lanes[l] = std::fma(scaled, scaled, lanes[l]);
    }
  }
  for (int l = 0; i < x.size(); ++i, ++l) {
    const double scaled = scale[i] * x[i];
    lanes[l] = std::fma(scaled, scaled, lanes[l]);
  }
  return std::sqrt(((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
                   ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7])));
}

// entries of more columns belong to joint trees
constexpr int kRigidBody = 6;

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
    y_.resize(m);
    dy_.resize(m);
    inverse_R_.resize(m);
    dv_c_.resize(m);
    row_rate_.resize(rows);
    row_change_.resize(rows);
    row_gamma_.resize(rows);
    row_is_free_.resize(rows);
    previous_row_is_free_.resize(rows);
    factored_ = false;
    analysed_ = false;
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
    Begin();
    Evaluate();
    result.costs.push_back(cost_);
    for (int k = 0;; ++k) {
      const double error = Norm(scale_, gradient_);
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
      Advance(alpha);
      Evaluate();
      result.iterations = k + 1;
      result.costs.push_back(cost_);
      const double mean = 0.5 * (std::abs(before) + std::abs(cost_));
      if (std::abs(cost_ - before) < 1e-30 + 1e-15 * mean && alpha > 0.5) {
        // no more to gain in this precision; say whether the tolerance was met on the way
        const double last = Norm(scale_, gradient_);
        const double last_size = std::max(Norm(scale_, Av_), Norm(scale_, impulse_));
        result.residual = last_size > 0 ? last / last_size : 0;
        result.residuals.push_back(result.residual);
        result.converged =
            last <= options_->absolute_tolerance + options_->relative_tolerance * last_size;
        result.stalled = !result.converged;
        break;
      }
    }
    if (result.iterations > 0) {
      // steps along Δv add up rounding; what is reported belongs to v to the last bit
      Begin();
      Evaluate();
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

  // what is linear in v, at the guess
  void Begin() {
    for (std::size_t i = 0; i < v_.size(); ++i) offset_[i] = v_[i] - problem_->v_star[i];
    MultiplyA(offset_, &momentum_);
    MultiplyA(v_, &Av_);
    for (std::size_t c = 0; c < y_.size(); ++c) {
      const ConvexProblem::Contact& contact = problem_->contacts[c];
      inverse_R_[c] = contact.R.cwiseInverse();
      y_[c] = (contact.v_hat - problem_->ContactVelocity(static_cast<int>(c), v_))
                  .cwiseQuotient(contact.R);
    }
    for (std::size_t k = 0; k < row_rate_.size(); ++k)
      row_rate_[k] = problem_->RowRate(static_cast<int>(k), v_);
  }

  // and after a step along Δv
  void Advance(double alpha) {
    for (std::size_t i = 0; i < v_.size(); ++i) {
      v_[i] += alpha * dv_[i];
      offset_[i] += alpha * dv_[i];
      momentum_[i] += alpha * Adv_[i];
      Av_[i] += alpha * Adv_[i];
    }
    for (std::size_t c = 0; c < y_.size(); ++c) y_[c] += alpha * dy_[c];
    for (std::size_t k = 0; k < row_rate_.size(); ++k) row_rate_[k] += alpha * row_change_[k];
  }

  // cost, gradient and projections
  void Evaluate() {
    cost_ = 0.5 * Dot(static_cast<int>(v_.size()), offset_.data(), momentum_.data());
    std::fill(impulse_.begin(), impulse_.end(), 0.0);
    for (std::size_t c = 0; c < problem_->contacts.size(); ++c) {
      const ConvexProblem::Contact& contact = problem_->contacts[c];
      projections_[c] = ProjectOntoFrictionCone(y_[c], contact.R, contact.friction);
      if (projections_[c].mode == ConeMode::kOpen) continue;
      const Vector3d& gamma = projections_[c].gamma;
      cost_ += 0.5 * gamma.dot(contact.R.cwiseProduct(gamma));
      problem_->AddContactImpulse(static_cast<int>(c), gamma, impulse_);
    }
    for (std::size_t k = 0; k < row_gamma_.size(); ++k) {
      const ConvexProblem::Row& row = problem_->rows[k];
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
      if (!hessian_.Factor()) return false;
      for (std::size_t c = 0; c < projections_.size(); ++c) previous_G_[c] = projections_[c].G;
      previous_row_is_free_ = row_is_free_;
      factored_ = true;
      ++result->factorisations;
    }
    for (std::size_t i = 0; i < dv_.size(); ++i) dv_[i] = -gradient_[i];
    hessian_.Solve(dv_);

    // what the line search needs along Δv
    MultiplyA(dv_, &Adv_);
    for (std::size_t c = 0; c < dv_c_.size(); ++c) {
      dv_c_[c] = problem_->ContactVelocity(static_cast<int>(c), dv_) - problem_->contacts[c].bias;
      dy_[c] = -dv_c_[c].cwiseProduct(inverse_R_[c]);
    }
    for (std::size_t k = 0; k < row_change_.size(); ++k)
      row_change_[k] = problem_->RowRate(static_cast<int>(k), dv_) - problem_->rows[k].bias;
    const int n = problem_->size;
    slope_A_ = Dot(n, dv_.data(), momentum_.data());
    curvature_A_ = Dot(n, dv_.data(), Adv_.data());
    return true;
  }

  // which blocks the contacts and rows couple, whether they carry an impulse now or not
  void AnalyseHessian() {
    block_of_.resize(problem_->size);
    block_sizes_.clear();
    for (std::size_t b = 0; b < problem_->blocks.size(); ++b) {
      const ConvexProblem::Block& block = problem_->blocks[b];
      block_sizes_.push_back(block.size);
      std::fill_n(block_of_.begin() + block.first, block.size, static_cast<int>(b));
    }
    couplings_.clear();
    const auto couple = [this](int first_entry, int num_entries) {
      for (int a = 1; a < num_entries; ++a) {
        const int i = block_of_[problem_->entries[first_entry + a].first];
        for (int b = 0; b < a; ++b) {
          const int j = block_of_[problem_->entries[first_entry + b].first];
          const std::pair<int, int> pair(std::max(i, j), std::min(i, j));
          if (i != j && (couplings_.empty() || couplings_.back() != pair))
            couplings_.push_back(pair);
        }
      }
    };
    for (const ConvexProblem::Contact& contact : problem_->contacts)
      couple(contact.first_entry, contact.num_entries);
    for (const ConvexProblem::Row& row : problem_->rows) couple(row.first_entry, row.num_entries);
    hessian_.Analyze(block_sizes_, couplings_);
    FindColumns();
    analysed_ = true;
  }

  // the entries of H in the rows of `left` and columns of `right`; nothing when its mirror image is what is kept
  BlockCholesky::Place FindHessian(const ConvexProblem::Entry& left,
                                   const ConvexProblem::Entry& right) {
    const int i = block_of_[left.first], j = block_of_[right.first];
    if (i == j ? left.first < right.first : !hessian_.IsKept(i, j)) return {nullptr, 0};
    BlockCholesky::Place place = hessian_.Find(i, j);
    place.values += left.first - problem_->blocks[i].first +
                    std::size_t(right.first - problem_->blocks[j].first) * place.stride;
    return place;
  }

  // lower triangle only; entries above the diagonal are written too, and not read
  void AssembleHessian() {
    if (!analysed_) AnalyseHessian();
    hessian_.Clear();
    for (std::size_t b = 0; b < problem_->blocks.size(); ++b) {
      const ConvexProblem::Block& block = problem_->blocks[b];
      const BlockCholesky::Place place = hessian_.Find(static_cast<int>(b), static_cast<int>(b));
      for (int j = 0; j < block.size; ++j) {
        const double* source = block.A + std::size_t(j) * block.size;
        std::copy(source + j, source + block.size,
                  place.values + std::size_t(j) * place.stride + j);
      }
    }
    for (std::size_t c = 0; c < problem_->contacts.size(); ++c) {
      const ConvexProblem::Contact& contact = problem_->contacts[c];
      if (projections_[c].mode == ConeMode::kOpen) continue;
      const Eigen::Matrix3d& G = projections_[c].G;
      const ConvexProblem::Entry* entries = problem_->entries.data() + contact.first_entry;
      for (int a = 0; a < contact.num_entries; ++a) {
        const ConvexProblem::Entry& right = entries[a];
        gj_.resize(3 * std::size_t(right.columns));
        for (int j = 0; j < right.columns; ++j) {
          const double* J = &problem_->values[right.values + 3 * std::size_t(j)];
          for (int r = 0; r < 3; ++r)
            gj_[3 * j + r] = G(r, 0) * J[0] + G(r, 1) * J[1] + G(r, 2) * J[2];
        }
        for (int b = 0; b < contact.num_entries; ++b) {
          const ConvexProblem::Entry& left = entries[b];
          const BlockCholesky::Place place = FindHessian(left, right);
          if (place.values == nullptr) continue;
          if (left.columns > kRigidBody || right.columns > kRigidBody) {
            AddSparseProduct(left, contact.first_entry + b, contact.first_entry + a, place);
            continue;
          }
          // its rows one after another, for lanes
          transposed_.resize(3 * std::size_t(left.columns));
          const double* K = &problem_->values[left.values];
          for (int i = 0; i < left.columns; ++i) {
            for (int r = 0; r < 3; ++r) transposed_[r * left.columns + i] = K[3 * i + r];
          }
          if (left.columns == 6) {
            AddProduct<6>(6, right.columns, place);
          } else if (left.columns == 3) {
            AddProduct<3>(3, right.columns, place);
          } else {
            AddProduct<0>(left.columns, right.columns, place);
          }
        }
      }
    }
  }

  // A point of a joint tree moves with the joints between it and the root only: the columns of each contact's entries that
  // are not zero.
  void FindColumns() {
    columns_.clear();
    column_starts_.assign(problem_->entries.size() + 1, 0);
    for (const ConvexProblem::Contact& contact : problem_->contacts) {
      for (int e = contact.first_entry; e < contact.first_entry + contact.num_entries; ++e) {
        const ConvexProblem::Entry& entry = problem_->entries[e];
        column_starts_[e] = columns_.size();
        if (entry.columns > kRigidBody || contact.num_entries > 1) {
          const double* J = &problem_->values[entry.values];
          for (int j = 0; j < entry.columns; ++j, J += 3)
            if (J[0] != 0 || J[1] != 0 || J[2] != 0) columns_.push_back(j);
        }
        column_starts_[e + 1] = columns_.size();
      }
    }
  }

  // place += Kᵀ (G J) over columns that are not zero; of the lower triangle alone where an entry meets itself
  void AddSparseProduct(const ConvexProblem::Entry& left, int left_entry, int right_entry,
                        const BlockCholesky::Place& place) const {
    const double* K = &problem_->values[left.values];
    for (std::size_t c = column_starts_[right_entry]; c < column_starts_[right_entry + 1]; ++c) {
      const int j = columns_[c];
      const double x = gj_[3 * j], y = gj_[3 * j + 1], z = gj_[3 * j + 2];
      double* target = place.values + std::size_t(j) * place.stride;
      const std::size_t from = left_entry == right_entry ? c : column_starts_[left_entry];
      for (std::size_t r = from; r < column_starts_[left_entry + 1]; ++r) {
        const double* k = K + 3 * std::size_t(columns_[r]);
        target[columns_[r]] += std::fma(k[0], x, std::fma(k[1], y, k[2] * z));
      }
    }
  }

  // place += Kᵀ (G J), of as many rows as K has columns
  template <int kRows>
  void AddProduct(int given_rows, int columns, const BlockCholesky::Place& place) const {
    const int rows = kRows > 0 ? kRows : given_rows;
    const double* K = transposed_.data();
    for (int j = 0; j < columns; ++j) {
      const double x = gj_[3 * j], y = gj_[3 * j + 1], z = gj_[3 * j + 2];
      double* target = place.values + std::size_t(j) * place.stride;
      for (int i = 0; i < rows; ++i) {
        target[i] += std::fma(K[i], x, std::fma(K[rows + i], y, K[2 * rows + i] * z));
      }
    }
  }

  void AddRowsToHessian() {
    for (std::size_t k = 0; k < problem_->rows.size(); ++k) {
      if (!row_is_free_[k]) continue;
      const ConvexProblem::Row& row = problem_->rows[k];
      const ConvexProblem::Entry* entries = problem_->entries.data() + row.first_entry;
      for (int a = 0; a < row.num_entries; ++a) {
        for (int b = 0; b < row.num_entries; ++b) {
          const BlockCholesky::Place place = FindHessian(entries[b], entries[a]);
          if (place.values == nullptr) continue;
          const double* K = &problem_->values[entries[b].values];
          for (int j = 0; j < entries[a].columns; ++j) {
            const double GJ = problem_->values[entries[a].values + j] / row.R;
            if (GJ == 0) continue;
            double* target = place.values + std::size_t(j) * place.stride;
            for (int i = 0; i < entries[b].columns; ++i) target[i] += K[i] * GJ;
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
      const Vector3d y = y_[c] + alpha * dy_[c];
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
    const double start = Dot(problem_->size, dv_.data(), gradient_.data());
    double curvature = 0;
    // near the solution the whole step it is
    const double whole = Slope(1, &curvature);
    if (std::abs(whole) <= 1e-8 * std::abs(start)) return 1;
    if (whole < 0 && Slope(kMax, nullptr) <= 0) return kMax;
    double low = whole < 0 ? 1 : 0, high = whole < 0 ? kMax : 1;
    double alpha = 1 - whole / curvature;
    if (!(alpha > low && alpha < high)) alpha = 0.5 * (low + high);
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
      const Vector3d y = y_[c] + alpha * dy_[c];
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
  std::vector<double> v_, offset_, momentum_, impulse_, gradient_, dv_, Adv_, Av_, scale_;
  BlockCholesky hessian_;
  std::vector<int> block_of_, block_sizes_;  // block of each velocity
  std::vector<std::pair<int, int>> couplings_;
  std::vector<double> gj_, transposed_;
  std::vector<int>
      columns_;  // of all contact entries that may meet a joint tree's, those that are not zero
  std::vector<std::size_t> column_starts_;  // of each entry, in columns_
  std::vector<ConeProjection> projections_;
  std::vector<Eigen::Matrix3d> previous_G_;
  std::vector<Vector3d> y_, dy_, dv_c_, inverse_R_;  // y = (v̂ − v_c)/R
  std::vector<double> row_rate_, row_change_, row_gamma_;
  std::vector<char> row_is_free_,
      previous_row_is_free_;  // strictly within its bounds, or at one by chance
  double cost_ = 0, slope_A_ = 0, curvature_A_ = 0;
  bool factored_ = false, analysed_ = false;
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
