#include "solvers/linalg/partial_cholesky.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>

#include "solvers/linalg/dense.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

struct PartialCholesky::Numeric {
  bool is_laid_out = false;
  std::vector<double> panels;   // L, and the participants' matrix at the end
  std::vector<double> updates;  // update matrices on their way to a parent
  std::vector<double> schur;
  mutable std::vector<double> half_solved, solved, gathered, x_p;
  int failed = -1;
};

namespace {

// At least so many numbers, with room to spare and whatever values.
void Grow(std::size_t size, std::vector<double>* numbers) {
  if (numbers->size() >= size) return;
  *numbers = {};
  numbers->resize(size + size / 4);
}

void Add(int n, const double* from, double* to) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    _mm256_storeu_pd(to + i, _mm256_add_pd(_mm256_loadu_pd(to + i), _mm256_loadu_pd(from + i)));
  }
  for (; i < n; ++i) to[i] += from[i];
}

// Adds columns [begin, end) of the lower triangle of a child's update to a target whose column and row 0 stand for the
// parent's node `first`.
void ExtendAdd(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child,
               const double* update, int begin, int end, int first, double* target, int leading) {
  const std::span<const int> relative = layout.relative(child), run_end = layout.run_end(child);
  const int m = child.num_rows;
  for (int b = begin; b < end; ++b) {
    for (int c = 0; c < 3; ++c) {
      const double* source = update + std::size_t(3 * b + c) * (3 * m);
      double* column = target + std::size_t(3 * (relative[b] - first) + c) * leading;
      for (int a = b; a < m; a = run_end[a])
        Add(3 * (run_end[a] - a), source + 3 * a, column + 3 * (relative[a] - first));
    }
  }
}

// Sets a panel to the blocks of A that belong there, and zero elsewhere.
void FillPanel(const SupernodeLayout& layout, const SupernodeLayout::Supernode& node,
               const BlockMatrix& A, double* panels) {
  const std::size_t height = node.height();
  std::fill_n(panels + node.panel, height * node.width(), 0.0);
  for (const auto& [block, transposed, offset] : layout.blocks(node)) {
    const double* from = &A.values[9 * std::size_t(block)];
    double* to = panels + offset;
    if (transposed) {
      for (int c = 0; c < 3; ++c) {
        for (int r = 0; r < 3; ++r) to[c * height + r] = from[3 * r + c];
      }
    } else {
      for (int c = 0; c < 3; ++c) {
        for (int r = 0; r < 3; ++r) to[c * height + r] = from[3 * c + r];
      }
    }
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
    : layout_(std::make_unique<SupernodeLayout>(*pattern, std::move(order))),
      numeric_(std::make_unique<Numeric>()) {}

PartialCholesky::~PartialCholesky() = default;

bool PartialCholesky::Factor(const BlockMatrix& A, std::span<const int> participants) {
  // symbolic work is a function of the participants alone: keep it while they stay the same
  Numeric& f = *numeric_;
  SupernodeLayout& layout = *layout_;
  if (!f.is_laid_out || !std::ranges::equal(participants, layout.participants())) {
    layout.LayOut(participants);
    f.is_laid_out = true;
    const std::size_t root_size = layout.root().width();
    Grow(layout.panel_numbers(), &f.panels);
    Grow(layout.update_numbers(), &f.updates);
    f.schur.resize(root_size * root_size);
  }

  f.failed = -1;
  for (const auto& node : layout.supernodes()) {
    FillPanel(layout, node, A, f.panels.data());
    double* panel = f.panels.data() + node.panel;
    double* update = f.updates.data() + node.update;
    const int m = node.update_size();
    for (const int c : layout.children(node)) {
      const auto& child = layout.supernodes()[c];
      ExtendAdd(layout, child, f.updates.data() + child.update, 0, child.in_panel, 0, panel,
                node.height());
    }
    const int failed = FactorPanel(node.height(), node.width(), panel, node.height());
    if (failed >= 0) {
      f.failed = layout.node(node.first + failed / 3);
      return false;
    }
    NegateLowerTrapezoid(m, m, node.width(), panel + node.width(), node.height(), update, m);
    for (const int c : layout.children(node)) {
      const auto& child = layout.supernodes()[c];
      ExtendAdd(layout, child, f.updates.data() + child.update, child.in_panel, child.num_rows,
                node.columns, update, m);
    }
  }

  // what is left on the participants is the Schur complement; record it, then factor it too
  const int n = layout.root().width();
  FillPanel(layout, layout.root(), A, f.panels.data());
  double* root = f.panels.data() + layout.root().panel;
  for (const int c : layout.children(layout.root())) {
    const auto& child = layout.supernodes()[c];
    ExtendAdd(layout, child, f.updates.data() + child.update, 0, child.num_rows, 0, root, n);
  }
  CopySymmetric(n, root, f.schur.data());
  const int failed = FactorCholesky(n, root, n);
  if (failed >= 0) {
    f.failed = layout.participants()[failed / 3];
    return false;
  }
  return true;
}

int PartialCholesky::failed_node() const {
  return numeric_->failed;
}

std::span<const double> PartialCholesky::schur_complement() const {
  return numeric_->schur;
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
  const SupernodeLayout& layout = *layout_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.half_solved;
  std::vector<double>& t = f.gathered;
  y.resize(b.size());
  t.resize(b.size());
  for (int i = 0; i < layout.num_nodes(); ++i) std::copy_n(&b[3 * layout.node(i)], 3, &y[3 * i]);

  for (const auto& node : layout.supernodes()) {
    const double* panel = f.panels.data() + node.panel;
    const int w = node.width(), m = node.update_size();
    SolveLower(w, panel, node.height(), &y[3 * node.first]);
    std::fill(t.begin(), t.begin() + m, 0.0);
    SubtractMatrixVector(m, w, panel + w, node.height(), &y[3 * node.first], t.data());
    const std::span<const int> rows = layout.rows(node);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (int r = 0; r < 3; ++r) y[3 * rows[i] + r] += t[3 * i + r];
    }
  }
  const int n = layout.root().width();
  const double* root = f.panels.data() + layout.root().panel;
  std::copy_n(y.end() - n, n, x_p.begin());
  SolveLower(n, root, n, x_p.data());
  SolveLowerTransposed(n, root, n, x_p.data());
}

void PartialCholesky::Complete(std::span<const double> x_p, std::span<double> x) const {
  const SupernodeLayout& layout = *layout_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.solved;
  std::vector<double>& t = f.gathered;
  y.assign(f.half_solved.begin(), f.half_solved.end());
  std::copy(x_p.begin(), x_p.end(), y.end() - layout.root().width());
  const auto supernodes = layout.supernodes();
  for (auto node = supernodes.rbegin(); node != supernodes.rend(); ++node) {
    const double* panel = f.panels.data() + node->panel;
    const int w = node->width(), m = node->update_size();
    const std::span<const int> rows = layout.rows(*node);
    for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(&y[3 * rows[i]], 3, &t[3 * i]);
    SubtractTransposedMatrixVector(m, w, panel + w, node->height(), t.data(), &y[3 * node->first]);
    SolveLowerTransposed(w, panel, node->height(), &y[3 * node->first]);
  }
  for (int i = 0; i < layout.num_nodes(); ++i) std::copy_n(&y[3 * i], 3, &x[3 * layout.node(i)]);
}

double PartialCholesky::flops() const {
  return layout_->flops();
}

}  // namespace pliant::solvers
