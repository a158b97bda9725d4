#include "physics/stepping/contact_problem.h"

#include <algorithm>

#include "physics/stepping/posed_step.h"
#include "solvers/linalg/dense.h"

namespace pliant::physics {
namespace {

// Column-major, both triangles.
std::vector<double> ToDense(const solvers::SchurComplement& A, int size) {
  if (A.sparse == nullptr) return {A.dense.begin(), A.dense.end()};
  std::vector<double> dense(std::size_t(size) * size, 0.0);
  const solvers::BlockPattern& pattern = *A.sparse->pattern;
  for (int j = 0; j < pattern.num_nodes; ++j) {
    for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
      const double* block = &A.sparse->values[9 * std::size_t(k)];
      for (int e = 0; e < 9; ++e) {
        const std::size_t row = 3 * pattern.rows[k] + e % 3, column = 3 * j + e / 3;
        dense[column * size + row] = dense[row * size + column] = block[e];
      }
    }
  }
  return dense;
}

}  // namespace

void PosedStep::Describe(std::span<const double> v_participating, const Impulses& impulses,
                         ContactProblem* problem) const {
  *problem = {};
  problem->h = settings_.h;
  problem->v_star = v_star_p_;
  problem->v.assign(v_participating.begin(), v_participating.end());
  for (const ActiveBlock& active : active_) {
    problem->blocks.push_back({active.first, active.size, ToDense(active.A, active.size)});
    // the free motion, where it was not needed
    const int n = active.size;
    std::vector<double> L = problem->blocks.back().A;
    std::vector<double> change(push_p_.begin() + active.first, push_p_.begin() + active.first + n);
    if (std::ranges::all_of(change, [](double p) { return p == 0; })) continue;
    if (solvers::FactorCholesky(n, L.data(), n) >= 0) continue;
    solvers::SolveLower(n, L.data(), n, change.data());
    solvers::SolveLowerTransposed(n, L.data(), n, change.data());
    for (int i = 0; i < n; ++i) problem->v_star[active.first + i] += change[i];
  }
  const auto add_entries = [&](int first_entry, int num_entries, int row, int height) {
    for (int e = first_entry; e < first_entry + num_entries; ++e) {
      const Entry& entry = entries_[e];
      for (int i = 0; i < height; ++i) {
        for (int j = 0; j < entry.columns; ++j) {
          const double value = values()[entry.values + static_cast<std::size_t>(height * j + i)];
          if (value != 0) problem->J.push_back({row + i, entry.first + j, value});
        }
      }
    }
  };
  for (std::size_t c = 0; c < contacts_.size(); ++c) {
    const ContactPoint& point = contacts_[c];
    const ContactRows& rows = contact_rows_[c];
    problem->contacts.push_back({point.body_a, point.body_b, point.gap, point.friction,
                                 point.stiffness, point.relaxation_time, rows.bias,
                                 impulses.contacts[c], remembered_[c]});
    add_entries(rows.first_entry, rows.num_entries, 3 * static_cast<int>(c), 3);
  }
  const int first_row = 3 * static_cast<int>(contacts_.size());
  for (std::size_t k = 0; k < constraints_.rows.size(); ++k) {
    const ConstraintRow& row = constraints_.rows[k];
    const ScalarRows& rows = scalar_rows_[k];
    problem->rows.push_back({row.error, row.stiffness, row.damping, row.target_rate,
                             row.feedforward, row.lower, row.upper, row.dry_friction, rows.bias,
                             impulses.constraints[k], remembered_constraints_[k], rows.W});
    add_entries(rows.first_entry, rows.num_entries, first_row + static_cast<int>(k), 1);
  }
}

}  // namespace pliant::physics
