#include "solvers/linalg/partial_cholesky.h"

#include <algorithm>

#include "solvers/linalg/dense.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/panel.h"
#include "solvers/linalg/parallel.h"
#include "solvers/linalg/sparse_complement.h"
#include "solvers/linalg/supernodal_factor.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

struct PartialCholesky::Numeric {
  bool is_laid_out = false;
  ComplementForm form = ComplementForm::kDense;  // as requested
  bool is_sparse = false;
  SparseComplement sparse;
  const SupernodeLayout* below = nullptr;      // layout whose complement this factors
  std::unique_ptr<PartialCholesky> of_sparse;  // factor of `sparse`
  SupernodalFactor<double> factor;             // L, and the participants' matrix at the end
  std::vector<double> schur;
  UpdateHome<double> home;              // root's child with its update in the complement's panels
  std::vector<UpdateMatrix> handed_up;  // update matrices of the root's children
  std::vector<int> order;               // of the participants
  mutable std::vector<double> half_solved, solved, x_p;
  int failed = -1;
};

namespace {

// The complement is dense if it has at most so many nodes, is fuller than kMaxFill, or if a sparse
// factor takes more than kMaxOperations of the dense one's operations.
constexpr int kMaxDenseParticipants = 100;
constexpr double kMaxFill = 0.95, kMaxOperations = 0.75;
// Numbers of a factor up to which threads do not pay off for a single pass over it.
constexpr std::size_t kMaxSerialNumbers = 500'000;

// Fills both triangles of a symmetric matrix from the lower one. Works by tiles, so that transposed
// writes stay in cache.
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

PartialCholesky::PartialCholesky()
    : layout_(std::make_unique<SupernodeLayout>()), numeric_(std::make_unique<Numeric>()) {}

PartialCholesky::PartialCholesky(const BlockPattern* pattern)
    : PartialCholesky(pattern, FindEliminationOrder(*pattern)) {}

PartialCholesky::PartialCholesky(const BlockPattern* pattern, std::span<const int> order)
    : PartialCholesky() {
  SetPattern(pattern, order);
}

PartialCholesky::~PartialCholesky() = default;

void PartialCholesky::SetPattern(const BlockPattern* pattern, std::span<const int> order) {
  pattern_ = pattern;
  layout_->SetPattern(*pattern, order);
  numeric_->is_laid_out = false;
}

void PartialCholesky::Analyze(std::span<const int> participants, ComplementForm form) {
  // the symbolic factorisation of a pattern depends only on the participants: keep it while they
  // stay the same
  Numeric& f = *numeric_;
  SupernodeLayout& layout = *layout_;
  if (f.is_laid_out && f.form == form && std::ranges::equal(participants, layout.participants()))
    return;
  layout.LayOut(participants, f.below);
  ChooseForm(form);
  f.is_laid_out = true;
  f.form = form;
}

void PartialCholesky::ChooseForm(ComplementForm form) {
  Numeric& f = *numeric_;
  f.is_sparse = false;
  if (form == ComplementForm::kSparseWherePays &&
      layout_->participants().size() > kMaxDenseParticipants) {
    f.sparse.LayOut(*pattern_, *layout_);
    if (f.sparse.CalcFill() < kMaxFill) {
      const double n = 3 * static_cast<double>(layout_->participants().size());
      if (!f.of_sparse) {
        f.of_sparse = std::make_unique<PartialCholesky>();
        f.of_sparse->numeric_->below = layout_.get();
      }
      f.of_sparse->SetPattern(&f.sparse.pattern(), f.sparse.order());
      f.of_sparse->Analyze({}, ComplementForm::kDense);
      f.is_sparse = f.of_sparse->flops() < kMaxOperations * (n * n * n / 3);
    }
  }
  if (!f.is_sparse) return layout_->Place({}, true);
  // order the update matrices' rows as in the complement's factor
  const SupernodeLayout& of_sparse = *f.of_sparse->layout_;
  f.order.resize(of_sparse.num_nodes());
  for (int k = 0; k < of_sparse.num_nodes(); ++k) f.order[k] = of_sparse.node(k);
  layout_->Place(f.order, false);
  f.sparse.Place(*layout_, of_sparse);
}

bool PartialCholesky::Factor(const BlockMatrix& A, std::span<const int> participants,
                             ComplementForm form, std::span<const double> b) {
  if (!EliminateOthers(A, participants, form, b)) return false;
  if (numeric_->is_sparse) return FactorSparseComplement(A);
  AssembleDenseComplement(A);
  return FactorDenseComplement();
}

bool PartialCholesky::Eliminate(const BlockMatrix& A, std::span<const int> participants,
                                ComplementForm form, std::span<const double> b) {
  if (!EliminateOthers(A, participants, form, b)) return false;
  if (numeric_->is_sparse) {
    AssembleSparseComplement(A);
  } else {
    AssembleDenseComplement(A);
  }
  return true;
}

// Eliminates all nodes except the participants.
bool PartialCholesky::EliminateOthers(const BlockMatrix& A, std::span<const int> participants,
                                      ComplementForm form, std::span<const double> b) {
  Analyze(participants, form);
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  f.factor.Reserve(layout);
  FindHome();
  std::span<double> y;
  if (!b.empty()) {
    Permute(b);
    y = f.half_solved;
  }
  const bool is_done = EliminatePanels(
      [&](int k) {
        const auto& node = layout.supernodes()[k];
        FillColumns(node, 0, node.columns, layout.blocks(node), A, f.factor.panels());
      },
      f.home, y);
  f.handed_up.clear();
  for (const int c : layout.children(layout.root()))
    f.handed_up.push_back(f.factor.update(layout, layout.supernodes()[c]));
  return is_done;
}

// Eliminates all supernodes except the root.
bool PartialCholesky::EliminatePanels(absl::FunctionRef<void(int)> fill,
                                      const UpdateHome<double>& home, std::span<double> y) {
  const int failed = numeric_->factor.Eliminate(*layout_, fill, home, y);
  numeric_->failed = failed < 0 ? -1 : layout_->node(failed);
  return failed < 0;
}

// Finds the child of the root whose update matrix covers the whole remainder of a panel of the
// complement and is computed directly there.
void PartialCholesky::FindHome() {
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  const std::span<const int> children = layout.children(layout.root());
  f.home = {};
  if (f.is_sparse) {
    SupernodalFactor<double>& of_sparse = f.of_sparse->numeric_->factor;
    of_sparse.Reserve(*f.of_sparse->layout_);
    const SparseComplement::Home& home = f.sparse.home();
    if (home.clique < 0) return;
    f.home = {children[home.clique], {of_sparse.panels() + home.offset, std::size_t(home.leading)}};
    return;
  }
  const std::size_t n = layout.root().width();
  int most = 0;
  for (const int c : children) {
    const auto& child = layout.supernodes()[c];
    const int first = layout.root().columns - child.num_rows;
    if (child.num_rows <= most || layout.relative(child).front() != first) continue;
    most = child.num_rows;
    f.home = {c, {f.factor.panels() + layout.root().panel + 3 * std::size_t(first) * (n + 1), n}};
  }
}

void PartialCholesky::AssembleDenseComplement(const BlockMatrix& A) {
  Numeric& f = *numeric_;
  const SupernodeLayout& layout = *layout_;
  const auto& root = layout.root();
  const int n = root.width();
  double* panel = f.factor.panels() + root.panel;
  const auto blocks = layout.blocks(root);
  const int home =
      root.columns - (f.home.supernode < 0 ? 0 : layout.supernodes()[f.home.supernode].num_rows);
  const auto of_home = std::ranges::lower_bound(blocks, root.panel + 3 * std::size_t(home) * n, {},
                                                &SupernodeLayout::Block::offset) -
                       blocks.begin();
  FillColumns(root, 0, home, blocks.first(of_home), A, f.factor.panels());
  AddBlocks(root, blocks.subspan(of_home), A, f.factor.panels());
  for (std::size_t k = 0; k < f.handed_up.size(); ++k) {
    const int c = layout.children(root)[k];
    const auto& child = layout.supernodes()[c];
    if (c == f.home.supernode) continue;
    ExtendAdd(RowsOf(layout, child), f.handed_up[k], 0, child.num_rows, 0, {panel, std::size_t(n)});
  }
  f.schur.resize(std::size_t(n) * n);
  CopySymmetric(n, panel, f.schur.data());
}

void PartialCholesky::AssembleSparseComplement(const BlockMatrix& A) {
  Numeric& f = *numeric_;
  double* panels = f.of_sparse->numeric_->factor.panels();
  const auto assemble = [&](int strip) { f.sparse.Assemble(strip, A, f.handed_up, panels); };
  const int count = f.sparse.num_strips();
  if (CountThreads() > 1 && f.of_sparse->layout_->panel_numbers() > kMaxSerialNumbers) {
    ParallelForWithin(count, 1, assemble);
  } else {
    for (int k = 0; k < count; ++k) assemble(k);
  }
}

bool PartialCholesky::FactorDenseComplement() {
  Numeric& f = *numeric_;
  const int n = layout_->root().width();
  const int failed = FactorCholesky(n, f.factor.panels() + layout_->root().panel, n);
  if (failed >= 0) f.failed = layout_->participants()[failed / 3];
  return failed < 0;
}

// Assembles, records and factors the complement panel by panel.
bool PartialCholesky::FactorSparseComplement(const BlockMatrix& A) {
  Numeric& f = *numeric_;
  double* panels = f.of_sparse->numeric_->factor.panels();
  const auto assemble = [&](int k) {
    for (int strip = f.sparse.first_strip(k); strip < f.sparse.first_strip(k + 1); ++strip)
      f.sparse.Assemble(strip, A, f.handed_up, panels);
  };
  const bool is_done = f.of_sparse->EliminatePanels(assemble, {}, {});
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
  Reduce(x);
  SolveForParticipants(x_p);
  Complete(x_p, x);
}

void PartialCholesky::SolveForParticipants(std::span<double> x_p) const {
  CopyReduced(x_p);
  SolveComplement(x_p);
}

void PartialCholesky::SolveComplement(std::span<double> x_p) const {
  const Numeric& f = *numeric_;
  if (f.is_sparse) return f.of_sparse->Solve(x_p);
  const int n = layout_->root().width();
  const double* root = f.factor.panels() + layout_->root().panel;
  SolveLower(n, root, n, x_p.data());
  SolveLowerTransposed(n, root, n, x_p.data());
}

// Place of a participant among the root's columns.
int PartialCholesky::PlaceInRoot(int participant) const {
  return layout_->position(layout_->participants()[participant]) - layout_->root().first;
}

void PartialCholesky::Reduce(std::span<const double> b) const {
  Permute(b);
  numeric_->factor.SolveForward(*layout_, numeric_->half_solved);
}

void PartialCholesky::Permute(std::span<const double> b) const {
  std::vector<double>& y = numeric_->half_solved;
  y.resize(b.size());
  for (int i = 0; i < layout_->num_nodes(); ++i)
    std::copy_n(&b[3 * layout_->node(i)], 3, &y[3 * i]);
}

void PartialCholesky::CopyReduced(std::span<double> r_p) const {
  const std::vector<double>& y = numeric_->half_solved;
  const auto& root = layout_->root();
  const double* of_root = y.data() + y.size() - root.width();
  for (int i = 0; i < root.columns; ++i) std::copy_n(of_root + 3 * PlaceInRoot(i), 3, &r_p[3 * i]);
}

void PartialCholesky::Complete(std::span<const double> x_p, std::span<double> x) const {
  const SupernodeLayout& layout = *layout_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.solved;
  y.assign(f.half_solved.begin(), f.half_solved.end());
  double* of_root = y.data() + y.size() - layout.root().width();
  for (int i = 0; i < layout.root().columns; ++i)
    std::copy_n(&x_p[3 * i], 3, of_root + 3 * PlaceInRoot(i));
  f.factor.SolveBackward(layout, y);
  for (int i = 0; i < layout.num_nodes(); ++i) std::copy_n(&y[3 * i], 3, &x[3 * layout.node(i)]);
}

double PartialCholesky::flops() const {
  const Numeric& f = *numeric_;
  return layout_->flops() + (f.is_sparse ? f.of_sparse->flops() : 0);
}

}  // namespace pliant::solvers
