#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "physics/contact/pairs/contact_key.h"
#include "physics/contact/pairs/flat_overlap.h"
#include "physics/contact/pairs/narrow_phase.h"
#include "physics/contact/pairs/smooth_surface.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/parallel.h"
#include "physics/geometry/triangle_part.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A triangle counts as entered between its vertices if one of its points is deeper than all of them
// by this part of its longest edge.
constexpr double kMinRelativeDepth = 0.02;

// No point of a triangle is further than this part of its longest edge from its nearest vertex.
constexpr double kVertexReach = 0.5773502691896258;

// Cosine of the angle up to which a direction counts as across a triangle.
constexpr double kFacing = 0.3;
// Cosine of the angle beyond which it counts as along the triangle, or away from it.
constexpr double kMinFacing = 0.05;

// Relative precision of a polygon's deepest point; its gap is measured at its centroid.
constexpr double kDepthPrecision = 0.1;

// Feature of both sides until the shape's own is known.
constexpr ContactFeature kOfSurface{ContactFeature::Kind::kSurface, 0};

struct DeepestPoint {
  Vector3d weights;
  SignedDistance field;
};

// A supporting plane below the signed distance of a convex shape over a triangle, by its values at
// the three vertices.
using Cut = Vector3d;

Cut MakeCut(const SignedDistance& field, const Vector3d& at, const Vector3d* x) {
  Cut cut;
  for (int i = 0; i < 3; ++i) cut[i] = field.distance + field.gradient.dot(x[i] - at);
  return cut;
}

// Lowest point, over the triangle, of the maximum of all cuts; the mean if there are several.
struct Lowest {
  double value = std::numeric_limits<double>::infinity();
  Vector3d weights = Vector3d::Zero();
  int count = 0;

  void Consider(const Vector3d& candidate, const Cut* cuts, int num_cuts, double tolerance) {
    double height = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < num_cuts; ++i) height = std::max(height, cuts[i].dot(candidate));
    if (height < value - tolerance) {
      value = height;
      weights = candidate;
      count = 1;
    } else if (height <= value + tolerance) {
      weights = (weights * count + candidate) / (count + 1);
      ++count;
    }
  }
};

Lowest FindLowest(const Cut* cuts, int num_cuts, double tolerance) {
  Lowest lowest;
  for (int i = 0; i < 3; ++i) lowest.Consider(Vector3d::Unit(i), cuts, num_cuts, tolerance);
  for (int i = 0; i < num_cuts; ++i) {
    for (int j = 0; j < i; ++j) {
      const Vector3d across = cuts[i] - cuts[j];
      // where two cuts meet on an edge
      for (int e = 0; e < 3; ++e) {
        const int from = e, to = (e + 1) % 3;
        if (across[from] * across[to] >= 0) continue;
        Vector3d weights = Vector3d::Zero();
        weights[to] = across[from] / (across[from] - across[to]);
        weights[from] = 1 - weights[to];
        lowest.Consider(weights, cuts, num_cuts, tolerance);
      }
      // where three meet
      for (int k = 0; k < j; ++k) {
        const Vector3d weights = across.cross(cuts[i] - cuts[k]);
        const double sum = weights.sum();
        if (!(std::abs(sum) > 0)) continue;
        const Vector3d candidate = weights / sum;
        if (!(candidate.minCoeff() >= 0)) continue;
        lowest.Consider(candidate, cuts, num_cuts, tolerance);
      }
    }
  }
  return lowest;
}

// Finds the lowest point of a convex shape's signed distance on the triangle, by Kelley's cutting
// planes from the vertices, to `precision` times `noticeable`. Returns false as soon as it cannot
// be lower than the vertices by `noticeable`.
bool FindDeepestInConvex(const CollisionShape& shape, const Vector3d* x,
                         const SignedDistance* at_vertices, double noticeable, double precision,
                         DeepestPoint* deepest) {
  constexpr int kMaxCuts = 14;
  Cut cuts[kMaxCuts];
  int num_cuts = 0;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    cuts[num_cuts++] = MakeCut(at_vertices[i], x[i], x);
    best = std::min(best, at_vertices[i].distance);
  }
  const double wanted = best - noticeable;
  // one plane alone may rule it out
  for (const Cut& cut : {cuts[0], cuts[1], cuts[2]})
    if (cut.minCoeff() > wanted) return false;
  const double tolerance = precision * noticeable;
  bool is_found = false;
  while (true) {
    const Lowest lowest = FindLowest(cuts, num_cuts, 1e-3 * tolerance);
    // first decide whether there is such a point, then refine it
    if (!is_found && lowest.value > wanted) return false;
    if (lowest.value > best - tolerance) break;
    const Vector3d p =
        lowest.weights[0] * x[0] + lowest.weights[1] * x[1] + lowest.weights[2] * x[2];
    const SignedDistance field = shape.CalcDistance(p);
    if (field.distance < best) {
      best = field.distance;
      *deepest = {lowest.weights, field};
      is_found = best <= wanted;
    }
    if (num_cuts == kMaxCuts) break;
    cuts[num_cuts++] = MakeCut(field, p, x);
  }
  return is_found;
}

// As above for any other shape, by sampling: a grid on the triangle, and the shape's vertices near
// it.
bool FindDeepestBySampling(const CollisionShape& shape, const Vector3d* x,
                           const SignedDistance* at_vertices, double noticeable, double margin,
                           DeepestPoint* deepest) {
  constexpr int kSides = 4;
  double best =
      std::min({at_vertices[0].distance, at_vertices[1].distance, at_vertices[2].distance}) -
      noticeable;
  best = std::min(best, margin);
  bool is_found = false;
  // with its vertices outside, a triangle comes this near only where there is some of the surface
  if (best > 0) {
    AxisAlignedBox around;
    for (int k = 0; k < 3; ++k) around.Include(x[k]);
    around.Grow((1 + 1e-9) * best);
    bool is_any = false;
    shape.bvh->VisitOverlaps(around, [&](int) { is_any = true; });
    if (!is_any) return false;
  }
  const auto consider = [&](const Vector3d& weights) {
    const Vector3d p = weights[0] * x[0] + weights[1] * x[1] + weights[2] * x[2];
    // the distance is 1-Lipschitz: where the vertices rule out a depth of `best`, a search within
    // `best` decides
    double least = -std::numeric_limits<double>::infinity();
    for (int k = 0; k < 3; ++k)
      least = std::max(least, at_vertices[k].distance - std::sqrt((p - x[k]).squaredNorm()));
    if (least > -0.999 * best &&
        shape.bvh->FindNearest(PositionsOf(*shape.mesh), p, best).triangle < 0)
      return;
    const SignedDistance field = shape.CalcDistance(p);
    if (field.distance >= best) return;
    best = field.distance;
    *deepest = {weights, field};
    is_found = true;
  };
  for (int i = 0; i < kSides; ++i)
    for (int j = 0; j <= kSides - i; ++j)
      if (j < kSides && i + j > 0) consider(Vector3d(i, j, kSides - i - j) / kSides);
  AxisAlignedBox box;
  for (int k = 0; k < 3; ++k) box.Include(x[k]);
  box.Grow(std::max(margin, -best));
  shape.bvh->VisitOverlaps(box, [&](int triangle) {
    for (int v : shape.bvh->triangle(triangle)) {
      const Vector3d& vertex = shape.mesh->vertices[v];
      if (!(vertex.array() >= box.lower.array()).all() ||
          !(vertex.array() <= box.upper.array()).all())
        continue;
      consider(FindClosestPointOnTriangle(vertex, x[0], x[1], x[2]).weights);
    }
  });
  return is_found;
}

// Component of n along the inward normal of the triangle, which is a cosine for unit n; 1 for a
// triangle without area.
double CalcFacing(const Vector3d* x, const Vector3d& n) {
  const Vector3d inward = (x[2] - x[0]).cross(x[1] - x[0]);
  const double norm = std::sqrt(inward.squaredNorm());
  return norm > 0 ? n.dot(inward) / norm : 1;
}

// Separation of a triangle from a feature of the shape that enters it: direction out of the shape,
// and gap along it.
struct SeparatingDirection {
  Vector3d n;
  double gap;
};

// Where the distance is lowest inside the triangle, the gradients around that point balance along
// the triangle's normal; on an edge, across the edge. If a blade has entered deeper than it is
// thick, its nearest side is beside the point: then the triangle alone gives the direction out, as
// long as the shape's centre is outside.
SeparatingDirection FindSeparatingDirection(const CollisionShape& shape, const Vector3d* x,
                                            const DeepestPoint& deepest) {
  const auto& [distance, gradient, nearest] = deepest.field;
  const Vector3d& w = deepest.weights;
  Vector3d n = Vector3d::Zero();
  int vanishing = -1, num_vanishing = 0;
  for (int i = 0; i < 3; ++i) {
    if (w[i] > 1e-9) continue;
    vanishing = i;
    ++num_vanishing;
  }
  if (num_vanishing == 0) {
    n = (x[2] - x[0]).cross(x[1] - x[0]);
  } else if (num_vanishing == 1) {
    const Vector3d edge = x[(vanishing + 2) % 3] - x[(vanishing + 1) % 3];
    const double length2 = edge.squaredNorm();
    if (length2 > 0) n = gradient - gradient.dot(edge) / length2 * edge;
    // on an edge within a flat side, take the side's normal
    if (CalcFacing(x, n) < kFacing * std::sqrt(n.squaredNorm()))
      n = (x[2] - x[0]).cross(x[1] - x[0]);
  }
  const double norm = std::sqrt(n.squaredNorm());
  if (!(norm > 0)) return {gradient, distance};
  n /= norm;
  const double cosine = n.dot(gradient);
  if (cosine > kFacing) return {n, distance < 0 ? distance / cosine : distance};
  const bool is_middle_outside = shape.is_convex() && n.dot(x[0]) > 0;
  if (num_vanishing == 0 && distance < 0 && is_middle_outside) return {n, distance};
  return {gradient, distance};
}

// A triangle, or one of the equal parts into which it is divided.
struct Piece {
  Eigen::Matrix3d corners;  // barycentric weights on the triangle, a column each
  Vector3d x[3];            // in the shape's frame
  SignedDistance at[3];     // distances at the corners
  double longest_edge;
};

// Finds the polygon of a piece within `depth` of its deepest point: barycentric weights of its
// centroid, its share of the triangle's area, and the separating direction there. Returns false if
// it makes no contact.
bool FindPolygon(const CollisionShape& shape, const Piece& piece, double margin, double depth,
                 Vector3d* weights, double* fraction, SeparatingDirection* separating) {
  const Vector3d* x = piece.x;
  const Vector3d at(piece.at[0].distance, piece.at[1].distance, piece.at[2].distance);
  const double nearest = at.minCoeff();
  if (!(nearest < margin + kVertexReach * piece.longest_edge)) return false;
  DeepestPoint deepest{Vector3d::Zero(), {}};
  const double noticeable = std::max(kMinRelativeDepth * piece.longest_edge, nearest - margin);
  const bool is_entered =
      !shape.Is<HalfSpace>() &&
      (shape.is_convex()
           ? FindDeepestInConvex(shape, x, piece.at, noticeable, kDepthPrecision, &deepest)
           : FindDeepestBySampling(shape, x, piece.at, noticeable, margin, &deepest));
  const double lowest = is_entered ? deepest.field.distance : nearest;
  if (!(lowest < margin)) return false;

  // take the distance as linear, on three parts around the point that is entered
  const double level = std::max(lowest, 0.0) + depth;
  double sum_of_shares = 0;
  Vector3d sum = Vector3d::Zero();
  const auto add = [&](TrianglePart part, const Vector3d& values) {
    part.CutAbove(values, level);
    if (part.empty()) return;
    const double share = part.CalcFraction();
    sum_of_shares += share;
    sum += share * part.CalcCentroid();
  };
  if (is_entered) {
    for (int k = 0; k < 3; ++k) {
      const int next = (k + 1) % 3;
      Eigen::Matrix3d corners;
      corners << deepest.weights, Vector3d::Unit(k), Vector3d::Unit(next);
      const double volume = corners.determinant();
      if (!(volume > 1e-12)) continue;
      // the linear function with these values at the corners
      const Vector3d values =
          corners.transpose().inverse() * Vector3d(deepest.field.distance, at[k], at[next]);
      add(TrianglePart(deepest.weights, Vector3d::Unit(k), Vector3d::Unit(next)), values);
    }
  } else {
    add(TrianglePart(), at);
  }
  if (!(sum_of_shares > 1e-9)) return false;
  const Vector3d middle = sum / sum_of_shares;
  const Vector3d p = middle[0] * x[0] + middle[1] * x[1] + middle[2] * x[2];
  const DeepestPoint there{middle, shape.CalcDistance(p)};
  // an edge or a corner of the shape presses on a flat triangle along the triangle's normal
  const double facing = CalcFacing(x, there.field.gradient);
  if (!is_entered && facing < kMinFacing) return false;
  *separating = is_entered || facing < kFacing
                    ? FindSeparatingDirection(shape, x, there)
                    : SeparatingDirection{there.field.gradient, there.field.distance};
  *weights = piece.corners * middle;
  *fraction = sum_of_shares * piece.corners.determinant();
  // reject a side that faces the same way as the triangle, as flush sides of stacked bodies do, or
  // that the triangle is beside rather than in front of
  return separating->gap < margin &&
         CalcFacing(x, separating->n) >= (separating->gap > 0 ? kFacing : kMinFacing);
}

// Vertices or triangles per chunk.
constexpr int kChunkSize = 64;
int CountChunks(int count) {
  return (count + kChunkSize - 1) / kChunkSize;
}

// Calls f(i, chunk) for 0 ≤ i < count, with chunks in parallel.
template <typename F>
void ForEachInChunks(int count, const F& f) {
  const auto run = [&](int chunk) {
    const int end = std::min(count, kChunkSize * (chunk + 1));
    for (int i = kChunkSize * chunk; i < end; ++i) f(i, chunk);
  };
  if (count <= kChunkSize) {
    run(0);
  } else {
    ParallelForWithin(CountChunks(count), 1, run);
  }
}

// Measures the distances of the vertices within the shape's bounds grown by `reach`; those of all
// others are infinite.
void MeasureVertices(const TriangleSurface& surface, const PlacedShape& placed, double reach,
                     NarrowScratch* scratch) {
  const RigidTransform X_SW = placed.X_WS.Inverse();
  AxisAlignedBox bounds = placed.bounds;
  bounds.Grow(reach);
  scratch->distances.assign(surface.num_vertices(), std::numeric_limits<double>::infinity());
  scratch->fields.resize(surface.num_vertices());
  const auto measure = [&](int v, int) {
    const Vector3d p = surface.position(v);
    if (!(p.array() >= bounds.lower.array()).all() || !(p.array() <= bounds.upper.array()).all())
      return;
    scratch->fields[v] = placed.shape->CalcDistance(X_SW * p);
    scratch->distances[v] = scratch->fields[v].distance;
  };
  ForEachInChunks(surface.num_vertices(), measure);
}

// The smooth surface of a mesh near x, all in its axes; none where it has a sharp edge. `facing` is
// the gradient of its distance.
std::optional<SmoothGap> FindSmoothGap(const CollisionShape& shape, const Vector3d& x,
                                       const Vector3d& facing, std::vector<int>* buffer) {
  const VertexPositions positions = PositionsOf(*shape.mesh);
  const TriangleBvh::Nearest nearest =
      shape.bvh->FindNearest(positions, x, std::numeric_limits<double>::infinity());
  double edge = 0;
  for (int k = 0; k < 3; ++k)
    edge += nearest.at.weights[k] * shape.mean_edges[shape.bvh->triangle(nearest.triangle)[k]];
  return CalcSmoothGap(*shape.bvh, positions, x, nearest.at.point, facing, kSmoothRadius * edge,
                       buffer);
}

// Calls collide(i, touches) for all triangles in parallel, and appends touches in triangle order.
template <typename F>
void CollideTriangles(int count, NarrowScratch* scratch, std::vector<Touch>* touches,
                      const F& collide) {
  const auto num_chunks = static_cast<std::size_t>(CountChunks(count));
  std::vector<std::vector<Touch>>& found = scratch->of_chunk;
  if (found.size() < num_chunks) found.resize(num_chunks);
  ForEachInChunks(count, [&](int i, int chunk) { collide(i, &found[chunk]); });
  for (std::size_t k = 0; k < num_chunks; ++k) {
    touches->insert(touches->end(), found[k].begin(), found[k].end());
    found[k].clear();
  }
}

}  // namespace

void CollideSurfaceShape(const TriangleSurface& surface, const PlacedShape& placed, bool is_smooth,
                         bool shape_is_a, bool is_immovable, double margin, NarrowScratch* scratch,
                         std::vector<Touch>* touches) {
  const CollisionShape& shape = *placed.shape;
  const double sign = shape_is_a ? 1 : -1;
  const RigidTransform X_SW = placed.X_WS.Inverse();
  const auto side_of = [&](Touch* touch) -> NodeWeights& {
    return shape_is_a ? touch->b : touch->a;
  };

  // vertices outside the bounds do not touch, nor do triangles with all vertices outside
  const double reach = margin + kVertexReach * surface.longest_edge();
  const bool is_smoothed = is_smooth && shape.mesh != nullptr;
  const double outside = is_smoothed ? margin + kSmoothBulge * shape.longest_edge : margin;
  MeasureVertices(surface, placed, std::max(reach, outside), scratch);
  bool has_near = false;
  for (int v = 0; v < surface.num_vertices(); ++v) {
    double distance = scratch->distances[v];
    has_near |= distance < reach;
    if (!(distance < outside) || (is_immovable && surface.is_prescribed(v))) continue;
    Vector3d n_S = scratch->fields[v].gradient;
    if (is_smoothed) {
      const auto smooth = FindSmoothGap(shape, X_SW * surface.position(v), n_S, &scratch->around);
      if (smooth.has_value()) {
        distance = smooth->gap;
        n_S = smooth->normal;
      }
      if (!(distance < margin)) continue;
    }
    const Vector3d n = placed.X_WS.R * n_S;
    Touch touch{
        surface.position(v) - 0.5 * distance * n,
        sign * n,
        distance,
        surface.CalcFacingArea(v, n),
        MixKey({static_cast<std::uint64_t>(TouchKind::kSoftVertex), static_cast<std::uint64_t>(v)}),
        {},
        {},
        kOfSurface,
        kOfSurface};
    side_of(&touch).Add(surface.node(v), 1);
    touches->push_back(touch);
  }

  // a half-space enters no triangle deeper than at a vertex
  if (!has_near || shape.Is<HalfSpace>()) return;
  const FlatOverlap overlap(surface, placed);
  CollideTriangles(surface.num_triangles(), scratch, touches, [&](int i, std::vector<Touch>* met) {
    const auto& t = surface.triangle(i);
    const double nearest =
        std::min({scratch->distances[t[0]], scratch->distances[t[1]], scratch->distances[t[2]]});
    const double longest = surface.longest_edge(i);
    if (!(nearest < margin + kVertexReach * longest)) return;
    if (is_immovable && surface.is_prescribed(t[0]) && surface.is_prescribed(t[1]) &&
        surface.is_prescribed(t[2]))
      return;

    Vector3d x[3];
    SignedDistance at_vertices[3];
    for (int k = 0; k < 3; ++k) {
      x[k] = X_SW * surface.position(t[k]);
      at_vertices[k] = std::isfinite(scratch->distances[t[k]]) ? scratch->fields[t[k]]
                                                               : shape.CalcDistance(x[k]);
    }
    const auto add = [&](const Vector3d& weights, const Vector3d& n, double gap, double area,
                         std::uint64_t feature) {
      const Vector3d p = weights[0] * x[0] + weights[1] * x[1] + weights[2] * x[2];
      Touch touch{placed.X_WS * (p - 0.5 * gap * n),
                  sign * (placed.X_WS.R * n),
                  gap,
                  area,
                  feature,
                  {},
                  {},
                  kOfSurface,
                  kOfSurface};
      for (int k = 0; k < 3; ++k)
        if (weights[k] > 0) side_of(&touch).Add(surface.node(t[k]), weights[k]);
      met->push_back(touch);
    };
    double lowest = std::numeric_limits<double>::infinity();
    const auto add_corner = [&](const FlatOverlap::Corner& corner) {
      lowest = std::min(lowest, corner.gap);
      add(corner.weights, corner.n, corner.gap, surface.triangle_area(i) / 6, corner.feature);
    };
    const bool has_corners = overlap.VisitCorners(i, x, margin, add_corner) > 0;
    // a mesh may enter the triangle by a round part too
    if (has_corners && shape.is_convex()) return;
    const double noticeable = std::max(kMinRelativeDepth * longest, nearest - margin);
    DeepestPoint deepest;
    const bool is_entered =
        shape.is_convex()
            ? FindDeepestInConvex(shape, x, at_vertices, noticeable, 1e-3, &deepest)
            : FindDeepestBySampling(shape, x, at_vertices, noticeable, margin, &deepest);
    if (!is_entered || !(deepest.field.distance < margin)) return;
    if (has_corners && !(deepest.field.distance < lowest - noticeable)) return;

    const auto [n, gap] = FindSeparatingDirection(shape, x, deepest);
    add(deepest.weights, n, gap, surface.triangle_area(i) / 3,
        MixKey(
            {static_cast<std::uint64_t>(TouchKind::kSoftTriangle), static_cast<std::uint64_t>(i)}));
  });
}

void CollideSurfaceShapePolygons(const TriangleSurface& surface, const PlacedShape& placed,
                                 bool shape_is_a, bool is_immovable, double margin,
                                 const PolygonOptions& options, NarrowScratch* scratch,
                                 std::vector<Touch>* touches) {
  const CollisionShape& shape = *placed.shape;
  const RigidTransform X_SW = placed.X_WS.Inverse();
  MeasureVertices(surface, placed, margin + kVertexReach * surface.longest_edge(), scratch);
  CollideTriangles(surface.num_triangles(), scratch, touches, [&](int i, std::vector<Touch>* met) {
    const auto& t = surface.triangle(i);
    const double nearest =
        std::min({scratch->distances[t[0]], scratch->distances[t[1]], scratch->distances[t[2]]});
    const double longest = surface.longest_edge(i), area = surface.triangle_area(i);
    if (!(nearest < margin + kVertexReach * longest) || !(area > 0)) return;
    if (is_immovable && surface.is_prescribed(t[0]) && surface.is_prescribed(t[1]) &&
        surface.is_prescribed(t[2]))
      return;
    Vector3d x[3];
    for (int k = 0; k < 3; ++k) x[k] = X_SW * surface.position(t[k]);
    // skip triangles over which one supporting plane of the distance exceeds the margin everywhere
    const auto is_beyond = [&](int k) {
      return std::isfinite(scratch->distances[t[k]]) &&
             MakeCut(scratch->fields[t[k]], x[k], x).minCoeff() > margin;
    };
    if (shape.is_convex() && (is_beyond(0) || is_beyond(1) || is_beyond(2))) return;
    std::array<SignedDistance, CountPieceCorners(ContactParameters::kMaxPatchDivisions)> fields;
    std::array<bool, CountPieceCorners(ContactParameters::kMaxPatchDivisions)> is_known{};
    VisitPieces(options.divisions, [&](int piece, const Eigen::Matrix3d& corners,
                                       const std::array<int, 3>& points) {
      Piece polygon;
      polygon.corners = corners;
      for (int k = 0; k < 3; ++k) {
        const Vector3d w = corners.col(k);
        polygon.x[k] = w[0] * x[0] + w[1] * x[1] + w[2] * x[2];
        SignedDistance& field = fields[points[k]];
        if (!is_known[points[k]]) {
          const int vertex = w[0] == 1 ? t[0] : w[1] == 1 ? t[1] : w[2] == 1 ? t[2] : -1;
          field = vertex >= 0 && std::isfinite(scratch->distances[vertex])
                      ? scratch->fields[vertex]
                      : shape.CalcDistance(polygon.x[k]);
          is_known[points[k]] = true;
        }
        polygon.at[k] = field;
      }
      polygon.longest_edge = longest / options.divisions;
      double fraction = 0;
      Vector3d weights = Vector3d::Zero();
      SeparatingDirection separating{Vector3d::Zero(), 0};
      if (!FindPolygon(shape, polygon, margin, options.depth, &weights, &fraction, &separating))
        return;
      Touch touch{placed.X_WS * (weights[0] * x[0] + weights[1] * x[1] + weights[2] * x[2] -
                                 0.5 * separating.gap * separating.n),
                  (shape_is_a ? 1 : -1) * (placed.X_WS.R * separating.n),
                  separating.gap,
                  fraction * area,
                  MixKey({static_cast<std::uint64_t>(TouchKind::kPatch),
                          static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(piece)}),
                  {},
                  {},
                  kOfSurface,
                  kOfSurface};
      NodeWeights& side = shape_is_a ? touch.b : touch.a;
      for (int k = 0; k < 3; ++k) side.Add(surface.node(t[k]), weights[k]);
      met->push_back(touch);
    });
  });
}

}  // namespace pliant::physics
