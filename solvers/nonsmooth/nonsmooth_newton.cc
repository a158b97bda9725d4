#include "solvers/nonsmooth/nonsmooth_newton.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/dense.h"
#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kMinAlpha = 1e-6;  // lower bound on α of open rows
constexpr double kMinDiagonal =
    1e-10;  // compliance added to each row for redundant contacts, relative to its diagonal
// Newton steps without a smaller residual after which steps are halved, and after which the solve
// ends if another method can continue.
constexpr int kStagnationLimit = 10;
constexpr int kContinuedStagnationLimit = 4;
// The same, and iterations of a linear system, where Newton's method on the cones, which factors
// the matrix of the velocities, is faster: where products with A⁻¹ read more than kDenseShare as
// many numbers as those with J, or where there are more than kManyForces forces per velocity. A
// stack of boxes has two, and there the fixed point is more accurate.
constexpr int kShortStagnationLimit = 2, kShortLinearIterations = 16;
constexpr double kDenseShare = 0.5;
constexpr int kManyForces = 2;
constexpr double kMinDamping = 0.05;
constexpr int kMaxConeIterations = 400;
// A solve within the tolerance continues to this fraction of it, until this many Newton steps in a
// row gain nothing.
constexpr double kToleranceFactor = 0.1;
constexpr int kMaxRefinements = 2;
constexpr double kLinearTolerance = 1e-10;  // or the tolerance of the solve if that is smaller
constexpr double kFixedCompliance = 1e12;   // of a force at its bound, relative to its diagonal
constexpr double kMinChange = 1e-6;  // smallest velocity change used, relative to the largest
constexpr double kMaxGeometricStiffness = 1e6;  // relative to a particle's mass
constexpr double kMinMobility = 1e-300;         // [1/kg]; below this, no force moves a row

bool IsBoxed(const NonsmoothProblem::Row& row) {
  return std::isfinite(row.lower) && std::isfinite(row.upper);
}

}  // namespace

void NonsmoothProblem::Clear() {
  island = {};
  contacts.clear();
  rows.clear();
  sets.clear();
  set_rows = nullptr;
}

void NonsmoothNewton::MultiplyTransposed(std::span<const double> x, std::span<double> z) const {
  const NonsmoothProblem& problem = *problem_;
  std::fill(z.begin(), z.end(), 0.0);
  if (!row_scale_.empty()) {
    scaled_.assign(x.begin(), x.end());
    ScaleRows(scaled_);
    x = scaled_;
  }
  const std::size_t i = packed_.AddTransposed(x.data(), z.data());
  AddSetsTransposed(problem.sets, J_, x.subspan(i), z);
}

void NonsmoothNewton::MultiplyRows(std::span<const double> z, std::span<double> y) const {
  const std::size_t i = packed_.Multiply(z.data(), y.data());
  MultiplySets(problem_->sets, J_, z, y.subspan(i));
}

void NonsmoothNewton::ScaleRows(std::span<double> y) const {
  for (std::size_t i = 0; i < row_scale_.size(); ++i) y[i] *= row_scale_[i];
}

void NonsmoothNewton::Multiply(std::span<const double> x, std::span<double> y) const {
  MultiplyTransposed(x, scratch_);
  masses_.Solve(scratch_);
  MultiplyRows(scratch_, y);
  ScaleRows(y);
  const double scale = 1 / (problem_->h * problem_->h);
  const double* E = E_.data();
  for (std::size_t i = first_set(); i < y.size(); i += kSetRows) {
    for (int r = 0; r < kSetRows; ++r, E += kSetRows) {
      double sum = 0;
      for (int c = 0; c < kSetRows; ++c) sum += E[c] * x[i + c];
      y[i + r] += scale * sum;
    }
  }
}

const SparseMatrix& NonsmoothNewton::Assemble() {
  if (is_assembled_) return matrix_;
  is_assembled_ = true;
  const NonsmoothProblem& problem = *problem_;
  product_.Begin(masses_);
  problem.island.ForEachConstraint([&](std::span<const IslandView::Entry> entries, int height) {
    product_.AddRows(height);
    for (const IslandView::Entry& entry : entries) {
      problem.island.ForEachRun(entry, [&](int first, int columns, const double* J) {
        product_.AddEntry(first, columns, J, 1, height);
      });
    }
  });
  const double* J = J_.data();
  for (const SetColumns& set : problem.sets) {
    product_.AddRows(kSetRows);
    for (int part = 0; part < 4; ++part, J += 3)
      if (set[part] >= 0) product_.AddEntry(set[part], 3, J, kSetColumns, 1);
    J += (kSetRows - 1) * kSetColumns;
  }
  product_.Finish(&matrix_);
  for (int i = 0; i < static_cast<int>(row_scale_.size()); ++i) {
    for (int k = matrix_.starts[i]; k < matrix_.starts[i + 1]; ++k)
      matrix_.values[k] *= row_scale_[i] * row_scale_[matrix_.columns[k]];
  }
  const double scale = 1 / (problem.h * problem.h);
  const double* E = E_.data();
  for (int i = static_cast<int>(first_set()); i < num_unknowns_; i += kSetRows) {
    for (int r = i; r < i + kSetRows; ++r) {
      const auto begin = matrix_.columns.begin() + matrix_.starts[r],
                 end = matrix_.columns.begin() + matrix_.starts[r + 1];
      double* own = &matrix_.values[std::lower_bound(begin, end, i) - matrix_.columns.begin()];
      for (int c = 0; c < kSetRows; ++c) own[c] += scale * *E++;
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
  for (std::size_t c = 0; c < problem.contacts.size(); ++c) {
    const double* W = &diagonal_[natural_scales_.size()];
    const double friction = (W[0] + W[1]) / 2, normal = W[2];
    for (int k = 0; k < 2; ++k) scale(friction, friction);
    scale(normal, normal);
  }
  for (int k = 0; k < problem.island.num_rows(); ++k) {
    const double W = problem.island.row(k).W;
    scale(W, W);
  }
}

// Computes the diagonal of J A⁻¹ Jᵀ for contacts on parts with many velocities. From a node's own
// block of A alone, a soft body would appear far too stiff.
void NonsmoothNewton::MeasureWithinParts() {
  const NonsmoothProblem& problem = *problem_;
  const std::vector<BlockMasses::Part>& parts = masses_.parts();
  std::size_t i = 0;
  const IslandView& island = problem.island;
  for (int k = 0; k < island.num_contacts(); ++k) {
    columns_.clear();
    bool is_dense = false;
    for (const IslandView::Entry& entry : island.system->entries_of(island.contact(k))) {
      island.ForEachRun(entry, [&](int first, int columns, const double* J) {
        for (int c = 0; c < columns; ++c, J += 3) {
          const int part = part_of_[first + c];
          is_dense = is_dense || !parts[part].is_inverse;
          columns_.push_back({part, first + c - parts[part].first, {J[0], J[1], J[2]}});
        }
      });
    }
    if (is_dense) {
      double sums[3] = {0, 0, 0};
      for (const Column& a : columns_) {
        const BlockMasses::Part& part = parts[a.part];
        const double* inverse = masses_.full_inverse(part) + std::size_t(part.size) * a.place;
        double product[3] = {0, 0, 0};
        for (const Column& b : columns_) {
          if (b.part != a.part) continue;
          for (int r = 0; r < 3; ++r) product[r] += inverse[b.place] * b.J[r];
        }
        for (int r = 0; r < 3; ++r) sums[r] += a.J[r] * product[r];
      }
      for (int r = 0; r < 3; ++r) diagonal_[i + r] = std::max(sums[r], 0.0);
    }
    i += 3;
  }
}

bool NonsmoothNewton::Prepare(const NonsmoothOptions& options) {
  const NonsmoothProblem& problem = *problem_;
  const std::size_t num_sets = problem.sets.size();
  num_unknowns_ = static_cast<int>(first_set() + kSetRows * num_sets);
  is_assembled_ = false;
  const bool keeps_alpha = options.normal_scaling == NonsmoothOptions::NormalScaling::kBothSides;
  is_explicit_ = num_sets > 0 || keeps_alpha;
  row_scale_.assign(keeps_alpha ? num_unknowns_ : 0, 1.0);
  // SIMD loads may reach beyond the last velocity
  for (std::vector<double>* list : {&scratch_, &g_, &dv_, &v_})
    list->assign(problem.size() + PackedRows::kBeyond, 0.0);
  const IslandView& island = problem.island;
  island.Gather(island.system->v_star, &v_star_);
  packed_.Clear();
  island.ForEachConstraint([&](std::span<const IslandView::Entry> entries, int height) {
    packed_.AddRows(height);
    for (const IslandView::Entry& entry : entries) {
      island.ForEachRun(entry, [&](int first, int columns, const double* J) {
        packed_.AddEntry(first, columns, J);
      });
    }
  });
  J_.resize(kSetRows * kSetColumns * num_sets);
  E_.resize(kSetRows * kSetRows * num_sets);
  error_.resize(kSetRows * num_sets);
  masses_.Clear();
  mass_diagonal_.clear();
  bool is_definite = true;
  island.ForEachMass([&](int /*first*/, int size, const double* A, bool /*is_particle*/) {
    is_definite = is_definite && masses_.Append(size, A);
    for (int i = 0; i < size; ++i) mass_diagonal_.push_back(A[(size + 1) * i]);
  });
  if (!is_definite) return false;
  shift_.assign(problem.size(), 0.0);
  part_of_.resize(problem.size());
  for (std::size_t p = 0; p < masses_.parts().size(); ++p) {
    const BlockMasses::Part& part = masses_.parts()[p];
    std::fill_n(part_of_.begin() + part.first, part.size, static_cast<int>(p));
  }
  diagonal_.clear();
  for (int c = 0; c < island.num_contacts(); ++c)
    for (int k = 0; k < 3; ++k) diagonal_.push_back(island.contact(c).W(k, k));
  for (int k = 0; k < island.num_rows(); ++k) diagonal_.push_back(island.row(k).W);
  if (!is_explicit_) MeasureWithinParts();
  ChooseScales(options);
  diagonal_.resize(num_unknowns_);
  for (std::vector<double>* list : {&compliance_, &rhs_, &change_, &rates_})
    list->resize(num_unknowns_);

  // rates in free motion
  free_rates_.resize(num_unknowns_);
  if (is_explicit_) {
    std::ranges::copy(v_star_, v_.begin());
    std::fill(free_rates_.begin(), free_rates_.end(), 0.0);
  } else {
    std::ranges::copy(v_star_, scratch_.begin());
    MultiplyRows(scratch_, free_rates_);
  }
  std::size_t i = 0;
  for (int c = 0; c < island.num_contacts(); ++c)
    for (int k = 0; k < 3; ++k) free_rates_[i++] += island.contact(c).bias[k];
  for (int k = 0; k < island.num_rows(); ++k) free_rates_[i++] += island.row(k).bias;
  return true;
}

bool NonsmoothNewton::EvaluateIterate(const NonsmoothOptions& options) {
  const NonsmoothProblem& problem = *problem_;
  if (!is_explicit_) {
    Multiply(lambda_, rates_);
    for (int i = 0; i < num_unknowns_; ++i) rates_[i] = free_rates_[i] + problem.h * rates_[i];
    return true;
  }
  is_assembled_ = false;
  if (!problem.sets.empty() &&
      !problem.set_rows->Evaluate(v_, std::span<const double>(lambda_).subspan(first_set()), J_, E_,
                                  error_))
    return false;
  MultiplyRows(v_, rates_);
  for (int i = 0; i < num_unknowns_; ++i) rates_[i] += free_rates_[i];
  if (!row_scale_.empty()) {
    std::size_t i = 2;
    for (const NonsmoothProblem::Contact& contact : problem.contacts) {
      const double C = contact.gap + problem.h * rates_[i] + contact.compliance * lambda_[i];
      row_scale_[i] = CalcNcp(options.ncp, C, scales_[i].normal, lambda_[i]).alpha;
      i += 3;
    }
  }
  // g = M (v − v*) − h Jᵀ λ
  for (int j = 0; j < problem.size(); ++j) dv_[j] = v_[j] - v_star_[j];
  masses_.Multiply(dv_, g_);
  MultiplyTransposed(lambda_, scratch_);
  for (int j = 0; j < problem.size(); ++j) g_[j] -= problem.h * scratch_[j];
  return true;
}

void NonsmoothNewton::CalcVelocities(std::span<double> v) const {
  MultiplyTransposed(lambda_, scratch_);
  masses_.Solve(scratch_);
  for (int j = 0; j < problem_->size(); ++j) v[j] = v_star_[j] + problem_->h * scratch_[j];
}

bool NonsmoothNewton::HasCompliance(std::size_t i) const {
  return i >= first_set() || natural_scales_[i].friction > kMinMobility * problem_->h;
}

// Computes the diagonal of J H⁻¹ Jᵀ + E/h². H is block-diagonal in its parts; factored parts
// contribute by their diagonal only.
void NonsmoothNewton::CalcDiagonal() {
  const NonsmoothProblem& problem = *problem_;
  const std::vector<BlockMasses::Part>& parts = masses_.parts();
  std::size_t i = 0;
  const IslandView& island = problem.island;
  island.ForEachConstraint([&](std::span<const IslandView::Entry> entries, int height) {
    for (int r = 0; r < height; ++r, ++i) {
      diagonal_[i] = 0;
      for (const IslandView::Entry& entry : entries) {
        island.ForEachRun(entry, [&](int first, int columns, const double* J) {
          J += r;
          for (int c = 0; c < columns; ++c) {
            const BlockMasses::Part& part = parts[part_of_[first + c]];
            if (!part.is_inverse) {
              diagonal_[i] += J[height * c] * J[height * c] / mass_diagonal_[first + c];
              continue;
            }
            // this column times the run's columns in the same part
            const int column = first + c - part.first;
            for (int d = 0; d < 3; ++d) {
              const int other = part.first + d - first;
              if (other < 0 || other >= columns) continue;
              diagonal_[i] +=
                  J[height * c] * masses_.inverse(part)[3 * column + d] * J[height * other];
            }
          }
        });
      }
    }
  });
  for (std::size_t k = 0; k < row_scale_.size(); ++k) diagonal_[k] *= row_scale_[k] * row_scale_[k];

  const double scale = 1 / (problem.h * problem.h);
  const double *J = J_.data(), *E = E_.data();
  for (const SetColumns& set : problem.sets) {
    for (int r = 0; r < kSetRows; ++r, J += kSetColumns, ++i) {
      double sum = scale * E[(kSetRows + 1) * r];
      for (int k = 0; k < 4; ++k) {
        if (set[k] < 0) continue;
        const double* x = J + 3 * k;
        const BlockMasses::Part& part = parts[part_of_[set[k]]];
        if (!part.is_inverse) {
          for (int c = 0; c < 3; ++c) sum += x[c] * x[c] / mass_diagonal_[set[k] + c];
          continue;
        }
        const double* inverse = masses_.inverse(part);
        for (int c = 0; c < 3; ++c)
          sum += x[c] * (inverse[c] * x[0] + inverse[3 + c] * x[1] + inverse[6 + c] * x[2]);
      }
      diagonal_[i] = sum;
    }
    E += kSetRows * kSetRows;
  }
}

void NonsmoothNewton::ProjectForces() {
  const NonsmoothProblem& problem = *problem_;
  std::size_t i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    Eigen::Map<Vector3d> force(&lambda_[i]);
    force = ClipToCone(force, contact.friction);
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
  double worst = 0, sum = 0;  // the sum detects NaN, which std::max drops
  const auto note = [&](double error) {
    worst = std::max(worst, error);
    sum += error;
  };
  std::size_t i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    const double r_n = natural_scales_[i + 2].normal, r_t = natural_scales_[i].friction;
    if (HasCompliance(i + 2)) {
      const double C = contact.gap + h * rates_[i + 2] + contact.compliance * lambda_[i + 2];
      note(std::abs(std::min(C, r_n * lambda_[i + 2])));
    }
    if (r_t > kMinMobility) {
      // ‖λ_t − Π(λ_t − u_t / r)‖ r h
      const Vector2d force(lambda_[i], lambda_[i + 1]);
      Vector2d projected = force - Vector2d(rates_[i], rates_[i + 1]) / r_t;
      ClipFriction(contact.friction * std::max(lambda_[i + 2], 0.0), projected);
      note((force - projected).norm() * r_t * h);
    }
    i += 3;
  }
  for (const NonsmoothProblem::Row& row : problem.rows) {
    const double r = natural_scales_[i].normal + row.compliance;
    if (r > kMinMobility) {
      const double C = row.gap + h * rates_[i] + row.compliance * lambda_[i];
      const double projected = std::min(std::max(lambda_[i] - C / r, row.lower), row.upper);
      note(std::abs(lambda_[i] - projected) * r);
    }
    ++i;
  }
  for (const double error : error_) note(std::abs(error));
  if (is_explicit_) {
    for (int j = 0; j < problem.size(); ++j) note(h * std::abs(g_[j]) / mass_diagonal_[j]);
  }
  return std::isfinite(sum) ? worst : sum;
}

void NonsmoothNewton::LineariseRow(int k, int i, const NonsmoothOptions& options) {
  const NonsmoothProblem::Row& row = problem_->rows[k];
  const double h = problem_->h;
  const double C = row.gap + h * rates_[i] + row.compliance * lambda_[i];
  if (IsBoxed(row)) {
    // constant bounds form an active set: fixed at a bound that C would drive λ beyond, or free
    const double r = natural_scales_[i].normal + row.compliance;
    const double unclamped = lambda_[i] - C / r;
    if (unclamped > row.lower && unclamped < row.upper) {
      compliance_[i] = row.compliance / (h * h);
      rhs_[i] = -C / (h * h);
    } else {
      compliance_[i] = kFixedCompliance * diagonal_[i];
      rhs_[i] = compliance_[i] * ((unclamped >= row.upper ? row.upper : row.lower) - lambda_[i]);
    }
  } else if (std::isfinite(row.lower) || std::isfinite(row.upper)) {
    const double sign = std::isfinite(row.lower) ? 1 : -1;
    const double bound = std::isfinite(row.lower) ? row.lower : row.upper;
    const NcpValue f = CalcNcp(options.ncp, sign * C, scales_[i].normal + row.compliance,
                               sign * (lambda_[i] - bound));
    const double alpha = std::max(f.alpha, kMinAlpha);
    compliance_[i] = (row.compliance + f.S / alpha) / (h * h);
    rhs_[i] = -sign * f.phi / (alpha * h * h);
  } else {
    compliance_[i] = row.compliance / (h * h);
    rhs_[i] = -C / (h * h);
  }
}

// Sets up J A⁻¹ Jᵀ Δλ + compliance Δλ = rhs, with the matrix in 1/kg.
void NonsmoothNewton::Linearise(const NonsmoothOptions& options) {
  const NonsmoothProblem& problem = *problem_;
  const double h = problem.h;
  int i = 0;
  for (const NonsmoothProblem::Contact& contact : problem.contacts) {
    const double normal = lambda_[i + 2];
    const double C = contact.gap + h * rates_[i + 2] + contact.compliance * normal;
    const NcpValue f = CalcNcp(options.ncp, C, scales_[i + 2].normal, normal);
    if (row_scale_.empty()) {
      const double alpha = std::max(f.alpha, kMinAlpha);
      compliance_[i + 2] = (contact.compliance + f.S / alpha) / (h * h);
      // In φ = α C + S λ, the second term removes the force of a contact that opens. But nothing
      // else determines how redundant contacts share a load, and each step would shift it to fewer
      // of them. The weight S / r, which is 1 for an open contact and 0 for a closed one, leaves
      // the shares of closed contacts unchanged. The step changes by O(φ²), so Newton's method
      // converges as fast.
      const double open = std::min(f.S / scales_[i + 2].normal, 1.0);
      rhs_[i + 2] = -(f.phi - (1 - open) * f.S * normal) / (alpha * h * h);
    } else {
      compliance_[i + 2] = (f.alpha * contact.compliance + f.S) / (h * h);
      rhs_[i + 2] = -f.phi / (h * h);
    }

    const Vector2d slip(rates_[i], rates_[i + 1]), force(lambda_[i], lambda_[i + 1]);
    const double W = CalcFrictionCompliance(options.ncp, slip.norm(), force.norm(),
                                            contact.friction * normal, scales_[i].friction);
    // without a normal force there is no friction to resist the slip
    const bool is_loose = W >= kUnloadedCompliance * scales_[i].friction;
    for (int k = 0; k < 2; ++k) {
      compliance_[i + k] = W / h;
      rhs_[i + k] = -((is_loose ? 0 : slip[k]) + W * force[k]) / h;
    }
    i += 3;
  }
  for (std::size_t k = 0; k < problem.rows.size(); ++k, ++i)
    LineariseRow(static_cast<int>(k), i, options);
  for (const double error : error_) {
    compliance_[i] = 0;
    rhs_[i++] = -error / (h * h);
  }
  if (is_explicit_) {
    CalcDiagonal();
    // the momentum residual changes the rates too
    dv_.assign(g_.begin(), g_.end());
    masses_.Solve(dv_);
    MultiplyRows(dv_, change_);
    ScaleRows(change_);
    for (int j = 0; j < num_unknowns_; ++j) rhs_[j] += change_[j] / h;
  }

  for (int row = 0; row < num_unknowns_; ++row) {
    compliance_[row] += kMinDiagonal * diagonal_[row];
    // a row that no force moves keeps its force
    if (!HasCompliance(row)) compliance_[row] = 1, rhs_[row] = 0;
  }
}

// Continues from lambda_ with Newton's method on the cones and keeps the best forces found.
void NonsmoothNewton::SolveOnCones(const NonsmoothOptions& options, NonsmoothResult* result) {
  int good = 0;
  change_.assign(lambda_.begin(), lambda_.end());
  best_.assign(lambda_.begin(), lambda_.end());
  start_.assign(lambda_.begin(), lambda_.end());
  const auto is_done = [&](std::span<const double> lambda) {
    lambda_.assign(lambda.begin(), lambda.end());
    ProjectForces();
    EvaluateIterate(options);
    const double residual = CalcResidual();
    result->residuals.push_back(residual);
    if (residual < result->residual) {
      result->residual = residual;
      best_.assign(lambda_.begin(), lambda_.end());
    }
    if (result->residual <= options.tolerance) ++good;
    return good > kMaxRefinements || result->residual <= kToleranceFactor * options.tolerance;
  };
  cone_.Solve(*problem_, packed_, kMaxConeIterations, is_done, change_);
  result->cone_iterations = cone_.iterations();
  // an impact may reverse the forces of drives and constraints, which makes those of the last step
  // a bad start: try again with these forces at zero
  const auto rows = std::span(start_).subspan(3 * problem_->contacts.size());
  if (good == 0 && std::ranges::any_of(rows, [](double force) { return force != 0; })) {
    std::ranges::fill(rows, 0.0);
    change_.assign(start_.begin(), start_.end());
    cone_.Solve(*problem_, packed_, kMaxConeIterations, is_done, change_);
    result->cone_iterations += cone_.iterations();
  }
  lambda_.assign(best_.begin(), best_.end());
  EvaluateIterate(options);
  result->converged = result->residual <= options.tolerance;
  result->cycled = !result->converged;
  result->reason =
      cone_.iterations() >= kMaxConeIterations ? StopReason::kMaxIterations : StopReason::kStalled;
}

bool NonsmoothNewton::PrefersCones() const {
  if (num_unknowns_ > kManyForces * problem_->size()) return true;
  double inverses = 0;
  for (const BlockMasses::Part& part : masses_.parts())
    inverses += static_cast<double>(part.size) * part.size;
  return inverses > kDenseShare * static_cast<double>(packed_.num_values());
}

// λ ← λ + step Δλ, and v accordingly
void NonsmoothNewton::Move(double step, const NonsmoothOptions& options) {
  const NonsmoothProblem& problem = *problem_;
  if (is_explicit_) {
    MultiplyTransposed(change_, dv_);
    for (int j = 0; j < problem.size(); ++j) dv_[j] = problem.h * dv_[j] - g_[j];
    masses_.Solve(dv_);
    for (int j = 0; j < problem.size(); ++j) v_[j] += step * dv_[j];
  }
  for (int i = 0; i < num_unknowns_; ++i) lambda_[i] += step * change_[i];
  if (problem.sets.empty() || !options.geometric_stiffness) return;
  // new forces times the old Jacobian, for the geometric stiffness
  before_.assign(problem.size(), 0.0);
  AddSetsTransposed(problem.sets, J_, std::span<const double>(lambda_).subspan(first_set()),
                    before_);
  for (int j = 0; j < problem.size(); ++j) change_v_[j] = step * dv_[j];
}

// H ← M − min(0, c) with c = h (J⁺ − J)ᵀ λ · Δu / ‖Δu‖² for each particle (macklin2019 (73), (74),
// with both g at the same λ). The quotient is taken along the particle's change instead of along
// each axis, because a quotient by a small component is meaningless.
void NonsmoothNewton::AddGeometricStiffness() {
  const NonsmoothProblem& problem = *problem_;
  double largest = 0;
  for (const double x : change_v_) largest = std::max(largest, std::abs(x));
  std::fill(scratch_.begin(), scratch_.end(), 0.0);
  AddSetsTransposed(problem.sets, J_, std::span<const double>(lambda_).subspan(first_set()),
                    scratch_);
  std::fill(shift_.begin(), shift_.end(), 0.0);
  problem.island.ForEachMass([&](int begin, int size, const double* /*A*/, bool is_particle) {
    if (!is_particle) return;
    const int end = begin + size;
    double work = 0, square = 0;
    for (int j = begin; j < end; ++j) {
      work -= problem.h * (scratch_[j] - before_[j]) * change_v_[j];
      square += change_v_[j] * change_v_[j];
    }
    // a quotient of rounding errors is meaningless
    if (!(square > kMinChange * kMinChange * largest * largest) || !(work > 0)) return;
    for (int j = begin; j < end; ++j)
      shift_[j] = std::min(work / square, kMaxGeometricStiffness * mass_diagonal_[j]);
  });
  masses_.Shift(shift_);
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
  // Forces of sets start at zero, as in the paper. Those of the initial strain would contain the
  // rows' errors left by the last step times their stiffness, which a few iterations cannot remove.
  lambda_.resize(num_unknowns_, 0.0);
  change_v_.assign(problem.size(), 0.0);
  ProjectForces();
  if (!EvaluateIterate(options)) return false;

  result->residuals.clear();
  result->linear_residuals.clear();
  result->linear_iterations = 0;
  result->cycled = false;
  double best = CalcResidual();
  const double first = best;
  int best_at = 0;
  best_.assign(lambda_.begin(), lambda_.end());
  best_v_.assign(v_.begin(), v_.end());
  result->residuals.push_back(best);
  LinearOptions linear;
  linear.solver = options.linear_solver;
  linear.max_iterations = options.linear_iterations;
  linear.relative_tolerance = std::min(kLinearTolerance, options.tolerance);
  const auto go_back = [&] {
    lambda_.assign(best_.begin(), best_.end());
    v_.assign(best_v_.begin(), best_v_.end());
    return EvaluateIterate(options);
  };
  // project the best forces onto cones and bounds; true if they meet the tolerance
  const auto accept = [&] {
    if (is_explicit_) {
      // change the velocities by what the projection removes from the forces
      lambda_.assign(best_.begin(), best_.end());
      v_.assign(best_v_.begin(), best_v_.end());
      if (!EvaluateIterate(options)) return false;
      std::fill(shift_.begin(), shift_.end(), 0.0);
      masses_.Shift(shift_);
      ProjectForces();
      for (int i = 0; i < num_unknowns_; ++i) change_[i] = lambda_[i] - best_[i];
      MultiplyTransposed(change_, dv_);
      masses_.Solve(dv_);
      for (int j = 0; j < problem.size(); ++j) v_[j] += problem.h * dv_[j];
    } else {
      lambda_.assign(best_.begin(), best_.end());
      ProjectForces();
    }
    if (!EvaluateIterate(options)) return false;
    result->residual = CalcResidual();
    return result->residual <= options.tolerance;
  };
  // Newton's method on the cones requires velocities that follow from the forces alone
  const NonsmoothOptions::Friction friction =
      is_explicit_ ? NonsmoothOptions::Friction::kFixedPoint : options.friction;
  const bool continues = friction == NonsmoothOptions::Friction::kFixedPointThenCone;
  const bool is_short = continues && PrefersCones();
  if (is_short) linear.max_iterations = std::min(linear.max_iterations, kShortLinearIterations);
  // if the iterations run out, the best projected iterate is returned: forces slightly outside
  // cones and bounds may have a large residual once projected
  const bool keeps_projected = friction == NonsmoothOptions::Friction::kFixedPoint && !is_explicit_;
  double best_projected = best;
  if (keeps_projected) projected_.assign(lambda_.begin(), lambda_.end());
  const auto try_projected = [&] {
    change_.assign(lambda_.begin(), lambda_.end());
    rhs_.assign(rates_.begin(), rates_.end());
    ProjectForces();
    EvaluateIterate(options);
    const double residual = CalcResidual();
    if (residual < best_projected) {
      best_projected = residual;
      projected_.assign(lambda_.begin(), lambda_.end());
    }
    lambda_.assign(change_.begin(), change_.end());
    rates_.assign(rhs_.begin(), rhs_.end());
  };
  // A solve that takes any iteration goes well within the tolerance, so that the next step may need
  // none. With rows every solve does, as the efforts of drives follow slow changes.
  double target = problem.rows.empty() ? options.tolerance : kToleranceFactor * options.tolerance;
  double damping = 1;
  int k = 0;
  for (;; ++k) {
    if (best <= target || (best <= options.tolerance && k - best_at >= kMaxRefinements)) {
      if (accept()) break;
      // the projection has raised the residual: continue from the iterate before it
      target = 0.1 * best;
      if (!go_back()) return false;
    }
    if (k == options.newton_iterations || friction == NonsmoothOptions::Friction::kCone) {
      result->reason = StopReason::kMaxIterations;
      break;
    }
    if (continues &&
        k - best_at >= (is_short ? kShortStagnationLimit : kContinuedStagnationLimit)) {
      result->reason = StopReason::kCycled;
      break;
    }
    if (k - best_at >= kStagnationLimit) {
      // a cycle: take shorter steps from the best forces while that helps
      damping *= 0.5;
      result->cycled = damping < kMinDamping;
      result->reason = StopReason::kCycled;
      if (result->cycled) break;
      best_at = k;
      if (!go_back()) return false;
    }
    Linearise(options);
    result->reason = StopReason::kLinearSolverFailed;
    if (!linear_.Solve(*this, compliance_, rhs_, linear, change_)) break;
    result->linear_iterations += static_cast<int>(linear_.residuals().size());
    const double step = damping * (best <= 0.5 * first ? 1 : options.step_length);
    Move(step, options);
    if (!EvaluateIterate(options)) break;
    if (!problem.sets.empty() && options.geometric_stiffness) AddGeometricStiffness();
    const double residual = CalcResidual();
    result->residuals.push_back(residual);
    if (!std::isfinite(residual)) break;
    if (k == 0 && problem.rows.empty()) target *= kToleranceFactor;
    if (keeps_projected) try_projected();
    if (residual < best) {
      best = residual;
      best_at = k + 1;
      best_.assign(lambda_.begin(), lambda_.end());
      best_v_.assign(v_.begin(), v_.end());
    }
  }
  result->converged = accept();
  if (keeps_projected && !result->converged && !(result->residual <= best_projected)) {
    lambda_.assign(projected_.begin(), projected_.end());
    EvaluateIterate(options);
    result->residual = CalcResidual();
    result->converged = result->residual <= options.tolerance;
  }
  result->cone_iterations = 0;
  if (!result->converged && friction != NonsmoothOptions::Friction::kFixedPoint)
    SolveOnCones(options, result);
  if (result->converged) result->reason = StopReason::kConverged;
  result->iterations = k;
  result->linear_residuals = linear_.residuals();
  result->v.resize(problem.size());
  if (is_explicit_) {
    std::copy_n(v_.begin(), problem.size(), result->v.begin());
    ScaleRows(lambda_);
  } else {
    CalcVelocities(result->v);
  }
  result->contact_forces.resize(problem.contacts.size());
  for (std::size_t c = 0; c < problem.contacts.size(); ++c)
    result->contact_forces[c] = {lambda_[3 * c], lambda_[3 * c + 1], lambda_[3 * c + 2]};
  result->row_forces.assign(lambda_.begin() + 3 * problem.contacts.size(),
                            lambda_.begin() + first_set());
  result->set_forces.assign(lambda_.begin() + first_set(), lambda_.end());
  return std::isfinite(result->residual);
}

}  // namespace pliant::solvers
