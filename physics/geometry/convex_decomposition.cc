#include "physics/geometry/convex_decomposition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include <Eigen/Geometry>

#include "physics/geometry/convex_hull.h"
#include "physics/geometry/shape.h"
#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr int kCutsPerAxis = 7;        // planes tried along each axis
constexpr int kEdgeCuts = 12;          // planes tried through concave edges
constexpr int kMaxConcaveEdges = 200;  // concave edges from which these planes are chosen
constexpr double kImbalance = 0.05;
constexpr std::size_t kMeasuredCuts = 8;
constexpr std::size_t kMaxPoints = 4000;  // max per piece in a measurement
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOnPlane = 1e-9;         // relative to the size
constexpr double kMinPieceVolume = 1e-5;  // relative to the volume; less is rounding

struct Plane {
  Vector3d normal;
  double offset;
};

// A triangle of the solid's surface or of a cap. Caps close cuts by fans of triangles, which may
// overlap, but their signed areas add up, so volumes are right. Only points of the surface are
// corners of the solid.
struct Facet {
  std::array<Vector3d, 3> x;
  bool surface;
};

struct ConcaveEdge {
  Vector3d a, b;
  std::array<Vector3d, 2> normals;  // of the faces beside it
  double weight;
};

// A connected part of the given surface.
struct Component {
  TriangleMesh mesh;
  std::unique_ptr<TriangleBvh> bvh;
  std::vector<ConcaveEdge> edges;
};

struct Piece {
  int component = 0;
  std::vector<Facet> facets;
  std::vector<Plane> planes;  // the piece lies below each
  std::vector<Vector3d> points;
  TriangleMesh hull;
  double volume = 0;
  double hull_volume = 0;
  bool whole = false;  // no cut helps
};

double CalcHullVolume(const TriangleMesh& mesh) {
  double six = 0;
  const Vector3d origin = mesh.vertices[0];
  for (const auto& t : mesh.triangles) {
    six += (mesh.vertices[t[0]] - origin)
               .dot((mesh.vertices[t[1]] - origin).cross(mesh.vertices[t[2]] - origin));
  }
  return six / 6;
}

double CalcFacetVolume(const std::vector<Facet>& facets) {
  double six = 0;
  const Vector3d origin = facets.empty() ? Vector3d::Zero() : facets[0].x[0];
  for (const Facet& f : facets)
    six += (f.x[0] - origin).dot((f.x[1] - origin).cross(f.x[2] - origin));
  return six / 6;
}

bool Less(const Vector3d& a, const Vector3d& b) {
  if (a.x() != b.x()) return a.x() < b.x();
  if (a.y() != b.y()) return a.y() < b.y();
  return a.z() < b.z();
}

// Intersection of an edge with a plane, the same point from both of the edge's triangles.
Vector3d Cross(const Vector3d& a, double sa, const Vector3d& b, double sb) {
  if (Less(b, a)) return Cross(b, sb, a, sa);
  return a + sa / (sa - sb) * (b - a);
}

// Directions in which to measure the extent of a set of points: the hull of what a cut leaves is
// estimated from its extreme points.
std::vector<Vector3d> MakeDirections() {
  std::vector<Vector3d> directions;
  for (int x = -2; x <= 2; ++x) {
    for (int y = -2; y <= 2; ++y) {
      for (int z = -2; z <= 2; ++z) {
        const int most = std::max({std::abs(x), std::abs(y), std::abs(z)});
        const int twos = (std::abs(x) == 2) + (std::abs(y) == 2) + (std::abs(z) == 2);
        const int zeros = (x == 0) + (y == 0) + (z == 0);
        // the 26 neighbours in a grid, and the knight's moves between them
        if (most == 1 || (twos == 1 && zeros == 1)) directions.push_back(Vector3d(x, y, z));
      }
    }
  }
  return directions;
}

class Decomposer {
 public:
  Decomposer(const TriangleMesh& mesh, const ConvexDecompositionOptions& options)
      : options_(options), directions_(MakeDirections()) {
    AxisAlignedBox box;
    for (const Vector3d& p : mesh.vertices) box.Include(p);
    size_ = mesh.vertices.empty() ? 0 : std::sqrt((box.upper - box.lower).squaredNorm());
    MakeComponents(mesh);
  }

  absl::StatusOr<ConvexDecomposition> Run() {
    for (std::size_t c = 0; c < components_.size(); ++c) {
      Piece piece;
      piece.component = static_cast<int>(c);
      const TriangleMesh& mesh = components_[c].mesh;
      for (const auto& t : mesh.triangles) {
        piece.facets.push_back(
            {{mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]]}, true});
      }
      volume_ += CalcFacetVolume(piece.facets);
      if (Finish(&piece)) pieces_.push_back(std::move(piece));
    }
    if (!(volume_ > 0) || pieces_.empty())
      return absl::InvalidArgumentError("the surface encloses no volume");

    while (static_cast<int>(pieces_.size()) < options_.max_pieces &&
           CalcExcess() > options_.tolerance * volume_) {
      if (!SplitWorst()) break;
    }
    Join();

    ConvexDecomposition result;
    result.volume = volume_;
    result.excess = CalcExcess() / volume_;
    for (Piece& piece : pieces_) result.pieces.push_back(std::move(piece.hull));
    return result;
  }

 private:
  void MakeComponents(const TriangleMesh& mesh) {
    // triangles that share vertices belong together
    std::vector<int> root(mesh.vertices.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](int v) {
      while (root[v] != v) v = root[v] = root[root[v]];
      return v;
    };
    for (const auto& t : mesh.triangles) {
      for (int j = 1; j < 3; ++j) {
        const int a = find(t[0]), b = find(t[j]);
        root[std::max(a, b)] = std::min(a, b);
      }
    }
    std::vector<int> number(mesh.vertices.size(), -1);
    std::vector<TriangleMesh> parts;
    for (const auto& t : mesh.triangles) {
      const int r = find(t[0]);
      if (number[r] < 0) {
        number[r] = static_cast<int>(parts.size());
        parts.emplace_back();
      }
      parts[number[r]].triangles.push_back(t);
    }
    // a cavity faces inwards and belongs to the solid around it: then keep a single component
    bool solid = static_cast<int>(parts.size()) <= options_.max_pieces;
    for (TriangleMesh& part : parts) {
      std::vector<int> local(mesh.vertices.size(), -1);
      for (auto& t : part.triangles) {
        for (int& v : t) {
          if (local[v] < 0) {
            local[v] = static_cast<int>(part.vertices.size());
            part.vertices.push_back(mesh.vertices[v]);
          }
          v = local[v];
        }
      }
      solid = solid && CalcHullVolume(part) > 0;
      if (!solid) break;
    }
    if (!solid) parts.assign(1, mesh);
    for (TriangleMesh& part : parts) {
      Component component;
      component.bvh = std::make_unique<TriangleBvh>(part);
      component.edges = FindConcaveEdges(part, *component.bvh);
      component.mesh = std::move(part);
      components_.push_back(std::move(component));
    }
  }

  static std::vector<ConcaveEdge> FindConcaveEdges(const TriangleMesh& mesh,
                                                   const TriangleBvh& bvh) {
    std::vector<ConcaveEdge> edges;
    for (const TriangleBvh::Edge& edge : bvh.edges()) {
      if (edge.triangles[1] < 0) continue;
      const Vector3d& a = mesh.vertices[edge.vertices[0]];
      const Vector3d& b = mesh.vertices[edge.vertices[1]];
      const Vector3d n0 = bvh.face_normal(edge.triangles[0]);
      const Vector3d n1 = bvh.face_normal(edge.triangles[1]);
      // concave where the second face rises above the first
      const double bend = n0.cross(n1).dot(b - a);
      if (bend >= 0) continue;
      edges.push_back({a, b, {n0, n1}, -bend});
    }
    std::stable_sort(edges.begin(), edges.end(), [](const ConcaveEdge& a, const ConcaveEdge& b) {
      return a.weight > b.weight;
    });
    return edges;
  }

  double CalcExcess() const {
    double excess = 0;
    for (const Piece& piece : pieces_) excess += piece.hull_volume - piece.volume;
    return excess;
  }

  // Computes the piece's corners, volume and hull; false if nothing of it is left.
  bool Finish(Piece* piece) const {
    piece->volume = CalcFacetVolume(piece->facets);
    std::vector<Vector3d> points;
    for (const Facet& f : piece->facets) {
      if (f.surface) points.insert(points.end(), f.x.begin(), f.x.end());
    }
    AddInnerCorners(*piece, &points);
    std::sort(points.begin(), points.end(), Less);
    points.erase(std::unique(points.begin(), points.end()), points.end());
    absl::StatusOr<TriangleMesh> hull = CalcConvexHull(points);
    if (!hull.ok()) return false;
    piece->points = std::move(points);
    piece->hull = *std::move(hull);
    piece->hull_volume = CalcHullVolume(piece->hull);
    return true;
  }

  // Adds the corners where three cuts meet inside the solid, which are on no surface.
  void AddInnerCorners(const Piece& piece, std::vector<Vector3d>* points) const {
    const Component& component = components_[piece.component];
    const std::vector<Plane>& planes = piece.planes;
    const int n = static_cast<int>(planes.size());
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j < n; ++j) {
        const Vector3d line = planes[i].normal.cross(planes[j].normal);
        for (int k = j + 1; k < n; ++k) {
          const double det = line.dot(planes[k].normal);
          if (std::abs(det) < 1e-9) continue;
          const Vector3d p = (planes[i].offset * planes[j].normal.cross(planes[k].normal) +
                              planes[j].offset * planes[k].normal.cross(planes[i].normal) +
                              planes[k].offset * line) /
                             det;
          bool below = true;
          for (const Plane& plane : planes)
            below = below && plane.normal.dot(p) - plane.offset <= kOnPlane * size_;
          if (!below || !component.bvh->bounds().Overlaps({p, p})) continue;
          if (component.bvh->CalcSignedDistance(PositionsOf(component.mesh), p).distance < 0)
            points->push_back(p);
        }
      }
    }
  }

  double Side(const Plane& plane, const Vector3d& p) const {
    const double s = plane.normal.dot(p) - plane.offset;
    return std::abs(s) <= kOnPlane * size_ ? 0 : s;
  }

  // Cuts a piece in two by a plane; facets in the plane go below.
  void Cut(const Piece& piece, const Plane& plane, Piece* below, Piece* above) const {
    below->component = above->component = piece.component;
    below->planes = above->planes = piece.planes;
    below->planes.push_back(plane);
    above->planes.push_back({-plane.normal, -plane.offset});
    std::optional<Vector3d> apex;
    for (const Facet& facet : piece.facets) {
      double s[3];
      int up = 0;
      for (int i = 0; i < 3; ++i) {
        s[i] = Side(plane, facet.x[i]);
        up += s[i] > 0;
      }
      if (up == 0 || up == 3) {
        (up == 0 ? below : above)->facets.push_back(facet);
        continue;
      }
      // one corner is alone on its side
      int alone = 0;
      while ((s[alone] > 0) != (up == 1)) ++alone;
      const int next = (alone + 1) % 3, last = (alone + 2) % 3;
      const Vector3d &a = facet.x[alone], &b = facet.x[next], &c = facet.x[last];
      const Vector3d p = Cross(a, s[alone], b, s[next]), q = Cross(a, s[alone], c, s[last]);
      Piece* lonely = up == 1 ? above : below;
      Piece* paired = up == 1 ? below : above;
      Push({{a, p, q}, facet.surface}, lonely);
      Push({{p, b, c}, facet.surface}, paired);
      Push({{p, c, q}, facet.surface}, paired);
      // the cap of the part with one corner runs against its boundary p → q
      if (!apex.has_value()) apex = p;
      Push({{*apex, q, p}, false}, lonely);
      Push({{*apex, p, q}, false}, paired);
    }
  }

  static void Push(const Facet& facet, Piece* piece) {
    if (facet.x[0] == facet.x[1] || facet.x[1] == facet.x[2] || facet.x[2] == facet.x[0]) return;
    piece->facets.push_back(facet);
  }

  std::vector<Plane> ProposeCuts(const Piece& piece) const {
    std::vector<Plane> cuts;
    AxisAlignedBox box;
    for (const Vector3d& p : piece.points) box.Include(p);
    for (int axis = 0; axis < 3; ++axis) {
      for (int i = 0; i < kCutsPerAxis; ++i) {
        // the middle first: of equal cuts, the first is taken
        const int step = (i % 2 == 0 ? 1 : -1) * ((i + 1) / 2);
        const double t = 0.5 + static_cast<double>(step) / (kCutsPerAxis + 1);
        cuts.push_back({Vector3d::Unit(axis), box.lower[axis] + t * (box.upper - box.lower)[axis]});
      }
    }
    // planes through the sharpest concave edges: the notch of an L is cut along its faces
    std::vector<std::pair<Plane, double>> weighed;
    int seen = 0;
    for (const ConcaveEdge& edge : components_[piece.component].edges) {
      const Vector3d middle = 0.5 * (edge.a + edge.b);
      bool inside = true;
      for (const Plane& plane : piece.planes)
        inside = inside && plane.normal.dot(middle) - plane.offset < -kOnPlane * size_;
      if (!inside) continue;
      if (++seen > kMaxConcaveEdges) break;
      const Vector3d between = (edge.b - edge.a).cross(edge.normals[0] + edge.normals[1]);
      for (Vector3d normal : {edge.normals[0], edge.normals[1], between}) {
        const double length = std::sqrt(normal.squaredNorm());
        if (!(length > 1e-12 * size_)) continue;
        normal /= length;
        const Plane plane{normal, normal.dot(middle)};
        bool known = false;
        for (auto& [other, weight] : weighed) {
          const double along = other.normal.dot(plane.normal);
          if (std::abs(along) < 1 - 1e-6 ||
              std::abs(other.offset - (along < 0 ? -plane.offset : plane.offset)) > 1e-6 * size_) {
            continue;
          }
          weight += edge.weight;
          known = true;
          break;
        }
        if (!known) weighed.push_back({plane, edge.weight});
      }
    }
    std::stable_sort(weighed.begin(), weighed.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (std::size_t i = 0; i < weighed.size() && i < kEdgeCuts; ++i)
      cuts.push_back(weighed[i].first);
    return cuts;
  }

  // Visits the points of the surface on either side of a cut.
  template <typename Take>
  void VisitSides(const Piece& piece, const Plane& plane, std::size_t stride, Take&& take) const {
    for (std::size_t i = 0; i < piece.points.size(); i += stride)
      take(Side(plane, piece.points[i]) > 0, piece.points[i]);
    for (const Facet& f : piece.facets) {
      if (!f.surface) continue;
      for (int i = 0; i < 3; ++i) {
        const double a = Side(plane, f.x[i]), b = Side(plane, f.x[(i + 1) % 3]);
        if ((a > 0) == (b > 0)) continue;
        const Vector3d p = Cross(f.x[i], a, f.x[(i + 1) % 3], b);
        take(false, p);
        take(true, p);
      }
    }
  }

  // Sum of the hull volumes that a cut leaves, plus a small penalty if they are unequal: no single
  // cut gains anything on a ring, but halves can be cut further. Infinite if a side is empty.
  static double CalcCost(std::array<std::vector<Vector3d>, 2>* sides) {
    std::array<double, 2> volumes{};
    for (int i = 0; i < 2; ++i) {
      std::vector<Vector3d>& points = (*sides)[i];
      std::sort(points.begin(), points.end(), Less);
      points.erase(std::unique(points.begin(), points.end()), points.end());
      if (points.size() < 4) return kInfinity;
      const absl::StatusOr<TriangleMesh> hull = CalcConvexHull(points);
      if (!hull.ok()) return kInfinity;
      volumes[i] = CalcHullVolume(*hull);
    }
    return volumes[0] + volumes[1] + kImbalance * std::abs(volumes[0] - volumes[1]);
  }

  // Estimates the cost from the extreme points in some directions: fast, and slightly low.
  double EstimateCost(const Piece& piece, const Plane& plane) const {
    struct Extreme {
      double reach = -kInfinity;
      Vector3d at;
    };
    AxisAlignedBox box;
    for (const Vector3d& p : piece.points) box.Include(p);
    const Vector3d scale = (box.upper - box.lower).cwiseMax(1e-9 * size_).cwiseInverse();
    std::array<std::vector<Extreme>, 2> extremes;
    for (auto& side : extremes) side.resize(directions_.size());
    VisitSides(piece, plane, 1, [&](bool above, const Vector3d& p) {
      const Vector3d scaled = p.cwiseProduct(scale);
      for (std::size_t d = 0; d < directions_.size(); ++d) {
        const double reach = directions_[d].dot(scaled);
        if (reach > extremes[above][d].reach) extremes[above][d] = {reach, p};
      }
    });
    std::array<std::vector<Vector3d>, 2> sides;
    for (int i = 0; i < 2; ++i) {
      for (const Extreme& extreme : extremes[i]) {
        if (std::isfinite(extreme.reach)) sides[i].push_back(extreme.at);
      }
    }
    return CalcCost(&sides);
  }

  double MeasureCost(const Piece& piece, const Plane& plane) const {
    std::array<std::vector<Vector3d>, 2> sides;
    const std::size_t stride = 1 + piece.points.size() / kMaxPoints;
    VisitSides(piece, plane, stride,
               [&](bool above, const Vector3d& p) { sides[above].push_back(p); });
    return CalcCost(&sides);
  }

  bool SplitWorst() {
    int worst = -1;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.whole) continue;
      if (worst < 0 ||
          piece.hull_volume - piece.volume > pieces_[worst].hull_volume - pieces_[worst].volume) {
        worst = static_cast<int>(i);
      }
    }
    if (worst < 0) return false;
    const std::vector<Plane> cuts = ProposeCuts(pieces_[worst]);
    std::vector<std::pair<double, int>> costs;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const double cost = EstimateCost(pieces_[worst], cuts[i]);
      if (std::isfinite(cost)) costs.push_back({cost, static_cast<int>(i)});
    }
    std::sort(costs.begin(), costs.end());
    // measure the most promising cuts and the three halvings
    for (std::size_t i = 0; i < costs.size(); ++i) {
      auto& [cost, cut] = costs[i];
      const bool halving = cut < 3 * kCutsPerAxis && cut % kCutsPerAxis == 0;
      cost = i < kMeasuredCuts || halving ? MeasureCost(pieces_[worst], cuts[cut]) : kInfinity;
    }
    std::sort(costs.begin(), costs.end());
    for (const auto& [cost, cut] : costs) {
      Piece below, above;
      Cut(pieces_[worst], cuts[cut], &below, &above);
      if (!Finish(&below) || !Finish(&above)) continue;
      if (below.volume < kMinPieceVolume * volume_ || above.volume < kMinPieceVolume * volume_)
        continue;
      pieces_[worst] = std::move(below);
      pieces_.push_back(std::move(above));
      return true;
    }
    pieces_[worst].whole = true;
    return true;
  }

  // Repeatedly joins the two pieces whose common hull adds least, while the tolerance allows it.
  void Join() {
    struct Union {
      TriangleMesh hull;
      double volume = kInfinity;
    };
    const auto unite = [](const Piece& a, const Piece& b) {
      Union result;
      std::vector<Vector3d> points = a.hull.vertices;
      points.insert(points.end(), b.hull.vertices.begin(), b.hull.vertices.end());
      absl::StatusOr<TriangleMesh> hull = CalcConvexHull(points);
      if (!hull.ok()) return result;
      result.hull = *std::move(hull);
      result.volume = CalcHullVolume(result.hull);
      return result;
    };
    std::vector<std::vector<Union>> unions(pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) unions[i].push_back(unite(pieces_[i], pieces_[j]));
    }
    while (pieces_.size() > 1) {
      double least = kInfinity;
      std::size_t a = 0, b = 0;
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double cost = unions[i][j].volume - pieces_[i].hull_volume - pieces_[j].hull_volume;
          if (cost < least) {
            least = cost;
            a = i;
            b = j;
          }
        }
      }
      const double excess = CalcExcess();
      if (excess + least > std::max(options_.tolerance * volume_, excess)) break;
      pieces_[b].volume += pieces_[a].volume;
      pieces_[b].hull = std::move(unions[a][b].hull);
      pieces_[b].hull_volume = unions[a][b].volume;
      pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(a));
      unions.erase(unions.begin() + static_cast<std::ptrdiff_t>(a));
      for (std::size_t i = a; i < unions.size(); ++i)
        unions[i].erase(unions[i].begin() + static_cast<std::ptrdiff_t>(a));
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        if (i == b) continue;
        const std::size_t high = std::max(i, b), low = std::min(i, b);
        unions[high][low] = unite(pieces_[high], pieces_[low]);
      }
    }
  }

  ConvexDecompositionOptions options_;
  std::vector<Vector3d> directions_;
  double size_ = 0;
  double volume_ = 0;
  std::vector<Component> components_;
  std::vector<Piece> pieces_;
};

}  // namespace

absl::StatusOr<ConvexDecomposition> DecomposeConvex(const TriangleMesh& mesh,
                                                    const ConvexDecompositionOptions& options) {
  if (mesh.triangles.empty()) return absl::InvalidArgumentError("the surface has no triangles");
  return Decomposer(mesh, options).Run();
}

}  // namespace pliant::physics
