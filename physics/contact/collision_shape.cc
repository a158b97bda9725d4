#include "physics/contact/collision_shape.h"

#include <algorithm>
#include <cmath>

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
            .polyhedron = &shape.polyhedron,
            .X_WS = {},
            .extent = CalcExtent(shape.polyhedron)};
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

}  // namespace

CollisionShape::CollisionShape(const Shape& given) : shape(&given) {
  if (const auto* box = std::get_if<Box>(&given.geometry))
    polyhedron = MakeBoxPolyhedron(box->half_size);
  if (const auto* convex = std::get_if<ConvexMesh>(&given.geometry)) {
    polyhedron = MakeHullPolyhedron(*convex->hull);
    mesh = convex->hull.get();
    bvh = std::make_shared<TriangleBvh>(*mesh);
  }
  if (const auto* surface = std::get_if<SurfaceMesh>(&given.geometry)) {
    mesh = surface->mesh.get();
    bvh = surface->bvh;
  }
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
  bounds = CalcBounds(shape->shape->geometry, pose);
}

}  // namespace pliant::physics
