#include "solvers/corrective/recursive_correction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solvers/corrective/correction_residual.h"
#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// u += J y of one part
void AddProduct(const MappedPart& part, const double* y, Vector3d* u) {
  const double* J = part.J.data();
  for (int j = 0; j < part.height; ++j, J += 3)
    for (int r = 0; r < 3; ++r) (*u)[r] = std::fma(J[r], y[part.row + j], (*u)[r]);
}

// f = Jᵀ g
void MultiplyTransposed(const MappedPart& part, const Vector3d& g, double* f) {
  const double* J = part.J.data();
  for (int j = 0; j < part.height; ++j, J += 3) f[j] = J[0] * g[0] + J[1] * g[1] + J[2] * g[2];
}

// to = J H of an entry of the map H, for the rows J of a contact; both stored by columns.
template <int kHeight>
void MultiplyByMap(int columns, const double* H, const double* J, double* to) {
  for (int j = 0; j < columns; ++j, H += kHeight, to += 3) {
    double sums[3] = {H[0] * J[0], H[0] * J[1], H[0] * J[2]};
    for (int k = 1; k < kHeight; ++k)
      for (int r = 0; r < 3; ++r) sums[r] += H[k] * J[3 * k + r];
    for (int r = 0; r < 3; ++r) to[r] = sums[r];
  }
}

void MultiplyByMap(const MappingCompliance::Entry& entry, const double* H, const double* J,
                   double* to) {
  switch (entry.height) {
    case 1:
      return MultiplyByMap<1>(entry.columns, H, J, to);
    case 3:
      return MultiplyByMap<3>(entry.columns, H, J, to);
    case 6:
      return MultiplyByMap<6>(entry.columns, H, J, to);
  }
  for (int j = 0; j < entry.columns; ++j, H += entry.height, to += 3) {
    for (int r = 0; r < 3; ++r) {
      to[r] = 0;
      for (int k = 0; k < entry.height; ++k) to[r] += H[k] * J[3 * k + r];
    }
  }
}

// Negligible displacement of a contact [m].
constexpr double kNegligibleDisplacement = 1e-9;

// Lower bound of the tangential compliance, relative to the normal one: less is rounding error.
constexpr double kMinTangentialCompliance = 1e-6;

// R of proximal steps, relative to the compliance W of each contact. It is large in the first
// recursions, which halves the iterations of problems whose solution is far from the guess. Below
// the last value, problems become hard without a smaller error, which is then due to the slip
// speeds held fixed.
constexpr double kFirstProximal = 1, kProximalFall = 0.1, kLastProximal = 1e-3;

// A proximal step makes progress if its residual is below this fraction of the smallest one so far.
// Residuals seldom fall in every recursion, but an exact solution costs as much as several steps.
// It replaces them after kMaxPauses recursions without progress, or kMaxProximal in all.
constexpr double kSlow = 0.8;
constexpr int kMaxPauses = 4, kMaxProximal = 15;
// Speed that impulses would cause alone, relative to that at which bodies approach each other, from
// which bodies may be squeezed.
constexpr double kMuch = 30;
// A recursion that leaves more than this fraction of the residual counts as stalled, and the number
// of such recursions after which exact solutions are accelerated.
constexpr double kStalled = 0.9;
constexpr int kMaxStalls = 2;
// Maximum number of recursions after the tolerance is met.
constexpr int kMaxRefinements = 2;
// If contacts move too fast by the error of their impulses, refinements take proximal steps with
// this R, and tighten the tolerance by this factor at most. The compliance of light bodies under
// heavy ones is much below that of each contact, so a larger R would take many steps.
constexpr double kRefinedProximal = 1e-6, kMinRefinement = 1e-2;
// Maximum number of accelerated recursions without a new smallest residual.
constexpr int kStagnationLimit = 8;
// Growth of the residual over the smallest one at which acceleration is abandoned, and the smallest
// fraction of a solution's change that the following recursions take.
constexpr double kMaxSetback = 20, kMinPart = 1.0 / 16;

}  // namespace

double ImpulseChange::CalcRelative() const {
  // if all impulses vanish, the relative change is 1
  const double to_largest = largest_ > 0 ? change_ / largest_ : change_ > 0 ? 1 : 0;
  return std::min(to_largest, to_smallest_);
}

void ImpulseChange::Scale(const Vector3d& impulse) {
  largest_ = std::max(largest_, impulse.cwiseAbs().maxCoeff());
}

void ImpulseChange::Add(const Vector3d& before, const Vector3d& after, double W, double h) {
  Scale(after);
  const double change = (after - before).cwiseAbs().maxCoeff();
  if (!(change > 0)) return;
  change_ = std::max(change_, change);
  velocity_ = std::max(velocity_, change * W);
  to_smallest_ = W > 0 ? std::max(to_smallest_, change * h * W / kNegligibleDisplacement)
                       : std::numeric_limits<double>::infinity();
}

void CorrectiveProblem::Clear() {
  contacts.clear();
  parts.clear();
  y_free.clear();
  blocks.clear();
  entries.clear();
  values.clear();
}

Vector3d RelaxContact(const CorrectiveContact& contact, const Matrix3d& W, const Vector3d& delta,
                      const Vector3d& impulse, double h) {
  Vector3d relaxed = impulse;
  const double soft = contact.compliance;
  if (!(W(2, 2) > 0)) return relaxed;
  // normal: h (v_n + R λ_n) closes the gap, or the contact is open
  const double delta_n = delta.z() + h * soft * impulse.z();
  relaxed.z() =
      std::clamp(impulse.z() - delta_n / (h * (W(2, 2) + soft)), contact.lower, contact.upper);

  // tangential part, for the updated normal impulse
  if (contact.friction > 0) {
    const double trace = std::max(W(0, 0) + W(1, 1), kMinTangentialCompliance * W(2, 2));
    const double change = relaxed.z() - impulse.z();
    const double step = 2 / (h * trace);
    relaxed.x() = impulse.x() - step * (delta.x() + h * W(0, 2) * change);
    relaxed.y() = impulse.y() - step * (delta.y() + h * W(1, 2) * change);
    ClipFriction(contact.friction * relaxed.z(), relaxed.head<2>());
  }
  return relaxed;
}

Vector3d CalcRelativeVelocity(const CorrectiveProblem& problem, const CorrectiveContact& contact,
                              std::span<const double> y) {
  Vector3d u = Vector3d::Zero();
  for (int p = contact.first_part; p < contact.first_part + contact.num_parts; ++p)
    AddProduct(problem.parts[p], y.data(), &u);
  return u;
}

// Returns Rᵀ (Σ J_p W_H,pq J_qᵀ) R.
Matrix3d RecursiveCorrection::CalcDiagonal(const MappingCompliance& compliance,
                                           const CorrectiveProblem& problem, int contact) const {
  const CorrectiveContact& row = problem.contacts[contact];
  Matrix3d world = Matrix3d::Zero();
  for (int p = row.first_part; p < row.first_part + row.num_parts; ++p) {
    const MappedPart& a = problem.parts[p];
    if (a.block < 0) continue;
    for (int q = row.first_part; q < row.first_part + row.num_parts; ++q) {
      const MappedPart& b = problem.parts[q];
      if (b.block != a.block) continue;
      for (int j = 0; j < b.height; ++j) {
        // a column of J_p W_pq
        Vector3d column = Vector3d::Zero();
        for (int i = 0; i < a.height; ++i) {
          const double w = compliance.at(a.block, a.row + i, b.row + j);
          for (int r = 0; r < 3; ++r) column[r] = std::fma(w, a.J[3 * i + r], column[r]);
        }
        for (int c = 0; c < 3; ++c) world.col(c) += b.J[3 * j + c] * column;
      }
    }
  }
  return row.R_WC.transpose() * world * row.R_WC;
}

void RecursiveCorrection::ApplyImpulse(const MappingCompliance& compliance,
                                       const CorrectiveProblem& problem, int contact,
                                       const Vector3d& g, bool moves) {
  const CorrectiveContact& row = problem.contacts[contact];
  for (int p = row.first_part; p < row.first_part + row.num_parts; ++p) {
    const MappedPart& part = problem.parts[p];
    if (part.block < 0) continue;
    double f[6];
    MultiplyTransposed(part, g, f);
    for (int j = 0; j < part.height; ++j) F_[part.row + j] += f[j];
    if (moves) compliance.AddColumns(part.block, part.row, part.height, f, y_.data());
  }
}

// Impulse to apply for a spring in A, beyond what A contributes: λ + J (y − y_free) / R with
// λ = −δ / (h R), at the current linearisation.
double RecursiveCorrection::CalcSpringImpulse(const CorrectiveProblem& problem, int contact,
                                              double h) const {
  const CorrectiveContact& row = problem.contacts[contact];
  const Vector3d u_free = CalcRelativeVelocity(problem, row, problem.y_free);
  return (row.u_reference.z() - u_free.z() - row.gap / h) / row.compliance;
}

void RecursiveCorrection::Refresh(const MappingCompliance& compliance,
                                  const CorrectionOptions& options, bool is_first, int first,
                                  int last, CorrectiveProblem* problem, Relinearisation* geometry) {
  const bool is_linear = options.scheme == CorrectionOptions::Scheme::kSingle;
  const bool moves = options.scheme != CorrectionOptions::Scheme::kStandard;
  for (int i = first; i < last; ++i)
    work_[i].impulse_W = problem->contacts[i].R_WC * result_.impulse[i];
  if (!is_linear) {
    const int first_part = problem->contacts[first].first_part;
    const CorrectiveContact& end = problem->contacts[last - 1];
    old_parts_.assign(problem->parts.begin() + first_part,
                      problem->parts.begin() + end.first_part + end.num_parts);
    geometry->Update(y_, F_, first, last, problem);
    for (int i = first; i < last; ++i)
      problem->contacts[i].u_reference = CalcRelativeVelocity(*problem, problem->contacts[i], y_);
  }
  spring_change_.Clear();
  for (int i = first; i < last; ++i) {
    CorrectiveContact& contact = problem->contacts[i];
    if (contact.is_in_tangent) {
      const Vector3d impulse(0, 0, CalcSpringImpulse(*problem, i, options.h));
      spring_change_.Add(result_.impulse[i], impulse, contact.compliance, options.h);
      result_.impulse[i] = impulse;
      continue;
    }
    const Matrix3d R_CW = contact.R_WC.transpose();
    W_ii_[i] = CalcDiagonal(compliance, *problem, i);
    work_[i].delta = R_CW * (contact.slip_W - options.h * contact.u_reference);
    work_[i].delta.z() = contact.gap - options.h * contact.R_WC.col(2).dot(contact.u_reference);
  }
  const int offset = problem->contacts[first].first_part;
  for (int i = first; i < last; ++i) {
    const CorrectiveContact& contact = problem->contacts[i];
    if (!contact.is_in_tangent) {
      if (work_[i].impulse_W.isZero(0)) continue;
      // clip to the cone and the bounds of the turned frame
      result_.impulse[i] = ClipToCone(contact.R_WC.transpose() * work_[i].impulse_W,
                                      contact.friction, contact.lower, contact.upper);
    }
    const Vector3d g = contact.R_WC * result_.impulse[i];
    for (int p = contact.first_part; p < contact.first_part + contact.num_parts; ++p) {
      const MappedPart& part = problem->parts[p];
      if (part.block < 0) continue;
      double f[6], before[6];
      MultiplyTransposed(part, g, f);
      if (!is_first || contact.is_in_tangent) {
        MultiplyTransposed(is_linear ? part : old_parts_[p - offset], work_[i].impulse_W, before);
        for (int j = 0; j < part.height; ++j) f[j] -= before[j];
      }
      for (int j = 0; j < part.height; ++j) F_[part.row + j] += f[j];
      if (moves) compliance.AddColumns(part.block, part.row, part.height, f, y_.data());
    }
  }
}

double RecursiveCorrection::Sweep(const MappingCompliance& compliance,
                                  const CorrectionOptions& options, CorrectiveProblem* problem,
                                  Relinearisation* geometry) {
  change_.Clear();
  for (int i = 0; i < static_cast<int>(problem->contacts.size()); ++i) {
    if (problem->contacts[i].is_in_tangent) continue;
    if (options.directions == CorrectionOptions::Directions::kContact &&
        options.scheme == CorrectionOptions::Scheme::kFast)
      Refresh(compliance, options, false, i, i + 1, problem, geometry);
    const CorrectiveContact& contact = problem->contacts[i];
    const Vector3d u = CalcRelativeVelocity(*problem, contact, y_);
    const Vector3d delta = work_[i].delta + options.h * (contact.R_WC.transpose() * u);
    const Vector3d before = result_.impulse[i];
    const Vector3d after = RelaxContact(contact, W_ii_[i], delta, before, options.h);
    change_.Add(before, after, W_ii_[i](2, 2), options.h);
    // an open contact that stays open needs no update
    if (after == before) continue;
    result_.impulse[i] = after;
    ApplyImpulse(compliance, *problem, i, contact.R_WC * (after - before), true);
  }
  return change_.CalcRelative();
}

void RecursiveCorrection::Move(const MappingCompliance& compliance,
                               const CorrectiveProblem& problem) {
  y_ = problem.y_free;
  compliance.CalcVelocityChange(F_, dv_);
  compliance.AddMapped(dv_, y_);
}

void RecursiveCorrection::BuildJacobian(const CorrectiveProblem& problem) {
  w_entries_.clear();
  // the entries of each mapped velocity; entries are in the order of rows
  first_entry_.assign(problem.y_free.size() + 1, 0);
  for (const MappingCompliance::Entry& entry : problem.entries) ++first_entry_[entry.row + 1];
  std::partial_sum(first_entry_.begin(), first_entry_.end(), first_entry_.begin());
  std::size_t size = 0;
  for (int i = 0; i < static_cast<int>(problem.contacts.size()); ++i) {
    const CorrectiveContact& contact = problem.contacts[i];
    const Matrix3d R_CW = contact.R_WC.transpose();
    for (int p = contact.first_part; p < contact.first_part + contact.num_parts; ++p) {
      const MappedPart& part = problem.parts[p];
      if (part.block < 0) continue;
      Eigen::Matrix<double, 3, 6> J;  // in the contact frame
      for (int j = 0; j < part.height; ++j)
        J.col(j) = R_CW * Eigen::Map<const Vector3d>(&part.J[3 * j]);
      for (int e = first_entry_[part.row]; e < first_entry_[part.row + part.height]; ++e) {
        const MappingCompliance::Entry& entry = problem.entries[e];
        w_entries_.push_back({i, entry.block, entry.first, entry.columns, size});
        size += 3 * std::size_t(entry.columns);
        // values are all written: a vector that shrinks and grows would be zeroed each time
        if (w_values_.size() < size) w_values_.resize(size);
        MultiplyByMap(entry, &problem.values[entry.values], J.data() + 3 * (entry.row - part.row),
                      &w_values_[w_entries_.back().values]);
      }
    }
  }
}

void RecursiveCorrection::CalcTotals(const CorrectiveProblem& problem,
                                     std::vector<Vector3d>* impulses) const {
  *impulses = result_.impulse;
  for (std::size_t i = 0; i < impulses->size(); ++i) {
    const CorrectiveContact& spring = problem.contacts[i];
    if (!spring.is_in_tangent) continue;
    const double change = CalcRelativeVelocity(problem, spring, y_).z() -
                          CalcRelativeVelocity(problem, spring, problem.y_free).z();
    (*impulses)[i].z() -= change / spring.compliance;
  }
}

void RecursiveCorrection::UpdateAll(const MappingCompliance& compliance, double h,
                                    CorrectiveProblem* problem, Relinearisation* geometry) {
  const int count = static_cast<int>(problem->contacts.size());
  for (int i = 0; i < count; ++i)
    work_[i].impulse_W = problem->contacts[i].R_WC * result_.impulse[i];
  geometry->Update(y_, F_, 0, count, problem);
  SetReferences(y_, problem);
  for (int i = 0; i < count; ++i) {
    const CorrectiveContact& contact = problem->contacts[i];
    const Matrix3d R_CW = contact.R_WC.transpose();
    work_[i].delta = R_CW * (contact.slip_W - h * contact.u_reference);
    work_[i].delta.z() = contact.gap - h * contact.R_WC.col(2).dot(contact.u_reference);
    if (contact.is_in_tangent) {
      result_.impulse[i].z() = CalcSpringImpulse(*problem, i, h);
    } else {
      result_.impulse[i] =
          ClipToCone(R_CW * work_[i].impulse_W, contact.friction, contact.lower, contact.upper);
    }
  }
  CalcMappedImpulses(*problem, result_.impulse, &F_);
  Move(compliance, *problem);
}

FixedLinearisation RecursiveCorrection::FixLinearisation(const MappingCompliance& compliance,
                                                         const CorrectionOptions& options,
                                                         const Accuracy& accuracy,
                                                         const CorrectiveProblem& problem) {
  const int count = static_cast<int>(problem.contacts.size());
  const auto rate_at = [&](int i) {
    const CorrectiveContact& contact = problem.contacts[i];
    return Vector3d(work_[i].delta / options.h +
                    contact.R_WC.transpose() * CalcRelativeVelocity(problem, contact, y_));
  };
  rates_.clear();
  for (int i = 0; i < count; ++i) rates_.push_back(rate_at(i));
  velocities_ = dv_;
  // motion under the springs in A alone
  y_ = problem.y_free;
  if (std::ranges::any_of(problem.contacts, &CorrectiveContact::is_in_tangent)) {
    before_ = result_.impulse;
    for (int i = 0; i < count; ++i)
      if (!problem.contacts[i].is_in_tangent) before_[i].setZero();
    CalcMappedImpulses(problem, before_, &F_);
    Move(compliance, problem);
    for (std::size_t i = 0; i < velocities_.size(); ++i) velocities_[i] -= dv_[i];
  }
  displacements_.clear();
  for (int i = 0; i < count; ++i) displacements_.push_back(options.h * rate_at(i));
  BuildJacobian(problem);
  return {problem,          w_entries_,  w_values_, displacements_,     W_ii_,
          rates_,           velocities_, options.h, accuracy.tolerance, accuracy.is_exact,
          accuracy.proximal};
}

bool RecursiveCorrection::SolveLinearisation(const MappingCompliance& compliance,
                                             const CorrectionOptions& options,
                                             const Accuracy& accuracy,
                                             const CorrectiveProblem& problem,
                                             LinearisationSolver* solver) {
  const FixedLinearisation given = FixLinearisation(compliance, options, accuracy, problem);
  before_ = result_.impulse;
  const bool is_solved = solver->Solve(given, &result_.impulse);
  if (!is_solved) result_.impulse = before_;
  CalcMappedImpulses(problem, result_.impulse, &F_);
  Move(compliance, problem);
  return is_solved;
}

bool RecursiveCorrection::IsSqueezed(const MappingCompliance& compliance,
                                     const CorrectionOptions& options,
                                     const CorrectiveProblem& problem,
                                     LinearisationSolver* solver) {
  const FixedLinearisation given =
      FixLinearisation(compliance, options, {true, options.tolerance, 0}, problem);
  double pressed = 0, closing = 0;
  for (std::size_t i = 0; i < result_.impulse.size(); ++i) {
    pressed = std::max(pressed, W_ii_[i](2, 2) * std::abs(result_.impulse[i].z()));
    closing = std::max(closing, -displacements_[i].z() / options.h);
  }
  const bool is_squeezed = pressed > kMuch * closing && solver->IsSqueezed(given);
  CalcMappedImpulses(problem, result_.impulse, &F_);
  Move(compliance, problem);
  return is_squeezed;
}

void RecursiveCorrection::SetImpulses(const MappingCompliance& compliance,
                                      std::span<const Vector3d> world,
                                      const CorrectiveProblem& problem) {
  for (std::size_t i = 0; i < world.size(); ++i) {
    const CorrectiveContact& contact = problem.contacts[i];
    if (!contact.is_in_tangent) result_.impulse[i] = contact.R_WC.transpose() * world[i];
  }
  CalcMappedImpulses(problem, result_.impulse, &F_);
  Move(compliance, problem);
}

void RecursiveCorrection::GetImpulses(const CorrectiveProblem& problem,
                                      std::vector<Vector3d>* world) const {
  world->clear();
  for (std::size_t i = 0; i < result_.impulse.size(); ++i)
    world->push_back(problem.contacts[i].R_WC * result_.impulse[i]);
}

void RecursiveCorrection::Accelerate(const MappingCompliance& compliance,
                                     const CorrectiveProblem& problem) {
  for (std::size_t i = 0; i < F_.size(); ++i) {
    start_F_[i] = F_[i] - start_F_[i];
    start_y_[i] = y_[i] - start_y_[i];
  }
  GetImpulses(problem, &image_);
  acceleration_.Accelerate(start_F_, start_y_, {image_.data()->data(), 3 * image_.size()});
  SetImpulses(compliance, image_, problem);
}

void RecursiveCorrection::Shorten(const MappingCompliance& compliance, double part,
                                  const CorrectiveProblem& problem) {
  GetImpulses(problem, &image_);
  for (std::size_t i = 0; i < image_.size(); ++i)
    image_[i] = start_[i] + part * (image_[i] - start_[i]);
  SetImpulses(compliance, image_, problem);
}

void RecursiveCorrection::Converge(const MappingCompliance& compliance,
                                   const CorrectionOptions& options, CorrectiveProblem* problem,
                                   Relinearisation* geometry, LinearisationSolver* solver) {
  enum class Mode { kProximal, kExact, kAccelerated, kShortened };
  Mode mode = options.continues && ended_exactly_ ? Mode::kExact : Mode::kProximal;
  double last = std::numeric_limits<double>::infinity(), part = 1, tolerance = options.tolerance;
  bool is_refined = false;
  int stalls = 0, proximal = 0, refinements = 0;
  result_.converged = false;
  Iterate &tried = tried_, &best = best_;
  best.residual = last;
  const auto update = [&] {
    GetImpulses(*problem, &tried.impulse_W);
    tried.F = F_;
    tried.y = y_;
    UpdateAll(compliance, options.h, problem, geometry);
    CalcTotals(*problem, &totals_);
    const LawResidual residual = CalcLawResidual(*problem, totals_, W_ii_, y_, options.h);
    tried.residual = residual.relative;
    tried.velocity = residual.velocity;
  };
  const auto restore = [&] {
    SetImpulses(compliance, best.impulse_W, *problem);
    F_ = best.F;
    y_ = best.y;
    UpdateAll(compliance, options.h, problem, geometry);
    result_.residual = best.residual;
  };
  const auto change_to = [&](Mode next) {
    mode = next;
    stalls = 0;
    if (mode == Mode::kAccelerated) acceleration_.Restart();
  };
  Move(compliance, *problem);
  while (true) {
    update();
    result_.residual = tried.residual;
    result_.residuals.push_back(result_.residual);
    ended_exactly_ = mode == Mode::kExact;
    if (result_.residual <= options.tolerance) {
      result_.converged = true;
      if (!(result_.residual < best.residual)) break;
      const bool is_fast = tried.velocity > options.refined_velocity;
      if ((result_.residual <= options.refined_tolerance && !is_fast) ||
          refinements++ == kMaxRefinements)
        return;
      if (is_fast) {
        is_refined = true;
        tolerance *= std::max(kMinRefinement, 0.1 * options.refined_velocity / tried.velocity);
      }
    } else if (result_.converged) {
      break;
    }
    if (result_.recursions >= options.max_recursions) break;
    const double before = best.residual;
    if (result_.residual < best.residual) std::swap(best, tried);

    // choose the next mode by the progress of the last recursion
    const double progress = result_.residual / last;
    last = result_.residual;
    if (mode == Mode::kProximal) {
      stalls = result_.residual > kSlow * before ? stalls + 1 : 0;
      if (stalls == kMaxPauses || ++proximal > kMaxProximal) {
        result_.is_squeezed = IsSqueezed(compliance, options, *problem, solver);
        if (result_.is_squeezed) break;
        change_to(Mode::kExact);
      }
    } else if (mode == Mode::kAccelerated) {
      stalls = last > best.residual ? stalls + 1 : 0;
      if (last > kMaxSetback * best.residual || stalls > kStagnationLimit) {
        restore();
        last = best.residual;
        part = std::max(0.5 * part, kMinPart);
        change_to(Mode::kShortened);
      }
    } else if (progress > kStalled &&
               ++stalls == (mode == Mode::kExact ? kMaxStalls : kStagnationLimit)) {
      change_to(Mode::kAccelerated);
    }

    start_F_ = F_;
    start_y_ = y_;
    GetImpulses(*problem, &start_);
    Accuracy accuracy{mode != Mode::kProximal, tolerance, kRefinedProximal};
    if (!accuracy.is_exact && !is_refined) {
      // a proximal step need not be more accurate than its starting point
      accuracy.tolerance = std::max(tolerance, std::min(1.0, result_.residual));
      accuracy.proximal = kFirstProximal;
      for (int k = 0; k < result_.recursions && accuracy.proximal > kLastProximal; ++k)
        accuracy.proximal *= kProximalFall;
      accuracy.proximal = std::max(kLastProximal, accuracy.proximal);
    }
    if (!SolveLinearisation(compliance, options, accuracy, *problem, solver)) break;
    if (mode == Mode::kAccelerated) Accelerate(compliance, *problem);
    if (mode == Mode::kShortened) Shorten(compliance, part, *problem);
    ++result_.recursions;
    ++result_.sweeps;
  }
  restore();
}

// Runs the sweeps of one recursion with W = J A⁻¹ Jᵀ in contact space, then finds the resulting
// motion by solving with A (zeng2022, Algorithm 2).
void RecursiveCorrection::SolveStandard(const MappingCompliance& compliance,
                                        const CorrectionOptions& options,
                                        const CorrectiveProblem& problem, double* first_residual) {
  const int count = static_cast<int>(problem.contacts.size());
  Move(compliance, problem);

  w_blocks_.clear();
  for (const MappingCompliance::Block& block : problem.blocks)
    w_blocks_.push_back({block.size, block.A});
  BuildJacobian(problem);
  W_.Build(w_blocks_, count, w_entries_, w_values_);

  u_.resize(count);
  for (int i = 0; i < count; ++i)
    u_[i] = problem.contacts[i].R_WC.transpose() *
            CalcRelativeVelocity(problem, problem.contacts[i], y_);
  for (int s = 0; s < options.sweeps; ++s) {
    change_.Clear();
    for (int i = 0; i < count; ++i) {
      if (problem.contacts[i].is_in_tangent) continue;
      const Vector3d before = result_.impulse[i];
      const Vector3d after = RelaxContact(problem.contacts[i], W_.block(i, i),
                                          work_[i].delta + options.h * u_[i], before, options.h);
      change_.Add(before, after, W_ii_[i](2, 2), options.h);
      if (after == before) continue;
      result_.impulse[i] = after;
      for (const int j : W_.neighbours(i)) u_[j] += W_.block(j, i) * (after - before);
      ApplyImpulse(compliance, problem, i, problem.contacts[i].R_WC * (after - before), false);
    }
    const double residual = change_.CalcRelative();
    if (s == 0) *first_residual = residual;
    result_.residuals.push_back(residual);
    ++result_.sweeps;
    if (residual <= options.tolerance) break;
  }
  Move(compliance, problem);
}

void RecursiveCorrection::Solve(const MappingCompliance& compliance,
                                std::span<const Vector3d> guess, const CorrectionOptions& options,
                                CorrectiveProblem* problem, Relinearisation* geometry,
                                LinearisationSolver* solver) {
  using Scheme = CorrectionOptions::Scheme;
  const int count = static_cast<int>(problem->contacts.size());
  result_.converged = true;
  result_.is_squeezed = result_.left_sweeps = false;
  result_.recursions = result_.sweeps = 0;
  result_.residual = result_.complementarity = 0;
  result_.residuals.clear();
  result_.impulse.assign(guess.begin(), guess.end());
  result_.impulse.resize(count, Vector3d::Zero());
  if (options.continues && count > 0) {
    CalcMappedImpulses(*problem, result_.impulse, &F_);
    Converge(compliance, options, problem, geometry, solver);
    Finish(*problem, options.h);
    return;
  }
  work_.resize(count);
  W_ii_.resize(count);
  y_ = problem->y_free;
  F_.assign(y_.size(), 0.0);
  int num_velocities = 0;
  for (const MappingCompliance::Block& block : problem->blocks)
    num_velocities = std::max(num_velocities, block.first_velocity + block.size);
  dv_.assign(num_velocities, 0.0);
  if (count == 0) return;

  const int planned = options.scheme == Scheme::kSingle ? 1 : options.recursions;
  const bool every_sweep = options.directions == CorrectionOptions::Directions::kSweep &&
                           options.scheme == Scheme::kFast;
  result_.converged = false;
  // springs first, so that frames are those of the true free motion
  for (int i = 0; i < count; ++i) {
    if (!problem->contacts[i].is_in_tangent) continue;
    result_.impulse[i] = Vector3d(0, 0, CalcSpringImpulse(*problem, i, options.h));
    ApplyImpulse(compliance, *problem, i, result_.impulse[i],
                 options.scheme != CorrectionOptions::Scheme::kStandard);
  }
  const int swept = options.begins_with_sweeps ? planned : 0;
  if (swept == 0 && options.scheme == Scheme::kSingle && solver != nullptr) {
    Refresh(compliance, options, true, 0, count, problem, geometry);
    Move(compliance, *problem);
    result_.converged =
        SolveLinearisation(compliance, options, {true, options.tolerance, 0}, *problem, solver);
    return Finish(*problem, options.h);
  }
  const bool may_converge =
      solver != nullptr && options.scheme != Scheme::kSingle && options.max_recursions > planned;
  while (result_.recursions < swept && !result_.converged && !result_.left_sweeps) {
    if (options.scheme == Scheme::kStandard && result_.recursions == 0) Move(compliance, *problem);
    Refresh(compliance, options, result_.recursions == 0, 0, count, problem, geometry);
    double first_residual = 0;
    if (options.scheme == Scheme::kStandard) {
      SolveStandard(compliance, options, *problem, &first_residual);
    } else {
      for (int s = 0; s < options.sweeps; ++s) {
        if (every_sweep && s > 0) Refresh(compliance, options, false, 0, count, problem, geometry);
        const double residual = Sweep(compliance, options, problem, geometry);
        if (s == 0) first_residual = residual;
        result_.residuals.push_back(residual);
        ++result_.sweeps;
        if (residual <= options.tolerance) break;
      }
    }
    ++result_.recursions;
    result_.left_sweeps = may_converge && options.leaves_slow_sweeps &&
                          result_.residuals.back() > options.tolerance &&
                          result_.recursions < swept;
    for (const Vector3d& impulse : result_.impulse) spring_change_.Scale(impulse);
    first_residual = std::max(first_residual, spring_change_.CalcRelative());
    result_.residual =
        options.scheme == Scheme::kSingle ? result_.residuals.back() : first_residual;
    // the first recursion uses frames of the free motion, so a small change there does not prove
    // convergence
    result_.converged = result_.residual <= options.tolerance &&
                        (result_.recursions > 1 || options.scheme == Scheme::kSingle);
  }

  if (!result_.converged && may_converge) {
    if (swept == 0) {
      for (int i = 0; i < count; ++i) W_ii_[i] = CalcDiagonal(compliance, *problem, i);
      CalcMappedImpulses(*problem, result_.impulse, &F_);
    }
    Converge(compliance, options, problem, geometry, solver);
  }
  Finish(*problem, options.h);
}

void RecursiveCorrection::Finish(const CorrectiveProblem& problem, double h) {
  CalcTotals(problem, &totals_);
  result_.impulse.swap(totals_);
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    const CorrectiveContact& contact = problem.contacts[i];
    if (contact.is_in_tangent || IsScalar(contact)) continue;
    const double open = work_[i].delta.z() / h +
                        contact.R_WC.col(2).dot(CalcRelativeVelocity(problem, contact, y_));
    result_.complementarity = std::max(
        result_.complementarity, std::abs(std::min(open, W_ii_[i](2, 2) * result_.impulse[i].z())));
  }
}

}  // namespace pliant::solvers
