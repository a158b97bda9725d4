#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/contact/contact_key.h"
#include "physics/contact/narrow_phase.h"
#include "physics/geometry/triangle_part.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// weights below this are round-off of a point on an edge or a vertex
constexpr double kNoWeight = 1e-9;

// What a vertex of one surface meets on another.
struct Encounter {
  int triangle = -1;
  TrianglePoint at;
  Vector3d normal;  // of the surface met, outward
  double gap = 0;
};

// Outward normal of the surface met where the vertex projects. On an edge or a vertex: the mean
// over the faces there that look at the vertex's own surface, so that a flat side that ends there
// keeps its exact normal right up to its border and at zero distance.
Vector3d FindFacingNormal(const SoftSurface& surface, int triangle, TriangleFeature feature,
                          const Vector3d& own) {
  const TriangleBvh& bvh = surface.bvh();
  const int code = static_cast<int>(feature);
  if (code == 0) return bvh.face_normal(triangle);
  Vector3d sum = bvh.face_normal(triangle);
  const auto consider = [&](int other) {
    const Vector3d& n = bvh.face_normal(other);
    if (n.dot(own) < -0.1) sum += n;
  };
  if (code >= 4) {
    const TriangleBvh::Edge& edge = bvh.edges()[bvh.edge_index(triangle, code - 4)];
    for (int other : edge.triangles)
      if (other >= 0 && other != triangle) consider(other);
  } else {
    for (const auto& [other, corner] : surface.around(surface.triangle(triangle)[code - 1]))
      if (other != triangle) consider(other);
  }
  const double norm = std::sqrt(sum.squaredNorm());
  return norm > 0 ? Vector3d(sum / norm) : bvh.face_normal(triangle);
}

// The nearest triangle that looks at the vertex, of those that can be met: outside within the
// margin, or above it by no more than `deepest`.
template <typename CanMeet>
Encounter FindEncounter(const SoftSurface& surface, const Vector3d& p, const Vector3d& own,
                        double margin, double deepest, const CanMeet& can_meet) {
  const TriangleBvh& bvh = surface.bvh();
  Encounter best;
  double best_distance2 = std::numeric_limits<double>::infinity();
  AxisAlignedBox box{p, p};
  box.Grow(std::max(margin, deepest));
  bvh.VisitOverlaps(box, [&](int i) {
    // a face that looks the same way as the vertex's surface cannot be what it presses on
    const Vector3d& normal = bvh.face_normal(i);
    if (normal.dot(own) > -0.1) return;
    const auto& t = bvh.triangle(i);
    const VertexPositions x = surface.positions();
    const TrianglePoint at =
        FindClosestPointOnTriangle(p, VertexAt(x, t[0]), VertexAt(x, t[1]), VertexAt(x, t[2]));
    const double height = normal.dot(p - at.point);
    const double reach = height < 0 ? deepest : margin;
    if (at.squared_distance > reach * reach) return;
    const bool is_nearer = at.squared_distance < best_distance2 ||
                           (at.squared_distance == best_distance2 && i < best.triangle);
    if (!is_nearer || !can_meet(i)) return;
    best_distance2 = at.squared_distance;
    best.triangle = i;
    best.at = at;
  });
  if (best.triangle < 0) return best;
  best.normal = FindFacingNormal(surface, best.triangle, best.at.feature, own);
  best.gap = best.normal.dot(p - best.at.point);
  // beside a border the offset is sideways: no contact of this side
  const double sideways2 = best_distance2 - best.gap * best.gap;
  if (best.gap >= margin || sideways2 > margin * margin) best.triangle = -1;
  return best;
}

Touch::Side SideOfTriangle(const SoftSurface& surface, int triangle, const Vector3d& weights) {
  Touch::Side side;
  for (int k = 0; k < 3; ++k) {
    if (weights[k] < kNoWeight) continue;
    side.nodes[side.num_nodes] = surface.node(surface.triangle(triangle)[k]);
    side.weights[side.num_nodes++] = weights[k];
  }
  double sum = 0;
  for (int k = 0; k < side.num_nodes; ++k) sum += side.weights[k];
  for (int k = 0; k < side.num_nodes; ++k) side.weights[k] /= sum;
  return side;
}

Vector3d CalcVertexNormal(const SoftSurface& surface, int vertex) {
  if (surface.around(vertex).empty()) return Vector3d::Zero();
  const auto& [triangle, corner] = surface.around(vertex)[0];
  return surface.bvh().vertex_normal(triangle, corner);
}

// Deeper than the local size of the elements, or than half through, nearness says nothing.
double FindDeepest(const SoftSurface& tip, int vertex, const SoftSurface& base) {
  double deepest = 0;
  for (const auto& [triangle, corner] : tip.around(vertex))
    deepest = std::max(deepest, tip.longest_edge(triangle));
  return std::min(deepest, 0.5 * (tip.thickness() + base.thickness()));
}

void AppendTouch(const SoftSurface& tip, int vertex, const SoftSurface& base, const Encounter& met,
                 bool tip_is_a, std::vector<Touch>* touches) {
  Touch touch;
  touch.p_W = tip.position(vertex) - 0.5 * met.gap * met.normal;
  touch.nhat_AB_W = tip_is_a ? Vector3d(-met.normal) : met.normal;
  touch.gap = met.gap;
  touch.area = tip.CalcFacingArea(vertex, met.normal);
  touch.feature = MixKey({static_cast<std::uint64_t>(TouchKind::kVertexFace), tip_is_a,
                          static_cast<std::uint64_t>(vertex)});
  Touch::Side& own = tip_is_a ? touch.a : touch.b;
  own.num_nodes = 1;
  own.nodes[0] = tip.node(vertex);
  own.weights[0] = 1;
  (tip_is_a ? touch.b : touch.a) = SideOfTriangle(base, met.triangle, met.at.weights);
  touches->push_back(touch);
}

// vertices of `tip` against triangles of `base`
void CollideVertices(const SoftSurface& tip, const SoftSurface& base, bool tip_is_a, double margin,
                     std::uint8_t* is_covered, std::vector<Touch>* touches) {
  AxisAlignedBox bounds = base.bounds();
  bounds.Grow(margin);
  for (int v = 0; v < tip.num_vertices(); ++v) {
    const Vector3d p = tip.position(v);
    if (!(p.array() >= bounds.lower.array()).all() || !(p.array() <= bounds.upper.array()).all())
      continue;
    const Encounter met = FindEncounter(base, p, CalcVertexNormal(tip, v), margin,
                                        FindDeepest(tip, v, base), [](int) { return true; });
    if (met.triangle < 0) continue;
    is_covered[v] = 1;
    AppendTouch(tip, v, base, met, tip_is_a, touches);
  }
}

bool IsOfVertices(const Touch& touch) {
  return touch.a.num_nodes == 1 && touch.b.num_nodes == 1;
}

// The mirrored contact of two vertices that face each other says nothing new.
void DropMirrored(std::size_t first, std::size_t second, std::vector<Touch>* touches) {
  std::vector<std::pair<int, int>> facing;
  for (std::size_t i = first; i < second; ++i) {
    const Touch& touch = (*touches)[i];
    if (IsOfVertices(touch)) facing.emplace_back(touch.a.nodes[0], touch.b.nodes[0]);
  }
  std::sort(facing.begin(), facing.end());
  const auto is_mirrored = [&](const Touch& touch) {
    return IsOfVertices(touch) && std::binary_search(facing.begin(), facing.end(),
                                                     std::pair(touch.a.nodes[0], touch.b.nodes[0]));
  };
  touches->erase(std::remove_if(touches->begin() + static_cast<std::ptrdiff_t>(second),
                                touches->end(), is_mirrored),
                 touches->end());
}

// An edge of one surface against one of the other, where no vertex of either tells: both must stand
// out, and cross.
void CollideEdges(const SoftSurface& a, const SoftSurface& b, double margin,
                  const std::uint8_t* covered_a, const std::uint8_t* covered_b,
                  NarrowScratch* scratch, std::vector<Touch>* touches) {
  AxisAlignedBox shared{a.bounds().lower.cwiseMax(b.bounds().lower),
                        a.bounds().upper.cwiseMin(b.bounds().upper)};
  shared.Grow(margin);
  const double thickness = a.thickness() + b.thickness();
  const auto is_sharp = [](const TriangleBvh& bvh, const TriangleBvh::Edge& edge) {
    return edge.triangles[1] < 0 ||
           bvh.face_normal(edge.triangles[0]).dot(bvh.face_normal(edge.triangles[1])) < 1 - 1e-9;
  };
  const auto local = [](const SoftSurface& surface, const TriangleBvh::Edge& edge, int end) {
    const auto& nodes = surface.bvh().triangle(edge.triangles[0]);
    for (int k = 0; k < 3; ++k)
      if (nodes[k] == edge.vertices[end]) return surface.triangle(edge.triangles[0])[k];
    return -1;
  };
  const std::vector<TriangleBvh::Edge>& edges_a = a.bvh().edges();
  for (std::size_t i = 0; i < edges_a.size(); ++i) {
    const TriangleBvh::Edge& edge_a = edges_a[i];
    const Vector3d a0 = VertexAt(a.positions(), edge_a.vertices[0]),
                   a1 = VertexAt(a.positions(), edge_a.vertices[1]);
    AxisAlignedBox box;
    box.Include(a0);
    box.Include(a1);
    if (!box.Overlaps(shared) || !is_sharp(a.bvh(), edge_a)) continue;
    if (covered_a[local(a, edge_a, 0)] || covered_a[local(a, edge_a, 1)]) continue;
    const double length_a = std::sqrt((a1 - a0).squaredNorm());
    const Vector3d own = a.bvh().edge_normal(edge_a.triangles[0], [&] {
      int e = 0;
      while (e < 2 && a.bvh().edge_index(edge_a.triangles[0], e) != static_cast<int>(i)) ++e;
      return e;
    }());

    box.Grow(std::max(margin, 0.5 * length_a));
    scratch->candidates.clear();
    b.bvh().VisitOverlaps(box, [&](int triangle) {
      for (int e = 0; e < 3; ++e) scratch->candidates.push_back(b.bvh().edge_index(triangle, e));
    });
    std::sort(scratch->candidates.begin(), scratch->candidates.end());
    scratch->candidates.erase(std::unique(scratch->candidates.begin(), scratch->candidates.end()),
                              scratch->candidates.end());
    for (int j : scratch->candidates) {
      const TriangleBvh::Edge& edge_b = b.bvh().edges()[j];
      if (!is_sharp(b.bvh(), edge_b)) continue;
      if (covered_b[local(b, edge_b, 0)] || covered_b[local(b, edge_b, 1)]) continue;
      const Vector3d b0 = VertexAt(b.positions(), edge_b.vertices[0]),
                     b1 = VertexAt(b.positions(), edge_b.vertices[1]);
      const SegmentPoints at = FindClosestPointsOfSegments(a0, a1, b0, b1);
      if (at.s <= 0 || at.s >= 1 || at.t <= 0 || at.t >= 1) continue;
      Vector3d n = (a1 - a0).cross(b1 - b0);
      const double length_b = std::sqrt((b1 - b0).squaredNorm()), norm = std::sqrt(n.squaredNorm());
      if (norm < 0.05 * length_a * length_b) continue;
      n /= norm;
      // from A into B: the way A's edge looks out
      Vector3d theirs = b.bvh().face_normal(edge_b.triangles[0]);
      if (edge_b.triangles[1] >= 0) theirs += b.bvh().face_normal(edge_b.triangles[1]);
      if (n.dot(own - theirs) < 0) n = -n;
      if (n.dot(own) < 0.3 || n.dot(theirs) > -0.3 * std::sqrt(theirs.squaredNorm())) continue;
      const double gap = n.dot(at.b - at.a);
      if (gap >= margin || gap < -0.5 * std::min({length_a, length_b, thickness})) continue;
      Touch touch;
      touch.p_W = 0.5 * (at.a + at.b);
      touch.nhat_AB_W = n;
      touch.gap = gap;
      touch.area = 0.25 * length_a * length_b;
      touch.feature =
          MixKey({static_cast<std::uint64_t>(TouchKind::kEdges), i, static_cast<std::uint64_t>(j)});
      touch.a = {2, {edge_a.vertices[0], edge_a.vertices[1]}, {1 - at.s, at.s}};
      touch.b = {2, {edge_b.vertices[0], edge_b.vertices[1]}, {1 - at.t, at.t}};
      touches->push_back(touch);
    }
  }
}

}  // namespace

void CollideSoftSoft(const SoftSurface& a, const SoftSurface& b, double margin,
                     NarrowScratch* scratch, std::vector<Touch>* touches) {
  scratch->is_covered.assign(a.num_vertices() + b.num_vertices(), 0);
  std::uint8_t* covered_a = scratch->is_covered.data();
  std::uint8_t* covered_b = covered_a + a.num_vertices();
  const std::size_t first = touches->size();
  CollideVertices(a, b, true, margin, covered_a, touches);
  const std::size_t second = touches->size();
  CollideVertices(b, a, false, margin, covered_b, touches);
  DropMirrored(first, second, touches);
  CollideEdges(a, b, margin, covered_a, covered_b, scratch, touches);
}

void CollideWithSelf(const SoftSurface& surface, double margin, std::vector<Touch>* touches) {
  const std::size_t first = touches->size();
  const VertexPositions rest = surface.rest_positions();
  if (rest.empty()) return;
  for (int v = 0; v < surface.num_vertices(); ++v) {
    const double deepest = FindDeepest(surface, v, surface);
    // what is as near as this at rest is joined by the material between, and what is as far as
    // half through it behind it
    const double joined = std::max(2.5 * deepest, 2 * margin);
    const Vector3d X = VertexAt(rest, surface.node(v));
    const auto can_meet = [&](int i) {
      const auto& t = surface.bvh().triangle(i);
      return FindClosestPointOnTriangle(X, VertexAt(rest, t[0]), VertexAt(rest, t[1]),
                                        VertexAt(rest, t[2]))
                 .squared_distance > joined * joined;
    };
    const Encounter met = FindEncounter(surface, surface.position(v), CalcVertexNormal(surface, v),
                                        margin, deepest, can_meet);
    if (met.triangle >= 0) AppendTouch(surface, v, surface, met, true, touches);
  }
  // of two vertices that face each other the lower one tells
  const auto facing = [](const Touch& touch) {
    return std::pair(touch.a.nodes[0], touch.b.nodes[0]);
  };
  std::vector<std::pair<int, int>> told;
  for (std::size_t i = first; i < touches->size(); ++i) {
    const Touch& touch = (*touches)[i];
    if (IsOfVertices(touch) && touch.a.nodes[0] < touch.b.nodes[0]) told.push_back(facing(touch));
  }
  std::sort(told.begin(), told.end());
  touches->erase(
      std::remove_if(touches->begin() + static_cast<std::ptrdiff_t>(first), touches->end(),
                     [&](const Touch& touch) {
                       const auto [a, b] = facing(touch);
                       return IsOfVertices(touch) && a > b &&
                              std::binary_search(told.begin(), told.end(), std::pair(b, a));
                     }),
      touches->end());
}

void CollideSoftSoftPatches(const SoftSurface& a, const SoftSurface& b, double margin,
                            std::vector<Touch>* touches) {
  AxisAlignedBox shared{a.bounds().lower.cwiseMax(b.bounds().lower),
                        a.bounds().upper.cwiseMin(b.bounds().upper)};
  shared.Grow(margin);
  const double half_through = 0.5 * (a.thickness() + b.thickness());
  for (int i = 0; i < a.num_triangles(); ++i) {
    const auto& nodes_a = a.bvh().triangle(i);
    Vector3d x[3];
    AxisAlignedBox box;
    for (int k = 0; k < 3; ++k) {
      x[k] = VertexAt(a.positions(), nodes_a[k]);
      box.Include(x[k]);
    }
    if (!box.Overlaps(shared) || !(a.triangle_area(i) > 0)) continue;
    const double deepest = std::min(a.longest_edge(i), half_through);
    box.Grow(std::max(margin, deepest));
    const Vector3d& n_a = a.bvh().face_normal(i);
    b.bvh().VisitOverlaps(box, [&](int j) {
      const Vector3d& n_b = b.bvh().face_normal(j);
      if (n_a.dot(n_b) > -0.1 || !(b.triangle_area(j) > 0)) return;
      const Vector3d n = (n_a - n_b) / std::sqrt((n_a - n_b).squaredNorm());
      const auto& nodes_b = b.bvh().triangle(j);
      Vector3d y[3];
      for (int k = 0; k < 3; ++k) y[k] = VertexAt(b.positions(), nodes_b[k]);

      // the part of B's triangle over A's, along n
      TrianglePart part;
      for (int k = 0; k < 3 && !part.empty(); ++k) {
        const Vector3d outward = (x[(k + 1) % 3] - x[k]).cross(n);
        part.CutAbove({outward.dot(y[0]), outward.dot(y[1]), outward.dot(y[2])}, outward.dot(x[k]));
      }
      if (part.empty()) return;
      // of it what lies deepest; gaps along n
      const double slope = n_a.dot(n);
      const Vector3d gaps =
          Vector3d(n_a.dot(y[0] - x[0]), n_a.dot(y[1] - x[0]), n_a.dot(y[2] - x[0])) / slope;
      double lowest = std::numeric_limits<double>::infinity();
      for (int k = 0; k < part.num_corners(); ++k)
        lowest = std::min(lowest, gaps.dot(part.corner(k)));
      if (!(lowest < margin) || lowest < -deepest) return;
      part.CutAbove(gaps, std::max(lowest, 0.0) + 0.1 * margin);
      const double fraction = part.empty() ? 0 : part.CalcFraction();
      if (!(fraction > 1e-9)) return;
      const Vector3d weights = part.CalcCentroid();
      const Vector3d p_b = weights[0] * y[0] + weights[1] * y[1] + weights[2] * y[2];
      Touch touch;
      touch.gap = gaps.dot(weights);
      if (!(touch.gap < margin)) return;
      const Vector3d p_a = p_b - touch.gap * n;
      touch.p_W = 0.5 * (p_a + p_b);
      touch.nhat_AB_W = n;
      touch.area = fraction * b.triangle_area(j);
      touch.feature = MixKey({static_cast<std::uint64_t>(TouchKind::kPatch),
                              static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)});
      touch.a = SideOfTriangle(a, i, FindClosestPointOnTriangle(p_a, x[0], x[1], x[2]).weights);
      touch.b = SideOfTriangle(b, j, weights);
      touches->push_back(touch);
    });
  }
}

}  // namespace pliant::physics
