#include "solvers/hessian/sparse_hessian.h"

#include <algorithm>
#include <compare>
#include <immintrin.h>

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
  FindStencils();
  FindPattern();
  const bool is_known = new_order_ == order_ && new_pattern_.rows == pattern_.rows &&
                        new_pattern_.column_starts == pattern_.column_starts;
  if (!is_known) {
    std::swap(pattern_, new_pattern_);
    order_.swap(new_order_);
    matrix_.values.resize(9 * pattern_.rows.size());
    has_layout_ = false;
    single_pays_off_.reset();
  }
  FindTargets();
}

int SparseHessian::BlockOf(int node) const {
  return static_cast<int>(std::ranges::upper_bound(first_nodes_, node) - first_nodes_.begin()) - 1;
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
  weighted_.clear();
  is_weighted_.assign(island_->num_contacts(), 0);
  int constraint = 0;
  island_->ForEachConstraint([&](std::span<const IslandView::Entry> entries, int height) {
    for (const IslandView::Entry& entry : entries) {
      // one entry by weights for each contact; it hardly has another
      if (entry.is_by_weights() && !is_weighted_[constraint]) {
        weighted_.push_back({constraint, -1, &entry, 0});
        is_weighted_[constraint] = 1;
        continue;
      }
      island_->ForEachRun(entry, [&](int first, int columns, const double* J) {
        const int* places = &places_[first];
        for (int j = 0; j < columns; ++j, J += height) {
          const int place = places[j];
          if (j == 0 || slots_.back().node != place / 3)
            slots_.push_back({place / 3, Matrix3d::Zero()});
          for (int r = 0; r < height; ++r) slots_.back().J(r, place % 3) = J[r];
        }
      });
    }
    ++constraint;
    slot_starts_.push_back(static_cast<int>(slots_.size()));
  });
}

// Sorts the contacts with weights by their stencils, and lists the other nodes that they move.
void SparseHessian::FindStencils() {
  const ConstraintSystem& system = *island_->system;
  const auto compare = [&](const IslandView::Entry& a, const IslandView::Entry& b) {
    if (a.block != b.block) return a.block <=> b.block;
    // shared nodes
    if (a.first_node == b.first_node) return a.num_nodes <=> b.num_nodes;
    const std::span<const int> of_a = system.nodes_of(a), of_b = system.nodes_of(b);
    return std::lexicographical_compare_three_way(of_a.begin(), of_a.end(), of_b.begin(),
                                                  of_b.end());
  };
  std::ranges::sort(weighted_, [&](const Weighted& a, const Weighted& b) {
    const std::strong_ordering order = compare(*a.entry, *b.entry);
    return order != 0 ? order < 0 : a.contact < b.contact;
  });
  nodes_.clear();
  stencils_.clear();
  crosses_.clear();
  crosses_of_slots_.clear();
  std::size_t num_targets = 0, num_cross_targets = 0;
  for (std::size_t k = 0; k < weighted_.size(); ++k) {
    Weighted& contact = weighted_[k];
    const IslandView::Entry& entry = *contact.entry;
    if (k == 0 || compare(entry, *weighted_[k - 1].entry) != 0) {
      stencils_.push_back({static_cast<int>(nodes_.size()), entry.num_nodes, num_targets,
                           static_cast<int>(crosses_.size()), 0, static_cast<int>(k), 0});
      num_targets += std::size_t(entry.num_nodes) * (entry.num_nodes + 1) / 2;
      const int* places = &places_[island_->local_first[entry.block]];
      for (const int node : system.nodes_of(entry)) nodes_.push_back(places[node] / 3);
    }
    Stencil& stencil = stencils_.back();
    ++stencil.num_contacts;
    contact.stencil = static_cast<int>(stencils_.size()) - 1;
    contact.first_cross = crosses_of_slots_.size();
    for (const Slot& slot : SlotsOf(contact.contact)) {
      const auto begin = crosses_.begin() + stencil.first_cross;
      const auto found = std::find_if(begin, crosses_.end(),
                                      [&](const Cross& of) { return of.node == slot.node; });
      crosses_of_slots_.push_back(static_cast<int>(found - begin));
      if (found != crosses_.end()) continue;
      crosses_.push_back({slot.node, num_cross_targets});
      ++stencil.num_crosses;
      num_cross_targets += stencil.num_nodes;
    }
  }
  stencil_targets_.resize(num_targets);
  cross_targets_.resize(num_cross_targets);
}

void SparseHessian::FindPattern() {
  // couplings that A does not have
  couplings_.clear();
  const auto couple = [this](int node, int other) {
    const auto [column, row] = std::minmax(node, other);
    const int b = BlockOf(row), first = first_nodes_[b];
    if (column >= first) {
      const BlockMatrix* A = island_->block(b).A.sparse;
      if (A == nullptr || A->pattern->Find(row - first, column - first) >= 0) return;
    }
    couplings_.emplace_back(column, row);
  };
  for (std::size_t c = 0; c + 1 < slot_starts_.size(); ++c) {
    const std::span<const Slot> slots = SlotsOf(c);
    for (std::size_t s = 0; s < slots.size(); ++s)
      for (std::size_t t = 0; t < s; ++t) couple(slots[s].node, slots[t].node);
  }
  for (const Stencil& stencil : stencils_) {
    const std::span<const int> nodes = NodesOf(stencil);
    for (std::size_t b = 0; b < nodes.size(); ++b)
      for (std::size_t a = b + 1; a < nodes.size(); ++a) couple(nodes[a], nodes[b]);
    for (int k = stencil.first_cross; k < stencil.first_cross + stencil.num_crosses; ++k)
      for (const int node : nodes) couple(node, crosses_[k].node);
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

  is_large_ = std::ranges::any_of(island_->blocks, [&](int k) {
    const SchurComplement& A = island_->system->blocks[k].A;
    return A.sparse != nullptr && A.order.empty();
  });
  new_order_.clear();
  if (is_large_) return;
  for (const bool is_sparse : {true, false}) {
    for (int b = 0; b < island_->num_blocks(); ++b) {
      const IslandView::Block& block = island_->block(b);
      if ((block.A.sparse != nullptr) != is_sparse) continue;
      for (int k = 0; k < CountNodes(block); ++k)
        new_order_.push_back(first_nodes_[b] + (is_sparse ? block.A.order[k] : k));
    }
  }
}

void SparseHessian::FindTargets() {
  targets_.clear();
  target_starts_.clear();
  for (std::size_t c = 0; c + 1 < slot_starts_.size(); ++c) {
    target_starts_.push_back(targets_.size());
    for (const Slot& left : SlotsOf(c)) {
      for (const Slot& right : SlotsOf(c))
        targets_.push_back(left.node < right.node ? -1 : pattern_.Find(left.node, right.node));
    }
  }
  for (const Stencil& stencil : stencils_) {
    const std::span<const int> nodes = NodesOf(stencil);
    int* target = stencil_targets_.data() + stencil.first_target;
    for (std::size_t b = 0; b < nodes.size(); ++b)
      for (std::size_t a = b; a < nodes.size(); ++a) *target++ = pattern_.Find(nodes[a], nodes[b]);
    for (int k = stencil.first_cross; k < stencil.first_cross + stencil.num_crosses; ++k) {
      target = cross_targets_.data() + crosses_[k].first_target;
      for (const int node : nodes) *target++ = pattern_.Find(node, crosses_[k].node);
    }
  }
}

void SparseHessian::Start(std::span<const SchurComplement> tangents) {
  // A has most of the blocks, or all
  if (of_A_.size() < pattern_.rows.size()) std::ranges::fill(matrix_.values, 0.0);
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

void SparseHessian::AddContacts(absl::FunctionRef<bool(int contact, Matrix3d* G)> find) {
  Matrix3d G;
  for (int c = 0; c < island_->num_contacts(); ++c)
    if (!is_weighted_[c] && find(c, &G)) Add(c, G);
  for (const Stencil& stencil : stencils_) AddWeighted(stencil, find);
}

void SparseHessian::AddWeighted(const Stencil& stencil,
                                absl::FunctionRef<bool(int contact, Matrix3d* G)> find) {
  const int n = stencil.num_nodes, padded = (n + 3) & ~3;
  parts_.clear();
  padded_weights_.clear();
  for (int k = stencil.first_contact; k < stencil.first_contact + stencil.num_contacts; ++k) {
    const Weighted& contact = weighted_[k];
    Matrix3d G;
    if (!find(contact.contact, &G)) continue;
    const double* w = island_->system->weights(*contact.entry);
    const Eigen::Map<const Matrix3d> Q(island_->system->Q(*contact.entry));
    const Matrix3d QG = Q.transpose() * G, M = QG * Q;
    parts_.push_back({M(0, 0), M(1, 0), M(2, 0), M(1, 1), M(2, 1), M(2, 2)});
    padded_weights_.insert(padded_weights_.end(), w, w + n);
    padded_weights_.resize(parts_.size() * padded, 0.0);

    // other nodes, coupled among themselves and with the stencil
    Add(contact.contact, G);
    const int* cross = crosses_of_slots_.data() + contact.first_cross;
    for (const Slot& slot : SlotsOf(contact.contact)) {
      const Cross& to = crosses_[stencil.first_cross + *cross++];
      const Matrix3d below = QG * slot.J, above = below.transpose();
      const int* target = cross_targets_.data() + to.first_target;
      const std::span<const int> nodes = NodesOf(stencil);
      for (int a = 0; a < n; ++a) {
        Eigen::Map<Matrix3d> block(&matrix_.values[9 * std::size_t(target[a])]);
        if (nodes[a] >= to.node) block += w[a] * below;
        if (nodes[a] <= to.node) block += w[a] * above;
      }
    }
  }
  if (parts_.empty()) return;
  const int* target = stencil_targets_.data() + stencil.first_target;
  for (int b = 0; b < n; ++b) {
    for (int four = b & ~3; four < n; four += 4) {
      // Σ w_a w_b QᵀGQ for four nodes a
      __m256d sums[6] = {};
      const double* w = padded_weights_.data();
      for (const std::array<double, 6>& parts : parts_) {
        const __m256d product = _mm256_mul_pd(_mm256_set1_pd(w[b]), _mm256_loadu_pd(w + four));
        for (int p = 0; p < 6; ++p)
          sums[p] = _mm256_fmadd_pd(_mm256_set1_pd(parts[p]), product, sums[p]);
        w += padded;
      }
      for (int a = std::max(b, four); a < std::min(n, four + 4); ++a) {
        constexpr int kPartOf[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
        double* block = &matrix_.values[9 * std::size_t(*target++)];
        for (int e = 0; e < 9; ++e) block[e] += sums[kPartOf[e]][a - four];
      }
    }
  }
}

void SparseHessian::AddRow(int row, double g) {
  Matrix3d G = Matrix3d::Zero();
  G(0, 0) = g;
  Add(island_->contacts.size() + row, G);
}

void SparseHessian::Add(std::size_t constraint, const Matrix3d& G) {
  const std::span<const Slot> slots = SlotsOf(constraint);
  const int* target = targets_.data() + target_starts_[constraint];
  for (const Slot& left : slots) {
    const Matrix3d JG = left.J.transpose() * G;
    for (const Slot& right : slots) {
      const int block = *target++;
      if (block >= 0) Eigen::Map<Matrix3d>(&matrix_.values[9 * std::size_t(block)]) += JG * right.J;
    }
  }
}

bool SparseHessian::SolveIteratively(std::span<const double> b, double tolerance,
                                     int max_iterations, std::span<double> x) {
  if (is_large_ && !swept_.Set(matrix_)) return false;
  x_.assign(3 * std::size_t(pattern_.num_nodes), 0.0);
  y_.resize(x_.size());
  for (std::size_t i = 0; i < b.size(); ++i) x_[places_[i]] = b[i];
  const auto multiply = [this](std::span<const double> from, std::span<double> to) {
    matrix_.Multiply(from, to);
  };
  const auto precondition = [this](std::span<const double> from, std::span<double> to) {
    if (is_single_) return single_factor_.Solve(from, to);
    std::ranges::copy(from, to.begin());
    factor_.Solve(to);
  };
  const bool is_solved = is_large_ ? swept_.Solve(x_, tolerance, max_iterations, y_)
                                   : conjugate_gradients_.Solve(multiply, precondition, x_,
                                                                tolerance, max_iterations, y_);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = y_[places_[i]];
  return is_solved || is_large_;
}

bool SparseHessian::FactorInSingle() {
  if (!single_pays_off_) {
    single_pays_off_ = SingleCholesky::PaysOff(pattern_, order_);
    if (*single_pays_off_) single_factor_.SetPattern(pattern_, order_);
  }
  is_single_ = *single_pays_off_ && single_factor_.Factor(matrix_);
  return is_single_;
}

bool SparseHessian::Factor() {
  is_single_ = false;
  if (!has_layout_) factor_.SetPattern(&pattern_, order_);
  has_layout_ = true;
  return factor_.Factor(matrix_, {});
}

void SparseHessian::Solve(std::span<double> x) {
  x_.assign(3 * std::size_t(pattern_.num_nodes), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) x_[places_[i]] = x[i];
  factor_.Solve(x_);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x_[places_[i]];
}

}  // namespace pliant::solvers
