#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

#include "solvers/linalg/memory.h"
#include "solvers/linalg/panel.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// The numbers of a supernodal multifrontal factor, double or float, of what a layout eliminates
// ahead of the participants. Keeps its memory.
//
// Of a large matrix branches of the elimination tree are worked on at the same time, and tiles of
// what they meet in: every number is a sum in an order that the tree gives, so the bits are those
// of one thread.
template <typename T>
class SupernodalFactor {
 public:
  // A supernode whose update matrix is to be found at a place of its own.
  struct Home {
    int supernode = -1;  // none
    UpdateMatrixOf<T> update{};
  };

  // Room for all panels, the participants' own included.
  void Reserve(const SupernodeLayout& layout);
  T* panels() { return panels_.data(); }
  const T* panels() const { return panels_.data(); }

  // Panels ← L, all but the participants' own. `fill(k)` sets that of supernode k to its part of
  // the matrix, different ones maybe at the same time. With y ← L⁻¹ y, as SolveForward does it,
  // unless y is empty: while each panel is in the cache. Returns the position of the first pivot
  // that is not above zero, or −1.
  int Eliminate(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                const Home& home = {}, std::span<T> y = {});
  // What a supernode right below the participants has handed up, unless it is at home. Valid until
  // the next elimination.
  UpdateMatrixOf<T> update(const SupernodeLayout& layout, const SupernodeLayout::Supernode& node);

  // y ← L⁻¹ y, three numbers a position; from those of the participants, at the end, what is
  // eliminated is subtracted.
  void SolveForward(const SupernodeLayout& layout, std::span<T> y) const;
  // y ← L⁻ᵀ y with the participants' as they are.
  void SolveBackward(const SupernodeLayout& layout, std::span<T> y) const;

 private:
  int EliminateInTurn(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                      const Home& home, std::span<T> y);
  int EliminateBranches(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                        const Home& home, std::span<T> y);
  void ReservePool(const SupernodeLayout& layout);
  void SolveForwardAt(const SupernodeLayout& layout, int supernode, std::span<T> y) const;
  void SubtractFromParticipants(const SupernodeLayout& layout, std::span<T> y) const;

  std::vector<T, LargePages<T>> panels_;
  std::vector<T> updates_;  // on their way to a parent
  // the same where branches are worked on at once: what each of them works in, and what is kept for
  // where they meet
  ScratchPool<T> pool_;
  std::vector<T*> kept_;            // of each supernode
  std::vector<std::size_t> sizes_;  // that the pool is to have
  mutable std::vector<T> carried_;  // of each supernode's rows, on their way to or from a parent
};

extern template class SupernodalFactor<double>;
extern template class SupernodalFactor<float>;

}  // namespace pliant::solvers
