#include "solvers/hessian/dense_hessian.h"

#include <algorithm>

#include "solvers/linalg/parallel.h"

namespace pliant::solvers {
namespace {

using Matrix6d = Eigen::Matrix<double, 6, 6>;

// Number of velocities up to which threads do not pay off for copying A.
constexpr int kMaxSerialVelocities = 600;

}  // namespace

void DenseHessian::Analyse(const IslandView& island, const ContactJacobian& jacobian,
                           std::span<const SchurComplement> tangents) {
  island_ = &island;
  jacobian_ = &jacobian;
  tangents_ = tangents;
  parts_.Find(island);
  factor_.Analyze(parts_.sizes(), parts_.couplings());

  // contributions to each panel: blocks of A or zero, then the products of contacts and of rows,
  // by their right entries
  pieces_.clear();
  piece_starts_.assign(1, 0);
  for (int panel = 0; panel < factor_.num_panels(); ++panel) {
    factor_.ForEachKept(panel, [&](int i, int j) {
      const int block = parts_.block_of_part(i);
      pieces_.push_back({block == parts_.block_of_part(j) ? block : -1, i, j, factor_.Find(i, j)});
    });
    piece_starts_.push_back(static_cast<int>(pieces_.size()));
  }
  by_parts_.resize(island.num_blocks());
  std::size_t size = 0;
  for (int b = 0; b < island.num_blocks(); ++b) {
    const int first = parts_.first_part(b), count = parts_.first_part(b + 1) - first;
    by_parts_[b] = {size, count > 1 || parts_.runs(first).size() > 1};
    const std::size_t block_size = island.block(b).size;
    if (by_parts_[b].is_copy) size += block_size * block_size;
  }
  A_by_parts_.resize(size);
  UpdateTangents();

  places_.clear();
  products_.Start();
  const auto panel_of = [this](int first) { return factor_.panel_of(parts_.part_of(first)); };
  for (int c = 0; c < island.num_contacts(); ++c) {
    const int begin = jacobian.first_entry(c), end = jacobian.first_entry(c + 1);
    for (int right = begin; right < end; ++right) {
      products_.Add(panel_of(jacobian.first_of(right)), {c, right, places_.size()});
      for (int left = begin; left < end; ++left)
        places_.push_back(Find(jacobian.first_of(left), jacobian.first_of(right)));
    }
  }
  products_.Sort(factor_.num_panels());
  row_products_.Start();
  for (int k = 0; k < island.num_rows(); ++k) {
    const ConstraintSystem::Row& row = island.row(k);
    for (int right = row.first_entry; right < row.first_entry + row.num_entries; ++right)
      row_products_.Add(panel_of(island.first_of(island.system->entries[right])), {k, right, 0});
  }
  row_products_.Sort(factor_.num_panels());
}

// Place of H in the rows from velocity `left` and the columns from `right`; null if only its
// transpose is stored.
BlockCholesky::Place DenseHessian::Find(int left, int right) {
  const int i = parts_.part_of(left), j = parts_.part_of(right);
  const int row = parts_.row_of(left), column = parts_.row_of(right);
  if (i == j ? row < column : !factor_.IsKept(i, j)) return {nullptr, 0};
  BlockCholesky::Place place = factor_.Find(i, j);
  place.values += row + std::size_t(column) * place.stride;
  return place;
}

void DenseHessian::UpdateTangents() {
  const int count = island_->num_blocks();
  if (island_->num_velocities > kMaxSerialVelocities && CountThreads() > 1) {
    ParallelForWithin(count, 1, [this](int b) { OrderByParts(b); });
  } else {
    for (int b = 0; b < count; ++b) OrderByParts(b);
  }
}

// Copies A of a block that is split in the order of its parts, so that filling H reads contiguous
// memory.
void DenseHessian::OrderByParts(int block) {
  if (!by_parts_[block].is_copy) return;
  const std::span<const double> A = tangents_[block].dense;
  const int first = island_->first_of_block(block), size = island_->block(block).size;
  double* to = &A_by_parts_[by_parts_[block].values];
  const int begin = parts_.first_part(block), end = parts_.first_part(block + 1);
  for (int j = begin; j < end; ++j) {
    for (const CoupledParts::Run& across : parts_.runs(j)) {
      for (int c = 0; c < across.size; ++c) {
        const double* column = A.data() + std::size_t(across.first - first + c) * size;
        for (int i = begin; i < end; ++i) {
          for (const CoupledParts::Run& down : parts_.runs(i))
            to = std::copy_n(column + down.first - first, down.size, to);
        }
      }
    }
  }
}

// Copies A in the rows of part i and columns of part j to H; zero between different blocks.
void DenseHessian::Copy(const Piece& piece) const {
  const BlockCholesky::Place& place = piece.place;
  const int rows = parts_.sizes()[piece.i], columns = parts_.sizes()[piece.j];
  if (piece.block < 0) {
    for (int c = 0; c < columns; ++c)
      std::fill_n(place.values + std::size_t(c) * place.stride, rows, 0.0);
    return;
  }
  const int size = island_->block(piece.block).size;
  const ByParts& by_parts = by_parts_[piece.block];
  const double* A =
      by_parts.is_copy ? &A_by_parts_[by_parts.values] : tangents_[piece.block].dense.data();
  if (size == 6 && rows == 6) {
    // a rigid body
    Eigen::Map<Matrix6d, 0, Eigen::OuterStride<>>(
        place.values, Eigen::OuterStride<>(place.stride)) = Eigen::Map<const Matrix6d>(A);
    return;
  }
  A += parts_.offset(piece.i) + std::size_t(parts_.offset(piece.j)) * size;
  for (int c = 0; c < columns; ++c) {
    // only the lower triangle of a diagonal block
    const int skip = piece.i == piece.j ? c : 0;
    std::copy_n(A + std::size_t(c) * size + skip, rows - skip,
                place.values + std::size_t(c) * place.stride + skip);
  }
}

// Fills the lower triangle of a panel. Entries above the diagonal may be written too, but are not
// read. Called for several panels in parallel.
void DenseHessian::Fill(int panel, const Weights& weights) {
  for (int p = piece_starts_[panel]; p < piece_starts_[panel + 1]; ++p) Copy(pieces_[p]);
  int last = -1;
  bool is_zero = false;
  Eigen::Matrix3d G;
  thread_local ContactJacobian::Weighed weighed;
  for (const Product& product : products_.of(panel)) {
    if (product.constraint != last) is_zero = !weights.of_contact(product.constraint, &G);
    last = product.constraint;
    if (is_zero) continue;
    const BlockCholesky::Place* place = &places_[product.first_place];
    jacobian_->Weigh(product.right, G, &weighed);
    const int begin = jacobian_->first_entry(product.constraint),
              end = jacobian_->first_entry(product.constraint + 1);
    for (int left = begin; left < end; ++left, ++place)
      if (place->values != nullptr) jacobian_->AddProduct(left, weighed, *place);
  }
  const ConstraintSystem& system = *island_->system;
  for (const Product& product : row_products_.of(panel)) {
    const double weight = weights.of_row(product.constraint);
    if (weight == 0) continue;
    const IslandView::Entry& right = system.entries[product.right];
    for (const IslandView::Entry& left : system.entries_of(island_->row(product.constraint))) {
      const BlockCholesky::Place place = Find(island_->first_of(left), island_->first_of(right));
      if (place.values == nullptr) continue;
      const double* K = system.J(left);
      for (int j = 0; j < right.columns; ++j) {
        const double GJ = system.J(right)[j] * weight;
        if (GJ == 0) continue;
        double* target = place.values + std::size_t(j) * place.stride;
        for (int i = 0; i < left.columns; ++i) target[i] += K[i] * GJ;
      }
    }
  }
}

bool DenseHessian::FactorAndSolve(const Weights& weights, std::span<double> x) {
  permuted_.resize(x.size());
  parts_.Gather(x.data(), permuted_.data());
  if (!factor_.FactorAndSolve([&](int panel) { Fill(panel, weights); }, permuted_)) return false;
  parts_.Scatter(permuted_.data(), x.data());
  return true;
}

void DenseHessian::Solve(std::span<double> x) {
  permuted_.resize(x.size());
  parts_.Gather(x.data(), permuted_.data());
  factor_.Solve(permuted_);
  parts_.Scatter(permuted_.data(), x.data());
}

}  // namespace pliant::solvers
