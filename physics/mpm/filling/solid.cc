#include "physics/mpm/filling/solid.h"

#include <cmath>
#include <memory>
#include <utility>

#include "physics/geometry/triangle_bvh.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

SurfaceMesh MakeBoundaryMesh(const TetrahedralMesh& mesh) {
  const BoundarySurface boundary = ExtractBoundary(mesh);
  std::vector<int> number(mesh.vertices.size(), -1);
  TriangleMesh surface;
  for (const int vertex : boundary.vertices) {
    number[vertex] = static_cast<int>(surface.vertices.size());
    surface.vertices.push_back(mesh.vertices[vertex]);
  }
  for (const auto& t : boundary.triangles)
    surface.triangles.push_back({number[t[0]], number[t[1]], number[t[2]]});
  auto shared = std::make_shared<const TriangleMesh>(std::move(surface));
  auto bvh = std::make_shared<const TriangleBvh>(*shared);
  return {std::move(shared), std::move(bvh)};
}

}  // namespace

Solid::Solid(Geometry geometry)
    : shape_(std::move(geometry)),
      volume_(CalcMassProperties(std::get<Geometry>(shape_)).volume),
      bounds_(CalcBounds(std::get<Geometry>(shape_), RigidTransform())) {}

Solid::Solid(const Torus& torus)
    : shape_(torus),
      volume_(2 * kPi * kPi * torus.ring_radius * torus.tube_radius * torus.tube_radius) {
  const double reach = torus.ring_radius + torus.tube_radius;
  bounds_ = {{-reach, -reach, -torus.tube_radius}, {reach, reach, torus.tube_radius}};
}

Solid::Solid(const TetrahedralMesh& mesh) : Solid(Geometry(MakeBoundaryMesh(mesh))) {}

double Solid::CalcMaxArea() const {
  const Geometry* geometry = std::get_if<Geometry>(&shape_);
  if (const auto* surface = geometry ? std::get_if<SurfaceMesh>(geometry) : nullptr) {
    double area = 0;
    for (const auto& t : surface->mesh->triangles) {
      const Vector3d& a = surface->mesh->vertices[t[0]];
      const Vector3d normal =
          (surface->mesh->vertices[t[1]] - a).cross(surface->mesh->vertices[t[2]] - a);
      area += 0.5 * std::sqrt(normal.squaredNorm());
    }
    return area;
  }
  // a convex shape or a torus has less surface than its bounding box
  const Vector3d size = bounds_.upper - bounds_.lower;
  return 2 * (size.x() * size.y() + size.y() * size.z() + size.z() * size.x());
}

double Solid::CalcThickness() const {
  const Torus* torus = std::get_if<Torus>(&shape_);
  return torus != nullptr ? 2 * torus->tube_radius
                          : physics::CalcThickness(std::get<Geometry>(shape_));
}

double Solid::CalcDistance(const Vector3d& p) const {
  const Torus* torus = std::get_if<Torus>(&shape_);
  if (torus == nullptr) return CalcSignedDistance(std::get<Geometry>(shape_), p).distance;
  const double outward = std::sqrt(p.x() * p.x() + p.y() * p.y()) - torus->ring_radius;
  return std::sqrt(outward * outward + p.z() * p.z()) - torus->tube_radius;
}

}  // namespace pliant::physics
