#include "solvers/delassus/delassus.h"

#include <algorithm>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {

void DelassusOperator::Build(std::span<const Block> blocks, int num_contacts,
                             std::span<const Entry> entries, std::span<const double> values) {
  num_contacts_ = num_contacts;
  const std::size_t n = 3 * static_cast<std::size_t>(num_contacts);
  values_.assign(n * n, 0.0);
  pairs_.clear();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    own_.clear();
    touching_.clear();
    for (std::size_t e = 0; e < entries.size(); ++e) {
      if (entries[e].block != static_cast<int>(b)) continue;
      own_.push_back(static_cast<int>(e));
      if (touching_.empty() || touching_.back() != entries[e].contact)
        touching_.push_back(entries[e].contact);
    }

    // eliminating A from [A; J] leaves J L⁻ᵀ below, at the price of a taller panel
    const int size = blocks[b].size;
    const int rows = 3 * static_cast<int>(touching_.size());
    const std::size_t height = std::size_t(size) + rows;
    panel_.assign(size * height, 0.0);
    for (int j = 0; j < size; ++j) {
      std::copy_n(blocks[b].A + std::size_t(j) * size + j, size - j, &panel_[j * height + j]);
    }
    std::size_t k = 0;
    for (const int e : own_) {
      const Entry& entry = entries[e];
      if (touching_[k] != entry.contact) ++k;
      for (int j = 0; j < entry.columns; ++j) {
        double* target = &panel_[(std::size_t(entry.first) + j) * height + size + 3 * k];
        for (int r = 0; r < 3; ++r) target[r] += values[entry.values + 3 * std::size_t(j) + r];
      }
    }
    FactorPanel(static_cast<int>(height), size, panel_.data(), static_cast<int>(height));

    // W += (J L⁻ᵀ)(J L⁻ᵀ)ᵀ
    negative_.assign(std::size_t(rows) * rows, 0.0);
    NegateLowerTrapezoid(rows, rows, size, panel_.data() + size, static_cast<int>(height),
                         negative_.data(), rows);
    for (std::size_t l = 0; l < touching_.size(); ++l) {
      for (k = l; k < touching_.size(); ++k) {
        const int i = touching_[k], j = touching_[l];
        for (int c = 0; c < 3; ++c) {
          for (int r = k == l ? c : 0; r < 3; ++r) {
            const double value = -negative_[(3 * l + c) * rows + 3 * k + r];
            values_[(3 * std::size_t(j) + c) * n + 3 * i + r] += value;
            if (3 * i + r != 3 * j + c) values_[(3 * std::size_t(i) + r) * n + 3 * j + c] += value;
          }
        }
        pairs_.emplace_back(i, j);
        if (i != j) pairs_.emplace_back(j, i);
      }
    }
  }
  std::sort(pairs_.begin(), pairs_.end());
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  starts_.assign(std::size_t(num_contacts) + 1, 0);
  neighbours_.clear();
  for (const auto& [i, j] : pairs_) {
    ++starts_[i + 1];
    neighbours_.push_back(j);
  }
  for (int i = 0; i < num_contacts; ++i) starts_[i + 1] += starts_[i];
}

}  // namespace pliant::solvers
