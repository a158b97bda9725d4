#pragma once

#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/partial_cholesky.h"
#include "solvers/problem/island_view.h"

namespace pliant::solvers {

// H = A + JᵀGJ of an island with sparse blocks, and its factor. Velocities are grouped in nodes of
// three; those of dense blocks too, padded with ones on the diagonal. Blocks are eliminated one
// after another, each in its own order, the sparse ones first, so contacts with fixed objects add
// no fill. The symbolic analysis is reused while the pattern is unchanged. Keeps its memory.
class SparseHessian {
 public:
  SparseHessian() : matrix_(&pattern_) {}
  SparseHessian(const SparseHessian&) = delete;
  SparseHessian& operator=(const SparseHessian&) = delete;

  static bool IsNeeded(const IslandView& island);

  // `island` must outlive later calls.
  void Analyze(const IslandView& island);

  // H ← `tangents`, which replace A and have the patterns of the island's blocks. AddContact and
  // AddRow then add JᵀGJ.
  void Start(std::span<const SchurComplement> tangents);
  void AddContact(int contact, const Eigen::Matrix3d& G);
  void AddRow(int row, double g);

  // False when H is not positive definite.
  bool Factor();
  // x ← H⁻¹ x
  void Solve(std::span<double> x);

 private:
  // J of a contact or row for one node. Of a row, the last two rows of J are zero.
  struct Slot {
    int node;
    Eigen::Matrix3d J;
  };
  void PlaceVelocities();
  void FindSlots();
  void FindPattern();
  void Add(std::size_t constraint, const Eigen::Matrix3d& G);

  const IslandView* island_ = nullptr;
  std::vector<int> first_nodes_;  // of blocks, and one beyond the last
  std::vector<int> places_;       // of velocities: three to a node
  std::vector<Slot> slots_;       // of contacts, then of rows
  std::vector<int> slot_starts_;
  std::vector<int> targets_;  // of pairs of slots of each: block of H, −1 for a mirror image
  std::vector<std::size_t> target_starts_;
  std::vector<std::pair<int, int>> couplings_;  // column, row, where A has no block
  BlockPattern pattern_, new_pattern_;
  std::vector<int> order_, new_order_;
  std::vector<int> of_A_;  // block of H for each of A, block by block
  BlockMatrix matrix_;
  PartialCholesky factor_;
  std::vector<double> x_;
};

}  // namespace pliant::solvers
