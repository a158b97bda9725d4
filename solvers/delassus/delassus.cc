#include "solvers/delassus/delassus.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {

DelassusOperator::DelassusOperator(const std::vector<Factor>& factors, const std::vector<std::vector<Entry>>& contacts)
    : num_contacts_(static_cast<int>(contacts.size())),
      values_(9 * contacts.size() * contacts.size()),
      neighbours_(contacts.size()) {
  // W = Σ Yᵀ Y with Y = L⁻¹ Jᵀ of each block: three columns a contact
  for (std::size_t b = 0; b < factors.size(); ++b) {
    const auto [size, L] = factors[b];
    std::vector<int> touching;
    for (int c = 0; c < num_contacts_; ++c) {
      for (const Entry& entry : contacts[c]) {
        if (entry.block == static_cast<int>(b) && (touching.empty() || touching.back() != c)) touching.push_back(c);
      }
    }
    std::vector<double> Y(std::size_t(size) * 3 * touching.size());
    for (std::size_t k = 0; k < touching.size(); ++k) {
      double* columns = &Y[std::size_t(size) * 3 * k];
      for (const Entry& entry : contacts[touching[k]]) {
        if (entry.block != static_cast<int>(b)) continue;
        for (int j = 0; j < entry.columns; ++j) {
          for (int r = 0; r < 3; ++r) columns[std::size_t(size) * r + entry.first + j] += entry.values[3 * j + r];
        }
      }
      for (int r = 0; r < 3; ++r) SolveLower(size, L, size, columns + std::size_t(size) * r);
    }
    for (std::size_t k = 0; k < touching.size(); ++k) {
      for (std::size_t l = 0; l < touching.size(); ++l) {
        const int i = touching[k], j = touching[l];
        double* w = &values_[9 * (std::size_t(i) * num_contacts_ + j)];
        for (int c = 0; c < 3; ++c) {
          for (int r = 0; r < 3; ++r) {
            w[3 * c + r] += Dot(size, &Y[std::size_t(size) * (3 * k + r)], &Y[std::size_t(size) * (3 * l + c)]);
          }
        }
        neighbours_[i].push_back(j);
      }
    }
  }
  for (std::vector<int>& list : neighbours_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

}  // namespace pliant::solvers
