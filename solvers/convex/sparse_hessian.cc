#include "solvers/convex/sparse_hessian.h"

#include <algorithm>

namespace pliant::solvers {

using Eigen::Matrix3d;

namespace {

int CountNodes(const ConvexProblem::Block& block) {
  return (block.size + 2) / 3;
}

}  // namespace

bool SparseHessian::IsNeeded(const ConvexProblem& problem) {
  return std::ranges::any_of(problem.blocks, [](const auto& block) { return block.sparse; });
}

void SparseHessian::Analyze(const ConvexProblem& problem) {
  problem_ = &problem;
  PlaceVelocities();
  FindSlots();
  FindPattern();
  const bool is_known = factor_ && new_order_ == order_ && new_pattern_.rows == pattern_.rows &&
                        new_pattern_.column_starts == pattern_.column_starts;
  if (!is_known) {
    std::swap(pattern_, new_pattern_);
    order_.swap(new_order_);
    matrix_.values.resize(9 * pattern_.rows.size());
    factor_ = std::make_unique<PartialCholesky>(&pattern_, order_);
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
  places_.resize(problem_->size);
  for (const ConvexProblem::Block& block : problem_->blocks) {
    for (int i = 0; i < block.size; ++i) places_[block.first + i] = 3 * first_nodes_.back() + i;
    first_nodes_.push_back(first_nodes_.back() + CountNodes(block));
  }
}

void SparseHessian::FindSlots() {
  slots_.clear();
  slot_starts_.assign(1, 0);
  targets_.clear();
  target_starts_.clear();
  const auto add = [this](int first_entry, int num_entries, int height) {
    for (int e = first_entry; e < first_entry + num_entries; ++e) {
      const ConvexProblem::Entry& entry = problem_->entries[e];
      const double* J = &problem_->values[entry.values];
      for (int j = 0; j < entry.columns; ++j, J += height) {
        const int place = places_[entry.first + j];
        if (j == 0 || slots_.back().node != place / 3)
          slots_.push_back({place / 3, Matrix3d::Zero()});
        for (int r = 0; r < height; ++r) slots_.back().J(r, place % 3) = J[r];
      }
    }
    const std::size_t count = slots_.size() - slot_starts_.back();
    slot_starts_.push_back(static_cast<int>(slots_.size()));
    target_starts_.push_back(targets_.size());
    targets_.resize(targets_.size() + count * count);
  };
  for (const auto& contact : problem_->contacts) add(contact.first_entry, contact.num_entries, 3);
  for (const auto& row : problem_->rows) add(row.first_entry, row.num_entries, 1);
}

void SparseHessian::FindPattern() {
  // what A does not couple yet
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
          const BlockMatrix* A = problem_->blocks[b].sparse;
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

  // the columns of A and, merged with them, these
  new_pattern_.num_nodes = first_nodes_.back();
  new_pattern_.column_starts.assign(1, 0);
  new_pattern_.rows.clear();
  of_A_.clear();
  auto coupling = couplings_.begin();
  for (std::size_t b = 0; b < problem_->blocks.size(); ++b) {
    const BlockMatrix* A = problem_->blocks[b].sparse;
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
    for (std::size_t b = 0; b < problem_->blocks.size(); ++b) {
      const ConvexProblem::Block& block = problem_->blocks[b];
      if ((block.sparse != nullptr) != is_sparse) continue;
      for (int k = 0; k < CountNodes(block); ++k)
        new_order_.push_back(first_nodes_[b] + (is_sparse ? block.order[k] : k));
    }
  }
}

void SparseHessian::Start(std::span<const ConvexProblem::Block> blocks) {
  std::fill(matrix_.values.begin(), matrix_.values.end(), 0.0);
  const int* target = of_A_.data();
  for (const ConvexProblem::Block& block : blocks) {
    if (block.sparse != nullptr) {
      const std::vector<double>& values = block.sparse->values;
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
                                ? block.A[std::size_t(column) * block.size + row]
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
  Add(problem_->contacts.size() + row, G);
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
  return factor_->Factor(matrix_, {});
}

void SparseHessian::Solve(std::span<double> x) {
  x_.assign(3 * std::size_t(pattern_.num_nodes), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) x_[places_[i]] = x[i];
  factor_->Solve(x_);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x_[places_[i]];
}

}  // namespace pliant::solvers
