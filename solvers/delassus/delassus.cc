#include "solvers/delassus/delassus.h"

#include <algorithm>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {

DelassusOperator::DelassusOperator(const std::vector<Block>& blocks,
                                   const std::vector<std::vector<Entry>>& contacts)
    : num_contacts_(static_cast<int>(contacts.size())),
      values_(9 * contacts.size() * contacts.size()),
      neighbours_(contacts.size()) {
  const std::size_t n = 3 * contacts.size();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    std::vector<int> touching;
    for (int c = 0; c < num_contacts_; ++c) {
      for (const Entry& entry : contacts[c]) {
        if (entry.block == static_cast<int>(b) && (touching.empty() || touching.back() != c))
          touching.push_back(c);
      }
    }

    // eliminating A from [A; J] leaves J L⁻ᵀ below, at the price of a taller panel
    const int size = blocks[b].size;
    const int rows = 3 * static_cast<int>(touching.size());
    Factor factor{size, size + rows, std::vector<double>(std::size_t(size) * (size + rows))};
    for (int j = 0; j < size; ++j) {
      std::copy_n(blocks[b].A + std::size_t(j) * size + j, size - j,
                  &factor.panel[std::size_t(j) * factor.height + j]);
    }
    for (std::size_t k = 0; k < touching.size(); ++k) {
      for (const Entry& entry : contacts[touching[k]]) {
        if (entry.block != static_cast<int>(b)) continue;
        for (int j = 0; j < entry.columns; ++j) {
          double* target =
              &factor.panel[std::size_t(entry.first + j) * factor.height + size + 3 * k];
          for (int r = 0; r < 3; ++r) target[r] += entry.values[3 * j + r];
        }
      }
    }
    FactorPanel(factor.height, size, factor.panel.data(), factor.height);

    // W += (J L⁻ᵀ)(J L⁻ᵀ)ᵀ
    std::vector<double> negative(std::size_t(rows) * rows);
    NegateLowerTrapezoid(rows, rows, size, factor.panel.data() + size, factor.height,
                         negative.data(), rows);
    for (std::size_t l = 0; l < touching.size(); ++l) {
      for (std::size_t k = l; k < touching.size(); ++k) {
        const int i = touching[k], j = touching[l];
        for (int c = 0; c < 3; ++c) {
          for (int r = k == l ? c : 0; r < 3; ++r) {
            const double value = -negative[(3 * l + c) * rows + 3 * k + r];
            values_[(3 * std::size_t(j) + c) * n + 3 * i + r] += value;
            if (3 * i + r != 3 * j + c) values_[(3 * std::size_t(i) + r) * n + 3 * j + c] += value;
          }
        }
        neighbours_[i].push_back(j);
        if (i != j) neighbours_[j].push_back(i);
      }
    }
    factors_.push_back(std::move(factor));
  }
  for (std::vector<int>& list : neighbours_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

void DelassusOperator::SolveBlock(int b, std::span<double> x) const {
  const Factor& factor = factors_[b];
  SolveLower(factor.size, factor.panel.data(), factor.height, x.data());
  SolveLowerTransposed(factor.size, factor.panel.data(), factor.height, x.data());
}

}  // namespace pliant::solvers
