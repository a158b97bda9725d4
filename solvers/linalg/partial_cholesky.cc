#include "solvers/linalg/partial_cholesky.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "solvers/linalg/dense.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/large_vector.h"
#include "solvers/linalg/panel.h"
#include "solvers/linalg/parallel.h"
#include "solvers/linalg/sparse_complement.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

struct PartialCholesky::Numeric {
  bool is_laid_out = false;
  ComplementForm form = ComplementForm::kDense;  // asked for
  bool is_sparse = false;
  SparseComplement sparse;
  std::unique_ptr<PartialCholesky> of_sparse;  // its factor
  LargeVector panels;                          // L, and the participants' matrix at the end
  std::vector<double> updates;                 // update matrices on their way to a parent
  // the same where branches are worked on at once: what is kept, and what each thread works in
  LargeVector kept;
  std::vector<std::unique_ptr<double[]>> of_threads;
  std::size_t of_thread = 0;  // numbers
  std::vector<double> schur;
  // the root's child whose update matrix has its place in the panels of the complement already, −1: none
  int at_home = -1;
  UpdateMatrix home{};
  std::vector<UpdateMatrix> handed_up;  // update matrices of all of them
  mutable std::vector<double> half_solved, solved, x_p;
  mutable std::vector<double>
      carried;  // of each supernode's rows, on their way to or from a parent
  int failed = -1;
};

namespace {

// a complement of fewer nodes, or that is fuller, or whose factor saves less, is dense
constexpr int kFewParticipants = 100;
constexpr double kMostFill = 0.95, kMostOperations = 0.75;
// numbers of a factor for which threads cost a solution more than they bring
constexpr std::size_t kFewNumbers = 500'000;

// At least so many numbers, with room to spare and whatever values.
template <typename Numbers>
void Grow(std::size_t size, Numbers* numbers) {
  if (numbers->size() >= size) return;
  *numbers = {};
  numbers->resize(size + size / 4);
}

PanelRows RowsOf(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child) {
  return {layout.relative(child), layout.run_end(child)};
}

// Factors a supernode's panel, in which its part of the matrix is, and finds its update matrix. Returns the position where
// that fails, or −1. `update_of` tells where update matrices are.
template <typename Updates>
int EliminateNode(const SupernodeLayout& layout, const SupernodeLayout::Supernode& node,
                  double* panels, const Updates& update_of) {
  double* panel = panels + node.panel;
  const UpdateMatrix update = update_of(node), target{panel, std::size_t(node.height())};
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

// Adds a child's rows to those of its parent: to the parent's columns, then to its rows.
void CarryUp(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child,
             const double* carried, int columns, double* of_columns, double* of_rows) {
  const auto [relative, run_end] = RowsOf(layout, child);
  const double* from = carried + 3 * std::size_t(child.first_row);
  // a stretch may go on from columns to rows
  for (int a = 0; a < child.num_rows;) {
    const bool is_column = a < child.in_panel;
    const int end = is_column ? std::min(run_end[a], child.in_panel) : run_end[a];
    double* to = is_column ? of_columns + 3 * relative[a] : of_rows + 3 * (relative[a] - columns);
    AddTo(3 * (end - a), from + 3 * a, to);
    a = end;
  }
}

// Both triangles of a symmetric matrix from the lower one, by tiles: the transposed writes stay in cache.
void CopySymmetric(int n, const double* lower, double* full) {
  constexpr int kTile = 16;
  for (int jb = 0; jb < n; jb += kTile) {
    for (int ib = jb; ib < n; ib += kTile) {
      for (int j = jb; j < std::min(jb + kTile, n); ++j) {
        for (int i = std::max(ib, j); i < std::min(ib + kTile, n); ++i) {
          const double value = lower[std::size_t(j) * n + i];
          full[std::size_t(j) * n + i] = value;
          full[std::size_t(i) * n + j] = value;
        }
      }
    }
  }
}

}  // namespace

PartialCholesky::PartialCholesky(const BlockPattern* pattern)
    : PartialCholesky(pattern, FindEliminationOrder(*pattern)) {}

PartialCholesky::PartialCholesky(const BlockPattern* pattern, std::vector<int> order)
    : pattern_(pattern),
      layout_(std::make_unique<SupernodeLayout>(*pattern, std::move(order))),
      numeric_(std::make_unique<Numeric>()) {}

PartialCholesky::~PartialCholesky() = default;

void PartialCholesky::Analyze(std::span<const int> participants, ComplementForm form) {
  // symbolic work is a function of the participants alone: keep it while they stay the same
  Numeric& f = *numeric_;
  SupernodeLayout& layout = *layout_;
  if (f.is_laid_out && f.form == form && std::ranges::equal(participants, layout.participants()))
    return;
  layout.LayOut(participants);
  ChooseForm(form);
  f.is_laid_out = true;
  f.form = form;
}

void PartialCholesky::ChooseForm(ComplementForm form) {
  Numeric& f = *numeric_;
  f.is_sparse = false;
  if (form == ComplementForm::kSparseWherePays &&
      layout_->participants().size() > kFewParticipants) {
    f.sparse.LayOut(*pattern_, *layout_);
    if (f.sparse.CalcFill() < kMostFill) {
      const double n = 3 * static_cast<double>(layout_->participants().size());
      f.of_sparse = std::make_unique<PartialCholesky>(&f.sparse.pattern(), f.sparse.order());
      f.of_sparse->Analyze({}, ComplementForm::kDense);
      f.is_sparse = f.of_sparse->flops() < kMostOperations * (n * n * n / 3);
    }
  }
  if (!f.is_sparse) return layout_->Place({}, true);
  // what is handed up comes in the order in which its factor takes it
  const SupernodeLayout& of_sparse = *f.of_sparse->layout_;
  std::vector<int> order(of_sparse.num_nodes());
  for (int k = 0; k < of_sparse.num_nodes(); ++k) order[k] = of_sparse.node(k);
  layout_->Place(order, false);
  f.sparse.Place(*layout_, of_sparse);
}

bool PartialCholesky::Factor(const BlockMatrix& A, std::span<const int> participants,
                             ComplementForm form) {
  if (!EliminateOthers(A, participants, form)) return false;
  if (numeric_->is_sparse) return FactorSparseComplement(A);
  AssembleDenseComplement(A);
  return FactorDenseComplement();
}

bool PartialCholesky::Eliminate(const BlockMatrix& A, std::span<const int> participants,
                                ComplementForm form) {
  if (!EliminateOthers(A, participants, form)) return false;
  if (numeric_->is_sparse) {
    AssembleSparseComplement(A);
  } else {
    AssembleDenseComplement(A);
  }
  return true;
}

// Whether there are branches, and threads to work on them.
bool PartialCholesky::HasBranches() const {
  return layout_->branches().parts().size() > 1 && CountThreads() > 1;
}

bool PartialCholesky::SolvesByBranches() const {
  return layout_->panel_numbers() > kFewNumbers && HasBranches();
}

// All supernodes but the root. `fill(k)` sets the panel of one to its part of the matrix.
template <typename Fill>
bool PartialCholesky::EliminatePanels(const Fill& fill) {
  numeric_->failed = -1;
  return HasBranches() ? EliminateBranches(fill) : EliminateInTurn(fill);
}

template <typename Fill>
bool PartialCholesky::EliminateInTurn(const Fill& fill) {
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  Grow(layout.update_numbers(), &f.updates);
  const auto update_of = [&](const auto& node) {
    if (&node - layout.supernodes().data() == f.at_home) return f.home;
    return UpdateMatrix{f.updates.data() + node.update, std::size_t(node.update_size())};
  };
  for (int k = 0; k < static_cast<int>(layout.supernodes().size()); ++k) {
    fill(k);
    const int failed = EliminateNode(layout, layout.supernodes()[k], f.panels.data(), update_of);
    if (failed >= 0) {
      f.failed = layout.node(failed);
      return false;
    }
  }
  return true;
}

template <typename Fill>
bool PartialCholesky::EliminateBranches(const Fill& fill) {
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  Grow(layout.kept_numbers(), &f.kept);
  const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  if (f.of_thread < layout.branch_numbers()) {
    f.of_threads.clear();
    f.of_thread = layout.branch_numbers() + layout.branch_numbers() / 4;
  }
  // only what a thread uses of it becomes memory
  while (f.of_threads.size() < threads)
    f.of_threads.push_back(std::make_unique_for_overwrite<double[]>(f.of_thread));

  // the first position that fails is found by all means, as if all came one after another
  constexpr int kNone = std::numeric_limits<int>::max();
  std::atomic<int> first_failed = kNone;
  layout.branches().VisitUp([&](const Branches::Part& part) {
    double* own = f.of_threads[tbb::this_task_arena::current_thread_index()].get();
    const auto update_of = [&](const auto& node) {
      if (&node - layout.supernodes().data() == f.at_home) return f.home;
      return UpdateMatrix{(node.is_kept ? f.kept.data() : own) + node.branch_update,
                          std::size_t(node.update_size())};
    };
    layout.branches().ForOwn(part, [&](int k) {
      const auto& node = layout.supernodes()[k];
      if (node.first > first_failed.load(std::memory_order_relaxed)) return;
      fill(k);
      const int failed = EliminateNode(layout, node, f.panels.data(), update_of);
      if (failed < 0) return;
      int before = first_failed.load(std::memory_order_relaxed);
      while (failed < before && !first_failed.compare_exchange_weak(before, failed)) {
      }
    });
  });
  if (first_failed != kNone) {
    f.failed = layout.node(first_failed);
    return false;
  }
  return true;
}

// The others than the participants.
bool PartialCholesky::EliminateOthers(const BlockMatrix& A, std::span<const int> participants,
                                      ComplementForm form) {
  Analyze(participants, form);
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  Grow(layout.panel_numbers(), &f.panels);
  FindHome();
  const bool is_done = EliminatePanels([&](int k) {
    const auto& node = layout.supernodes()[k];
    FillColumns(node, 0, node.columns, layout.blocks(node), A, f.panels.data());
  });
  f.handed_up.clear();
  for (const int c : layout.children(layout.root())) {
    const auto& child = layout.supernodes()[c];
    double* numbers =
        HasBranches() ? f.kept.data() + child.branch_update : f.updates.data() + child.update;
    f.handed_up.push_back({numbers, std::size_t(child.update_size())});
  }
  return is_done;
}

// A clique that is all the rest of the complement's panel is summed up there.
void PartialCholesky::FindHome() {
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  const std::span<const int> children = layout.children(layout.root());
  f.at_home = -1;
  if (f.is_sparse) {
    LargeVector& panels = f.of_sparse->numeric_->panels;
    Grow(f.of_sparse->layout_->panel_numbers(), &panels);
    const SparseComplement::Home& home = f.sparse.home();
    if (home.clique < 0) return;
    f.at_home = children[home.clique];
    f.home = {panels.data() + home.offset, std::size_t(home.leading)};
    return;
  }
  const std::size_t n = layout.root().width();
  int most = 0;
  for (const int c : children) {
    const auto& child = layout.supernodes()[c];
    const int first = layout.root().columns - child.num_rows;
    if (child.num_rows <= most || layout.relative(child).front() != first) continue;
    most = child.num_rows;
    f.at_home = c;
    f.home = {f.panels.data() + layout.root().panel + 3 * std::size_t(first) * (n + 1), n};
  }
}

void PartialCholesky::AssembleDenseComplement(const BlockMatrix& A) {
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  const auto& root = layout.root();
  const int n = root.width();
  double* panel = f.panels.data() + root.panel;
  const auto blocks = layout.blocks(root);
  const int home = root.columns - (f.at_home < 0 ? 0 : layout.supernodes()[f.at_home].num_rows);
  const auto of_home = std::ranges::lower_bound(blocks, root.panel + 3 * std::size_t(home) * n, {},
                                                &SupernodeLayout::Block::offset) -
                       blocks.begin();
  FillColumns(root, 0, home, blocks.first(of_home), A, f.panels.data());
  AddBlocks(root, blocks.subspan(of_home), A, f.panels.data());
  for (std::size_t k = 0; k < f.handed_up.size(); ++k) {
    const int c = layout.children(root)[k];
    const auto& child = layout.supernodes()[c];
    if (c == f.at_home) continue;
    ExtendAdd(RowsOf(layout, child), f.handed_up[k], 0, child.num_rows, 0, {panel, std::size_t(n)});
  }
  f.schur.resize(std::size_t(n) * n);
  CopySymmetric(n, panel, f.schur.data());
}

void PartialCholesky::AssembleSparseComplement(const BlockMatrix& A) {
  Numeric& f = *numeric_;
  double* panels = f.of_sparse->numeric_->panels.data();
  const auto assemble = [&](int strip) { f.sparse.Assemble(strip, A, f.handed_up, panels); };
  const int count = f.sparse.num_strips();
  if (CountThreads() > 1 && f.of_sparse->layout_->panel_numbers() > kFewNumbers) {
    ParallelForWithin(count, 1, assemble);
  } else {
    for (int k = 0; k < count; ++k) assemble(k);
  }
}

bool PartialCholesky::FactorDenseComplement() {
  Numeric& f = *numeric_;
  const int n = layout_->root().width();
  const int failed = FactorCholesky(n, f.panels.data() + layout_->root().panel, n);
  if (failed >= 0) f.failed = layout_->participants()[failed / 3];
  return failed < 0;
}

// Panel by panel it is put together, recorded and factored.
bool PartialCholesky::FactorSparseComplement(const BlockMatrix& A) {
  Numeric& f = *numeric_;
  double* panels = f.of_sparse->numeric_->panels.data();
  const bool is_done = f.of_sparse->EliminatePanels([&](int k) {
    for (int strip = f.sparse.first_strip(k); strip < f.sparse.first_strip(k + 1); ++strip)
      f.sparse.Assemble(strip, A, f.handed_up, panels);
  });
  if (!is_done) f.failed = layout_->participants()[f.of_sparse->failed_node()];
  return is_done;
}

int PartialCholesky::failed_node() const {
  return numeric_->failed;
}

SchurComplement PartialCholesky::schur_complement() const {
  const Numeric& f = *numeric_;
  if (f.is_sparse) return {&f.sparse.matrix(), f.sparse.order()};
  return {f.schur};
}

const std::vector<int>& PartialCholesky::participants() const {
  return layout_->participants();
}

void PartialCholesky::Solve(std::span<double> x) const {
  std::vector<double>& x_p = numeric_->x_p;
  x_p.resize(layout_->root().width());
  SolveForParticipants(x, x_p);
  Complete(x_p, x);
}

void PartialCholesky::SolveForParticipants(std::span<const double> b, std::span<double> x_p) const {
  Reduce(b, x_p);
  SolveComplement(x_p);
}

void PartialCholesky::SolveComplement(std::span<double> x_p) const {
  const Numeric& f = *numeric_;
  if (f.is_sparse) return f.of_sparse->Solve(x_p);
  const int n = layout_->root().width();
  const double* root = f.panels.data() + layout_->root().panel;
  SolveLower(n, root, n, x_p.data());
  SolveLowerTransposed(n, root, n, x_p.data());
}

// Of a participant, where it stands among them as they are laid out.
int PartialCholesky::PlaceInRoot(int participant) const {
  return layout_->position(layout_->participants()[participant]) - layout_->root().first;
}

void PartialCholesky::Reduce(std::span<const double> b, std::span<double> r_p) const {
  const SupernodeLayout& layout = *layout_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.half_solved;
  y.resize(b.size());
  f.carried.resize(3 * layout.num_rows());
  for (int i = 0; i < layout.num_nodes(); ++i) std::copy_n(&b[3 * layout.node(i)], 3, &y[3 * i]);

  const auto solve = [&](int k) {
    const auto& node = layout.supernodes()[k];
    const double* panel = f.panels.data() + node.panel;
    const int w = node.width(), m = node.update_size();
    double* own = &y[3 * node.first];
    double* rows = f.carried.data() + 3 * std::size_t(node.first_row);
    std::fill_n(rows, m, 0.0);
    for (const int c : layout.children(node))
      CarryUp(layout, layout.supernodes()[c], f.carried.data(), node.columns, own, rows);
    SolveLower(w, panel, node.height(), own);
    SubtractMatrixVector(m, w, panel + w, node.height(), own, rows);
  };
  if (SolvesByBranches()) {
    layout.branches().VisitUp(
        [&](const Branches::Part& part) { layout.branches().ForOwn(part, solve); });
  } else {
    for (std::size_t k = 0; k < layout.supernodes().size(); ++k) solve(static_cast<int>(k));
  }
  const int n = layout.root().width();
  double* of_root = y.data() + y.size() - n;
  for (const int c : layout.children(layout.root()))
    CarryUp(layout, layout.supernodes()[c], f.carried.data(), layout.root().columns, of_root,
            nullptr);
  for (int i = 0; i < layout.root().columns; ++i)
    std::copy_n(of_root + 3 * PlaceInRoot(i), 3, &r_p[3 * i]);
}

void PartialCholesky::Complete(std::span<const double> x_p, std::span<double> x) const {
  const SupernodeLayout& layout = *layout_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.solved;
  y.assign(f.half_solved.begin(), f.half_solved.end());
  double* of_root = y.data() + y.size() - layout.root().width();
  for (int i = 0; i < layout.root().columns; ++i)
    std::copy_n(&x_p[3 * i], 3, of_root + 3 * PlaceInRoot(i));
  const auto solve = [&](int k) {
    const auto& node = layout.supernodes()[k];
    const double* panel = f.panels.data() + node.panel;
    const int w = node.width(), m = node.update_size();
    double* known = f.carried.data() + 3 * std::size_t(node.first_row);
    const std::span<const int> rows = layout.rows(node);
    for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(&y[3 * rows[i]], 3, known + 3 * i);
    SubtractTransposedMatrixVector(m, w, panel + w, node.height(), known, &y[3 * node.first]);
    SolveLowerTransposed(w, panel, node.height(), &y[3 * node.first]);
  };
  if (SolvesByBranches()) {
    layout.branches().VisitDown(
        [&](const Branches::Part& part) { layout.branches().ForOwnBackward(part, solve); });
  } else {
    for (int k = static_cast<int>(layout.supernodes().size()) - 1; k >= 0; --k) solve(k);
  }
  for (int i = 0; i < layout.num_nodes(); ++i) std::copy_n(&y[3 * i], 3, &x[3 * layout.node(i)]);
}

double PartialCholesky::flops() const {
  const Numeric& f = *numeric_;
  return layout_->flops() + (f.is_sparse ? f.of_sparse->flops() : 0);
}

}  // namespace pliant::solvers
