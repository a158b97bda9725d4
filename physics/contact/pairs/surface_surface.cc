#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/contact/pairs/contact_key.h"
#include "physics/contact/pairs/narrow_phase.h"
#include "physics/contact/pairs/smooth_surface.h"
#include "physics/geometry/triangle_part.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Weights below this are round-off of a point on an edge or a vertex.
constexpr double kNoWeight = 1e-9;
constexpr ContactFeature kSurfaceFeature{ContactFeature::Kind::kSurface, 0};

// The feature of a surface closest to a vertex of another.
struct ClosestFeature {
  int triangle = -1;
  TrianglePoint at;
  Vector3d normal;  // of this surface, outward
  double gap = 0;
};

// Outward normal of a surface where a vertex with normal `own` projects onto it. On an edge or a
// vertex: the mean over the adjacent faces that face the vertex, so that a flat side keeps its
// exact normal right up to its border and at zero distance.
Vector3d FindFacingNormal(const TriangleSurface& surface, int triangle, TriangleFeature feature,
                          const Vector3d& own) {
  const TriangleBvh& bvh = surface.bvh();
  const int code = static_cast<int>(feature);
  if (code == 0) return surface.face_normal(triangle);
  Vector3d sum = surface.face_normal(triangle);
  const auto consider = [&](int other) {
    const Vector3d& n = surface.face_normal(other);
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
  return norm > 0 ? Vector3d(sum / norm) : surface.face_normal(triangle);
}

// Returns the distance outside the triangles within which all vertices are tested. It is larger
// than the margin for a smooth surface, which bulges beyond its triangles.
double CalcReach(const TriangleSurface& surface, bool is_smooth, double margin) {
  return is_smooth ? margin + kSmoothBulge * surface.longest_edge() : margin;
}

// Mean of the longest edges of the triangles around a vertex [m].
double CalcMeanEdge(const TriangleSurface& surface, int vertex) {
  double sum = 0;
  const auto around = surface.around(vertex);
  for (const auto& [triangle, corner] : around) sum += surface.longest_edge(triangle);
  return sum / static_cast<double>(around.size());
}

// The nearest candidate triangle that faces the vertex and that it can meet: within the margin
// outside, or within `deepest` inside. `is_smooth`: gap and normal are those of the smooth surface.
template <typename CanMeet>
ClosestFeature FindClosestFeature(const TriangleSurface& surface, bool is_smooth, const Vector3d& p,
                                  const Vector3d& own, double margin, double deepest,
                                  std::span<const NearTriangles::Candidate> candidates,
                                  const CanMeet& can_meet, std::vector<int>* buffer) {
  const double outside = CalcReach(surface, is_smooth, margin);
  ClosestFeature best;
  double best_distance2 = std::numeric_limits<double>::infinity();
  for (const auto& [bound2, i] : candidates) {
    if (bound2 > best_distance2) continue;
    // a vertex cannot press on a face that looks the same way
    const Vector3d& normal = surface.face_normal(i);
    if (normal.dot(own) > -0.1) continue;
    const auto& t = surface.triangle(i);
    const TrianglePoint at = FindClosestPointOnTriangle(
        p, surface.position(t[0]), surface.position(t[1]), surface.position(t[2]));
    const double height = normal.dot(p - at.point);
    const double reach = height < 0 ? deepest : outside;
    if (at.squared_distance > reach * reach) continue;
    const bool is_nearer = at.squared_distance < best_distance2 ||
                           (at.squared_distance == best_distance2 && i < best.triangle);
    if (!is_nearer || !can_meet(i)) continue;
    best_distance2 = at.squared_distance;
    best.triangle = i;
    best.at = at;
  }
  if (best.triangle < 0) return best;
  best.normal = FindFacingNormal(surface, best.triangle, best.at.feature, own);
  best.gap = best.normal.dot(p - best.at.point);
  // beside a border the offset is sideways: no contact with this side
  const double sideways2 = best_distance2 - best.gap * best.gap;
  if (is_smooth) {
    double edge = 0;
    for (int k = 0; k < 3; ++k)
      edge += best.at.weights[k] * CalcMeanEdge(surface, surface.triangle(best.triangle)[k]);
    const auto smooth = CalcSmoothGap(surface.bvh(), surface.positions(), p, best.at.point,
                                      best.normal, kSmoothRadius * edge, buffer);
    if (smooth.has_value()) {
      best.normal = smooth->normal;
      best.gap = smooth->gap;
    }
  }
  if (best.gap >= margin || sideways2 > margin * margin) best.triangle = -1;
  return best;
}

// The nodes of a triangle with the weights of a point of it.
NodeWeights AllNodesOfTriangle(const TriangleSurface& surface, int triangle,
                               const Vector3d& weights) {
  NodeWeights nodes;
  for (int k = 0; k < 3; ++k) nodes.Add(surface.node(surface.triangle(triangle)[k]), weights[k]);
  return nodes;
}

// The nodes of a triangle that carry a point of it: two on an edge, one at a vertex.
NodeWeights NodesOfTriangle(const TriangleSurface& surface, int triangle, const Vector3d& weights) {
  double sum = 0;
  for (int k = 0; k < 3; ++k)
    if (!(weights[k] < kNoWeight)) sum += weights[k];
  NodeWeights nodes;
  for (int k = 0; k < 3; ++k) {
    if (!(weights[k] < kNoWeight))
      nodes.Add(surface.node(surface.triangle(triangle)[k]), weights[k] / sum);
  }
  return nodes;
}

double FindLongestEdge(const TriangleSurface& surface, int vertex) {
  double longest = 0;
  for (const auto& [triangle, corner] : surface.around(vertex))
    longest = std::max(longest, surface.longest_edge(triangle));
  return longest;
}

// Maximum depth of a contact: the local element size, or half through both bodies. Deeper, the
// nearest feature may be on the far side.
double FindDeepest(double local_size, const TriangleSurface& tip, const TriangleSurface& base) {
  return std::min(local_size, 0.5 * (tip.thickness() + base.thickness()));
}

void AppendTouch(const TriangleSurface& tip, int vertex, const TriangleSurface& base,
                 bool is_smooth, const ClosestFeature& met, bool tip_is_a,
                 std::vector<Touch>* touches) {
  Touch touch;
  touch.p_W = tip.position(vertex) - 0.5 * met.gap * met.normal;
  touch.nhat_AB_W = tip_is_a ? Vector3d(-met.normal) : met.normal;
  touch.gap = met.gap;
  touch.area = tip.CalcFacingArea(vertex, met.normal);
  touch.feature = MixKey({static_cast<std::uint64_t>(TouchKind::kVertexFace), tip_is_a,
                          static_cast<std::uint64_t>(vertex)});
  (tip_is_a ? touch.a : touch.b).Add(tip.node(vertex), 1);
  // a smooth normal turns with the whole triangle
  (tip_is_a ? touch.b : touch.a) = is_smooth
                                       ? AllNodesOfTriangle(base, met.triangle, met.at.weights)
                                       : NodesOfTriangle(base, met.triangle, met.at.weights);
  touch.feature_a = touch.feature_b = kSurfaceFeature;
  touches->push_back(touch);
}

// Appends contacts of vertices of `tip` with triangles of `base`.
void CollideVertices(const TriangleSurface& tip, const TriangleSurface& base, bool is_smooth,
                     bool tip_is_a, double margin, std::uint8_t* is_covered, NarrowScratch* scratch,
                     std::vector<Touch>* touches) {
  const double reach = CalcReach(base, is_smooth, margin);
  AxisAlignedBox bounds = base.bounds();
  bounds.Grow(reach);
  scratch->vertices.clear();
  AxisAlignedBox near;
  for (int v = 0; v < tip.num_vertices(); ++v) {
    const Vector3d p = tip.position(v);
    if (!(p.array() >= bounds.lower.array()).all() || !(p.array() <= bounds.upper.array()).all())
      continue;
    scratch->vertices.push_back(v);
    near.Include(p);
  }
  if (scratch->vertices.empty()) return;
  near.Grow(std::max(reach, FindDeepest(tip.longest_edge(), tip, base)));
  NearTriangles& triangles = scratch->near_triangles;
  triangles.Find(base, near);
  for (const int v : scratch->vertices) {
    const Vector3d p = tip.position(v), own = tip.CalcVertexNormal(v);
    const double deepest = FindDeepest(FindLongestEdge(tip, v), tip, base);
    const ClosestFeature met = FindClosestFeature(
        base, is_smooth, p, own, margin, deepest, triangles.FindFacing(p, own, reach, deepest),
        [](int) { return true; }, &scratch->around);
    if (met.triangle < 0) continue;
    is_covered[v] = 1;
    AppendTouch(tip, v, base, is_smooth, met, tip_is_a, touches);
  }
}

bool IsOfVertices(const Touch& touch) {
  return touch.a.size() == 1 && touch.b.size() == 1;
}

// Drops the second of two contacts between the same two vertices.
void DropMirrored(std::size_t first, std::size_t second, NarrowScratch* scratch,
                  std::vector<Touch>* touches) {
  std::vector<std::pair<int, int>>& facing = scratch->facing;
  facing.clear();
  for (std::size_t i = first; i < second; ++i) {
    const Touch& touch = (*touches)[i];
    if (IsOfVertices(touch)) facing.emplace_back(touch.a.node(0), touch.b.node(0));
  }
  std::sort(facing.begin(), facing.end());
  const auto is_mirrored = [&](const Touch& touch) {
    return IsOfVertices(touch) && std::binary_search(facing.begin(), facing.end(),
                                                     std::pair(touch.a.node(0), touch.b.node(0)));
  };
  touches->erase(std::remove_if(touches->begin() + static_cast<std::ptrdiff_t>(second),
                                touches->end(), is_mirrored),
                 touches->end());
}

bool IsSharp(const TriangleSurface& surface, const TriangleBvh::Edge& edge) {
  return edge.triangles[1] < 0 ||
         surface.face_normal(edge.triangles[0]).dot(surface.face_normal(edge.triangles[1])) <
             1 - 1e-9;
}

bool HasCoveredEnd(const TriangleSurface& surface, const TriangleBvh::Edge& edge,
                   const std::uint8_t* is_covered) {
  const auto& nodes = surface.bvh().triangle(edge.triangles[0]);
  for (int k = 0; k < 3; ++k) {
    const bool is_end = nodes[k] == edge.vertices[0] || nodes[k] == edge.vertices[1];
    if (is_end && is_covered[surface.triangle(edge.triangles[0])[k]]) return true;
  }
  return false;
}

// Appends contacts of crossing sharp edges, one of each surface, if no end of either touches.
void CollideEdges(const TriangleSurface& a, const TriangleSurface& b, double margin,
                  const std::uint8_t* covered_a, const std::uint8_t* covered_b,
                  NarrowScratch* scratch, std::vector<Touch>* touches) {
  AxisAlignedBox shared{a.bounds().lower.cwiseMax(b.bounds().lower),
                        a.bounds().upper.cwiseMin(b.bounds().upper)};
  shared.Grow(margin);
  const double thickness = a.thickness() + b.thickness();
  AxisAlignedBox around = shared;
  around.Grow(std::max(margin, 0.5 * a.longest_edge()));
  scratch->edges_b.Find(b, around);
  scratch->edges_b.Place(b, [&](const TriangleBvh::Edge& edge) {
    return IsSharp(b, edge) && !HasCoveredEnd(b, edge, covered_b);
  });
  for (const int i : scratch->edges_a.Find(a, shared)) {
    const TriangleBvh::Edge& edge_a = a.bvh().edges()[i];
    const Vector3d a0 = VertexAt(a.positions(), edge_a.vertices[0]),
                   a1 = VertexAt(a.positions(), edge_a.vertices[1]);
    AxisAlignedBox box;
    box.Include(a0);
    box.Include(a1);
    if (!box.Overlaps(shared) || !IsSharp(a, edge_a) || HasCoveredEnd(a, edge_a, covered_a))
      continue;
    const double length_a = std::sqrt((a1 - a0).squaredNorm());
    const Vector3d own = a.CalcEdgeNormal(edge_a);

    box.Grow((1 + 1e-9) * std::max(margin, 0.5 * length_a));
    scratch->edges_b.VisitOverlaps(box, [&](int j) {
      const TriangleBvh::Edge& edge_b = b.bvh().edges()[j];
      const Vector3d b0 = VertexAt(b.positions(), edge_b.vertices[0]),
                     b1 = VertexAt(b.positions(), edge_b.vertices[1]);
      // orient n from A into B
      Vector3d n = (a1 - a0).cross(b1 - b0);
      Vector3d theirs = b.face_normal(edge_b.triangles[0]);
      if (edge_b.triangles[1] >= 0) theirs += b.face_normal(edge_b.triangles[1]);
      if (n.dot(own - theirs) < 0) n = -n;
      const double length_b = std::sqrt((b1 - b0).squaredNorm()), norm = std::sqrt(n.squaredNorm());
      if (norm < 0.05 * length_a * length_b) return;
      n /= norm;
      if (n.dot(own) < 0.3 || n.dot(theirs) > -0.3 * std::sqrt(theirs.squaredNorm())) return;
      const SegmentPoints at = FindClosestPointsOfSegments(a0, a1, b0, b1);
      if (at.s <= 0 || at.s >= 1 || at.t <= 0 || at.t >= 1) return;
      const double gap = n.dot(at.b - at.a);
      if (gap >= margin || gap < -0.5 * std::min({length_a, length_b, thickness})) return;
      Touch touch;
      touch.p_W = 0.5 * (at.a + at.b);
      touch.nhat_AB_W = n;
      touch.gap = gap;
      touch.area = 0.25 * length_a * length_b;
      touch.feature = MixKey({static_cast<std::uint64_t>(TouchKind::kEdges),
                              static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)});
      touch.a = {{edge_a.vertices[0], 1 - at.s}, {edge_a.vertices[1], at.s}};
      touch.b = {{edge_b.vertices[0], 1 - at.t}, {edge_b.vertices[1], at.t}};
      touch.feature_a = touch.feature_b = kSurfaceFeature;
      touches->push_back(touch);
    });
  }
}

}  // namespace

void CollideSurfaces(const TriangleSurface& a, const TriangleSurface& b, bool is_smooth,
                     double margin, NarrowScratch* scratch, std::vector<Touch>* touches) {
  scratch->is_covered.assign(a.num_vertices() + b.num_vertices(), 0);
  std::uint8_t* covered_a = scratch->is_covered.data();
  std::uint8_t* covered_b = covered_a + a.num_vertices();
  const std::size_t first = touches->size();
  CollideVertices(a, b, is_smooth, true, margin, covered_a, scratch, touches);
  const std::size_t second = touches->size();
  CollideVertices(b, a, is_smooth, false, margin, covered_b, scratch, touches);
  DropMirrored(first, second, scratch, touches);
  CollideEdges(a, b, margin, covered_a, covered_b, scratch, touches);
}

void CollideSurfaceWithSelf(const TriangleSurface& surface, bool is_smooth, double margin,
                            NarrowScratch* scratch, std::vector<Touch>* touches) {
  const std::size_t first = touches->size();
  const VertexPositions rest = surface.rest_positions();
  if (rest.empty()) return;
  std::vector<NearTriangles::Candidate>& candidates = scratch->near_vertex;
  for (int v = 0; v < surface.num_vertices(); ++v) {
    const double deepest = FindDeepest(FindLongestEdge(surface, v), surface, surface);
    // triangles nearer than this at rest are joined to the vertex by the material, or lie behind it
    const double joined = std::max(2.5 * deepest, 2 * margin);
    const Vector3d X = VertexAt(rest, surface.node(v));
    const auto can_meet = [&](int i) {
      const auto& t = surface.bvh().triangle(i);
      return FindClosestPointOnTriangle(X, VertexAt(rest, t[0]), VertexAt(rest, t[1]),
                                        VertexAt(rest, t[2]))
                 .squared_distance > joined * joined;
    };
    const Vector3d p = surface.position(v), own = surface.CalcVertexNormal(v);
    AxisAlignedBox box{p, p};
    box.Grow(std::max(CalcReach(surface, is_smooth, margin), deepest));
    candidates.clear();
    surface.bvh().VisitOverlaps(box, [&](int i) { candidates.push_back({0, i}); });
    const ClosestFeature met = FindClosestFeature(surface, is_smooth, p, own, margin, deepest,
                                                  candidates, can_meet, &scratch->around);
    if (met.triangle >= 0) AppendTouch(surface, v, surface, is_smooth, met, true, touches);
  }
  // for two vertices that face each other, keep the contact of the lower one
  const auto facing = [](const Touch& touch) {
    return std::pair(touch.a.node(0), touch.b.node(0));
  };
  std::vector<std::pair<int, int>>& kept = scratch->facing;
  kept.clear();
  for (std::size_t i = first; i < touches->size(); ++i) {
    const Touch& touch = (*touches)[i];
    if (IsOfVertices(touch) && touch.a.node(0) < touch.b.node(0)) kept.push_back(facing(touch));
  }
  std::sort(kept.begin(), kept.end());
  touches->erase(
      std::remove_if(touches->begin() + static_cast<std::ptrdiff_t>(first), touches->end(),
                     [&](const Touch& touch) {
                       const auto [a, b] = facing(touch);
                       return IsOfVertices(touch) && a > b &&
                              std::binary_search(kept.begin(), kept.end(), std::pair(b, a));
                     }),
      touches->end());
}

void CollideSurfacePolygons(const TriangleSurface& a, const TriangleSurface& b, double margin,
                            const PolygonOptions& options, NarrowScratch* scratch,
                            std::vector<Touch>* touches) {
  AxisAlignedBox shared{a.bounds().lower.cwiseMax(b.bounds().lower),
                        a.bounds().upper.cwiseMin(b.bounds().upper)};
  shared.Grow(margin);
  const double half_through = 0.5 * (a.thickness() + b.thickness());
  const auto deepest_of = [&](int i) { return std::min(a.longest_edge(i), half_through); };

  // find the triangles of A that may meet B, and those of B near them
  scratch->candidates.clear();
  AxisAlignedBox around;
  a.bvh().VisitOverlaps(shared, [&](int i) {
    AxisAlignedBox box;
    for (const int node : a.bvh().triangle(i)) box.Include(VertexAt(a.positions(), node));
    if (!box.Overlaps(shared) || !(a.triangle_area(i) > 0)) return;
    scratch->candidates.push_back(i);
    box.Grow((1 + 1e-9) * std::max(margin, deepest_of(i)));
    around.Include(box);
  });
  if (scratch->candidates.empty()) return;
  scratch->facing_triangles.Find(b, around);

  for (const int i : scratch->candidates) {
    const auto& nodes_a = a.bvh().triangle(i);
    Vector3d x[3];
    AxisAlignedBox box;
    for (int k = 0; k < 3; ++k) {
      x[k] = VertexAt(a.positions(), nodes_a[k]);
      box.Include(x[k]);
    }
    const double deepest = deepest_of(i);
    box.Grow((1 + 1e-9) * std::max(margin, deepest));
    const Vector3d& n_a = a.face_normal(i);
    scratch->facing_triangles.VisitSeen({x, n_a, margin, deepest}, box, [&](int j) {
      const Vector3d& n_b = b.face_normal(j);
      if (n_a.dot(n_b) > -0.1 || !(b.triangle_area(j) > 0)) return;
      const Vector3d n = (n_a - n_b) / std::sqrt((n_a - n_b).squaredNorm());
      const auto& nodes_b = b.bvh().triangle(j);
      Vector3d y[3];
      for (int k = 0; k < 3; ++k) y[k] = VertexAt(b.positions(), nodes_b[k]);

      // gaps along n, and distances beyond A's sides, seen along n
      const double slope = n_a.dot(n);
      const Vector3d gaps =
          Vector3d(n_a.dot(y[0] - x[0]), n_a.dot(y[1] - x[0]), n_a.dot(y[2] - x[0])) / slope;
      if (!(gaps.minCoeff() < margin) || gaps.maxCoeff() < -deepest) return;
      Vector3d outside[3];
      for (int k = 0; k < 3; ++k) {
        const Vector3d outward = (x[(k + 1) % 3] - x[k]).cross(n);
        outside[k] = {outward.dot(y[0] - x[k]), outward.dot(y[1] - x[k]), outward.dot(y[2] - x[k])};
        if (outside[k].minCoeff() >= 0) return;
      }
      VisitPieces(options.divisions, [&](int piece, const Eigen::Matrix3d& corners,
                                         const std::array<int, 3>&) {
        const auto lowest_of = [&](const Vector3d& values) {
          return std::min(
              {values.dot(corners.col(0)), values.dot(corners.col(1)), values.dot(corners.col(2))});
        };
        if (!(lowest_of(gaps) < margin)) return;
        for (int k = 0; k < 3; ++k)
          if (lowest_of(outside[k]) >= 0) return;
        // clip B's triangle to A's, seen along n
        TrianglePart part(corners.col(0), corners.col(1), corners.col(2));
        for (int k = 0; k < 3 && !part.empty(); ++k) part.CutAbove(outside[k], 0);
        if (part.empty()) return;
        // keep what is within `depth` of the deepest point
        double lowest = std::numeric_limits<double>::infinity();
        for (int k = 0; k < part.num_corners(); ++k)
          lowest = std::min(lowest, gaps.dot(part.corner(k)));
        if (!(lowest < margin) || lowest < -deepest) return;
        part.CutAbove(gaps, std::max(lowest, 0.0) + options.depth);
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
        touch.feature =
            MixKey({static_cast<std::uint64_t>(TouchKind::kPatch), static_cast<std::uint64_t>(i),
                    static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(piece)});
        touch.a = NodesOfTriangle(a, i, FindClosestPointOnTriangle(p_a, x[0], x[1], x[2]).weights);
        touch.b = NodesOfTriangle(b, j, weights);
        touch.feature_a = touch.feature_b = kSurfaceFeature;
        touches->push_back(touch);
      });
    });
  }
}

}  // namespace pliant::physics
