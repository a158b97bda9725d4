#pragma once

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include <Eigen/Dense>

#include "solvers/convex/sap.h"
#include "solvers/problem/whole_island.h"

namespace pliant::solvers {

// A convex problem on the whole of a system, which it contains. Velocities are numbered as in the
// system.
struct WholeProblem {
  ConstraintSystem system;
  ConvexProblem problem;  // without its island

  int size() const { return system.num_velocities; }
  const std::vector<double>& v_star() const { return system.v_star; }

  // Adds a contact or a row; entries added next belong to it.
  void AddContact(const ConvexProblem::Contact& contact) {
    problem.contacts.push_back(contact);
    system.contacts.emplace_back().first_entry = static_cast<int>(system.entries.size());
  }
  void AddRow(const ConvexProblem::Row& row) {
    problem.rows.push_back(row);
    system.rows.emplace_back().first_entry = static_cast<int>(system.entries.size());
  }
  // Adds 3 × columns values to the last contact, or 1 × columns values to the last row, on the
  // velocities from `first` on; next() gives them column by column.
  template <typename F>
  void AddContactEntry(int first, int columns, const F& next) {
    AddEntry(first, columns, 3, next);
    ++system.contacts.back().num_entries;
  }
  // Adds an entry by weights, w Q on each node, to the last contact. `nodes` are first velocities
  // within the block.
  void AddWeightedEntry(int block, std::span<const int> nodes, std::span<const double> weights,
                        const Eigen::Matrix3d& Q) {
    system.entries.push_back({block, 0, 3, system.values.size(),
                              static_cast<int>(system.nodes.size()),
                              static_cast<int>(nodes.size())});
    system.nodes.insert(system.nodes.end(), nodes.begin(), nodes.end());
    system.values.insert(system.values.end(), Q.data(), Q.data() + 9);
    system.values.insert(system.values.end(), weights.begin(), weights.end());
    ++system.contacts.back().num_entries;
  }
  template <typename F>
  void AddRowEntry(int first, int columns, const F& next) {
    AddEntry(first, columns, 1, next);
    ++system.rows.back().num_entries;
  }

  SapResult Solve(const std::vector<double>& guess, const SapOptions& options) const {
    SapSolver solver;
    SapResult result;
    Solve(guess, options, &solver, &result);
    return result;
  }
  void Solve(const std::vector<double>& guess, const SapOptions& options, SapSolver* solver,
             SapResult* result) const {
    const WholeIsland whole(system);
    ConvexProblem with_island = problem;
    with_island.island = whole.view();
    solver->Solve(with_island, guess, options, result);
  }

  // Jᵀγ
  std::vector<double> CalcImpulse(const SapResult& result) const {
    std::vector<double> impulse;
    CalcExertedImpulse(system, {result.gamma, result.row_gamma}, &impulse);
    return impulse;
  }

 private:
  template <typename F>
  void AddEntry(int first, int columns, int height, const F& next) {
    int block = 0;
    while (first >= system.blocks[block].first + system.blocks[block].size) ++block;
    system.entries.push_back(
        {block, first - system.blocks[block].first, columns, system.values.size()});
    for (int i = 0; i < height * columns; ++i) system.values.push_back(next());
  }
};

// Adds `count` bodies of `size` velocities each, with random v* and A = B Bᵀ + mass I, which `A`
// keeps.
inline void AddRandomBodies(int count, int size, double mass, std::mt19937* random,
                            std::vector<Eigen::MatrixXd>* A, WholeProblem* whole) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  ConstraintSystem& system = whole->system;
  system.num_velocities = count * size;
  for (int b = 0; b < count; ++b) {
    Eigen::MatrixXd B(size, size);
    for (int i = 0; i < B.size(); ++i) B.data()[i] = uniform(*random);
    A->push_back(B * B.transpose() + mass * Eigen::MatrixXd::Identity(size, size));
  }
  for (int b = 0; b < count; ++b) {
    const std::span<const double> values((*A)[b].data(), (*A)[b].size());
    system.blocks.push_back({b * size, size, values});
  }
  for (int i = 0; i < system.num_velocities; ++i) system.v_star.push_back(uniform(*random));
  system.linear_term.assign(system.num_velocities, 0.0);
}

// A line of nodes in which any `width` consecutive ones are coupled.
inline BlockPattern MakeBandPattern(int nodes, int width) {
  BlockPattern pattern;
  pattern.num_nodes = nodes;
  pattern.column_starts = {0};
  for (int j = 0; j < nodes; ++j) {
    for (int i = j; i < std::min(j + width, nodes); ++i) pattern.rows.push_back(i);
    pattern.column_starts.push_back(static_cast<int>(pattern.rows.size()));
  }
  return pattern;
}

// Fills A with numbers of `draw`; `shift` on its diagonal makes it positive definite.
template <typename Draw>
void FillAtRandom(const Draw& draw, double shift, BlockMatrix* A) {
  const BlockPattern& pattern = *A->pattern;
  for (int j = 0; j < pattern.num_nodes; ++j) {
    for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
      Eigen::Map<Eigen::Matrix3d> block(&A->values[9 * std::size_t(k)]);
      block = Eigen::Matrix3d::NullaryExpr(draw);
      if (pattern.rows[k] == j)
        block = (block + block.transpose() + shift * Eigen::Matrix3d::Identity()).eval();
    }
  }
}

inline Eigen::MatrixXd ToDense(const BlockMatrix& A) {
  const BlockPattern& pattern = *A.pattern;
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(3 * pattern.num_nodes, 3 * pattern.num_nodes);
  for (int j = 0; j < pattern.num_nodes; ++j) {
    for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
      const Eigen::Map<const Eigen::Matrix3d> block(&A.values[9 * std::size_t(k)]);
      dense.block<3, 3>(3 * pattern.rows[k], 3 * j) = block;
      dense.block<3, 3>(3 * j, 3 * pattern.rows[k]) = block.transpose();
    }
  }
  return dense;
}

}  // namespace pliant::solvers
