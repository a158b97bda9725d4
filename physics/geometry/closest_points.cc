#include "physics/geometry/closest_points.h"

#include <algorithm>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

TrianglePoint AtVertex(const Vector3d& p, const Vector3d& vertex, int i) {
  return {vertex, Vector3d::Unit(i), static_cast<TriangleFeature>(1 + i),
          (p - vertex).squaredNorm()};
}

TrianglePoint OnEdge(const Vector3d& p, const Vector3d& from, const Vector3d& to, int i, double t) {
  Vector3d weights = Vector3d::Zero();
  weights[i] = 1 - t;
  weights[(i + 1) % 3] = t;
  const Vector3d point = from + t * (to - from);
  return {point, weights, static_cast<TriangleFeature>(4 + i), (p - point).squaredNorm()};
}

// Nearest point on the three edges, for triangles without area.
TrianglePoint OnBoundary(const Vector3d& p, const Vector3d* corners) {
  TrianglePoint best = AtVertex(p, corners[0], 0);
  for (int i = 0; i < 3; ++i) {
    const Vector3d& from = corners[i];
    const Vector3d& to = corners[(i + 1) % 3];
    const double length2 = (to - from).squaredNorm();
    const double t = length2 > 0 ? (p - from).dot(to - from) / length2 : 0;
    const TrianglePoint here = t <= 0   ? AtVertex(p, from, i)
                               : t >= 1 ? AtVertex(p, to, (i + 1) % 3)
                                        : OnEdge(p, from, to, i, t);
    if (here.squared_distance < best.squared_distance) best = here;
  }
  return best;
}

}  // namespace

TrianglePoint FindClosestPointOnTriangle(const Vector3d& p, const Vector3d& a, const Vector3d& b,
                                         const Vector3d& c) {
  const Vector3d ab = b - a, ac = c - a, ap = p - a;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap);
  if (d1 <= 0 && d2 <= 0) return AtVertex(p, a, 0);

  const Vector3d bp = p - b;
  const double d3 = ab.dot(bp), d4 = ac.dot(bp);
  if (d3 >= 0 && d4 <= d3) return AtVertex(p, b, 1);

  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0 && d1 - d3 > 0) return OnEdge(p, a, b, 0, d1 / (d1 - d3));

  const Vector3d cp = p - c;
  const double d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d6 >= 0 && d5 <= d6) return AtVertex(p, c, 2);

  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0 && d2 - d6 > 0) return OnEdge(p, c, a, 2, d6 / (d6 - d2));

  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0 && (d4 - d3) + (d5 - d6) > 0)
    return OnEdge(p, b, c, 1, (d4 - d3) / ((d4 - d3) + (d5 - d6)));

  const double sum = va + vb + vc;
  if (!(sum > 0)) {
    const Vector3d corners[3] = {a, b, c};
    return OnBoundary(p, corners);
  }
  const double v = vb / sum, w = vc / sum;
  const Vector3d point = a + v * ab + w * ac;
  return {point, Vector3d(1 - v - w, v, w), TriangleFeature::kFace, (p - point).squaredNorm()};
}

SegmentPoints FindClosestPointsOfSegments(const Vector3d& a0, const Vector3d& a1,
                                          const Vector3d& b0, const Vector3d& b1) {
  const Vector3d u = a1 - a0, v = b1 - b0, r = a0 - b0;
  const double uu = u.squaredNorm(), vv = v.squaredNorm(), vr = v.dot(r), ur = u.dot(r);
  double s = 0, t = 0;
  if (uu <= 0 && vv <= 0) {
    // both segments are points
  } else if (uu <= 0) {
    t = std::clamp(vr / vv, 0.0, 1.0);
  } else if (vv <= 0) {
    s = std::clamp(-ur / uu, 0.0, 1.0);
  } else {
    const double uv = u.dot(v), determinant = uu * vv - uv * uv;
    // parallel segments: any s will do; take the middle of the first one, so that the choice does
    // not jump
    s = determinant > 1e-14 * uu * vv ? std::clamp((uv * vr - ur * vv) / determinant, 0.0, 1.0)
                                      : 0.5;
    t = (uv * s + vr) / vv;
    if (t < 0) {
      t = 0;
      s = std::clamp(-ur / uu, 0.0, 1.0);
    } else if (t > 1) {
      t = 1;
      s = std::clamp((uv - ur) / uu, 0.0, 1.0);
    }
  }
  return {s, t, a0 + s * u, b0 + t * v};
}

}  // namespace pliant::physics
