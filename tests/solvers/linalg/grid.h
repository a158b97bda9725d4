#pragma once

#include <array>
#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// A grid whose nodes are coupled to all of their neighbours; `is_ring` closes it along its first
// axis.
inline BlockPattern MakeGrid(int nx, int ny, int nz, bool is_ring) {
  std::vector<std::array<int, 4>> elements;
  const auto at = [&](int x, int y, int z) { return (x % nx * ny + y) * nz + z; };
  for (int x = 0; x < nx - (is_ring ? 0 : 1); ++x) {
    for (int y = 0; y + 1 < ny; ++y) {
      for (int z = 0; z + 1 < nz; ++z) {
        const int corners[8] = {at(x, y, z),         at(x + 1, y, z),        at(x, y + 1, z),
                                at(x + 1, y + 1, z), at(x, y, z + 1),        at(x + 1, y, z + 1),
                                at(x, y + 1, z + 1), at(x + 1, y + 1, z + 1)};
        for (int a = 0; a < 8; ++a)
          for (int b = 0; b < a; ++b)
            elements.push_back({corners[a], corners[b], corners[a], corners[b]});
      }
    }
  }
  return MakeBlockPattern(nx * ny * nz, elements);
}

}  // namespace pliant::solvers
