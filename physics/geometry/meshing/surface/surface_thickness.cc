#include "physics/geometry/meshing/surface/surface_thickness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include <Eigen/Geometry>

#include "solvers/linalg/parallel.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kMaxThicknessSamples = 2e5;
// Volume of a tetrahedron of the lattice with edge length 1.
constexpr double kVolumeOfEdge = 0.0785;
// Tetrahedra that the boundary adds, in units of the surface's area times the edge length.
constexpr double kBoundaryShare = 0.28;
// Points that are probed for the volume.
constexpr double kVolumeProbes = 30000;
// If half of the surface is thinner than the edges resolve, the mesh would be full of holes. Edges
// are then chosen that resolve all of it but a tenth.
constexpr double kHalf = 0.5, kTenth = 0.1;

// The volume of a region [m³], from points inside of a grid.
double EstimateVolume(const SurfaceRegion& region) {
  const Vector3d lower = region.bounds().lower, size = region.bounds().upper - lower;
  const double cell = std::cbrt(size.prod() / kVolumeProbes);
  if (!(cell > 0)) return 0;
  std::array<int, 3> count;
  for (int axis = 0; axis < 3; ++axis)
    count[axis] = std::max(1, static_cast<int>(std::round(size[axis] / cell)));
  const int total = count[0] * count[1] * count[2];
  std::vector<char> is_inside(total);
  solvers::ParallelFor(total, 64, [&](int n) {
    const int at[3] = {n % count[0], n / count[0] % count[1], n / count[0] / count[1]};
    Vector3d p;
    for (int axis = 0; axis < 3; ++axis)
      p[axis] = lower[axis] + size[axis] * (at[axis] + 0.5) / count[axis];
    is_inside[n] = region.IsInside(p);
  });
  return size.prod() * static_cast<double>(std::count(is_inside.begin(), is_inside.end(), 1)) /
         total;
}

}  // namespace

std::vector<ThicknessSample> SampleThickness(const SurfaceRegion& region, double spacing,
                                             double max_thickness) {
  std::vector<ThicknessSample> samples;
  const TriangleMesh& mesh = region.boundary();
  spacing = std::max(spacing, std::sqrt(region.area() / kMaxThicknessSamples));
  for (const auto& t : mesh.triangles) {
    const Vector3d &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
    const Vector3d normal = (b - a).cross(c - a);
    const double doubled = std::sqrt(normal.squaredNorm());
    const double longest =
        std::sqrt(std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()}));
    const int n = std::clamp(static_cast<int>(std::ceil(longest / spacing)), 1, 256);
    const double area = 0.5 * doubled / (n * n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; i + j < n; ++j) {
        // centres of the upright triangles, and of those upside down
        for (const double part : {1.0 / 3, 2.0 / 3}) {
          if (part > 0.5 && i + j + 2 > n) continue;
          const double u = (i + part) / n, v = (j + part) / n;
          samples.push_back({a + u * (b - a) + v * (c - a), normal / doubled, area, 0});
        }
      }
    }
  }
  solvers::ParallelFor(static_cast<int>(samples.size()), 64, [&](int i) {
    samples[i].thickness = region.CalcThickness(samples[i].point, samples[i].normal, max_thickness);
  });
  std::stable_sort(
      samples.begin(), samples.end(),
      [](const ThicknessSample& a, const ThicknessSample& b) { return a.thickness < b.thickness; });
  return samples;
}

double FindThickness(const std::vector<ThicknessSample>& samples, double share) {
  double area = 0;
  for (const ThicknessSample& sample : samples) area += sample.area;
  double sum = 0, thickness = 0;
  for (const ThicknessSample& sample : samples) {
    sum += sample.area;
    thickness = sample.thickness;
    if (sum >= share * area) break;
  }
  return thickness;
}

absl::StatusOr<double> ChooseEdgeLength(TriangleMesh surface, const EdgeChoice& choice) {
  absl::StatusOr<SurfaceRegion> region =
      SurfaceRegion::Make(std::move(surface), /*with_distances=*/false);
  if (!region.ok()) return region.status();
  const double size = (region->bounds().upper - region->bounds().lower).maxCoeff();
  const double volume = EstimateVolume(*region), area = region->area();
  // the edge length that gives a number of tetrahedra, by bisection
  const auto edge_for = [&](double tetrahedra) {
    double low = 0, high = size;
    for (int i = 0; i < 50; ++i) {
      const double edge = 0.5 * (low + high);
      const double count =
          (volume + kBoundaryShare * area * edge) / (kVolumeOfEdge * edge * edge * edge);
      (count > tetrahedra ? low : high) = edge;
    }
    return high;
  };
  const double edge = std::max(edge_for(choice.tetrahedra), choice.shortest);
  const std::vector<ThicknessSample> samples = SampleThickness(*region, edge, 2 * edge);
  const auto resolve = [&](double edge_length, double if_share, double share, double tetrahedra) {
    if (FindThickness(samples, if_share) >= kResolvedThickness * edge_length) return edge_length;
    const double resolved = FindThickness(samples, share) / kResolvedThickness;
    return std::min(edge_length, std::max(resolved, edge_for(tetrahedra)));
  };
  return resolve(resolve(edge, kThinShare, kThinShare, choice.if_thin), kHalf, kTenth,
                 choice.if_a_sheet);
}

}  // namespace pliant::physics
