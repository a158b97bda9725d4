#include "physics/geometry/meshing/surface/feature_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "physics/geometry/triangle_bvh.h"
#include "solvers/linalg/parallel.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Edges along curves are up to this many edge lengths long.
constexpr double kLongestChord = 1.3;
constexpr double kSamplesPerEdge = 10;

}  // namespace

std::vector<SizeSample> ChooseSizesOfBends(const SharpFeatures& features, double edge_length,
                                           double tolerance, double min_edge) {
  std::vector<SizeSample> sizes;
  for (const SharpCurve& curve : features.curves) {
    const double length = curve.length();
    const double chord = kLongestChord * edge_length;
    const int count = 1 + static_cast<int>(2 * length / edge_length);
    for (int i = 0; i < count; ++i) {
      // the sagitta of a chord around this point, which shrinks with the square of the chord
      double from = length * i / count - 0.5 * chord, to = from + chord;
      if (!curve.is_loop()) {
        from = std::max(from, 0.0);
        to = std::min(to, length);
      }
      const auto at = [&](double arc) {
        return curve.PointAt(arc < 0 ? arc + length : arc > length ? arc - length : arc);
      };
      const Vector3d middle = at(0.5 * (from + to));
      const double sagitta = (0.5 * (at(from) + at(to)) - middle).norm();
      if (!(sagitta > tolerance)) continue;
      const double edge = std::max(min_edge, edge_length * std::sqrt(tolerance / sagitta));
      sizes.push_back({middle, edge});
    }
  }
  return sizes;
}

std::vector<DeviatingPoint> FindDeviatingPoints(const SharpFeatures& features,
                                                const FeatureMap& map, const TetrahedralMesh& mesh,
                                                double edge_length, double tolerance) {
  std::vector<DeviatingPoint> deviating;
  SegmentGrid grid(edge_length);
  for (const auto& [a, b] : map.segments) grid.Add(mesh.vertices[a], mesh.vertices[b]);
  for (std::size_t c = 0; c < features.curves.size(); ++c) {
    const SharpCurve& curve = features.curves[c];
    const int count = 1 + static_cast<int>(kSamplesPerEdge * curve.length() / edge_length);
    for (int i = 0; i <= count; ++i) {
      const Vector3d p = curve.PointAt(curve.length() * i / count);
      if (grid.FindNearest(p).distance > tolerance) deviating.push_back({static_cast<int>(c), p});
    }
  }
  return deviating;
}

std::vector<Vector3d> FindDeviatingChains(const SharpFeatures& features,
                                          const TetrahedralMesh& mesh, double edge_length,
                                          double tolerance) {
  std::vector<Vector3d> deviating;
  if (features.short_chains.empty()) return deviating;
  const TriangleMesh surface{mesh.vertices, ExtractBoundary(mesh).triangles};
  const TriangleBvh bvh(surface.triangles, PositionsOf(surface));
  for (const std::vector<Vector3d>& chain : features.short_chains) {
    for (std::size_t k = 1; k < chain.size(); ++k) {
      const Vector3d step = chain[k] - chain[k - 1];
      const int count = 1 + static_cast<int>(kSamplesPerEdge * step.norm() / edge_length);
      for (int i = 0; i <= count; ++i) {
        const Vector3d p = chain[k - 1] + step * i / count;
        if (bvh.FindNearest(PositionsOf(surface), p, tolerance).triangle < 0)
          deviating.push_back(p);
      }
    }
  }
  return deviating;
}

std::vector<Vector3d> FindDeviatingBoundary(const SurfaceRegion& region,
                                            const TetrahedralMesh& mesh, double tolerance) {
  const BoundarySurface boundary = ExtractBoundary(mesh);
  const int count = static_cast<int>(boundary.triangles.size());
  // farthest point of each triangle
  std::vector<std::pair<double, Vector3d>> farthest(count, {0, Vector3d::Zero()});
  solvers::ParallelFor(count, 64, [&](int i) {
    const auto& t = boundary.triangles[i];
    const Vector3d &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
    for (const Vector3d& p : {Vector3d((a + b + c) / 3), Vector3d(0.5 * (a + b)),
                              Vector3d(0.5 * (b + c)), Vector3d(0.5 * (c + a))}) {
      const double distance = region.CalcDistance(p);
      if (distance > farthest[i].first) farthest[i] = {distance, p};
    }
  });
  std::vector<Vector3d> deviating;
  for (const auto& [distance, p] : farthest)
    if (distance > tolerance) deviating.push_back(p);
  return deviating;
}

std::vector<SizeSample> HalveSizes(const std::vector<Vector3d>& points, const TetrahedralMesh& mesh,
                                   double edge_length, double min_edge, double max_edge) {
  std::vector<SizeSample> sizes;
  const TriangleMesh surface{mesh.vertices, ExtractBoundary(mesh).triangles};
  const TriangleBvh bvh(surface.triangles, PositionsOf(surface));
  std::vector<double> longest(points.size());
  solvers::ParallelFor(static_cast<int>(points.size()), 64, [&](int i) {
    const auto nearest =
        bvh.FindNearest(PositionsOf(surface), points[i], std::numeric_limits<double>::infinity());
    const auto& t = surface.triangles[nearest.triangle];
    for (int k = 0; k < 3; ++k)
      longest[i] =
          std::max(longest[i], (mesh.vertices[t[k]] - mesh.vertices[t[(k + 1) % 3]]).norm());
  });
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double edge =
        std::clamp((longest[i] > 0.7 * edge_length ? 0.5 : 0.25) * edge_length, min_edge, max_edge);
    sizes.push_back({points[i], edge});
    for (int axis = 0; axis < 3; ++axis)
      for (const double step : {-edge, edge})
        sizes.push_back({points[i] + step * Vector3d::Unit(axis), edge});
  }
  return sizes;
}

}  // namespace pliant::physics
