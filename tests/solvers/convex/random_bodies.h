#pragma once

#include <random>
#include <vector>

#include <Eigen/Dense>

#include "solvers/convex/sap.h"

namespace pliant::solvers {

// Gives a problem `count` bodies of `size` velocities each, with random A = B Bᵀ + mass, which `A` keeps, and random v*.
inline void AddRandomBodies(int count, int size, double mass, std::mt19937* random,
                            std::vector<Eigen::MatrixXd>* A, ConvexProblem* problem) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  problem->size = count * size;
  for (int b = 0; b < count; ++b) {
    Eigen::MatrixXd B(size, size);
    for (int i = 0; i < B.size(); ++i) B.data()[i] = uniform(*random);
    A->push_back(B * B.transpose() + mass * Eigen::MatrixXd::Identity(size, size));
  }
  for (int b = 0; b < count; ++b) problem->blocks.push_back({b * size, size, (*A)[b].data()});
  for (int i = 0; i < problem->size; ++i) problem->v_star.push_back(uniform(*random));
}

}  // namespace pliant::solvers
