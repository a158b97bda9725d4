#include "solvers/convex/sparse_hessian.h"

#include <algorithm>

namespace pliant::solvers {

using Eigen::Matrix3d;

namespace {

int CountNodes(const IslandView::Block& block) {
  return (block.size + 2) / 3;
}

}  // namespace

bool SparseHessian::IsNeeded(const IslandView& island) {
  return std::ranges::any_of(island.blocks,
                             [&](int b) { return island.system->blocks[b].A.sparse != nullptr; });
}

void SparseHessian::Analyze(const IslandView& island) {
  island_ = &island;
  PlaceVelocities();
  FindSlots();
  FindPattern();
  const bool is_known = new_order_ == order_ && new_pattern_.rows == pattern_.rows &&
                        new_pattern_.column_starts == pattern_.column_starts;
  if (!is_known) {
    std::swap(pattern_, new_pattern_);
    order_.swap(new_order_);
    matrix_.values.resize(9 * pattern_.rows.size());
    factor_.SetPattern(&pattern_, order_);
  }
  for (std::size_t c = 0; c + 1 < slot_starts_.size(); ++c) {
    std::size_t at = target_starts_[c];
    for (int s = slot_starts_[c]; s < slot_starts_[c + 1]; ++s) {
      for (int t = slot_starts_[c]; t < slot_starts_[c + 1]; ++t) {
        const int row = slots_[s].node, column = slots_[t].node;
        targets_[at++] = row < column ? -1 : pattern_.Find(row, column);
      }
    }
  }
}

void SparseHessian::PlaceVelocities() {
  first_nodes_.assign(1, 0);
  places_.resize(island_->num_velocities);
  for (int b = 0; b < island_->num_blocks(); ++b) {
    const IslandView::Block& block = island_->block(b);
    int* places = &places_[island_->first_of_block(b)];
    for (int i = 0; i < block.size; ++i) places[i] = 3 * first_nodes_.back() + i;
    first_nodes_.push_back(first_nodes_.back() + CountNodes(block));
  }
}

void SparseHessian::FindSlots() {
  slots_.clear();
  slot_starts_.assign(1, 0);
  targets_.clear();
  target_starts_.clear();
  island_->ForEachConstraint([this](std::span<const IslandView::Entry> entries, int height) {
    for (const IslandView::Entry& entry : entries) {
      const double* J = island_->system->J(entry);
      const int* places = &places_[island_->first_of(entry)];
      for (int j = 0; j < entry.columns; ++j, J += height) {
        const int place = places[j];
        if (j == 0 || slots_.back().node != place / 3)
          slots_.push_back({place / 3, Matrix3d::Zero()});
        for (int r = 0; r < height; ++r) slots_.back().J(r, place % 3) = J[r];
      }
    }
    const std::size_t count = slots_.size() - slot_starts_.back();
    slot_starts_.push_back(static_cast<int>(slots_.size()));
    target_starts_.push_back(targets_.size());
    targets_.resize(targets_.size() + count * count);
  });
}

void SparseHessian::FindPattern() {
  // couplings that A does not have
  const auto block_of = [this](int node) {
    return std::upper_bound(first_nodes_.begin(), first_nodes_.end(), node) - first_nodes_.begin() -
           1;
  };
  couplings_.clear();
  for (std::size_t c = 0; c + 1 < slot_starts_.size(); ++c) {
    for (int s = slot_starts_[c]; s < slot_starts_[c + 1]; ++s) {
      for (int t = slot_starts_[c]; t < s; ++t) {
        const auto [column, row] = std::minmax(slots_[s].node, slots_[t].node);
        const auto b = block_of(row);
        if (b == block_of(column)) {
          const BlockMatrix* A = island_->block(static_cast<int>(b)).A.sparse;
          if (A == nullptr ||
              A->pattern->Find(row - first_nodes_[b], column - first_nodes_[b]) >= 0)
            continue;
        }
        couplings_.emplace_back(column, row);
      }
    }
  }
  std::sort(couplings_.begin(), couplings_.end());
  couplings_.erase(std::unique(couplings_.begin(), couplings_.end()), couplings_.end());

  // columns of A, merged with these couplings
  new_pattern_.num_nodes = first_nodes_.back();
  new_pattern_.column_starts.assign(1, 0);
  new_pattern_.rows.clear();
  of_A_.clear();
  auto coupling = couplings_.begin();
  for (int b = 0; b < island_->num_blocks(); ++b) {
    const BlockMatrix* A = island_->block(b).A.sparse;
    const int first = first_nodes_[b], count = first_nodes_[b + 1] - first;
    for (int j = 0; j < count; ++j) {
      const auto add_couplings = [&](int up_to) {
        for (; coupling != couplings_.end() && coupling->first == first + j &&
               coupling->second < up_to;
             ++coupling)
          new_pattern_.rows.push_back(coupling->second);
      };
      const auto add = [&](int row) {
        add_couplings(row);
        of_A_.push_back(static_cast<int>(new_pattern_.rows.size()));
        new_pattern_.rows.push_back(row);
      };
      if (A != nullptr) {
        for (int k = A->pattern->column_starts[j]; k < A->pattern->column_starts[j + 1]; ++k)
          add(first + A->pattern->rows[k]);
      } else {
        for (int i = j; i < count; ++i) add(first + i);
      }
      add_couplings(new_pattern_.num_nodes);
      new_pattern_.column_starts.push_back(static_cast<int>(new_pattern_.rows.size()));
    }
  }

  new_order_.clear();
  for (const bool is_sparse : {true, false}) {
    for (int b = 0; b < island_->num_blocks(); ++b) {
      const IslandView::Block& block = island_->block(b);
      if ((block.A.sparse != nullptr) != is_sparse) continue;
      for (int k = 0; k < CountNodes(block); ++k)
        new_order_.push_back(first_nodes_[b] + (is_sparse ? block.A.order[k] : k));
    }
  }
}

void SparseHessian::Start(std::span<const SchurComplement> tangents) {
  std::fill(matrix_.values.begin(), matrix_.values.end(), 0.0);
  const int* target = of_A_.data();
  for (int b = 0; b < island_->num_blocks(); ++b) {
    const IslandView::Block& block = island_->block(b);
    const SchurComplement& A = tangents[b];
    if (A.sparse != nullptr) {
      const std::vector<double>& values = A.sparse->values;
      for (std::size_t k = 0; k < values.size(); k += 9)
        std::copy_n(&values[k], 9, &matrix_.values[9 * std::size_t(*target++)]);
      continue;
    }
    const int count = CountNodes(block);
    for (int j = 0; j < count; ++j) {
      for (int i = j; i < count; ++i) {
        double* to = &matrix_.values[9 * std::size_t(*target++)];
        for (int c = 0; c < 3; ++c) {
          for (int r = 0; r < 3; ++r) {
            const int row = 3 * i + r, column = 3 * j + c;
            to[3 * c + r] = row < block.size && column < block.size
                                ? A.dense[std::size_t(column) * block.size + row]
                                : (row == column ? 1.0 : 0.0);
          }
        }
      }
    }
  }
}

void SparseHessian::AddContact(int contact, const Matrix3d& G) {
  Add(contact, G);
}

void SparseHessian::AddRow(int row, double g) {
  Matrix3d G = Matrix3d::Zero();
  G(0, 0) = g;
  Add(island_->contacts.size() + row, G);
}

void SparseHessian::Add(std::size_t constraint, const Matrix3d& G) {
  const std::span<const Slot> slots = std::span(slots_).subspan(
      slot_starts_[constraint], slot_starts_[constraint + 1] - slot_starts_[constraint]);
  const int* target = &targets_[target_starts_[constraint]];
  for (const Slot& left : slots) {
    const Matrix3d JG = left.J.transpose() * G;
    for (const Slot& right : slots) {
      const int block = *target++;
      if (block >= 0) Eigen::Map<Matrix3d>(&matrix_.values[9 * std::size_t(block)]) += JG * right.J;
    }
  }
}

bool SparseHessian::Factor() {
  return factor_.Factor(matrix_, {});
}

void SparseHessian::Solve(std::span<double> x) {
  x_.assign(3 * std::size_t(pattern_.num_nodes), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) x_[places_[i]] = x[i];
  factor_.Solve(x_);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x_[places_[i]];
}

}  // namespace pliant::solvers
