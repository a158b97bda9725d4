#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include <Eigen/Core>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/iterative/conjugate_gradients.h"
#include "solvers/linalg/iterative/single_cholesky.h"
#include "solvers/linalg/iterative/swept_matrix.h"
#include "solvers/linalg/partial_cholesky.h"
#include "solvers/problem/island_view.h"

namespace pliant::solvers {

// H = A + JᵀGJ of an island with sparse blocks, and its factor. Velocities are grouped in nodes of
// three; those of dense blocks too, padded with ones on the diagonal. Blocks are eliminated one
// after another, each in its own order, the sparse ones first, so contacts with fixed objects add
// no fill. The symbolic analysis is reused while the pattern is unchanged. Keeps its memory.
//
// Entries by weights are read where the system has them. The sum Σ w wᵀ ⊗ QᵀGQ over all contacts on
// the same nodes is added to H at once.
class SparseHessian {
 public:
  SparseHessian() : matrix_(&pattern_) {}
  SparseHessian(const SparseHessian&) = delete;
  SparseHessian& operator=(const SparseHessian&) = delete;

  static bool IsNeeded(const IslandView& island);

  // `island` must outlive later calls.
  void Analyze(const IslandView& island);

  // H ← `tangents`, which replace A and have the patterns of the island's blocks. AddContacts and
  // AddRow then add JᵀGJ.
  void Start(std::span<const SchurComplement> tangents);
  // `find(contact, &G)` sets G, which is symmetric, or returns false if it is zero.
  void AddContacts(absl::FunctionRef<bool(int contact, Eigen::Matrix3d* G)> find);
  void AddRow(int row, double g);

  // Number of different sets of nodes of entries by weights.
  int num_stencils() const { return static_cast<int>(stencils_.size()); }

  // True if a block gives no elimination order, since it is too large to factor.
  bool is_large() const { return is_large_; }

  // x ≈ H⁻¹ b by conjugate gradients, preconditioned by the last factor, or by Gauss–Seidel sweeps
  // if H is too large to factor, until the residual falls to `tolerance`. False if H is not
  // positive definite, or if this takes more than `max_iterations` products; a large H is satisfied
  // with what they achieve.
  bool SolveIteratively(std::span<const double> b, double tolerance, int max_iterations,
                        std::span<double> x);
  // Products that this took in the last call.
  int num_products() const {
    return is_large_ ? swept_.iterations() : conjugate_gradients_.iterations();
  }

  // Factors H in single precision, for SolveIteratively. False if H is so small that this does not
  // pay off, or not positive definite in single precision.
  bool FactorInSingle();
  bool is_single() const { return is_single_; }  // whether the last factor is one of these
  // Factors H in double precision. False when H is not positive definite.
  bool Factor();
  // x ← H⁻¹ x, with H as it was when it was last factored in double precision
  void Solve(std::span<double> x);

 private:
  // J of a contact or row for one node. Of a row, the last two rows of J are zero.
  struct Slot {
    int node;
    Eigen::Matrix3d J;
  };
  // The nodes of entries by weights, such as those of a grid cell.
  struct Stencil {
    int first_node, num_nodes;  // in nodes_
    std::size_t first_target;   // of pairs (a, b), a ≥ b, by columns b, in stencil_targets_
    int first_cross, num_crosses, first_contact, num_contacts;
  };
  // Another node that contacts on a stencil move.
  struct Cross {
    int node;
    std::size_t first_target;  // of the stencil's nodes, in cross_targets_
  };
  struct Weighted {
    int contact, stencil;
    const IslandView::Entry* entry;
    std::size_t first_cross;  // of its slots, in crosses_of_slots_: index among the stencil's
  };

  int BlockOf(int node) const;
  void PlaceVelocities();
  void FindSlots();
  void FindStencils();
  void FindPattern();
  void FindTargets();
  void Add(std::size_t constraint, const Eigen::Matrix3d& G);
  void AddWeighted(const Stencil& stencil,
                   absl::FunctionRef<bool(int contact, Eigen::Matrix3d* G)> find);
  std::span<const Slot> SlotsOf(std::size_t constraint) const {
    return std::span(slots_).subspan(slot_starts_[constraint],
                                     slot_starts_[constraint + 1] - slot_starts_[constraint]);
  }
  std::span<const int> NodesOf(const Stencil& stencil) const {
    return std::span(nodes_).subspan(stencil.first_node, stencil.num_nodes);
  }

  const IslandView* island_ = nullptr;
  std::vector<int> first_nodes_;  // of blocks, and one beyond the last
  std::vector<int> places_;       // of velocities: three to a node
  std::vector<Slot> slots_;       // of contacts, then of rows; without those by weights
  std::vector<int> slot_starts_;
  std::vector<int> targets_;  // of pairs of slots of each: block of H, −1 for a mirror image
  std::vector<std::size_t> target_starts_;
  std::vector<Weighted> weighted_;  // by stencils
  std::vector<char> is_weighted_;   // of contacts
  std::vector<int> nodes_;          // of stencils
  std::vector<Stencil> stencils_;
  std::vector<Cross> crosses_;
  std::vector<int> crosses_of_slots_, stencil_targets_, cross_targets_;
  // AddWeighted gathers here the contacts on one stencil that are not open: their entries xx, yx,
  // zx, yy, zy and zz of QᵀGQ, and their weights, padded with zeros to whole registers of four
  // nodes.
  std::vector<std::array<double, 6>> parts_;
  std::vector<double> padded_weights_;
  std::vector<std::pair<int, int>> couplings_;  // column, row, where A has no block
  BlockPattern pattern_, new_pattern_;
  std::vector<int> order_, new_order_;
  std::vector<int> of_A_;  // block of H for each of A, block by block
  BlockMatrix matrix_;
  PartialCholesky factor_;
  SingleCholesky single_factor_;
  bool is_single_ = false;               // the last factor
  bool has_layout_ = false;              // factor_, for this pattern
  std::optional<bool> single_pays_off_;  // with this pattern; single_factor_ then has it
  bool is_large_ = false;
  SweptMatrix swept_;
  ConjugateGradients conjugate_gradients_;
  std::vector<double> x_, y_;
};

}  // namespace pliant::solvers
