#include "solvers/linalg/partial_cholesky.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <immintrin.h>
#include <limits>

#include "solvers/linalg/dense.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/first_lanes.h"
#include "solvers/linalg/large_vector.h"
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

void Add(int n, const double* from, double* to) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    _mm256_storeu_pd(to + i, _mm256_add_pd(_mm256_loadu_pd(to + i), _mm256_loadu_pd(from + i)));
  }
  if (i == n) return;
  const __m256i mask = FirstLanes(n - i);
  StoreFirstLanes(
      to + i, n - i,
      _mm256_add_pd(_mm256_maskload_pd(to + i, mask), _mm256_maskload_pd(from + i, mask)));
}

// Adds columns [begin, end) of the lower triangle of a child's update to a target whose column and row 0 stand for the
// parent's node `first`.
void ExtendAdd(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child,
               const double* update, int begin, int end, int first, double* target, int leading) {
  const std::span<const int> relative = layout.relative(child), run_end = layout.run_end(child);
  const int m = child.num_rows;
  const std::size_t stride = 3 * static_cast<std::size_t>(m);
  for (int b = begin; b < end; ++b) {
    const double* source = update + 3 * b * stride;
    double* column = target + 3 * std::size_t(relative[b] - first) * leading;
    for (int a = b; a < m; a = run_end[a]) {
      const int n = 3 * (run_end[a] - a);
      const double* from = source + 3 * a;
      double* to = column + 3 * (relative[a] - first);
      for (int c = 0; c < 3; ++c) Add(n, from + c * stride, to + c * std::size_t(leading));
    }
  }
}

// Sets a panel to the blocks of A that belong there, and zero elsewhere.
void FillPanel(const SupernodeLayout& layout, const SupernodeLayout::Supernode& node,
               const BlockMatrix& A, double* panels) {
  const std::size_t height = node.height();
  std::fill_n(panels + node.panel, height * node.width(), 0.0);
  const auto put = [](__m128d first, double last, double* to) {
    _mm_storeu_pd(to, first);
    to[2] = last;
  };
  const auto blocks = layout.blocks(node);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    // they lie all over A
    constexpr std::size_t kAhead = 12;
    const double* later =
        &A.values[9 * std::size_t(blocks[std::min(k + kAhead, blocks.size() - 1)].block)];
    __builtin_prefetch(later);
    __builtin_prefetch(later + 8);
    const auto& [block, transposed, offset] = blocks[k];
    const double* from = &A.values[9 * std::size_t(block)];
    double* to = panels + offset;
    if (transposed) {
      for (int c = 0; c < 3; ++c)
        put(_mm_set_pd(from[3 + c], from[c]), from[6 + c], to + c * height);
    } else {
      for (int c = 0; c < 3; ++c) put(_mm_loadu_pd(from + 3 * c), from[3 * c + 2], to + c * height);
    }
  }
}

// Factors a supernode's panel and finds its update matrix. Returns the position where that fails, or −1. `update_of` tells
// where update matrices are.
template <typename Update>
int EliminateNode(const SupernodeLayout& layout, const SupernodeLayout::Supernode& node,
                  const BlockMatrix& A, double* panels, const Update& update_of) {
  FillPanel(layout, node, A, panels);
  double* panel = panels + node.panel;
  double* update = update_of(node);
  const int m = node.update_size();
  for (const int c : layout.children(node)) {
    const auto& child = layout.supernodes()[c];
    ExtendAdd(layout, child, update_of(child), 0, child.in_panel, 0, panel, node.height());
  }
  const int failed = FactorPanel(node.height(), node.width(), panel, node.height());
  if (failed >= 0) return node.first + failed / 3;
  NegateLowerTrapezoid(m, m, node.width(), panel + node.width(), node.height(), update, m);
  for (const int c : layout.children(node)) {
    const auto& child = layout.supernodes()[c];
    ExtendAdd(layout, child, update_of(child), child.in_panel, child.num_rows, node.columns, update,
              m);
  }
  return -1;
}

// Adds a child's rows to those of its parent: to the parent's columns, then to its rows.
void CarryUp(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child,
             const double* carried, int columns, double* of_columns, double* of_rows) {
  const std::span<const int> relative = layout.relative(child), run_end = layout.run_end(child);
  const double* from = carried + 3 * std::size_t(child.first_row);
  // a stretch may go on from columns to rows
  for (int a = 0; a < child.num_rows;) {
    const bool is_column = a < child.in_panel;
    const int end = is_column ? std::min(run_end[a], child.in_panel) : run_end[a];
    double* to = is_column ? of_columns + 3 * relative[a] : of_rows + 3 * (relative[a] - columns);
    Add(3 * (end - a), from + 3 * a, to);
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
  if (form == ComplementForm::kSparseWherePays && layout_->root().columns > kFewParticipants) {
    f.sparse.LayOut(*pattern_, *layout_);
    if (f.sparse.CalcFill() < kMostFill) {
      const double n = layout_->root().width();
      f.of_sparse = std::make_unique<PartialCholesky>(&f.sparse.pattern(), f.sparse.order());
      f.of_sparse->Analyze({}, ComplementForm::kDense);
      f.is_sparse = f.of_sparse->flops() < kMostOperations * (n * n * n / 3);
    }
  }
  layout_->PlaceRoot(!f.is_sparse);
}

bool PartialCholesky::Factor(const BlockMatrix& A, std::span<const int> participants,
                             ComplementForm form) {
  return Eliminate(A, participants, form) && FactorComplement();
}

// Whether there are branches, and threads to work on them.
bool PartialCholesky::HasBranches() const {
  return layout_->branches().parts().size() > 1 && CountThreads() > 1;
}

bool PartialCholesky::SolvesByBranches() const {
  return layout_->panel_numbers() > kFewNumbers && HasBranches();
}

bool PartialCholesky::EliminateInTurn(const BlockMatrix& A) {
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  Grow(layout.update_numbers() + SparseComplement::kBeyond, &f.updates);
  const auto update_of = [&](const auto& node) { return f.updates.data() + node.update; };
  for (const auto& node : layout.supernodes()) {
    const int failed = EliminateNode(layout, node, A, f.panels.data(), update_of);
    if (failed >= 0) {
      f.failed = layout.node(failed);
      return false;
    }
    if (f.is_sparse && node.is_top) f.sparse.Add(layout, node, update_of(node));
  }
  return true;
}

bool PartialCholesky::EliminateBranches(const BlockMatrix& A) {
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  Grow(layout.kept_numbers() + SparseComplement::kBeyond, &f.kept);
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
      return (node.is_kept ? f.kept.data() : own) + node.branch_update;
    };
    layout.branches().ForOwn(part, [&](int k) {
      const auto& node = layout.supernodes()[k];
      if (node.first > first_failed.load(std::memory_order_relaxed)) return;
      const int failed = EliminateNode(layout, node, A, f.panels.data(), update_of);
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
  for (const auto& node : layout.supernodes())
    if (f.is_sparse && node.is_top) f.sparse.Add(layout, node, f.kept.data() + node.branch_update);
  return true;
}

bool PartialCholesky::Eliminate(const BlockMatrix& A, std::span<const int> participants,
                                ComplementForm form) {
  Analyze(participants, form);
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  Grow(layout.panel_numbers(), &f.panels);
  const std::size_t root_size = layout.root().width();
  f.schur.resize(f.is_sparse ? 0 : root_size * root_size);
  if (f.is_sparse) f.sparse.Start(A);
  f.failed = -1;
  const bool has_branches = HasBranches();
  if (!(has_branches ? EliminateBranches(A) : EliminateInTurn(A))) return false;

  // what is left on the participants is the Schur complement
  if (f.is_sparse) {
    f.sparse.Finish();
    return true;
  }
  const int n = layout.root().width();
  FillPanel(layout, layout.root(), A, f.panels.data());
  double* root = f.panels.data() + layout.root().panel;
  for (const int c : layout.children(layout.root())) {
    const auto& child = layout.supernodes()[c];
    const double* update =
        has_branches ? f.kept.data() + child.branch_update : f.updates.data() + child.update;
    ExtendAdd(layout, child, update, 0, child.num_rows, 0, root, n);
  }
  CopySymmetric(n, root, f.schur.data());
  return true;
}

bool PartialCholesky::FactorComplement() {
  Numeric& f = *numeric_;
  if (f.is_sparse) {
    if (f.of_sparse->Factor(f.sparse.matrix(), {})) return true;
    f.failed = layout_->participants()[f.of_sparse->failed_node()];
    return false;
  }
  const int n = layout_->root().width();
  const int failed = FactorCholesky(n, f.panels.data() + layout_->root().panel, n);
  if (failed >= 0) f.failed = layout_->participants()[failed / 3];
  return failed < 0;
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
  std::copy_n(of_root, n, r_p.begin());
}

void PartialCholesky::Complete(std::span<const double> x_p, std::span<double> x) const {
  const SupernodeLayout& layout = *layout_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.solved;
  y.assign(f.half_solved.begin(), f.half_solved.end());
  std::copy(x_p.begin(), x_p.end(), y.end() - layout.root().width());
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
