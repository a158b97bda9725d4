#include "physics/contact/geometries/placed_shape.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

double CalcExtent(const ConvexPolyhedron& polyhedron) {
  double squared = 0;
  for (const Vector3d& p : polyhedron.vertices) squared = std::max(squared, p.squaredNorm());
  return std::sqrt(squared);
}

struct MakeBody {
  const CollisionShape& shape;

  ConvexBody operator()(const Sphere& s) const {
    return {.kind = ConvexBody::Kind::kPoint, .rounding = s.radius, .X_WS = {}};
  }
  ConvexBody operator()(const Capsule& s) const {
    return {.kind = ConvexBody::Kind::kSegment,
            .size = {0, 0, 0.5 * s.length},
            .rounding = s.radius,
            .X_WS = {},
            .extent = 0.5 * s.length};
  }
  ConvexBody operator()(const Cylinder& s) const {
    return {.kind = ConvexBody::Kind::kCylinder,
            .size = {s.radius, s.radius, 0.5 * s.length},
            .X_WS = {},
            .extent = std::sqrt(s.radius * s.radius + 0.25 * s.length * s.length)};
  }
  ConvexBody operator()(const Ellipsoid& s) const {
    return {.kind = ConvexBody::Kind::kEllipsoid,
            .size = s.radii,
            .X_WS = {},
            .extent = s.radii.maxCoeff()};
  }
  ConvexBody Polyhedron() const {
    return {.kind = ConvexBody::Kind::kPolyhedron,
            .polyhedron = shape.polyhedron.get(),
            .X_WS = {},
            .extent = CalcExtent(*shape.polyhedron)};
  }
  ConvexBody operator()(const Box& box) const {
    ConvexBody body = Polyhedron();
    body.size = box.half_size;
    return body;
  }
  ConvexBody operator()(const ConvexMesh&) const { return Polyhedron(); }
  ConvexBody operator()(const HalfSpace&) const { return {}; }
  ConvexBody operator()(const SurfaceMesh&) const { return {}; }
};

// See CollisionShape::IsSharp.
bool FindSharp(const TriangleMesh& mesh, const TriangleBvh& bvh, int triangle, int e) {
  const TriangleBvh::Edge& edge = bvh.edges()[bvh.edge_index(triangle, e)];
  const int beside = edge.triangles[0] == triangle ? edge.triangles[1] : edge.triangles[0];
  if (beside < 0) return true;
  // the edge is convex if the neighbour's far corner lies below this plane
  const auto& t = bvh.triangle(triangle);
  for (const int v : bvh.triangle(beside)) {
    if (v == t[e] || v == t[(e + 1) % 3]) continue;
    const Vector3d offset = mesh.vertices[v] - mesh.vertices[t[e]];
    return bvh.face_normal(triangle).dot(offset) < -1e-6 * std::sqrt(offset.squaredNorm());
  }
  return false;
}

// The mesh of a convex or another mesh; null for other shapes.
const TriangleMesh* FindMesh(const Geometry& geometry) {
  if (const auto* convex = std::get_if<ConvexMesh>(&geometry)) return convex->hull.get();
  if (const auto* surface = std::get_if<SurfaceMesh>(&geometry)) return surface->mesh.get();
  return nullptr;
}

}  // namespace

CollisionShape::CollisionShape(const Shape& given)
    : shape(&given), mesh(FindMesh(given.geometry)), thickness(CalcThickness(given.geometry)) {
  if (const auto* box = std::get_if<Box>(&given.geometry))
    polyhedron = std::make_shared<ConvexPolyhedron>(MakeBoxPolyhedron(box->half_size));
  if (const auto* convex = std::get_if<ConvexMesh>(&given.geometry)) {
    polyhedron = std::make_shared<ConvexPolyhedron>(MakeHullPolyhedron(*convex->hull));
    bvh = std::make_shared<TriangleBvh>(*mesh);
  }
  if (const auto* surface = std::get_if<SurfaceMesh>(&given.geometry)) {
    bvh = surface->bvh;
    is_sharp_edge.resize(bvh->edges().size());
    for (int i = 0; i < bvh->num_triangles(); ++i) {
      for (int e = 0; e < 3; ++e) {
        is_sharp_side.push_back(FindSharp(*mesh, *bvh, i, e));
        if (bvh->edges()[bvh->edge_index(i, e)].triangles[0] == i)
          is_sharp_edge[bvh->edge_index(i, e)] = is_sharp_side.back();
      }
    }
  }
  MeasureEdges();
}

void CollisionShape::MeasureEdges() {
  if (mesh == nullptr) return;
  mean_edges.assign(mesh->vertices.size(), 0);
  std::vector<int> count(mesh->vertices.size(), 0);
  for (const auto& t : mesh->triangles) {
    const Vector3d &a = mesh->vertices[t[0]], &b = mesh->vertices[t[1]], &c = mesh->vertices[t[2]];
    const double longest =
        std::sqrt(std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()}));
    longest_edge = std::max(longest_edge, longest);
    for (const int v : t) {
      mean_edges[v] += longest;
      ++count[v];
    }
  }
  for (std::size_t v = 0; v < count.size(); ++v)
    if (count[v] > 0) mean_edges[v] /= count[v];
}

std::vector<CollisionShape> MakeCollisionShapes(std::span<const Shape* const> shapes) {
  std::vector<CollisionShape> made;
  made.reserve(shapes.size());
  std::map<std::pair<std::size_t, const TriangleMesh*>, std::size_t> firsts;  // per kind and mesh
  for (const Shape* shape : shapes) {
    const TriangleMesh* const mesh = FindMesh(shape->geometry);
    const auto [first, fresh] = firsts.try_emplace({shape->geometry.index(), mesh}, made.size());
    if (fresh || mesh == nullptr) {
      made.emplace_back(*shape);
    } else {
      made.push_back(made[first->second]);
      made.back().shape = shape;
    }
  }
  return made;
}

SignedDistance CollisionShape::CalcDistance(const Vector3d& p_S) const {
  return bvh ? bvh->CalcSignedDistance(PositionsOf(*mesh), p_S)
             : CalcSignedDistance(shape->geometry, p_S);
}

PlacedShape::PlacedShape(const CollisionShape& given, const RigidTransform& pose)
    : shape(&given), body(std::visit(MakeBody{given}, given.shape->geometry)) {
  Move(pose);
}

void PlacedShape::Move(const RigidTransform& pose) {
  X_WS = body.X_WS = pose;
  if (shape->polyhedron == nullptr || shape->polyhedron->seeds.empty()) {
    bounds = CalcBounds(shape->shape->geometry, pose);
    return;
  }
  for (int axis = 0; axis < 3; ++axis) {
    bounds.lower[axis] = body.FindSupport(-Vector3d::Unit(axis))[axis];
    bounds.upper[axis] = body.FindSupport(Vector3d::Unit(axis))[axis];
  }
}

SurfaceKind DescribeSurface(const Geometry& geometry, const Eigen::Vector3d& n_S) {
  // cosine of the angle within which a normal counts as the face's
  constexpr double kAlong = 1 - 1e-9;
  SurfaceKind kind;
  if (const auto* sphere = std::get_if<Sphere>(&geometry)) {
    kind.radius = sphere->radius;
  } else if (const auto* capsule = std::get_if<Capsule>(&geometry)) {
    kind.radius = capsule->radius;
    if (std::abs(n_S.z()) < 1e-6) kind.axis_S = Eigen::Vector3d::UnitZ();
  } else if (const auto* cylinder = std::get_if<Cylinder>(&geometry)) {
    if (std::abs(n_S.z()) > kAlong) {
      kind.face = 2;
    } else if (std::abs(n_S.z()) < 1e-6) {
      kind.radius = cylinder->radius;
      kind.axis_S = Eigen::Vector3d::UnitZ();
    }
  } else if (const auto* ellipsoid = std::get_if<Ellipsoid>(&geometry)) {
    // geometric mean of the two principal radii: a b c / ‖D n‖²
    const Eigen::Vector3d scaled = ellipsoid->radii.cwiseProduct(n_S);
    kind.radius = ellipsoid->radii.prod() / scaled.squaredNorm();
  } else if (std::holds_alternative<Box>(geometry)) {
    if (n_S.cwiseAbs().maxCoeff() > kAlong) kind.face = 2;
  } else if (std::holds_alternative<HalfSpace>(geometry)) {
    kind.face = 3;
  } else {
    kind.face = 1;
  }
  return kind;
}

}  // namespace pliant::physics
