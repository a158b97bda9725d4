#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "physics/fem/elements.h"
#include "physics/fem/fem_block.h"
#include "solvers/linalg/block_matrix.h"

namespace pliant::physics {

// What a FEM body is, prepared for stepping: shared by its block and every step of it.
struct FemModel {
  // Where a lane's 3 × 3 block is added in the block matrix.
  struct Slot {
    int offset;
    bool transposed;  // the pattern stores the transpose
  };

  explicit FemModel(FemParameters p);

  FemParameters parameters;
  int num_nodes;
  std::vector<ElementBatch> batches;
  solvers::BlockPattern pattern;
  std::vector<Slot> slots;  // of batch b, pair (a ≥ c), lane l: 10 · kLanes a batch, in that order
  std::vector<int> prescribed_index;    // into parameters.prescribed; −1: free
  std::vector<int> followed;            // bodies that prescribed vertices move with
  std::vector<double> node_mass;        // row sums of M [kg]
  std::vector<double> element_volumes;  // at rest [m³]
  double mass = 0;                      // [kg]

  // y = M x with the consistent mass matrix, M_ab = ρV/20 (1 + δ_ab).
  void MultiplyMass(std::span<const double> x, std::span<double> y) const;
};

}  // namespace pliant::physics
