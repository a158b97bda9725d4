#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

#include "solvers/linalg/memory.h"
#include "solvers/linalg/panel.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// A supernode whose update matrix is written to a given place.
struct UpdateHome {
  int supernode = -1;  // none
  UpdateMatrix update{};
};

// Values of a supernodal multifrontal factor of the nodes that a layout eliminates before the
// participants. Keeps its memory.
//
// For a large matrix, branches of the elimination tree run in parallel, and so do tiles of the
// supernodes above them. Every number is a sum in an order given by the tree, so the bits are those
// of one thread.
class SupernodalFactor {
 public:
  // Reserves memory for all panels, the participants' own included.
  void Reserve(const SupernodeLayout& layout);
  double* panels() { return panels_.data(); }
  const double* panels() const { return panels_.data(); }

  // Panels ← L, except the participants' own. `fill(k)` sets the panel of supernode k to its part
  // of the matrix; it may be called in parallel for different k. Unless y is empty, also y ← L⁻¹ y
  // as in SolveForward, while each panel is in the cache. Returns the position of the first pivot
  // that is not above zero, or −1.
  int Eliminate(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                const UpdateHome& home = {}, std::span<double> y = {});
  // Update matrix of a supernode right below the participants, other than `home`. Valid until the
  // next elimination.
  UpdateMatrix update(const SupernodeLayout& layout, const SupernodeLayout::Supernode& node);

  // y ← L⁻¹ y, three numbers per position. The participants' entries, at the end, become y_p − L_pn
  // L_nn⁻¹ y_n.
  void SolveForward(const SupernodeLayout& layout, std::span<double> y) const;
  // y ← L⁻ᵀ y with the participants' entries given.
  void SolveBackward(const SupernodeLayout& layout, std::span<double> y) const;

 private:
  int EliminateInTurn(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                      const UpdateHome& home, std::span<double> y);
  int EliminateBranches(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                        const UpdateHome& home, std::span<double> y);
  void ReservePool(const SupernodeLayout& layout);
  void SolveForwardAt(const SupernodeLayout& layout, int supernode, std::span<double> y) const;
  void SubtractFromParticipants(const SupernodeLayout& layout, std::span<double> y) const;

  std::vector<double, LargePages<double>> panels_;
  std::vector<double> updates_;  // pending, for the parents
  // for parallel branches: work space of each branch, and update matrices kept for supernodes above
  // several branches
  ScratchPool<double> pool_;
  std::vector<double*> kept_;            // of each supernode
  std::vector<std::size_t> sizes_;       // to reserve in pool_
  mutable std::vector<double> carried_;  // of each supernode's rows, passed to or from its parent
};

}  // namespace pliant::solvers
