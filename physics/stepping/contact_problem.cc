#include "physics/stepping/contact_problem.h"

#include <algorithm>

#include "physics/stepping/solve.h"
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

void DescribeStep(const StepStages& stages, const StepSolution& solution, ContactProblem* problem) {
  const solvers::ConstraintSystem& system = stages.system;
  *problem = {};
  problem->h = system.h;
  problem->v_star = system.v_star;
  problem->v = solution.v_participating;
  for (const solvers::ConstraintSystem::Block& block : system.blocks) {
    problem->blocks.push_back({block.first, block.size, ToDense(block.A, block.size)});
    // free motion of blocks that were solved from their linear term instead
    const int n = block.size;
    std::vector<double> L = problem->blocks.back().A;
    const auto begin = system.linear_term.begin() + block.first;
    std::vector<double> change(begin, begin + n);
    if (std::ranges::all_of(change, [](double p) { return p == 0; })) continue;
    if (solvers::FactorCholesky(n, L.data(), n) >= 0) continue;
    solvers::SolveLower(n, L.data(), n, change.data());
    solvers::SolveLowerTransposed(n, L.data(), n, change.data());
    for (int i = 0; i < n; ++i) problem->v_star[block.first + i] += change[i];
  }
  const auto add_entries = [&](std::span<const solvers::ConstraintSystem::Entry> entries, int row,
                               int height) {
    for (const solvers::ConstraintSystem::Entry& entry : entries) {
      system.ForEachRun(entry, [&](int first, int columns, const double* J) {
        for (int i = 0; i < height; ++i) {
          for (int j = 0; j < columns; ++j) {
            const double value = J[height * j + i];
            if (value != 0) problem->J.push_back({row + i, first + j, value});
          }
        }
      });
    }
  };
  for (std::size_t c = 0; c < system.contacts.size(); ++c) {
    const solvers::ConstraintSystem::Contact& contact = system.contacts[c];
    const ContactPoint& point = stages.contacts.points[c];
    problem->contacts.push_back({point.body_a, point.body_b, contact.gap, contact.friction,
                                 contact.stiffness, contact.relaxation_time, contact.bias,
                                 solution.impulses.contacts[c], stages.warm_start.contacts[c]});
    add_entries(system.entries_of(contact), 3 * static_cast<int>(c), 3);
  }
  const int first_row = 3 * static_cast<int>(system.contacts.size());
  for (std::size_t k = 0; k < system.rows.size(); ++k) {
    const solvers::ConstraintSystem::Row& row = system.rows[k];
    problem->rows.push_back({row.error, row.stiffness, row.damping, row.target_rate,
                             row.feedforward, row.lower, row.upper, row.dry_friction, row.bias,
                             solution.impulses.rows[k], stages.warm_start.rows[k], row.W});
    add_entries(system.entries_of(row), first_row + static_cast<int>(k), 1);
  }
}

}  // namespace pliant::physics
