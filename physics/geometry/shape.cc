#include "physics/geometry/shape.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/geometry/triangle_bvh.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kOpenSide = 1e6;  // [m]

struct Bounds {
  const RigidTransform& X_WS;

  AxisAlignedBox Around(const Vector3d& extent) const { return {X_WS.p - extent, X_WS.p + extent}; }
  AxisAlignedBox AroundVertices(const TriangleMesh& mesh) const {
    AxisAlignedBox box;
    for (const Vector3d& p : mesh.vertices) box.Include(X_WS * p);
    return box;
  }

  AxisAlignedBox operator()(const Sphere& s) const { return Around(Vector3d::Constant(s.radius)); }
  AxisAlignedBox operator()(const Box& s) const { return Around(X_WS.R.cwiseAbs() * s.half_size); }
  AxisAlignedBox operator()(const Capsule& s) const {
    return Around((X_WS.R.col(2).cwiseAbs() * (0.5 * s.length)).array() + s.radius);
  }
  AxisAlignedBox operator()(const Cylinder& s) const {
    // a disc of normal z reaches r √(1 − z_i²) along axis i
    const Vector3d z = X_WS.R.col(2);
    const Vector3d disc = (1 - z.array().square()).max(0).sqrt() * s.radius;
    return Around(z.cwiseAbs() * (0.5 * s.length) + disc);
  }
  AxisAlignedBox operator()(const Ellipsoid& s) const {
    Vector3d extent;
    for (int i = 0; i < 3; ++i)
      extent[i] = std::sqrt(X_WS.R.row(i).transpose().cwiseProduct(s.radii).squaredNorm());
    return Around(extent);
  }
  AxisAlignedBox operator()(const HalfSpace&) const {
    AxisAlignedBox box{Vector3d::Constant(-kOpenSide), Vector3d::Constant(kOpenSide)};
    // closed on one side if the normal is an axis of the world
    for (int i = 0; i < 3; ++i) {
      if (X_WS.R(i, 2) >= 1) box.upper[i] = X_WS.p[i];
      if (X_WS.R(i, 2) <= -1) box.lower[i] = X_WS.p[i];
    }
    return box;
  }
  AxisAlignedBox operator()(const ConvexMesh& s) const { return AroundVertices(*s.hull); }
  AxisAlignedBox operator()(const SurfaceMesh& s) const { return AroundVertices(*s.mesh); }
};

// Integrates 1, x and x xᵀ over the solid, as a sum over tetrahedra from the surface to a point
// near it (divergence theorem).
MassProperties IntegrateMesh(const TriangleMesh& mesh) {
  MassProperties result;
  if (mesh.vertices.empty()) return result;
  Vector3d origin = Vector3d::Zero();
  for (const Vector3d& p : mesh.vertices) origin += p;
  origin /= static_cast<double>(mesh.vertices.size());

  double volume = 0;
  Vector3d first = Vector3d::Zero();
  Matrix3d second = Matrix3d::Zero();
  for (const auto& t : mesh.triangles) {
    const Vector3d a = mesh.vertices[t[0]] - origin, b = mesh.vertices[t[1]] - origin,
                   c = mesh.vertices[t[2]] - origin;
    const double v = a.dot(b.cross(c)) / 6;
    const Vector3d sum = a + b + c;
    volume += v;
    first += v / 4 * sum;
    second += v / 20 *
              (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose());
  }
  if (!(volume > 0)) return result;
  const Vector3d center = first / volume;
  second -= volume * center * center.transpose();
  result.volume = volume;
  result.center = origin + center;
  result.inertia = second.trace() * Matrix3d::Identity() - second;
  return result;
}

struct Mass {
  static MassProperties Centered(double volume, const Vector3d& moments) {
    return {volume, Vector3d::Zero(), moments.asDiagonal()};
  }
  // From the mean squares of x, y and z over the solid.
  static MassProperties FromMeanSquares(double volume, const Vector3d& m) {
    return Centered(volume, volume * Vector3d(m.y() + m.z(), m.x() + m.z(), m.x() + m.y()));
  }

  MassProperties operator()(const Sphere& s) const {
    const double r2 = s.radius * s.radius;
    return FromMeanSquares(4.0 / 3 * kPi * r2 * s.radius, Vector3d::Constant(r2 / 5));
  }
  MassProperties operator()(const Box& s) const {
    return FromMeanSquares(8 * s.half_size.prod(), s.half_size.cwiseAbs2() / 3);
  }
  MassProperties operator()(const Cylinder& s) const {
    const double r2 = s.radius * s.radius;
    return FromMeanSquares(kPi * r2 * s.length, {r2 / 4, r2 / 4, s.length * s.length / 12});
  }
  MassProperties operator()(const Capsule& s) const {
    // a cylinder and two half balls moved apart; the centroid of a half ball is at 3/8 r
    const double r = s.radius, r2 = r * r, l = s.length;
    const double cylinder = kPi * r2 * l, ball = 4.0 / 3 * kPi * r2 * r, volume = cylinder + ball;
    const double across = (cylinder * r2 / 4 + ball * r2 / 5) / volume;
    const double along =
        (cylinder * l * l / 12 + ball * (r2 / 5 + l * l / 4 + 3.0 / 8 * r * l)) / volume;
    return FromMeanSquares(volume, {across, across, along});
  }
  MassProperties operator()(const Ellipsoid& s) const {
    return FromMeanSquares(4.0 / 3 * kPi * s.radii.prod(), s.radii.cwiseAbs2() / 5);
  }
  MassProperties operator()(const HalfSpace&) const { return {}; }
  MassProperties operator()(const ConvexMesh& s) const { return IntegrateMesh(*s.hull); }
  MassProperties operator()(const SurfaceMesh& s) const { return IntegrateMesh(*s.mesh); }
};

struct Thickness {
  double operator()(const Sphere& s) const { return 2 * s.radius; }
  double operator()(const Box& s) const { return 2 * s.half_size.minCoeff(); }
  double operator()(const Cylinder& s) const { return std::min(2 * s.radius, s.length); }
  double operator()(const Capsule& s) const { return 2 * s.radius; }
  double operator()(const Ellipsoid& s) const { return 2 * s.radii.minCoeff(); }
  double operator()(const HalfSpace&) const { return std::numeric_limits<double>::infinity(); }
  double operator()(const ConvexMesh& s) const { return CalcThickness(*s.hull); }
  double operator()(const SurfaceMesh& s) const { return CalcThickness(*s.mesh); }
};

}  // namespace

double CalcThickness(const TriangleMesh& mesh) {
  double area = 0;
  for (const auto& t : mesh.triangles) {
    const Vector3d &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
    area += 0.5 * std::sqrt((b - a).cross(c - a).squaredNorm());
  }
  return area > 0 ? 2 * IntegrateMesh(mesh).volume / area : 0;
}

double CalcThickness(const Geometry& geometry) {
  return std::visit(Thickness{}, geometry);
}

AxisAlignedBox CalcBounds(const Geometry& geometry, const RigidTransform& X_WS) {
  return std::visit(Bounds{X_WS}, geometry);
}

MassProperties CalcMassProperties(const Geometry& geometry) {
  return std::visit(Mass{}, geometry);
}

}  // namespace pliant::physics
