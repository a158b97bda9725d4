#include "physics/mpm/filling/surface_points.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "physics/geometry/triangle_bvh.h"
#include "physics/mpm/filling/sample_elimination.h"
#include "physics/spatial/demand.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Points on a surface of revolution about z: rings along its profile; every other ring is turned by
// half a gap.
class Rings {
 public:
  explicit Rings(double spacing) : spacing_(spacing) {}

  void Add(double radius, double z) {
    const int count = CountAlong(2 * kPi * radius, spacing_);
    const double turn = 0.5 * (num_rings_++ % 2);
    for (int k = 0; k < count; ++k) {
      const SinCos angle = CalcSinCos(2 * kPi * (k + turn) / count);
      points.emplace_back(radius * angle.cos, radius * angle.sin, z);
    }
  }
  // A straight piece of the profile, without its end.
  void AddLine(double radius, double z, double end_radius, double end_z) {
    const double along = end_radius - radius, up = end_z - z;
    const int count = CountAlong(std::sqrt(along * along + up * up), spacing_);
    for (int k = 0; k < count; ++k) Add(radius + along * k / count, z + up * k / count);
  }
  // An arc about (center_radius, center_z), without its end.
  void AddArc(double center_radius, double center_z, double radius, double from, double to) {
    const int count = CountAlong(radius * (to - from), spacing_);
    for (int k = 0; k < count; ++k) {
      const SinCos angle = CalcSinCos(from + (to - from) * k / count);
      // at a pole, rounding may leave a radius below zero
      Add(std::max(0.0, center_radius + radius * angle.cos), center_z + radius * angle.sin);
    }
  }

  std::vector<Vector3d> points;

 private:
  double spacing_;
  int num_rings_ = 0;
};

// Candidates for each point that is kept.
constexpr int kSurfaceCandidates = 5;
// Distance within which points of a surface crowd each other, relative to the spacing: twice the
// largest radius of packed discs, 2 √(1 / (2 √3)).
constexpr double kSurfaceReach = 1.0746;
// An edge is sharp, and gets points of its own, if the cosine of the angle between its face normals
// is at most this.
constexpr double kSharpCosine = 0.866;
// Maximum share of the points on sharp edges: a jagged surface consists of such edges.
constexpr double kMaxEdgeShare = 0.5;
// Arbitrary but fixed, so that the points are always the same.
constexpr std::uint64_t kSeed = 1;

double CalcArea(const TriangleMesh& mesh, int triangle) {
  const auto& t = mesh.triangles[triangle];
  const Vector3d& a = mesh.vertices[t[0]];
  return 0.5 * std::sqrt((mesh.vertices[t[1]] - a).cross(mesh.vertices[t[2]] - a).squaredNorm());
}

// Stratified sampling: calls place(item) `count` times, items in proportion to their sizes.
template <typename Place>
void Stratify(const std::vector<double>& sizes, double total, std::int64_t count,
              RandomNumbers* random, const Place& place) {
  std::size_t item = 0;
  double begin = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const double at =
        total * (static_cast<double>(k) + random->Next()) / static_cast<double>(count);
    while (item + 1 < sizes.size() && at >= begin + sizes[item]) begin += sizes[item++];
    place(static_cast<int>(item));
  }
}

std::vector<Vector3d> Choose(const std::vector<Vector3d>& points, const std::vector<int>& chosen) {
  std::vector<Vector3d> result;
  for (const int i : chosen) result.push_back(points[i]);
  return result;
}

// Returns points at the corners and along the sharp edges of a mesh.
std::vector<Vector3d> SpreadOverEdges(const TriangleMesh& mesh, const TriangleBvh& bvh,
                                      double spacing, int max_points, RandomNumbers* random) {
  std::vector<std::array<int, 2>> edges;
  std::vector<double> lengths;
  std::vector<int> num_sharp(mesh.vertices.size(), 0);
  double total = 0;
  for (const TriangleBvh::Edge& edge : bvh.edges()) {
    if (edge.triangles[1] < 0) continue;
    if (bvh.face_normal(edge.triangles[0]).dot(bvh.face_normal(edge.triangles[1])) > kSharpCosine)
      continue;
    const Vector3d along = mesh.vertices[edge.vertices[1]] - mesh.vertices[edge.vertices[0]];
    edges.push_back({edge.vertices[0], edge.vertices[1]});
    lengths.push_back(std::sqrt(along.squaredNorm()));
    total += lengths.back();
    for (const int v : edge.vertices) ++num_sharp[v];
  }
  std::vector<Vector3d> points;
  double num_gaps = total / spacing;
  for (std::size_t v = 0; v < num_sharp.size(); ++v) {
    if (num_sharp[v] == 0 || num_sharp[v] == 2) continue;
    points.push_back(mesh.vertices[v]);
    num_gaps -= 0.5 * num_sharp[v];  // one point fewer than gaps between two corners
  }
  points = Choose(points, KeepApart(points, 0.5 * spacing));
  const int num_corners = static_cast<int>(points.size());
  const int count = static_cast<int>(std::clamp(num_gaps, 0.0, 1.0 * max_points));
  if (count == 0) return points;
  Stratify(lengths, total, std::int64_t{kSurfaceCandidates} * count, random, [&](int edge) {
    const Vector3d &a = mesh.vertices[edges[edge][0]], &b = mesh.vertices[edges[edge][1]];
    points.push_back(a + random->Next() * (b - a));
  });
  return Choose(points, EliminateCrowded(points, num_corners, 0, count, spacing));
}

std::vector<Vector3d> SpreadOverMesh(const TriangleMesh& mesh, const TriangleBvh* edges_of,
                                     double spacing) {
  std::vector<double> areas;
  double total = 0;
  for (int i = 0; i < static_cast<int>(mesh.triangles.size()); ++i) {
    areas.push_back(CalcArea(mesh, i));
    total += areas.back();
  }
  const int count = std::max(1, static_cast<int>(std::min(total / (spacing * spacing), 1e8)));
  RandomNumbers random(kSeed);
  std::vector<Vector3d> points;
  if (edges_of != nullptr) {
    points =
        SpreadOverEdges(mesh, *edges_of, spacing, static_cast<int>(kMaxEdgeShare * count), &random);
  }
  const int num_fixed = static_cast<int>(points.size());
  Stratify(areas, total, std::int64_t{kSurfaceCandidates} * count, &random, [&](int triangle) {
    // uniform over the triangle
    const auto& t = mesh.triangles[triangle];
    const double root = std::sqrt(random.Next()), along = random.Next();
    const Vector3d &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
    points.push_back((1 - root) * a + root * ((1 - along) * b + along * c));
  });
  return Choose(points, EliminateCrowded(points, num_fixed, 0, std::max(0, count - num_fixed),
                                         kSurfaceReach * spacing));
}

// Latitude–longitude mesh of the unit sphere, scaled by the radii.
TriangleMesh TessellateEllipsoid(const Vector3d& radii, int bands) {
  TriangleMesh mesh;
  const int sectors = 2 * bands;
  for (int i = 0; i <= bands; ++i) {
    const SinCos latitude = CalcSinCos(kPi * (static_cast<double>(i) / bands - 0.5));
    for (int k = 0; k < sectors; ++k) {
      const SinCos longitude = CalcSinCos(2 * kPi * k / sectors);
      const Vector3d p(latitude.cos * longitude.cos, latitude.cos * longitude.sin, latitude.sin);
      mesh.vertices.push_back(radii.cwiseProduct(p));
    }
  }
  for (int i = 0; i < bands; ++i) {
    for (int k = 0; k < sectors; ++k) {
      const int a = i * sectors + k, b = i * sectors + (k + 1) % sectors;
      mesh.triangles.push_back({a, b, a + sectors});
      mesh.triangles.push_back({b, b + sectors, a + sectors});
    }
  }
  return mesh;
}

struct Spread {
  double spacing;

  std::vector<Vector3d> operator()(const Box& s) const {
    std::array<int, 3> n;
    for (int i = 0; i < 3; ++i) n[i] = CountAlong(2 * s.half_size[i], spacing);
    std::vector<Vector3d> points;
    for (int z = 0; z <= n[2]; ++z) {
      for (int y = 0; y <= n[1]; ++y) {
        // inside, only the two ends of a row are on the surface
        const bool is_on_face = z == 0 || z == n[2] || y == 0 || y == n[1];
        for (int x = 0; x <= n[0]; x += is_on_face ? 1 : n[0]) {
          const std::array<int, 3> at{x, y, z};
          Vector3d& p = points.emplace_back();
          for (int i = 0; i < 3; ++i) p[i] = s.half_size[i] * (2.0 * at[i] / n[i] - 1);
        }
      }
    }
    return points;
  }
  std::vector<Vector3d> operator()(const Sphere& s) const {
    Rings rings(spacing);
    rings.AddArc(0, 0, s.radius, -0.5 * kPi, 0.5 * kPi);
    rings.Add(0, s.radius);
    return std::move(rings.points);
  }
  std::vector<Vector3d> operator()(const Capsule& s) const {
    Rings rings(spacing);
    rings.AddArc(0, -0.5 * s.length, s.radius, -0.5 * kPi, 0);
    rings.AddLine(s.radius, -0.5 * s.length, s.radius, 0.5 * s.length);
    rings.AddArc(0, 0.5 * s.length, s.radius, 0, 0.5 * kPi);
    rings.Add(0, 0.5 * s.length + s.radius);
    return std::move(rings.points);
  }
  std::vector<Vector3d> operator()(const Cylinder& s) const {
    Rings rings(spacing);
    rings.AddLine(0, -0.5 * s.length, s.radius, -0.5 * s.length);
    rings.AddLine(s.radius, -0.5 * s.length, s.radius, 0.5 * s.length);
    rings.AddLine(s.radius, 0.5 * s.length, 0, 0.5 * s.length);
    rings.Add(0, 0.5 * s.length);
    return std::move(rings.points);
  }
  std::vector<Vector3d> operator()(const Torus& s) const {
    Rings rings(spacing);
    rings.AddArc(s.ring_radius, 0, s.tube_radius, 0, 2 * kPi);
    return std::move(rings.points);
  }
  std::vector<Vector3d> operator()(const Ellipsoid& s) const {
    constexpr int kMinBands = 16, kMaxBands = 1024;
    const int bands =
        std::clamp(CountAlong(kPi * s.radii.maxCoeff(), spacing), kMinBands, kMaxBands);
    std::vector<Vector3d> points =
        SpreadOverMesh(TessellateEllipsoid(s.radii, bands), nullptr, spacing);
    for (Vector3d& p : points) p = CalcSignedDistance(s, p).nearest;
    return points;
  }
  std::vector<Vector3d> operator()(const ConvexMesh& s) const {
    const TriangleBvh bvh(*s.hull);
    return SpreadOverMesh(*s.hull, &bvh, spacing);
  }
  std::vector<Vector3d> operator()(const SurfaceMesh& s) const {
    return SpreadOverMesh(*s.mesh, s.bvh.get(), spacing);
  }
  std::vector<Vector3d> operator()(const HalfSpace&) const {
    PLIANT_DEMAND(false);  // not a solid
    return {};
  }
};

}  // namespace

int CountAlong(double length, double spacing) {
  return std::max(1, static_cast<int>(std::min(length / spacing + 0.5, 1e9)));
}

std::vector<Vector3d> SpreadOverSurface(const Solid& solid, double spacing) {
  return solid.VisitShape(Spread{spacing});
}

}  // namespace pliant::physics
