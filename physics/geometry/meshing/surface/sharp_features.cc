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
// Minimum lengths of chains, in edge lengths: with a free end, of loops, and of others.
constexpr double kMinFreeLength = 3;
constexpr double kMinLoopLength = 1.5;
constexpr double kMinLength = 0.8;
// Boundary vertices farther from a feature than this many edge lengths are not moved onto it.
constexpr double kReach = 1.2;
// A path that does not reach the end of its curve ends at a vertex within this many edge lengths of
// the curve.
constexpr double kPartialReach = 0.6;

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

void SegmentGrid::Add(const Vector3d& a, const Vector3d& b) {
  const int segment = static_cast<int>(segments_.size());
  segments_.push_back({a, b});
  // every cell that the segment passes, by samples half a cell apart
  const int samples = 1 + static_cast<int>(2 * (b - a).norm() / cell_);
  for (int k = 0; k <= samples; ++k) {
    auto& bucket = buckets_[Key(a + (b - a) * k / samples, 0, 0, 0)];
    if (bucket.empty() || bucket.back() != segment) bucket.push_back(segment);
  }
}

std::uint64_t SegmentGrid::Key(const Vector3d& p, int dx, int dy, int dz) const {
  const auto part = [&](int axis, int step) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(p[axis] / cell_)) +
                                      step + (1 << 20)) &
           0x1fffff;
  };
  return part(0, dx) << 42 | part(1, dy) << 21 | part(2, dz);
}

SegmentGrid::Nearest SegmentGrid::FindNearest(const Vector3d& p) const {
  Nearest best{kInfinity, -1, 0};
  // A segment may pass an unlisted corner of a cell, but is listed a quarter of a cell from it.
  const auto is_too_far = [&](int dx, int dy, int dz) {
    const int steps[3] = {dx, dy, dz};
    double squared = 0;
    for (int axis = 0; axis < 3; ++axis) {
      if (steps[axis] == 0) continue;
      const double into = p[axis] / cell_ - std::floor(p[axis] / cell_);
      const double gap = steps[axis] < 0 ? into : 1 - into;
      squared += gap * gap;
    }
    return std::sqrt(squared) * cell_ > best.distance + 0.26 * cell_;
  };
  // the cell of p first, to know which others are too far
  for (int k = 0; k < 27; ++k) {
    const int n = (k + 13) % 27;
    if (is_too_far(n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1)) continue;
    const auto bucket = buckets_.find(Key(p, n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1));
    if (bucket == buckets_.end()) continue;
    for (const int i : bucket->second) {
      const auto& [a, b] = segments_[i];
      const Vector3d d = b - a;
      const double squared = d.squaredNorm();
      const double t = squared > 0 ? std::clamp((p - a).dot(d) / squared, 0.0, 1.0) : 0;
      const double distance = (a + t * d - p).norm();
      if (distance < best.distance || (distance == best.distance && i < best.segment))
        best = {distance, i, t};
    }
  }
  return best;
}

SharpCurve::SharpCurve(std::vector<Vector3d> points, double cell)
    : points_(std::move(points)),
      is_loop_((points_.front() - points_.back()).squaredNorm() == 0),
      grid_(cell) {
  arc_.assign(1, 0);
  for (std::size_t i = 1; i < points_.size(); ++i) {
    arc_.push_back(arc_.back() + (points_[i] - points_[i - 1]).norm());
    grid_.Add(points_[i - 1], points_[i]);
  }
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
  const SegmentGrid::Nearest nearest = grid_.FindNearest(p);
  if (nearest.segment < 0) return {kInfinity, 0};
  const int i = nearest.segment;
  return {nearest.distance, arc_[i] + nearest.share * (arc_[i + 1] - arc_[i])};
}

bool ReleasedPlaces::Hold(const Vector3d& p) const {
  return is_everywhere_ || std::any_of(balls_.begin(), balls_.end(), [&](const Ball& ball) {
           return (ball.center - p).squaredNorm() < ball.radius * ball.radius;
         });
}

void ReleasedPlaces::Widen(const std::vector<Vector3d>& points, double radius) {
  const std::size_t known = balls_.size();
  std::vector<char> is_wider(known, 0);
  for (const Vector3d& p : points) {
    bool is_held = false;
    for (std::size_t i = 0; i < known; ++i) {
      const double reach = balls_[i].radius / (is_wider[i] ? 2 : 1);
      if (!((balls_[i].center - p).squaredNorm() < reach * reach)) continue;
      is_held = true;
      if (!is_wider[i]) balls_[i].radius *= 2;
      is_wider[i] = 1;
    }
    if (!is_held) balls_.push_back({p, radius});
  }
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
        neighbors[chain.front()].size() == 1 || neighbors[chain.back()].size() == 1;
    if (length < (loop ? kMinLoopLength : is_free ? kMinFreeLength : kMinLength) * edge_length) {
      features.short_chains.push_back(std::move(points));
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

  // Cheapest path from a to b over free vertices near the curve. If other curves block the way, or
  // b is −1, the path that ends nearest to `goal`.
  std::vector<int> Find(int a, int b, const Vector3d& goal, const SharpCurve& curve,
                        const std::vector<int>& owner) {
    using Entry = std::pair<double, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::vector<int> touched = {a};
    std::pair<double, int> nearest{kInfinity, a};  // squared distance to the goal
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
        // cost: mostly the squared distance from the curve, and to a small part the length
        const double ratio = distance / edge_length_;
        const double total = cost + (x_[next] - x_[v]).norm() * (0.1 + 4 * ratio * ratio);
        if (!(total < cost_[next])) continue;
        if (cost_[next] == kInfinity) touched.push_back(next);
        cost_[next] = total;
        from_[next] = v;
        queue.push({total, next});
        if (ratio < kPartialReach)
          nearest = std::min(nearest, std::pair((x_[next] - goal).squaredNorm(), next));
      }
    }
    const int end = b >= 0 && cost_[b] < kInfinity ? b : nearest.second;
    std::vector<int> path = {end};
    while (path.back() != a) path.push_back(from_[path.back()]);
    std::reverse(path.begin(), path.end());
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

bool Contains(const std::vector<int>& list, int v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

bool AreJoined(const std::vector<std::vector<int>>& neighbors, int a, int b) {
  return std::binary_search(neighbors[a].begin(), neighbors[a].end(), b);
}

// Leaves out vertices whose neighbours along the path share an edge: their triangle would be flat.
void Shorten(const std::vector<std::vector<int>>& neighbors, std::vector<int>* path) {
  for (std::size_t i = 1; i + 1 < path->size();) {
    if (path->size() > 2 && AreJoined(neighbors, (*path)[i - 1], (*path)[i + 1])) {
      path->erase(path->begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

}  // namespace

FeatureMap FitFeatures(const SharpFeatures& features, const ReleasedPlaces& released,
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

  std::vector<int> corner_vertices;
  for (std::size_t i = 0; i < features.corners.size(); ++i) {
    const int v = find_vertex(features.corners[i]);
    corner_vertices.push_back(v);
    if (v < 0) continue;
    map.curve[v] = FeatureMap::kCorner;
    map.corner[v] = static_cast<int>(i);
    x[v] = features.corners[i];
  }

  PathFinder finder(edge_length, neighbors, *mesh);
  for (std::size_t c = 0; c < features.curves.size(); ++c) {
    const SharpCurve& curve = features.curves[c];
    const double length = curve.length();
    const auto place = [&](double arc) {
      return curve.PointAt(arc < 0 ? arc + length : arc > length ? arc - length : arc);
    };
    // on a loop, arc lengths continue beyond the ends
    const auto arc_near = [&](const Vector3d& p, double expected) {
      const double arc = curve.FindNearest(p).arc;
      if (!curve.is_loop() || std::abs(arc - expected) <= 0.5 * length) return arc;
      return arc < expected ? arc + length : arc - length;
    };
    const auto take = [&](int v) {
      if (v >= 0 && map.curve[v] == FeatureMap::kFree) map.curve[v] = static_cast<int>(c);
    };

    // stops that the paths connect; a loop without corners has three
    struct Stop {
      int vertex;
      double arc;
    };
    std::vector<Stop> stops;
    const int first_corner = features.ends[c][0], last_corner = features.ends[c][1];
    if (first_corner >= 0) stops.push_back({corner_vertices[first_corner], 0});
    if (first_corner < 0 || first_corner == last_corner) {
      for (int k = first_corner < 0 ? 0 : 1; k < 3; ++k) {
        const double arc = length * k / 3;
        const int v = find_vertex(curve.PointAt(arc));
        take(v);
        stops.push_back({v, v < 0 ? arc : arc_near(start[v], arc)});
      }
    }
    stops.push_back(last_corner >= 0 ? Stop{corner_vertices[last_corner], length}
                                     : Stop{stops[0].vertex, stops[0].arc + length});
    for (const Stop& stop : stops)
      if (stop.vertex >= 0 && map.curve[stop.vertex] == static_cast<int>(c))
        x[stop.vertex] = place(stop.arc);

    // moves the vertices of a path onto the curve, spread out between its ends
    const auto lay = [&](std::vector<int> path, Stop from, Stop to) {
      const std::vector<int> whole = path;
      Shorten(neighbors, &path);
      // also where a loop closes
      if (first_corner < 0 && path.size() > 4 && path.front() == path.back() &&
          AreJoined(neighbors, path[1], path[path.size() - 2])) {
        path.erase(path.begin());
        path.back() = path.front();
        from = {path.front(), arc_near(start[path.front()], from.arc)};
        to = {path.front(), from.arc + length};
      }
      for (const int v : whole) {
        if (map.curve[v] != static_cast<int>(c) || Contains(path, v)) continue;
        map.curve[v] = FeatureMap::kFree;
        x[v] = start[v];
      }
      if (path.size() < 2) return;
      const auto [low, high] = std::minmax(from.arc, to.arc);
      std::vector<double> arcs;
      double expected = from.arc;
      for (const int v : path) {
        take(v);
        expected = std::clamp(arc_near(start[v], expected), low, high);
        arcs.push_back(expected);
      }
      arcs.front() = from.arc;
      if (path.back() == to.vertex) arcs.back() = to.arc;
      for (int pass = 0; pass < 6; ++pass)
        for (std::size_t i = 1; i + 1 < arcs.size(); ++i)
          arcs[i] = 0.5 * arcs[i] + 0.25 * (arcs[i - 1] + arcs[i + 1]);
      std::sort(arcs.begin(), arcs.end());
      if (from.arc > to.arc) std::reverse(arcs.begin(), arcs.end());
      for (std::size_t i = 1; i < path.size(); ++i) {
        if (map.curve[path[i]] == static_cast<int>(c)) x[path[i]] = place(arcs[i]);
        const auto [a, b] = std::minmax(path[i - 1], path[i]);
        map.segments.push_back({a, b});
      }
    };
    // paths from stop to stop, joined where they are complete
    std::vector<int> joined;
    Stop begin = stops[0];
    for (std::size_t k = 0; k + 1 < stops.size(); ++k) {
      const Stop &from = stops[k], &to = stops[k + 1];
      if (joined.empty()) begin = from;
      std::vector<int> path;
      if (from.vertex >= 0)
        path = finder.Find(from.vertex, to.vertex, place(to.arc), curve, map.curve);
      for (const int v : path) take(v);
      joined.insert(joined.end(), path.begin() + (joined.empty() || path.empty() ? 0 : 1),
                    path.end());
      const bool complete = !path.empty() && path.back() == to.vertex;
      if (complete && k + 2 < stops.size()) continue;
      if (!joined.empty()) lay(std::move(joined), begin, to);
      joined.clear();
      if (!complete && to.vertex >= 0)
        lay(finder.Find(to.vertex, -1, place(from.arc), curve, map.curve), to, from);
    }
  }

  if (!released.empty()) {
    for (const int v : boundary.vertices) {
      if (map.curve[v] == FeatureMap::kFree || !released.Hold(x[v])) continue;
      x[v] = start[v];
      map.curve[v] = FeatureMap::kFree;
      map.corner[v] = -1;
    }
    std::erase_if(map.segments, [&](const std::array<int, 2>& segment) {
      return map.curve[segment[0]] == FeatureMap::kFree ||
             map.curve[segment[1]] == FeatureMap::kFree;
    });
  }
  std::sort(map.segments.begin(), map.segments.end());
  return map;
}

}  // namespace pliant::physics
