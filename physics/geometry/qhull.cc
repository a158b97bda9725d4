#include "physics/geometry/qhull.h"

#include <cstdio>
#include <memory>
#include <utility>

#include <Eigen/Geometry>

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

namespace pliant::physics {

using Eigen::Vector3d;

std::optional<std::vector<std::array<int, 3>>> CalcHullWithQhull(
    const std::vector<Vector3d>& points) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> silence(std::fopen("/dev/null", "w"),
                                                                &std::fclose);
  if (silence == nullptr) return std::nullopt;
  std::vector<double> coordinates;
  coordinates.reserve(3 * points.size());
  for (const Vector3d& p : points) coordinates.insert(coordinates.end(), {p.x(), p.y(), p.z()});

  // the library's macros read a variable of this name
  const auto memory = std::make_unique<qhT>();
  qhT* const qh = memory.get();
  qh_zero(qh, silence.get());
  char options[] = "qhull QJ Pp";
  const int fault = qh_new_qhull(qh, 3, static_cast<int>(points.size()), coordinates.data(),
                                 /*ismalloc=*/False, options, nullptr, silence.get());
  std::vector<std::array<int, 3>> triangles;
  bool simple = fault == 0;
  if (simple) {
    facetT* facet;
    vertexT *vertex, **vertexp;
    FORALLfacets {
      std::array<int, 3> corners{};
      int count = 0;
      FOREACHvertex_(facet->vertices) {
        if (count < 3) corners[count] = qh_pointid(qh, vertex->point);
        ++count;
      }
      simple = simple && count == 3;
      if (facet->toporient) std::swap(corners[1], corners[2]);
      triangles.push_back(corners);
    }
  }
  qh_freeqhull(qh, !qh_ALL);
  int blocks = 0, bytes = 0;
  qh_memfreeshort(qh, &blocks, &bytes);
  if (!simple || triangles.size() < 4) return std::nullopt;

  // facets are oriented by topology, consistently even for slivers; the sign is a convention of the
  // library
  double six_volumes = 0;
  for (const auto& t : triangles) six_volumes += points[t[0]].dot(points[t[1]].cross(points[t[2]]));
  if (six_volumes < 0) {
    for (auto& t : triangles) std::swap(t[1], t[2]);
  }
  return triangles;
}

}  // namespace pliant::physics
