#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/geometry/closest_points.h"
#include "physics/geometry/shape.h"
#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Squares of shorter offsets underflow.
constexpr double kTiny = 1e-150;

SignedDistance Rounded(const Vector3d& p, const Vector3d& core, double radius,
                       const Vector3d& otherwise) {
  const Vector3d offset = p - core;
  const double norm = std::sqrt(offset.squaredNorm());
  const Vector3d n = norm > kTiny ? Vector3d(offset / norm) : otherwise;
  return {norm - radius, n, core + radius * n};
}

// Nearest point of an ellipsoid, after Eberly, Distance from a Point to an Ellipse, an Ellipsoid,
// or a Hyperellipsoid.
//
// The nearest point is x_i = r_i² y_i / (t + r_i²) with F(t) = Σ (r_i y_i / (t + r_i²))² − 1 = 0, t
// > −r_min². As a function of s = t + r_min², F is convex and decreasing, so Newton's method from
// the left approaches the root without overshooting. Works on |y|; `radii` positive.
Vector3d FindNearestOnEllipsoid(const Vector3d& radii, const Vector3d& y) {
  int least = 0;
  radii.minCoeff(&least);
  const double r_min = radii[least];
  Vector3d shift;  // r_i² − r_min²
  for (int i = 0; i < 3; ++i) shift[i] = (radii[i] - r_min) * (radii[i] + r_min);

  // if F at s = 0, without the coordinates that vanish, is not positive, the root is at s = 0 and
  // the shortest axis takes up the rest
  if (y[least] == 0) {
    double sum = 0;
    Vector3d x = Vector3d::Zero();
    bool has_pole = false;
    for (int i = 0; i < 3; ++i) {
      if (y[i] == 0) continue;
      if (shift[i] <= 0) {
        has_pole = true;
        break;
      }
      x[i] = radii[i] * (radii[i] * y[i] / shift[i]);
      sum += (x[i] / radii[i]) * (x[i] / radii[i]);
    }
    if (!has_pole && sum <= 1) {
      x[least] = r_min * std::sqrt(1 - sum);
      return x;
    }
  }

  double s = 0;
  for (int i = 0; i < 3; ++i) s = std::max(s, radii[i] * y[i] - shift[i]);
  for (int iteration = 0; iteration < 200; ++iteration) {
    double f = -1, slope = 0;
    for (int i = 0; i < 3; ++i) {
      if (y[i] == 0) continue;
      const double ratio = radii[i] * y[i] / (s + shift[i]);
      f += ratio * ratio;
      slope -= 2 * ratio * ratio / (s + shift[i]);
    }
    if (!(f > 0) || !(slope < 0)) break;
    const double next = s - f / slope;
    if (!(next > s * (1 + 1e-16))) break;
    s = next;
  }
  Vector3d x = Vector3d::Zero();
  for (int i = 0; i < 3; ++i)
    if (y[i] != 0) x[i] = radii[i] * (radii[i] * y[i] / (s + shift[i]));
  // back onto the surface, despite round-off in s
  return x / std::sqrt(x.cwiseQuotient(radii).squaredNorm());
}

struct Distance {
  const Vector3d& p;

  SignedDistance operator()(const Sphere& s) const {
    return Rounded(p, Vector3d::Zero(), s.radius, Vector3d::UnitZ());
  }

  SignedDistance operator()(const Capsule& s) const {
    const Vector3d core(0, 0, std::clamp(p.z(), -0.5 * s.length, 0.5 * s.length));
    return Rounded(p, core, s.radius, Vector3d::UnitX());
  }

  SignedDistance operator()(const Box& s) const {
    const Vector3d excess = p.cwiseAbs() - s.half_size;
    int axis = 0, num_outside = 0;
    for (int i = 0; i < 3; ++i) {
      num_outside += excess[i] > 0;
      if (excess[i] > excess[axis]) axis = i;
    }
    const Vector3d nearest = p.cwiseMax(-s.half_size).cwiseMin(s.half_size);
    if (num_outside > 1) {
      const Vector3d offset = p - nearest;
      const double norm = std::sqrt(offset.squaredNorm());
      if (norm > kTiny) return {norm, offset / norm, nearest};
    }
    // the nearest face, also from outside: its normal is exact
    const double sign = p[axis] < 0 ? -1 : 1;
    SignedDistance result{excess[axis], sign * Vector3d::Unit(axis), nearest};
    result.nearest[axis] = sign * s.half_size[axis];
    return result;
  }

  SignedDistance operator()(const Cylinder& s) const {
    const double half = 0.5 * s.length;
    const double rho = std::sqrt(p.x() * p.x() + p.y() * p.y());
    const Vector3d radial = rho > kTiny ? Vector3d(p.x() / rho, p.y() / rho, 0) : Vector3d::UnitX();
    const double side = p.z() < 0 ? -1 : 1;
    const double over_wall = rho - s.radius, over_cap = std::abs(p.z()) - half;
    const Vector3d rim = s.radius * radial + side * half * Vector3d::UnitZ();
    if (over_wall > 0 && over_cap > 0) {
      const Vector3d offset = over_wall * radial + side * over_cap * Vector3d::UnitZ();
      const double norm = std::sqrt(offset.squaredNorm());
      if (norm > kTiny) return {norm, offset / norm, rim};
    }
    if (over_cap >= over_wall)
      return {over_cap, side * Vector3d::UnitZ(), {p.x(), p.y(), side * half}};
    return {over_wall, radial, s.radius * radial + p.z() * Vector3d::UnitZ()};
  }

  SignedDistance operator()(const Ellipsoid& s) const {
    Vector3d nearest = FindNearestOnEllipsoid(s.radii, p.cwiseAbs());
    for (int i = 0; i < 3; ++i)
      if (p[i] < 0) nearest[i] = -nearest[i];
    // the normal at the nearest point is along the offset, and defined even if the offset vanishes
    Vector3d n = nearest.cwiseQuotient(s.radii.cwiseAbs2());
    n /= std::sqrt(n.squaredNorm());
    return {n.dot(p - nearest), n, nearest};
  }

  SignedDistance operator()(const HalfSpace&) const {
    return {p.z(), Vector3d::UnitZ(), {p.x(), p.y(), 0}};
  }

  SignedDistance operator()(const ConvexMesh& s) const {
    // inside, the nearest point is on the nearest plane; outside, check all triangles
    double highest = -std::numeric_limits<double>::infinity();
    Vector3d normal = Vector3d::UnitZ();
    double nearest2 = std::numeric_limits<double>::infinity();
    TrianglePoint nearest{};
    for (const auto& t : s.hull->triangles) {
      const Vector3d &a = s.hull->vertices[t[0]], &b = s.hull->vertices[t[1]],
                     &c = s.hull->vertices[t[2]];
      Vector3d n = (b - a).cross(c - a);
      const double norm = std::sqrt(n.squaredNorm());
      if (!(norm > 0)) continue;
      n /= norm;
      const double height = n.dot(p - a);
      if (height > highest) {
        highest = height;
        normal = n;
      }
    }
    if (highest <= 0) return {highest, normal, p - highest * normal};
    for (const auto& t : s.hull->triangles) {
      const TrianglePoint at = FindClosestPointOnTriangle(
          p, s.hull->vertices[t[0]], s.hull->vertices[t[1]], s.hull->vertices[t[2]]);
      if (at.squared_distance >= nearest2) continue;
      nearest2 = at.squared_distance;
      nearest = at;
    }
    const double distance = std::sqrt(nearest2);
    // over a face, the height above its plane is the distance
    if (distance <= highest * (1 + 1e-12) || distance < kTiny)
      return {highest, normal, p - highest * normal};
    return {distance, (p - nearest.point) / distance, nearest.point};
  }

  SignedDistance operator()(const SurfaceMesh& s) const {
    return s.bvh->CalcSignedDistance(PositionsOf(*s.mesh), p);
  }
};

}  // namespace

SignedDistance CalcSignedDistance(const Geometry& geometry, const Vector3d& p_S) {
  return std::visit(Distance{p_S}, geometry);
}

}  // namespace pliant::physics
