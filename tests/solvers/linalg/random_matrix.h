#pragma once

#include <array>
#include <random>
#include <vector>

#include <Eigen/Dense>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// Returns a random symmetric positive definite matrix: a sum of element matrices B Bᵀ plus `mass`
// on the diagonal.
inline BlockMatrix MakeRandomMatrix(const BlockPattern& pattern,
                                    const std::vector<std::array<int, 4>>& elements, double mass,
                                    unsigned seed) {
  BlockMatrix A(&pattern);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int i = 0; i < pattern.num_nodes; ++i) {
    for (int r = 0; r < 3; ++r) A.values[9 * std::size_t(pattern.Find(i, i)) + 4 * r] = mass;
  }
  for (const auto& element : elements) {
    Eigen::Matrix<double, 12, 6> B;
    for (int i = 0; i < B.size(); ++i) B.data()[i] = uniform(random);
    const Eigen::Matrix<double, 12, 12> K = B * B.transpose();
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        if (element[a] < element[b]) continue;
        double* block = &A.values[9 * std::size_t(pattern.Find(element[a], element[b]))];
        for (int c = 0; c < 3; ++c) {
          for (int r = 0; r < 3; ++r) block[3 * c + r] += K(3 * a + r, 3 * b + c);
        }
      }
    }
  }
  return A;
}

}  // namespace pliant::solvers
