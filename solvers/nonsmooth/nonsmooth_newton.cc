#include "solvers/nonsmooth/nonsmooth_newton.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kLeastAlpha = 1e-6;  // of a row that is open
constexpr double kLeastDiagonal =
    1e-10;                     // added to every row, of its own diagonal: redundant contacts
constexpr int kPatience = 10;  // Newton steps without a better residual before it is a cycle
constexpr int kLittlePatience = 4;  // the same where there is another way
constexpr double kLeastDamping = 0.05;
constexpr int kMostConeIterations = 400;
constexpr double kWithin = 0.1;         // of the tolerance
constexpr int kPolish = 2;              // steps without a better residual that are spent on that
constexpr double kHeld = 1e12;          // compliance of a force at its bound, of its row's
constexpr double kNeverMoves = 1e-300;  // [1/kg] below which no force moves a row

bool IsBoxed(const NonsmoothProblem::Row& row) {
  return std::isfinite(row.lower) && std::isfinite(row.upper);
}

}  // namespace

void NonsmoothProblem::Clear() {
  size = 0;
  v_star.clear();
  blocks.clear();
  contacts.clear();
  rows.clear();
  entries.clear();
  values = {};
}

void NonsmoothNewton::MultiplyTransposed(std::span<const double> x, std::span<double> z) const {
  const NonsmoothProblem& problem = *problem_;
  std::fill(z.begin(), z.end(), 0.0);
  std::size_t i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    for (int e = contact.first_entry; e < contact.first_entry + contact.num_entries; ++e) {
      const NonsmoothProblem::Entry& entry = problem.entries[e];
      const double* J = &problem.values[entry.values];
      for (int j = 0; j < entry.columns; ++j, J += 3)
        z[entry.first + j] += J[0] * x[i] + J[1] * x[i + 1] + J[2] * x[i + 2];
    }
    i += 3;
  }
  for (const NonsmoothProblem::Row& row : problem.rows) {
    for (int e = row.first_entry; e < row.first_entry + row.num_entries; ++e) {
      const NonsmoothProblem::Entry& entry = problem.entries[e];
      const double* J = &problem.values[entry.values];
      for (int j = 0; j < entry.columns; ++j) z[entry.first + j] += J[j] * x[i];
    }
    ++i;
  }
}

void NonsmoothNewton::SolveBlocks(std::span<double> z) const {
  for (std::size_t b = 0; b < problem_->blocks.size(); ++b) {
    const NonsmoothProblem::Block& block = problem_->blocks[b];
    const double* L = &factors_[factor_of_[b]];
    SolveLower(block.size, L, block.size, &z[block.first]);
    SolveLowerTransposed(block.size, L, block.size, &z[block.first]);
  }
}

void NonsmoothNewton::MultiplyRows(std::span<const double> z, std::span<double> y) const {
  const NonsmoothProblem& problem = *problem_;
  std::size_t i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    double u[3] = {0, 0, 0};
    for (int e = contact.first_entry; e < contact.first_entry + contact.num_entries; ++e) {
      const NonsmoothProblem::Entry& entry = problem.entries[e];
      const double* J = &problem.values[entry.values];
      for (int j = 0; j < entry.columns; ++j, J += 3) {
        const double v = z[entry.first + j];
        u[0] += J[0] * v, u[1] += J[1] * v, u[2] += J[2] * v;
      }
    }
    std::copy(u, u + 3, &y[i]);
    i += 3;
  }
  for (const NonsmoothProblem::Row& row : problem.rows) {
    double u = 0;
    for (int e = row.first_entry; e < row.first_entry + row.num_entries; ++e) {
      const NonsmoothProblem::Entry& entry = problem.entries[e];
      const double* J = &problem.values[entry.values];
      for (int j = 0; j < entry.columns; ++j) u += J[j] * z[entry.first + j];
    }
    y[i++] = u;
  }
}

void NonsmoothNewton::Multiply(std::span<const double> x, std::span<double> y) const {
  MultiplyTransposed(x, scratch_);
  SolveBlocks(scratch_);
  MultiplyRows(scratch_, y);
}

// J A⁻¹ Jᵀ, a block at a time: with T = L⁻¹ Jᵀ of the rows that touch it, TᵀT.
std::span<const double> NonsmoothNewton::Assemble() {
  const std::size_t n = num_unknowns_;
  if (assembled_) return matrix_;
  assembled_ = true;
  matrix_.assign(n * n, 0.0);
  const NonsmoothProblem& problem = *problem_;
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
    const NonsmoothProblem::Block& block = problem.blocks[b];
    const double* L = &factors_[factor_of_[b]];
    columns_.clear();
    block_rows_.clear();
    const auto add = [&](int i, int first_entry, int num_entries, int height, int component) {
      bool touches = false;
      for (int e = first_entry; e < first_entry + num_entries; ++e) {
        const NonsmoothProblem::Entry& entry = problem.entries[e];
        if (entry.block != static_cast<int>(b)) continue;
        if (!touches) columns_.resize(columns_.size() + block.size, 0.0);
        touches = true;
        double* column = &columns_[columns_.size() - block.size];
        for (int j = 0; j < entry.columns; ++j)
          column[entry.first - block.first + j] +=
              problem.values[entry.values + height * j + component];
      }
      if (!touches) return;
      SolveLower(block.size, L, block.size, &columns_[columns_.size() - block.size]);
      block_rows_.push_back(i);
    };
    int i = 0;
    for (const NonsmoothProblem::Contact& contact : problem.contacts) {
      for (int k = 0; k < 3; ++k) add(i++, contact.first_entry, contact.num_entries, 3, k);
    }
    for (const NonsmoothProblem::Row& row : problem.rows)
      add(i++, row.first_entry, row.num_entries, 1, 0);
    for (std::size_t p = 0; p < block_rows_.size(); ++p) {
      for (std::size_t q = 0; q <= p; ++q) {
        const double value = Dot(block.size, &columns_[p * block.size], &columns_[q * block.size]);
        matrix_[block_rows_[p] * n + block_rows_[q]] += value;
        if (p != q) matrix_[block_rows_[q] * n + block_rows_[p]] += value;
      }
    }
  }
  return matrix_;
}

void NonsmoothNewton::ChooseScales(const NonsmoothOptions& options) {
  const NonsmoothProblem& problem = *problem_;
  const double h = problem.h;
  const auto scale = [&](double normal, double friction) {
    natural_scales_.push_back({h * h * normal, h * friction});
    switch (options.preconditioner) {
      case NonsmoothOptions::Preconditioner::kEffectiveMass:
        return scales_.push_back(natural_scales_.back());
      case NonsmoothOptions::Preconditioner::kTimeStep:
        return scales_.push_back({h * h, h});
      case NonsmoothOptions::Preconditioner::kIdentity:
        return scales_.push_back({1, 1});
    }
  };
  scales_.clear();
  natural_scales_.clear();
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    const double friction = (contact.W(0, 0) + contact.W(1, 1)) / 2;
    for (int k = 0; k < 2; ++k) scale(friction, friction);
    scale(contact.W(2, 2), contact.W(2, 2));
  }
  for (const NonsmoothProblem::Row& row : problem.rows) scale(row.W, row.W);
}

bool NonsmoothNewton::Prepare(const NonsmoothOptions& options) {
  const NonsmoothProblem& problem = *problem_;
  num_unknowns_ = static_cast<int>(3 * problem.contacts.size() + problem.rows.size());
  assembled_ = false;
  scratch_.resize(problem.size);
  factor_of_.clear();
  std::size_t total = 0;
  for (const NonsmoothProblem::Block& block : problem.blocks) {
    factor_of_.push_back(total);
    total += std::size_t(block.size) * block.size;
  }
  factors_.resize(total);
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
    const NonsmoothProblem::Block& block = problem.blocks[b];
    double* L = &factors_[factor_of_[b]];
    std::copy(block.A, block.A + std::size_t(block.size) * block.size, L);
    if (FactorCholesky(block.size, L, block.size) >= 0) return false;
  }
  diagonal_.clear();
  for (const NonsmoothProblem::Contact& contact : problem.contacts)
    for (int k = 0; k < 3; ++k) diagonal_.push_back(contact.W(k, k));
  for (const NonsmoothProblem::Row& row : problem.rows) diagonal_.push_back(row.W);
  ChooseScales(options);

  // rates of the free motion
  free_rates_.resize(num_unknowns_);
  MultiplyRows(problem.v_star, free_rates_);
  std::size_t i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts)
    for (int k = 0; k < 3; ++k) free_rates_[i++] += contact.bias[k];
  for (const NonsmoothProblem::Row& row : problem.rows) free_rates_[i++] += row.bias;
  for (std::vector<double>* list : {&compliance_, &rhs_, &change_, &rates_})
    list->resize(num_unknowns_);
  return true;
}

void NonsmoothNewton::CalcRates() {
  Multiply(lambda_, rates_);
  for (int i = 0; i < num_unknowns_; ++i) rates_[i] = free_rates_[i] + problem_->h * rates_[i];
}

void NonsmoothNewton::ProjectForces() {
  const NonsmoothProblem& problem = *problem_;
  std::size_t i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    double* force = &lambda_[i];
    force[2] = std::max(force[2], 0.0);
    const double limit = contact.friction * force[2];
    const double tangential = std::sqrt(force[0] * force[0] + force[1] * force[1]);
    if (tangential > limit) {
      force[0] *= limit / tangential;
      force[1] *= limit / tangential;
    }
    i += 3;
  }
  for (const NonsmoothProblem::Row& row : problem.rows) {
    lambda_[i] = std::min(std::max(lambda_[i], row.lower), row.upper);
    ++i;
  }
}

double NonsmoothNewton::CalcResidual() {
  const NonsmoothProblem& problem = *problem_;
  const double h = problem.h;
  double worst = 0, sum = 0;  // a maximum loses NaN, a sum does not
  const auto note = [&](double error) {
    worst = std::max(worst, error);
    sum += error;
  };
  std::size_t i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    const double r_n = natural_scales_[i + 2].normal, r_t = natural_scales_[i].friction;
    if (diagonal_[i + 2] > kNeverMoves) {
      const double C = contact.gap + h * rates_[i + 2] + contact.compliance * lambda_[i + 2];
      note(std::abs(std::min(C, r_n * lambda_[i + 2])));
    }
    if (r_t > kNeverMoves) {
      // ‖λ_t − Π(λ_t − u_t / r)‖ r h
      const Vector2d force(lambda_[i], lambda_[i + 1]);
      Vector2d pulled = force - Vector2d(rates_[i], rates_[i + 1]) / r_t;
      const double limit = contact.friction * std::max(lambda_[i + 2], 0.0);
      const double size = pulled.norm();
      if (size > limit) pulled *= limit / size;
      note((force - pulled).norm() * r_t * h);
    }
    i += 3;
  }
  for (const NonsmoothProblem::Row& row : problem.rows) {
    const double r = natural_scales_[i].normal + row.compliance;
    if (r > kNeverMoves) {
      const double C = row.gap + h * rates_[i] + row.compliance * lambda_[i];
      const double pulled = std::min(std::max(lambda_[i] - C / r, row.lower), row.upper);
      note(std::abs(lambda_[i] - pulled) * r);
    }
    ++i;
  }
  return std::isfinite(sum) ? worst : sum;
}

void NonsmoothNewton::LineariseRow(int k, int i, const NonsmoothOptions& options) {
  const NonsmoothProblem::Row& row = problem_->rows[k];
  const double h = problem_->h;
  const double C = row.gap + h * rates_[i] + row.compliance * lambda_[i];
  if (IsBoxed(row)) {
    // constant bounds are an active set: held at the one beyond which C would push it, or free
    const double r = natural_scales_[i].normal + row.compliance;
    const double pushed = lambda_[i] - C / r;
    if (pushed > row.lower && pushed < row.upper) {
      compliance_[i] = row.compliance / (h * h);
      rhs_[i] = -C / (h * h);
    } else {
      compliance_[i] = kHeld * diagonal_[i];
      rhs_[i] = compliance_[i] * ((pushed >= row.upper ? row.upper : row.lower) - lambda_[i]);
    }
  } else if (std::isfinite(row.lower) || std::isfinite(row.upper)) {
    const double sign = std::isfinite(row.lower) ? 1 : -1;
    const double bound = std::isfinite(row.lower) ? row.lower : row.upper;
    const NcpValue f = CalcNcp(options.ncp, sign * C, scales_[i].normal + row.compliance,
                               sign * (lambda_[i] - bound));
    const double alpha = std::max(f.alpha, kLeastAlpha);
    compliance_[i] = (row.compliance + f.S / alpha) / (h * h);
    rhs_[i] = -sign * f.phi / (alpha * h * h);
  } else {
    compliance_[i] = row.compliance / (h * h);
    rhs_[i] = -C / (h * h);
  }
}

// J A⁻¹ Jᵀ Δλ + compliance Δλ = rhs, in 1/kg.
void NonsmoothNewton::Linearise(const NonsmoothOptions& options) {
  const NonsmoothProblem& problem = *problem_;
  const double h = problem.h;
  int i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    const double normal = lambda_[i + 2];
    const double C = contact.gap + h * rates_[i + 2] + contact.compliance * normal;
    const NcpValue f = CalcNcp(options.ncp, C, scales_[i + 2].normal, normal);
    const double alpha = std::max(f.alpha, kLeastAlpha);
    compliance_[i + 2] = (contact.compliance + f.S / alpha) / (h * h);
    rhs_[i + 2] = -f.phi / (alpha * h * h);

    const Vector2d slip(rates_[i], rates_[i + 1]), force(lambda_[i], lambda_[i + 1]);
    const double W = CalcFrictionCompliance(options.ncp, slip.norm(), force.norm(),
                                            contact.friction * normal, scales_[i].friction);
    // without a normal force there is none to resist the slip
    const bool is_loose = W >= kLooseFriction * scales_[i].friction;
    for (int k = 0; k < 2; ++k) {
      compliance_[i + k] = W / h;
      rhs_[i + k] = -((is_loose ? 0 : slip[k]) + W * force[k]) / h;
    }
    i += 3;
  }
  for (std::size_t k = 0; k < problem.rows.size(); ++k, ++i)
    LineariseRow(static_cast<int>(k), i, options);

  for (int row = 0; row < num_unknowns_; ++row) {
    compliance_[row] += kLeastDiagonal * diagonal_[row];
    // what no force moves keeps the force that it has
    if (diagonal_[row] <= kNeverMoves) compliance_[row] = 1, rhs_[row] = 0;
  }
}

// Goes on from lambda_ by Newton's method on the cones, and keeps the best of what that finds.
void NonsmoothNewton::SolveOnCones(const NonsmoothOptions& options, NonsmoothResult* result) {
  int good = 0;
  change_.assign(lambda_.begin(), lambda_.end());
  best_.assign(lambda_.begin(), lambda_.end());
  const auto is_done = [&](std::span<const double> lambda) {
    lambda_.assign(lambda.begin(), lambda.end());
    ProjectForces();
    CalcRates();
    const double residual = CalcResidual();
    result->residuals.push_back(residual);
    if (residual < result->residual) {
      result->residual = residual;
      best_.assign(lambda_.begin(), lambda_.end());
    }
    if (result->residual <= options.tolerance) ++good;
    return good > kPolish || result->residual <= kWithin * options.tolerance;
  };
  cone_.Solve(*problem_, kMostConeIterations, is_done, change_);
  result->cone_iterations = cone_.iterations();
  lambda_.assign(best_.begin(), best_.end());
  CalcRates();
  result->converged = result->residual <= options.tolerance;
  result->cycled = !result->converged;
}

bool NonsmoothNewton::Solve(const NonsmoothProblem& problem,
                            std::span<const Vector3d> contact_guess,
                            std::span<const double> row_guess, const NonsmoothOptions& options,
                            NonsmoothResult* result) {
  problem_ = &problem;
  if (!Prepare(options)) return false;
  lambda_.clear();
  for (const Vector3d& force : contact_guess)
    lambda_.insert(lambda_.end(), force.data(), force.data() + 3);
  lambda_.insert(lambda_.end(), row_guess.begin(), row_guess.end());
  ProjectForces();
  CalcRates();

  result->residuals.clear();
  result->linear_residuals.clear();
  result->linear_iterations = 0;
  result->cycled = false;
  double best = CalcResidual();
  const double first = best;
  int best_at = 0;
  best_ = lambda_;
  result->residuals.push_back(best);
  LinearOptions linear;
  linear.solver = options.linear_solver;
  linear.max_iterations = options.linear_iterations;
  linear.relative_tolerance = 1e-10;
  // the best forces, within cones and bounds
  const auto accept = [&] {
    lambda_.assign(best_.begin(), best_.end());
    ProjectForces();
    CalcRates();
    result->residual = CalcResidual();
    return result->residual <= options.tolerance;
  };
  // what has to be moved at all is moved well within the tolerance: the next step may then leave it as it is
  double target = options.tolerance;
  double damping = 1;
  int k = 0;
  for (;; ++k) {
    if (best <= target || (best <= options.tolerance && k - best_at >= kPolish)) {
      if (accept()) break;
      // the projection costs a little: go on from before it
      target = 0.1 * best;
      lambda_.assign(best_.begin(), best_.end());
      CalcRates();
    }
    if (k == options.newton_iterations || options.friction == NonsmoothOptions::Friction::kCone)
      break;
    if (options.friction == NonsmoothOptions::Friction::kFixedPointThenCone &&
        k - best_at >= kLittlePatience)
      break;
    if (k - best_at >= kPatience) {
      // a cycle: shorter steps from the best forces, while they help
      damping *= 0.5;
      result->cycled = damping < kLeastDamping;
      if (result->cycled) break;
      best_at = k;
      lambda_.assign(best_.begin(), best_.end());
      CalcRates();
    }
    Linearise(options);
    if (!linear_.Solve(*this, compliance_, rhs_, linear, change_)) break;
    result->linear_iterations += static_cast<int>(linear_.residuals().size());
    const double step = damping * (best <= 0.5 * first ? 1 : options.step_length);
    for (int i = 0; i < num_unknowns_; ++i) lambda_[i] += step * change_[i];
    CalcRates();
    const double residual = CalcResidual();
    result->residuals.push_back(residual);
    if (!std::isfinite(residual)) break;
    if (k == 0) target *= kWithin;
    if (residual < best) {
      best = residual;
      best_at = k + 1;
      best_.assign(lambda_.begin(), lambda_.end());
    }
  }
  result->converged = accept();
  result->cone_iterations = 0;
  if (!result->converged && options.friction != NonsmoothOptions::Friction::kFixedPoint)
    SolveOnCones(options, result);
  result->iterations = k;
  result->linear_residuals = linear_.residuals();
  result->v.assign(problem.size, 0.0);
  MultiplyTransposed(lambda_, result->v);
  SolveBlocks(result->v);
  for (int j = 0; j < problem.size; ++j)
    result->v[j] = problem.v_star[j] + problem.h * result->v[j];
  result->contact_forces.resize(problem.contacts.size());
  for (std::size_t c = 0; c < problem.contacts.size(); ++c)
    result->contact_forces[c] = {lambda_[3 * c], lambda_[3 * c + 1], lambda_[3 * c + 2]};
  result->row_forces.assign(lambda_.begin() + 3 * problem.contacts.size(), lambda_.end());
  return std::isfinite(result->residual);
}

}  // namespace pliant::solvers
