#include "physics/geometry/meshing/subdivided_tetrahedra.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "physics/geometry/meshing/primitive_checks.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"
#include "physics/spatial/demand.h"

namespace pliant::physics {
namespace {

using Index4 = std::array<int, 4>;

// Corner (12 bits) and weight (13 bits) of up to four corners.
using Key = std::array<std::uint32_t, 4>;

Key MakeKey(const LatticePoint& point) {
  Key key{};
  for (int i = 0; i < point.count; ++i)
    key[i] = static_cast<std::uint32_t>(point.corner[i]) << 13 | point.weight[i];
  return key;
}

LatticePoint MakePoint(const Index4& tetrahedron, const Index4& steps) {
  std::array<std::pair<int, int>, 4> pairs;
  for (int i = 0; i < 4; ++i) pairs[i] = {tetrahedron[i], steps[i]};
  std::sort(pairs.begin(), pairs.end());
  LatticePoint point;
  for (const auto& [corner, weight] : pairs) {
    if (weight == 0) continue;
    point.corner[point.count] = corner;
    point.weight[point.count++] = weight;
  }
  return point;
}

Index4 Plus(const Index4& base, std::initializer_list<int> corners) {
  Index4 sum = base;
  for (const int corner : corners) ++sum[corner];
  return sum;
}

// Calls visit(base) for all base ≥ 0 whose four numbers sum to `sum`.
template <typename Visit>
void ForEachBase(int sum, const Visit& visit) {
  for (int a = 0; a <= sum; ++a) {
    for (int b = 0; a + b <= sum; ++b) {
      for (int c = 0; a + b + c <= sum; ++c) visit(Index4{a, b, c, sum - a - b - c});
    }
  }
}

// The three ways to cut an octahedron with opposite corners (0, 1), (2, 3), (4, 5) into four
// tetrahedra.
constexpr int kCuts[3][4][4] = {{{0, 1, 2, 4}, {0, 1, 4, 3}, {0, 1, 3, 5}, {0, 1, 5, 2}},
                                {{2, 3, 0, 4}, {2, 3, 4, 1}, {2, 3, 1, 5}, {2, 3, 5, 0}},
                                {{4, 5, 0, 2}, {4, 5, 2, 1}, {4, 5, 1, 3}, {4, 5, 3, 0}}};

}  // namespace

absl::StatusOr<TetrahedralMesh> SubdivideTetrahedra(
    const std::vector<Index4>& coarse, int n,
    const std::function<Eigen::Vector3d(const LatticePoint&)>& place,
    const IsCancelled& is_cancelled) {
  PLIANT_DEMAND(n >= 1 && n <= 8191);
  TetrahedralMesh mesh;
  std::map<Key, int> numbers;
  const auto number = [&](const Index4& tetrahedron, const Index4& steps) {
    const LatticePoint point = MakePoint(tetrahedron, steps);
    const auto [at, inserted] =
        numbers.emplace(MakeKey(point), static_cast<int>(mesh.vertices.size()));
    if (inserted) mesh.vertices.push_back(place(point));
    return at->second;
  };
  const auto quality = [&mesh](const Index4& t) {
    return std::abs(CalcCubedMeanRatio(mesh.vertices[t[0]], mesh.vertices[t[1]],
                                       mesh.vertices[t[2]], mesh.vertices[t[3]]));
  };

  for (const Index4& corners : coarse) {
    if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
    // small copies of the tetrahedron, upright and upside down
    ForEachBase(n - 1, [&](const Index4& base) {
      mesh.tetrahedra.push_back({number(corners, Plus(base, {0})), number(corners, Plus(base, {1})),
                                 number(corners, Plus(base, {2})),
                                 number(corners, Plus(base, {3}))});
    });
    ForEachBase(n - 3, [&](const Index4& base) {
      mesh.tetrahedra.push_back(
          {number(corners, Plus(base, {1, 2, 3})), number(corners, Plus(base, {0, 2, 3})),
           number(corners, Plus(base, {0, 1, 3})), number(corners, Plus(base, {0, 1, 2}))});
    });

    // octahedra between them; a later cut must be clearly better, so that symmetric ones are cut
    // alike
    ForEachBase(n - 2, [&](const Index4& base) {
      const int o[6] = {number(corners, Plus(base, {0, 1})), number(corners, Plus(base, {2, 3})),
                        number(corners, Plus(base, {0, 2})), number(corners, Plus(base, {1, 3})),
                        number(corners, Plus(base, {0, 3})), number(corners, Plus(base, {1, 2}))};
      std::array<Index4, 4> best{};
      double best_quality = -1;
      for (const auto& cut : kCuts) {
        std::array<Index4, 4> candidate;
        double worst = 1;
        for (int i = 0; i < 4; ++i) {
          candidate[i] = {o[cut[i][0]], o[cut[i][1]], o[cut[i][2]], o[cut[i][3]]};
          worst = std::min(worst, quality(candidate[i]));
        }
        if (worst > best_quality + 1e-9) {
          best = candidate;
          best_quality = worst;
        }
      }
      mesh.tetrahedra.insert(mesh.tetrahedra.end(), best.begin(), best.end());
    });
  }
  return mesh;
}

}  // namespace pliant::physics
