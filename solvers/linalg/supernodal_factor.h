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
template <typename T>
struct UpdateHome {
  int supernode = -1;  // none
  UpdateMatrixOf<T> update{};
};

// Values of a supernodal multifrontal factor, double or float, of the nodes that a layout
// eliminates before the participants. Keeps its memory.
//
// For a large matrix, branches of the elimination tree run in parallel, and so do tiles of the
// supernodes above them. Every number is a sum in an order given by the tree, so the bits are those
// of one thread.
template <typename T>
class SupernodalFactor {
 public:
  // Reserves memory for all panels, the participants' own included.
  void Reserve(const SupernodeLayout& layout);
  T* panels() { return panels_.data(); }
  const T* panels() const { return panels_.data(); }

  // Panels ← L, except the participants' own. `fill(k)` sets the panel of supernode k to its part
  // of the matrix; it may be called in parallel for different k. Unless y is empty, also y ← L⁻¹ y
  // as in SolveForward, while each panel is in the cache. Returns the position of the first pivot
  // that is not above zero, or −1.
  int Eliminate(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                const UpdateHome<T>& home = {}, std::span<T> y = {});
  // Update matrix of a supernode right below the participants, other than `home`. Valid until the
  // next elimination.
  UpdateMatrixOf<T> update(const SupernodeLayout& layout, const SupernodeLayout::Supernode& node);

  // y ← L⁻¹ y, three numbers per position. The participants' entries, at the end, become y_p − L_pn
  // L_nn⁻¹ y_n.
  void SolveForward(const SupernodeLayout& layout, std::span<T> y) const;
  // y ← L⁻ᵀ y with the participants' entries given.
  void SolveBackward(const SupernodeLayout& layout, std::span<T> y) const;

 private:
  int EliminateInTurn(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                      const UpdateHome<T>& home, std::span<T> y);
  int EliminateBranches(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                        const UpdateHome<T>& home, std::span<T> y);
  void ReservePool(const SupernodeLayout& layout);
  void SolveForwardAt(const SupernodeLayout& layout, int supernode, std::span<T> y) const;
  void SubtractFromParticipants(const SupernodeLayout& layout, std::span<T> y) const;

  std::vector<T, LargePages<T>> panels_;
  std::vector<T> updates_;  // pending, for the parents
  // for parallel branches: work space of each branch, and update matrices kept for supernodes above
  // several branches
  ScratchPool<T> pool_;
  std::vector<T*> kept_;            // of each supernode
  std::vector<std::size_t> sizes_;  // to reserve in pool_
  mutable std::vector<T> carried_;  // of each supernode's rows, passed to or from its parent
};

extern template class SupernodalFactor<double>;
extern template class SupernodalFactor<float>;

}  // namespace pliant::solvers
