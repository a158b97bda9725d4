#pragma once

#include <array>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::physics {

// The volume that a closed surface of a body's nodes encloses, as a function of their positions
// (three numbers a node [m]). It depends on differences of positions only.
class EnclosedVolume {
 public:
  // `triangles` are counter-clockwise seen from outside of the volume, and closed: as many of them
  // run along an edge in one direction as in the other. `pattern` has a block for each edge.
  EnclosedVolume(std::vector<std::array<int, 3>> triangles, const solvers::BlockPattern& pattern);

  const std::vector<std::array<int, 3>>& triangles() const { return triangles_; }

  double CalcVolume(std::span<const double> q) const;  // [m³]

  // gradient ← ∂V/∂q [m²]: for each node, a third of the area vectors of its triangles. They sum to
  // zero, and so do their moments.
  void CalcGradient(std::span<const double> q, std::span<double> gradient) const;

  // A += factor · ∂²V/∂q², whose block of an edge from node i to node j is [x_l − x_k]ₓ / 6 with
  // the third corners k and l of the triangles that run along it from i to j and from j to i.
  void AddCurvature(std::span<const double> q, double factor, solvers::BlockMatrix* A) const;

 private:
  struct Edge {
    int slot;  // of the block (i, j), i > j
    int k, l;
  };
  std::vector<std::array<int, 3>> triangles_;
  std::vector<Edge> edges_;
};

}  // namespace pliant::physics
