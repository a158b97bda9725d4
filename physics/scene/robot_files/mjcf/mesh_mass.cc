#include "physics/scene/robot_files/mjcf/mesh_mass.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Geometry>

#include "physics/geometry/convex_hull.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// ∫ x xᵀ over a simplex with these corners, per content and times (d + 1) (d + 2) for dimension d:
// the origin may be another corner.
Matrix3d CalcSecondMoment(const std::array<Vector3d, 3>& corners) {
  const Vector3d sum = corners[0] + corners[1] + corners[2];
  Matrix3d moment = sum * sum.transpose();
  for (const Vector3d& x : corners) moment += x * x.transpose();
  return moment;
}

}  // namespace

std::optional<MjcfMeshInertia> ParseMeshInertia(std::string_view text) {
  if (text.empty() || text == "legacy") return MjcfMeshInertia::kLegacy;
  if (text == "exact") return MjcfMeshInertia::kExact;
  if (text == "convex") return MjcfMeshInertia::kConvex;
  if (text == "shell") return MjcfMeshInertia::kShell;
  return std::nullopt;
}

MassProperties CalcMeshMass(TriangleMesh mesh, const Vector3d& scale, MjcfMeshInertia inertia) {
  for (Vector3d& p : mesh.vertices) p = p.cast<float>().cast<double>().cwiseProduct(scale);
  if (inertia == MjcfMeshInertia::kConvex || mesh.triangles.empty()) {
    absl::StatusOr<TriangleMesh> hull = CalcConvexHull(mesh.vertices, /*tolerance=*/0);
    if (!hull.ok()) hull = CalcConvexHull(mesh.vertices);
    if (!hull.ok()) return {};
    mesh = *std::move(hull);
    inertia = MjcfMeshInertia::kExact;
  }
  const auto corners_of = [&](const std::array<int, 3>& t, const Vector3d& origin) {
    return std::array<Vector3d, 3>{mesh.vertices[t[0]] - origin, mesh.vertices[t[1]] - origin,
                                   mesh.vertices[t[2]] - origin};
  };

  double area = 0;
  Vector3d centroid = Vector3d::Zero();
  for (const auto& t : mesh.triangles) {
    const auto [a, b, c] = corners_of(t, Vector3d::Zero());
    const double part = 0.5 * (b - a).cross(c - a).norm();
    area += part;
    centroid += part * (a + b + c) / 3;
  }
  MassProperties result;
  if (!(area > 0)) return result;
  centroid /= area;

  Matrix3d moment = Matrix3d::Zero();
  if (inertia == MjcfMeshInertia::kShell) {
    for (const auto& t : mesh.triangles) {
      const auto corners = corners_of(t, centroid);
      const Vector3d normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
      moment += 0.5 * normal.norm() / 12 * CalcSecondMoment(corners);
    }
    result.volume = area;
    result.center = centroid;
  } else {
    const auto volume_of = [&](const std::array<Vector3d, 3>& corners) {
      const double volume = corners[0].dot(corners[1].cross(corners[2])) / 6;
      return inertia == MjcfMeshInertia::kLegacy ? std::abs(volume) : volume;
    };
    double volume = 0;
    Vector3d center = Vector3d::Zero();
    for (const auto& t : mesh.triangles) {
      const auto corners = corners_of(t, centroid);
      const double part = volume_of(corners);
      volume += part;
      center += part * (corners[0] + corners[1] + corners[2]) / 4;
    }
    if (volume == 0) return result;
    result.center = centroid + center / volume;
    // the volume is that of the tetrahedra between the triangles and this centre
    for (const auto& t : mesh.triangles) {
      const auto corners = corners_of(t, result.center);
      const double part = volume_of(corners);
      result.volume += part;
      moment += part / 20 * CalcSecondMoment(corners);
    }
  }
  result.inertia = moment.trace() * Matrix3d::Identity() - moment;
  return result;
}

}  // namespace pliant::physics
