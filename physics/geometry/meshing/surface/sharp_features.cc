#include "physics/geometry/meshing/surface/sharp_features.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <queue>
#include <utility>

#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Chains that end free or are loops count from this many edge lengths on, others from the second.
constexpr double kMinFreeLength = 3;
constexpr double kMinLength = 0.8;
// Boundary vertices farther from a feature than this many edge lengths are not moved onto it.
constexpr double kReach = 1.2;

double CosineOfTurn(const Vector3d& a, const Vector3d& b, const Vector3d& c) {
  return (b - a).normalized().dot((c - b).normalized());
}

// Boundary edges of a tetrahedral mesh as sorted lists of neighbours.
std::vector<std::vector<int>> CollectBoundaryNeighbors(const TetrahedralMesh& mesh,
                                                       const BoundarySurface& boundary) {
  std::vector<std::vector<int>> neighbors(mesh.vertices.size());
  for (const auto& t : boundary.triangles) {
    for (int i = 0; i < 3; ++i) {
      neighbors[t[i]].push_back(t[(i + 1) % 3]);
      neighbors[t[i]].push_back(t[(i + 2) % 3]);
    }
  }
  for (auto& list : neighbors) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return neighbors;
}

}  // namespace

SharpCurve::SharpCurve(std::vector<Vector3d> points, double cell)
    : points_(std::move(points)),
      is_loop_((points_.front() - points_.back()).squaredNorm() == 0),
      cell_(cell) {
  arc_.assign(1, 0);
  for (std::size_t i = 1; i < points_.size(); ++i) {
    arc_.push_back(arc_.back() + (points_[i] - points_[i - 1]).norm());
    // every cell that the segment passes, by samples half a cell apart
    const int samples = 1 + static_cast<int>(2 * (arc_[i] - arc_[i - 1]) / cell_);
    for (int k = 0; k <= samples; ++k) {
      const Vector3d p = points_[i - 1] + (points_[i] - points_[i - 1]) * k / samples;
      auto& bucket = buckets_[Key(p, 0, 0, 0)];
      if (bucket.empty() || bucket.back() != static_cast<int>(i) - 1)
        bucket.push_back(static_cast<int>(i) - 1);
    }
  }
}

std::uint64_t SharpCurve::Key(const Vector3d& p, int dx, int dy, int dz) const {
  const auto part = [&](int axis, int step) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(p[axis] / cell_)) +
                                      step + (1 << 20)) &
           0x1fffff;
  };
  return part(0, dx) << 42 | part(1, dy) << 21 | part(2, dz);
}

Vector3d SharpCurve::PointAt(double arc) const {
  arc = std::clamp(arc, 0.0, length());
  const auto next = std::upper_bound(arc_.begin(), arc_.end(), arc);
  const std::size_t i = std::clamp<std::size_t>(next - arc_.begin(), 1, points_.size() - 1);
  const double span = arc_[i] - arc_[i - 1];
  const double share = span > 0 ? (arc - arc_[i - 1]) / span : 0;
  return points_[i - 1] + share * (points_[i] - points_[i - 1]);
}

SharpCurve::Nearest SharpCurve::FindNearest(const Vector3d& p) const {
  Nearest best{kInfinity, 0};
  for (int n = 0; n < 27; ++n) {
    const auto bucket = buckets_.find(Key(p, n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1));
    if (bucket == buckets_.end()) continue;
    for (const int i : bucket->second) {
      const Vector3d d = points_[i + 1] - points_[i];
      const double squared = d.squaredNorm();
      const double t = squared > 0 ? std::clamp((p - points_[i]).dot(d) / squared, 0.0, 1.0) : 0;
      const double distance = (points_[i] + t * d - p).norm();
      const double arc = arc_[i] + t * std::sqrt(squared);
      if (distance < best.distance || (distance == best.distance && arc < best.arc))
        best = {distance, arc};
    }
  }
  return best;
}

SharpFeatures FindSharpFeatures(const SurfaceRegion& region, double sharp_angle,
                                double edge_length) {
  SharpFeatures features;
  const TriangleMesh& mesh = region.boundary();
  const double limit = CalcSinCos(sharp_angle).cos;
  std::vector<std::vector<int>> neighbors(mesh.vertices.size());
  for (const TriangleBvh::Edge& edge : region.boundary_bvh().edges()) {
    if (edge.triangles[1] < 0) continue;
    Vector3d normals[2];
    for (int side = 0; side < 2; ++side) {
      const auto& t = mesh.triangles[edge.triangles[side]];
      normals[side] = (mesh.vertices[t[1]] - mesh.vertices[t[0]])
                          .cross(mesh.vertices[t[2]] - mesh.vertices[t[0]])
                          .normalized();
    }
    if (normals[0].dot(normals[1]) >= limit) continue;
    neighbors[edge.vertices[0]].push_back(edge.vertices[1]);
    neighbors[edge.vertices[1]].push_back(edge.vertices[0]);
  }
  std::vector<char> is_corner(mesh.vertices.size(), 0);
  for (std::size_t v = 0; v < neighbors.size(); ++v) {
    const auto& list = neighbors[v];
    if (list.empty()) continue;
    is_corner[v] = list.size() != 2 || CosineOfTurn(mesh.vertices[list[0]], mesh.vertices[v],
                                                    mesh.vertices[list[1]]) < limit;
  }

  std::vector<std::vector<char>> used(neighbors.size());
  for (std::size_t v = 0; v < neighbors.size(); ++v) used[v].assign(neighbors[v].size(), 0);
  const auto use = [&](int a, int b) {
    for (std::size_t k = 0; k < neighbors[a].size(); ++k)
      if (neighbors[a][k] == b) used[a][k] = 1;
  };
  const auto follow = [&](int from, int to) {
    std::vector<int> chain = {from, to};
    use(from, to);
    use(to, from);
    while (!is_corner[chain.back()] && chain.back() != chain.front()) {
      const int at = chain.back(), before = chain[chain.size() - 2];
      const int next = neighbors[at][0] == before ? neighbors[at][1] : neighbors[at][0];
      use(at, next);
      use(next, at);
      chain.push_back(next);
    }
    return chain;
  };
  std::vector<std::vector<int>> chains;
  for (int corners = 1; corners >= 0; --corners) {  // loops without a corner come last
    for (std::size_t v = 0; v < neighbors.size(); ++v) {
      if (is_corner[v] != corners) continue;
      for (std::size_t k = 0; k < neighbors[v].size(); ++k)
        if (!used[v][k]) chains.push_back(follow(static_cast<int>(v), neighbors[v][k]));
    }
  }

  std::vector<int> number(mesh.vertices.size(), -1);
  for (const std::vector<int>& chain : chains) {
    std::vector<Vector3d> points;
    for (const int v : chain) points.push_back(mesh.vertices[v]);
    double length = 0;
    for (std::size_t i = 1; i < points.size(); ++i) length += (points[i] - points[i - 1]).norm();
    const bool loop = chain.front() == chain.back();
    const bool is_free =
        loop || neighbors[chain.front()].size() == 1 || neighbors[chain.back()].size() == 1;
    if (length < (is_free ? kMinFreeLength : kMinLength) * edge_length) {
      ++features.too_short;
      continue;
    }
    features.curves.emplace_back(std::move(points), kReach * edge_length);
    features.ends.push_back({-1, -1});
    for (int end = 0; end < 2; ++end) {
      const int v = end == 0 ? chain.front() : chain.back();
      if (!is_corner[v]) continue;
      if (number[v] < 0) {
        number[v] = static_cast<int>(features.corners.size());
        features.corners.push_back(mesh.vertices[v]);
      }
      features.ends.back()[end] = number[v];
    }
  }
  return features;
}

namespace {

// Finds paths of boundary edges along curves.
class PathFinder {
 public:
  PathFinder(double edge_length, const std::vector<std::vector<int>>& neighbors,
             const TetrahedralMesh& mesh)
      : edge_length_(edge_length),
        neighbors_(neighbors),
        x_(mesh.vertices),
        cost_(mesh.vertices.size(), kInfinity),
        from_(mesh.vertices.size(), -1) {}

  // Cheapest path from a to b over free vertices near the curve; empty when there is none.
  std::vector<int> Find(int a, int b, const SharpCurve& curve, const std::vector<int>& owner) {
    using Entry = std::pair<double, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::vector<int> touched = {a};
    cost_[a] = 0;
    queue.push({0, a});
    while (!queue.empty()) {
      const auto [cost, v] = queue.top();
      queue.pop();
      if (cost > cost_[v]) continue;
      if (v == b) break;
      for (const int next : neighbors_[v]) {
        if (next != b && owner[next] != FeatureMap::kFree) continue;
        const double distance = next == b ? 0 : curve.FindNearest(x_[next]).distance;
        if (!(distance < kReach * edge_length_)) continue;
        // mostly the square of the distance, a little the length
        const double ratio = distance / edge_length_;
        const double total = cost + (x_[next] - x_[v]).norm() * (0.1 + 4 * ratio * ratio);
        if (!(total < cost_[next])) continue;
        if (cost_[next] == kInfinity) touched.push_back(next);
        cost_[next] = total;
        from_[next] = v;
        queue.push({total, next});
      }
    }
    std::vector<int> path;
    if (cost_[b] < kInfinity) {
      for (int v = b; v != a; v = from_[v]) path.push_back(v);
      path.push_back(a);
      std::reverse(path.begin(), path.end());
    }
    for (const int v : touched) {
      cost_[v] = kInfinity;
      from_[v] = -1;
    }
    return path;
  }

 private:
  double edge_length_;
  const std::vector<std::vector<int>>& neighbors_;
  const std::vector<Vector3d>& x_;
  std::vector<double> cost_;
  std::vector<int> from_;
};

// Leaves out vertices whose neighbours along the path share an edge: their triangle would be flat.
void Shorten(const std::vector<std::vector<int>>& neighbors, std::vector<int>* path) {
  for (std::size_t i = 1; i + 1 < path->size();) {
    const auto& list = neighbors[(*path)[i - 1]];
    if (path->size() > 2 && std::binary_search(list.begin(), list.end(), (*path)[i + 1])) {
      path->erase(path->begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

}  // namespace

FeatureMap FitFeatures(const SharpFeatures& features, const std::vector<char>& excluded,
                       double edge_length, TetrahedralMesh* mesh) {
  FeatureMap map;
  std::vector<Vector3d>& x = mesh->vertices;
  map.curve.assign(x.size(), FeatureMap::kFree);
  map.corner.assign(x.size(), -1);
  if (features.curves.empty()) return map;
  const BoundarySurface boundary = ExtractBoundary(*mesh);
  const std::vector<std::vector<int>> neighbors = CollectBoundaryNeighbors(*mesh, boundary);
  const std::vector<Vector3d> start = x;

  // nearest free boundary vertex, by a grid of cells as wide as the reach
  const double reach = kReach * edge_length;
  std::unordered_map<std::uint64_t, std::vector<int>> cells;
  const auto key = [&](const Vector3d& p, int n) {
    std::uint64_t code = 0;
    for (int axis = 0; axis < 3; ++axis, n /= 3) {
      const auto at =
          static_cast<std::int64_t>(std::floor(p[axis] / reach)) + (1 << 20) + n % 3 - 1;
      code = code << 21 | (static_cast<std::uint64_t>(at) & 0x1fffff);
    }
    return code;
  };
  for (const int v : boundary.vertices) cells[key(x[v], 13)].push_back(v);
  const auto find_vertex = [&](const Vector3d& p) {
    std::pair<double, int> best{reach, -1};
    for (int n = 0; n < 27; ++n) {
      const auto found = cells.find(key(p, n));
      if (found == cells.end()) continue;
      for (const int v : found->second) {
        if (map.curve[v] == FeatureMap::kFree)
          best = std::min(best, std::pair((start[v] - p).norm(), v));
      }
    }
    return best.second;
  };

  std::vector<char> is_used(features.corners.size(), 0);
  for (std::size_t c = 0; c < features.curves.size(); ++c)
    for (const int end : features.ends[c])
      if (end >= 0 && !excluded[c]) is_used[end] = 1;
  std::vector<int> corner_vertices(features.corners.size(), -1);
  for (std::size_t i = 0; i < features.corners.size(); ++i) {
    const int v = is_used[i] ? find_vertex(features.corners[i]) : -1;
    corner_vertices[i] = v;
    if (v < 0) continue;
    map.curve[v] = FeatureMap::kCorner;
    map.corner[v] = static_cast<int>(i);
    x[v] = features.corners[i];
  }

  PathFinder finder(edge_length, neighbors, *mesh);
  for (std::size_t c = 0; c < features.curves.size(); ++c) {
    if (excluded[c]) continue;
    const SharpCurve& curve = features.curves[c];
    const auto [first_corner, last_corner] = features.ends[c];
    // a loop goes through three vertices of its own
    std::vector<int> stops;
    if (first_corner >= 0 && last_corner >= 0 && first_corner != last_corner) {
      stops = {corner_vertices[first_corner], corner_vertices[last_corner]};
    } else {
      stops.push_back(first_corner >= 0 ? corner_vertices[first_corner]
                                        : find_vertex(curve.PointAt(0)));
      if (stops[0] >= 0 && first_corner < 0) map.curve[stops[0]] = static_cast<int>(c);
      for (int k = 1; k < 3; ++k) {
        stops.push_back(find_vertex(curve.PointAt(curve.length() * k / 3)));
        if (stops.back() >= 0) map.curve[stops.back()] = static_cast<int>(c);
      }
      stops.push_back(stops[0]);
    }
    std::vector<int> path;
    bool found = std::find(stops.begin(), stops.end(), -1) == stops.end();
    for (std::size_t k = 0; found && k + 1 < stops.size(); ++k) {
      std::vector<int> part = finder.Find(stops[k], stops[k + 1], curve, map.curve);
      Shorten(neighbors, &part);
      found = part.size() >= 2;
      for (const int v : part)
        if (map.curve[v] == FeatureMap::kFree) map.curve[v] = static_cast<int>(c);
      path.insert(path.end(), part.begin() + (path.empty() || part.empty() ? 0 : 1), part.end());
    }
    if (!found) {
      ++map.missed;
      std::replace(map.curve.begin(), map.curve.end(), static_cast<int>(c), FeatureMap::kFree);
      continue;
    }

    // places along the curve, spread out between the ends
    std::vector<double> arcs;
    for (const int v : path) arcs.push_back(curve.FindNearest(x[v]).arc);
    arcs.front() = 0;
    arcs.back() = curve.length();
    if (curve.is_loop() && first_corner < 0) {
      // count from the first vertex
      const double offset = curve.FindNearest(start[path[0]]).arc;
      for (double& arc : arcs) {
        arc -= offset;
        if (arc < 0) arc += curve.length();
      }
      arcs.front() = 0;
      arcs.back() = curve.length();
      for (int pass = 0; pass < 6; ++pass)
        for (std::size_t i = 1; i + 1 < arcs.size(); ++i)
          arcs[i] = 0.5 * arcs[i] + 0.25 * (arcs[i - 1] + arcs[i + 1]);
      std::sort(arcs.begin(), arcs.end());
      for (double& arc : arcs) {
        arc += offset;
        if (arc >= curve.length()) arc -= curve.length();
      }
    } else {
      for (int pass = 0; pass < 6; ++pass)
        for (std::size_t i = 1; i + 1 < arcs.size(); ++i)
          arcs[i] = 0.5 * arcs[i] + 0.25 * (arcs[i - 1] + arcs[i + 1]);
      std::sort(arcs.begin(), arcs.end());
    }
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (map.curve[path[i]] == static_cast<int>(c)) x[path[i]] = curve.PointAt(arcs[i]);
      if (i > 0) {
        const auto [a, b] = std::minmax(path[i - 1], path[i]);
        map.segments.push_back({a, b});
      }
    }
  }
  std::sort(map.segments.begin(), map.segments.end());
  return map;
}

}  // namespace pliant::physics
