#include <algorithm>
#include <cmath>
#include <tuple>

#include "physics/contact/pairs/contact_key.h"
#include "physics/contact/pairs/narrow_phase.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr std::size_t kMaxMeshPoints = 16;

// Appends the vertices of `mesh` that are in `other` or near it.
void CollideVertices(const PlacedShape& mesh, const PlacedShape& other, bool mesh_is_a,
                     double margin, std::vector<ManifoldPoint>* points) {
  AxisAlignedBox bounds = other.bounds;
  bounds.Grow(margin);
  const RigidTransform X_OW = other.X_WS.Inverse();
  const std::vector<Vector3d>& vertices = mesh.shape->mesh->vertices;
  const TouchKind kind = mesh_is_a ? TouchKind::kVertexOfA : TouchKind::kVertexOfB;
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const Vector3d p = mesh.X_WS * vertices[v];
    if (!(p.array() >= bounds.lower.array()).all() || !(p.array() <= bounds.upper.array()).all())
      continue;
    const SignedDistance field = other.shape->CalcDistance(X_OW * p);
    if (field.distance >= margin) continue;
    const Vector3d n = other.X_WS.R * field.gradient;  // from the other into the mesh
    points->push_back({p - 0.5 * field.distance * n, mesh_is_a ? Vector3d(-n) : n, field.distance,
                       MixKey({static_cast<std::uint64_t>(kind), v})});
  }
}

// Sine of the angle by which a direction may leave the cone between the normals beside an edge:
// flat sides pressed on each other tilt a little.
constexpr double kEdgeTolerance = 0.05;
// A body lies flat on a face if the cosine of the angle between the separating direction and the
// face's normal is above this.
constexpr double kFlat = 0.99;
// Sine of the angle below which two edges count as parallel: their ends touch, not their crossing.
constexpr double kParallel = 0.05;

// True if the unit vector n, across an edge and in the mesh's frame, is in the edge's cone of
// normals: if the triangles beside the edge lie below the plane across n through the edge.
bool IsBetweenNormals(const CollisionShape& shape, const TriangleBvh::Edge& edge,
                      const Vector3d& n) {
  const Vector3d& from = shape.mesh->vertices[edge.vertices[0]];
  const Vector3d along = shape.mesh->vertices[edge.vertices[1]] - from;
  for (const int triangle : edge.triangles) {
    if (triangle < 0) continue;
    for (const int v : shape.bvh->triangle(triangle)) {
      if (v == edge.vertices[0] || v == edge.vertices[1]) continue;
      const Vector3d offset = shape.mesh->vertices[v] - from;
      const double height2 = offset.cross(along).squaredNorm() / along.squaredNorm();
      if (n.dot(offset) > kEdgeTolerance * std::sqrt(height2)) return false;
    }
  }
  return true;
}

// Appends contacts where sharp edges of two surfaces cross. The direction across both edges must
// lie between the normals beside each, so that no other features are nearer there.
void CollideEdges(const PlacedShape& a, const PlacedShape& b, double margin,
                  NarrowScratch* scratch) {
  const CollisionShape &of_a = *a.shape, &of_b = *b.shape;
  const RigidTransform X_AW = a.X_WS.Inverse(), X_BW = b.X_WS.Inverse();
  const double thickness = of_a.thickness + of_b.thickness;

  // edges of A near B
  const AxisAlignedBox& box_b = of_b.bvh->bounds();
  const Vector3d half = 0.5 * (box_b.upper - box_b.lower);
  const RigidTransform X_AB = X_AW * b.X_WS;
  const Vector3d center = X_AB * Vector3d(box_b.lower + half), spread = X_AB.R.cwiseAbs() * half;
  AxisAlignedBox bounds{center - spread, center + spread};
  bounds.Grow(margin);
  std::vector<int>&edges_a = scratch->candidates, &edges_b = scratch->edges;
  edges_a.clear();
  of_a.bvh->VisitOverlaps(bounds, [&](int triangle) {
    for (int e = 0; e < 3; ++e) {
      const int edge = of_a.bvh->edge_index(triangle, e);
      if (of_a.is_sharp_edge[edge]) edges_a.push_back(edge);
    }
  });
  std::sort(edges_a.begin(), edges_a.end());
  edges_a.erase(std::unique(edges_a.begin(), edges_a.end()), edges_a.end());

  for (const int i : edges_a) {
    const TriangleBvh::Edge& edge_a = of_a.bvh->edges()[i];
    const Vector3d a0 = a.X_WS * of_a.mesh->vertices[edge_a.vertices[0]],
                   a1 = a.X_WS * of_a.mesh->vertices[edge_a.vertices[1]];
    const double length_a = std::sqrt((a1 - a0).squaredNorm());
    const double deepest = 0.5 * std::min(length_a, thickness);
    AxisAlignedBox box;
    box.Include(X_BW * a0);
    box.Include(X_BW * a1);
    box.Grow((1 + 1e-9) * std::max(margin, deepest));
    edges_b.clear();
    of_b.bvh->VisitOverlaps(box, [&](int triangle) {
      for (int e = 0; e < 3; ++e) {
        const int edge = of_b.bvh->edge_index(triangle, e);
        if (of_b.is_sharp_edge[edge]) edges_b.push_back(edge);
      }
    });
    std::sort(edges_b.begin(), edges_b.end());
    edges_b.erase(std::unique(edges_b.begin(), edges_b.end()), edges_b.end());

    for (const int j : edges_b) {
      const TriangleBvh::Edge& edge_b = of_b.bvh->edges()[j];
      const Vector3d b0 = b.X_WS * of_b.mesh->vertices[edge_b.vertices[0]],
                     b1 = b.X_WS * of_b.mesh->vertices[edge_b.vertices[1]];
      const SegmentPoints at = FindClosestPointsOfSegments(a0, a1, b0, b1);
      if (at.s <= 0 || at.s >= 1 || at.t <= 0 || at.t >= 1) continue;
      Vector3d n = (a1 - a0).cross(b1 - b0);
      const double length_b = std::sqrt((b1 - b0).squaredNorm()), norm = std::sqrt(n.squaredNorm());
      if (!(norm > kParallel * length_a * length_b)) continue;
      n /= norm;
      const auto is_separating = [&](const Vector3d& direction) {
        return IsBetweenNormals(of_a, edge_a, X_AW.R * direction) &&
               IsBetweenNormals(of_b, edge_b, X_BW.R * -direction);
      };
      if (!is_separating(n)) {
        n = -n;
        if (!is_separating(n)) continue;
      }
      const double gap = n.dot(at.b - at.a);
      if (gap >= margin || gap < -std::min(deepest, 0.5 * length_b)) continue;
      scratch->points.push_back(
          {0.5 * (at.a + at.b), n, gap,
           MixKey({static_cast<std::uint64_t>(TouchKind::kEdges), static_cast<std::uint64_t>(i),
                   static_cast<std::uint64_t>(j)})});
    }
  }
}

// One triangle of the mesh in the world.
struct PlacedTriangle {
  int index;
  Vector3d x[3];
  Vector3d normal;
};

// Key of a feature within a triangle, distinct from those of other triangles.
std::uint64_t KeyOfTriangle(int triangle, std::uint64_t feature) {
  return MixKey({static_cast<std::uint64_t>(triangle), feature});
}

void CollideSphere(const PlacedShape& mesh, const PlacedShape& sphere, const PlacedTriangle& t,
                   double margin, std::vector<ManifoldPoint>* points) {
  const Vector3d center = sphere.X_WS.p;
  const TrianglePoint at = FindClosestPointOnTriangle(center, t.x[0], t.x[1], t.x[2]);
  const Vector3d offset = center - at.point;
  if (offset.dot(t.normal) <= 0) return;
  const int code = static_cast<int>(at.feature);
  if (code >= 4 && !mesh.shape->IsSharp(t.index, code - 4)) {
    // over the seam of two coplanar triangles, this plane is the nearest surface
    if (offset.dot(t.normal) < std::sqrt(at.squared_distance) * (1 - 1e-9)) return;
  }
  const double distance = std::sqrt(at.squared_distance), gap = distance - sphere.body.rounding;
  if (gap >= margin || !(distance > 0)) return;
  const Vector3d n = code == 0 ? t.normal : Vector3d(offset / distance);
  points->push_back({center - (distance - 0.5 * gap) * n, n, gap,
                     KeyOfTriangle(t.index, static_cast<std::uint64_t>(TouchKind::kWhole))});
}

void CollideConvex(const PlacedShape& mesh, const PlacedShape& other, const PlacedTriangle& t,
                   double margin, NarrowScratch* scratch) {
  const ConvexBody& body = other.body;
  const Vector3d centroid = (t.x[0] + t.x[1] + t.x[2]) / 3;
  // a body whose centre is behind this triangle is left to other triangles
  if (t.normal.dot(body.X_WS.p - centroid) <= 0) return;
  // skip a body that is farther above the plane than the margin
  const double height = t.normal.dot(body.FindSupport(-t.normal) - centroid);
  if (height - body.rounding >= margin) return;

  ConvexPolyhedron& polyhedron = scratch->triangle;
  polyhedron.vertices.assign(t.x, t.x + 3);
  for (Vector3d& x : polyhedron.vertices) x -= centroid;
  polyhedron.normals.assign(1, t.normal);
  polyhedron.face_starts.assign({0, 3});
  polyhedron.face_vertices.assign({0, 1, 2});
  ConvexBody face;
  face.kind = ConvexBody::Kind::kPolyhedron;
  face.polyhedron = &polyhedron;
  face.X_WS.p = centroid;
  for (const Vector3d& x : polyhedron.vertices)
    face.extent = std::max(face.extent, std::sqrt(x.squaredNorm()));

  const ConvexDistance d = CalcConvexDistance(face, body, margin + body.rounding);
  if (d.separation - body.rounding >= margin) return;
  const double scale = body.extent > 0 ? std::min(body.extent, face.extent) : face.extent;

  // A body that lies nearly flat on a face may have several corners over it, while its lowest
  // corner is over a neighbouring face.
  const bool lies_on_face = d.nhat_AB_W.dot(t.normal) > kFlat && height >= d.separation - margin;
  const bool is_over_face =
      d.separation <= 1e-7 * scale || height >= d.separation - 1e-7 * scale || lies_on_face;
  if (!is_over_face) {
    // beside the face: leave it to the neighbour, unless the edge is sharp
    const TrianglePoint at = FindClosestPointOnTriangle(d.p_A, t.x[0], t.x[1], t.x[2]);
    bool is_sharp = d.nhat_AB_W.dot(t.normal) > 1e-6;
    for (int e = 0; is_sharp && e < 3; ++e)
      if (at.weights[(e + 2) % 3] < 1e-9) is_sharp = mesh.shape->IsSharp(t.index, e);
    if (!is_sharp) return;
    const std::size_t first = scratch->points.size();
    scratch->builder.CollideConvex(face, body, margin, &scratch->points);
    for (std::size_t i = first; i < scratch->points.size(); ++i)
      scratch->points[i].feature = KeyOfTriangle(t.index, scratch->points[i].feature);
    return;
  }

  // over the face: clip the other body's feature to the triangle; seams within the surface make no
  // points
  SupportFeature& reference = scratch->reference;
  reference.Clear();
  for (int k = 0; k < 3; ++k) reference.Add(t.x[k], k);
  reference.normal_W = t.normal;
  ManifoldBuilder::FindSupportFeature(body, -t.normal, &scratch->incident);
  const std::size_t first = scratch->points.size();
  scratch->builder.ClipToFace(reference, scratch->incident, true, body.rounding, margin,
                              &scratch->points);
  std::size_t kept = first;
  for (std::size_t i = first; i < scratch->points.size(); ++i) {
    ManifoldPoint point = scratch->points[i];
    // rounding may clip a vertex on a seam to a point beside it, in both triangles
    bool is_vertex_of_body = false;
    const SupportFeature& incident = scratch->incident;
    for (std::size_t k = 0; k < incident.ids.size() && !is_vertex_of_body; ++k) {
      const std::uint64_t feature =
          MixKey({static_cast<std::uint64_t>(TouchKind::kVertexOfB), incident.ids[k]});
      const Vector3d offset = incident.points[k] - point.p_W;
      is_vertex_of_body =
          point.feature == feature ||
          (offset - t.normal.dot(offset) * t.normal).squaredNorm() <= 1e-18 * scale * scale;
      if (is_vertex_of_body) point.feature = feature;
    }
    if (!is_vertex_of_body) {
      // a point on a side of the triangle counts only if that side is sharp; a corner of the
      // triangle, if one of its two sides is: a seam may end at a corner of the surface
      const TrianglePoint at = FindClosestPointOnTriangle(point.p_W, t.x[0], t.x[1], t.x[2]);
      bool is_on_side = false, is_sharp = false;
      for (int e = 0; e < 3; ++e) {
        if (at.weights[(e + 2) % 3] >= 1e-7) continue;
        is_on_side = true;
        is_sharp |= mesh.shape->IsSharp(t.index, e);
      }
      if (is_on_side && !is_sharp) continue;
    }
    point.feature = KeyOfTriangle(t.index, point.feature);
    scratch->points[kept++] = point;
  }
  scratch->points.resize(kept);
}

// Removes duplicates that neighbouring triangles report at the same spot; the deepest stays.
void DropDoubles(double distance, std::vector<ManifoldPoint>* points) {
  std::sort(points->begin(), points->end(), [](const auto& x, const auto& y) {
    return std::tie(x.gap, x.feature) < std::tie(y.gap, y.feature);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points->size(); ++i) {
    const ManifoldPoint point = (*points)[i];
    bool is_double = false;
    for (std::size_t k = 0; k < kept; ++k) {
      const ManifoldPoint& other = (*points)[k];
      is_double |= (other.p_W - point.p_W).squaredNorm() <= distance * distance &&
                   other.nhat_AB_W.dot(point.nhat_AB_W) > 0.99;
    }
    if (!is_double) (*points)[kept++] = point;
  }
  points->resize(kept);
}

}  // namespace

void CollideWithMesh(const PlacedShape& mesh, const PlacedShape& other, double margin,
                     NarrowScratch* scratch) {
  if (!other.shape->is_convex()) {
    CollideVertices(mesh, other, true, margin, &scratch->points);
    CollideVertices(other, mesh, false, margin, &scratch->points);
    CollideEdges(mesh, other, margin, scratch);
    scratch->points_dropped += ReduceManifold(0, 2 * kMaxMeshPoints, &scratch->points);
    return;
  }

  // triangles near the other shape, in the mesh's frame
  AxisAlignedBox bounds =
      CalcBounds(other.shape->shape->geometry, mesh.X_WS.Inverse() * other.X_WS);
  bounds.Grow(margin);
  scratch->candidates.clear();
  const TriangleBvh& bvh = *mesh.shape->bvh;
  bvh.VisitOverlaps(bounds, [&](int triangle) { scratch->candidates.push_back(triangle); });
  std::sort(scratch->candidates.begin(), scratch->candidates.end());
  for (int triangle : scratch->candidates) {
    PlacedTriangle placed{triangle, {}, mesh.X_WS.R * bvh.face_normal(triangle)};
    AxisAlignedBox box;
    for (int k = 0; k < 3; ++k) {
      const Vector3d& x = mesh.shape->mesh->vertices[bvh.triangle(triangle)[k]];
      box.Include(x);
      placed.x[k] = mesh.X_WS * x;
    }
    if (!box.Overlaps(bounds) || placed.normal.squaredNorm() < 0.5) continue;
    if (other.shape->Is<Sphere>()) {
      CollideSphere(mesh, other, placed, margin, &scratch->points);
    } else {
      CollideConvex(mesh, other, placed, margin, scratch);
    }
  }
  const Vector3d size = bounds.upper - bounds.lower;
  DropDoubles(1e-6 * size.maxCoeff(), &scratch->points);

  // a sphere whose centre has entered the solid is behind every triangle
  if (scratch->points.empty() && other.shape->Is<Sphere>()) {
    const SignedDistance field = mesh.shape->CalcDistance(mesh.X_WS.Inverse() * other.X_WS.p);
    if (field.distance <= 0) {
      const Vector3d n = mesh.X_WS.R * field.gradient;
      const double gap = field.distance - other.body.rounding;
      scratch->points.push_back({other.X_WS.p - (field.distance - 0.5 * gap) * n, n, gap,
                                 MixKey({static_cast<std::uint64_t>(TouchKind::kWhole)})});
    }
  }
}

}  // namespace pliant::physics
