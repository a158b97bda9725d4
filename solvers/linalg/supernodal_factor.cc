#include "solvers/linalg/supernodal_factor.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "solvers/linalg/dense.h"
#include "solvers/linalg/parallel.h"

namespace pliant::solvers {
namespace {

// Numbers of a factor up to which threads do not pay off in a solve.
constexpr std::size_t kMaxSerialSolve = 500'000;

// Makes room for at least `size` numbers, and some more. Their values are unspecified.
template <typename Numbers>
void Grow(std::size_t size, Numbers* numbers) {
  if (numbers->size() >= size) return;
  *numbers = {};
  numbers->resize(size + size / 4);
}

// Whether there are several branches and threads to run them.
bool HasBranches(const SupernodeLayout& layout) {
  return layout.branches().parts().size() > 1 && CountThreads() > 1;
}

bool SolvesByBranches(const SupernodeLayout& layout) {
  return layout.panel_numbers() > kMaxSerialSolve && HasBranches(layout);
}

// Factors a supernode's panel, which contains its part of the matrix, and computes its update
// matrix. Returns the position of a failed pivot, or −1. `update_of` returns the place of each
// update matrix.
template <typename T, typename Updates>
int EliminateNode(const SupernodeLayout& layout, const SupernodeLayout::Supernode& node, T* panels,
                  const Updates& update_of) {
  T* panel = panels + node.panel;
  const UpdateMatrixOf<T> update = update_of(node), target{panel, std::size_t(node.height())};
  const int m = node.update_size();
  for (const int c : layout.children(node)) {
    const auto& child = layout.supernodes()[c];
    ExtendAdd(RowsOf(layout, child), update_of(child), 0, child.in_panel, 0, target);
  }
  const int failed = FactorPanel(node.height(), node.width(), panel, node.height());
  if (failed >= 0) return node.first + failed / 3;
  NegateLowerTrapezoid(m, m, node.width(), panel + node.width(), node.height(), update.numbers,
                       static_cast<int>(update.leading));
  for (const int c : layout.children(node)) {
    const auto& child = layout.supernodes()[c];
    ExtendAdd(RowsOf(layout, child), update_of(child), child.in_panel, child.num_rows, node.columns,
              update);
  }
  return -1;
}

// Prefetches a panel that is needed next. Most panels are short and begin where the hardware does
// not prefetch yet. Inlined, because the compiler drops calls that only prefetch.
template <typename T>
[[gnu::always_inline]] inline void Fetch(const SupernodeLayout& layout, int supernode,
                                         const T* panels) {
  if (supernode < 0 || supernode >= static_cast<int>(layout.supernodes().size())) return;
  constexpr std::size_t kMaxBytes = 16'384, kLine = 64;  // bytes
  const auto& node = layout.supernodes()[supernode];
  const auto* begin = reinterpret_cast<const char*>(panels + node.panel);
  const std::size_t size = sizeof(T) * node.height() * node.width();
  for (std::size_t i = 0; i < std::min(size, kMaxBytes); i += kLine) __builtin_prefetch(begin + i);
}

// Adds a child's rows to those of its parent: to the parent's columns, then to its rows.
template <typename T>
void CarryUp(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child,
             const T* carried, int columns, T* of_columns, T* of_rows) {
  const auto [relative, run_end] = RowsOf(layout, child);
  const T* from = carried + 3 * std::size_t(child.first_row);
  // a run may continue from columns to rows
  for (int a = 0; a < child.num_rows;) {
    const bool is_column = a < child.in_panel;
    const int end = is_column ? std::min(run_end[a], child.in_panel) : run_end[a];
    T* to = is_column ? of_columns + 3 * relative[a] : of_rows + 3 * (relative[a] - columns);
    AddTo(3 * (end - a), from + 3 * a, to);
    a = end;
  }
}

}  // namespace

template <typename T>
void SupernodalFactor<T>::Reserve(const SupernodeLayout& layout) {
  Grow(layout.panel_numbers(), &panels_);
}

template <typename T>
int SupernodalFactor<T>::Eliminate(const SupernodeLayout& layout, absl::FunctionRef<void(int)> fill,
                                   const UpdateHome<T>& home, std::span<T> y) {
  Reserve(layout);
  if (!y.empty()) carried_.resize(3 * layout.num_rows());
  const int failed = HasBranches(layout) ? EliminateBranches(layout, fill, home, y)
                                         : EliminateInTurn(layout, fill, home, y);
  if (!y.empty() && failed < 0) SubtractFromParticipants(layout, y);
  return failed;
}

template <typename T>
UpdateMatrixOf<T> SupernodalFactor<T>::update(const SupernodeLayout& layout,
                                              const SupernodeLayout::Supernode& node) {
  T* numbers = HasBranches(layout) ? kept_[&node - layout.supernodes().data()]
                                   : updates_.data() + node.update;
  return {numbers, std::size_t(node.update_size())};
}

template <typename T>
int SupernodalFactor<T>::EliminateInTurn(const SupernodeLayout& layout,
                                         absl::FunctionRef<void(int)> fill,
                                         const UpdateHome<T>& home, std::span<T> y) {
  Grow(layout.update_numbers(), &updates_);
  const auto update_of = [&](const auto& node) -> UpdateMatrixOf<T> {
    if (&node - layout.supernodes().data() == home.supernode) return home.update;
    return {updates_.data() + node.update, std::size_t(node.update_size())};
  };
  for (int k = 0; k < static_cast<int>(layout.supernodes().size()); ++k) {
    fill(k);
    const int failed = EliminateNode(layout, layout.supernodes()[k], panels_.data(), update_of);
    if (failed >= 0) return failed;
    if (!y.empty()) SolveForwardAt(layout, k, y);
  }
  return -1;
}

// Reserves memory for the work space of each thread and for all update matrices that are kept, in
// whatever order threads request them.
template <typename T>
void SupernodalFactor<T>::ReservePool(const SupernodeLayout& layout) {
  sizes_.assign(tbb::this_task_arena::max_concurrency(), layout.branch_numbers());
  for (const auto& node : layout.supernodes())
    if (node.is_kept) sizes_.push_back(node.update_numbers());
  pool_.Reserve(sizes_);
}

template <typename T>
int SupernodalFactor<T>::EliminateBranches(const SupernodeLayout& layout,
                                           absl::FunctionRef<void(int)> fill,
                                           const UpdateHome<T>& home, std::span<T> y) {
  ReservePool(layout);
  kept_.assign(layout.supernodes().size(), nullptr);
  // report the first position that fails, as a sequential elimination would
  constexpr int kNone = std::numeric_limits<int>::max();
  std::atomic<int> first_failed = kNone;
  layout.branches().VisitUp([&](const Branches::Part& part) {
    T* own = part.num_below == 0 ? pool_.Take(layout.branch_numbers()) : nullptr;
    const auto update_of = [&](const SupernodeLayout::Supernode& node) -> UpdateMatrixOf<T> {
      const auto k = &node - layout.supernodes().data();
      if (k == home.supernode) return home.update;
      return {node.is_kept ? kept_[k] : own + node.branch_update, std::size_t(node.update_size())};
    };
    layout.branches().ForOwn(part, [&](int k) {
      const auto& node = layout.supernodes()[k];
      if (node.first > first_failed.load(std::memory_order_relaxed)) return;
      if (node.is_kept && k != home.supernode) kept_[k] = pool_.Take(node.update_numbers());
      fill(k);
      const int failed = EliminateNode(layout, node, panels_.data(), update_of);
      for (const int c : layout.children(node)) {
        if (kept_[c] != nullptr) pool_.Give(kept_[c], layout.supernodes()[c].update_numbers());
      }
      if (failed < 0) {
        if (!y.empty()) SolveForwardAt(layout, k, y);
        return;
      }
      int before = first_failed.load(std::memory_order_relaxed);
      while (failed < before && !first_failed.compare_exchange_weak(before, failed)) {
      }
    });
    if (own != nullptr) pool_.Give(own, layout.branch_numbers());
  });
  return first_failed == kNone ? -1 : first_failed.load();
}

template <typename T>
void SupernodalFactor<T>::SolveForward(const SupernodeLayout& layout, std::span<T> y) const {
  carried_.resize(3 * layout.num_rows());
  const auto solve = [&](int k) {
    Fetch(layout, k + 1, panels_.data());
    SolveForwardAt(layout, k, y);
  };
  if (SolvesByBranches(layout)) {
    layout.branches().VisitUp(
        [&](const Branches::Part& part) { layout.branches().ForOwn(part, solve); });
  } else {
    for (std::size_t k = 0; k < layout.supernodes().size(); ++k) solve(static_cast<int>(k));
  }
  SubtractFromParticipants(layout, y);
}

// Computes a supernode's part of L⁻¹ y, and its contribution to the rows below.
template <typename T>
void SupernodalFactor<T>::SolveForwardAt(const SupernodeLayout& layout, int supernode,
                                         std::span<T> y) const {
  const auto& node = layout.supernodes()[supernode];
  const T* panel = panels_.data() + node.panel;
  const int w = node.width(), m = node.update_size();
  T* own = &y[3 * node.first];
  T* rows = carried_.data() + 3 * std::size_t(node.first_row);
  std::fill_n(rows, m, T{0});
  for (const int c : layout.children(node))
    CarryUp(layout, layout.supernodes()[c], carried_.data(), node.columns, own, rows);
  SolveLower(w, panel, node.height(), own);
  SubtractMatrixVector(m, w, panel + w, node.height(), own, rows);
}

template <typename T>
void SupernodalFactor<T>::SubtractFromParticipants(const SupernodeLayout& layout,
                                                   std::span<T> y) const {
  const auto& root = layout.root();
  for (const int c : layout.children(root))
    CarryUp<T>(layout, layout.supernodes()[c], carried_.data(), root.columns,
               y.data() + 3 * root.first, nullptr);
}

template <typename T>
void SupernodalFactor<T>::SolveBackward(const SupernodeLayout& layout, std::span<T> y) const {
  const auto solve = [&](int k) {
    const auto& node = layout.supernodes()[k];
    const T* panel = panels_.data() + node.panel;
    const int w = node.width(), m = node.update_size();
    Fetch(layout, k - 1, panels_.data());
    T* known = carried_.data() + 3 * std::size_t(node.first_row);
    const std::span<const int> rows = layout.rows(node);
    for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(&y[3 * rows[i]], 3, known + 3 * i);
    SubtractTransposedMatrixVector(m, w, panel + w, node.height(), known, &y[3 * node.first]);
    SolveLowerTransposed(w, panel, node.height(), &y[3 * node.first]);
  };
  if (SolvesByBranches(layout)) {
    layout.branches().VisitDown(
        [&](const Branches::Part& part) { layout.branches().ForOwnBackward(part, solve); });
  } else {
    for (int k = static_cast<int>(layout.supernodes().size()) - 1; k >= 0; --k) solve(k);
  }
}

template class SupernodalFactor<double>;
template class SupernodalFactor<float>;

}  // namespace pliant::solvers
