#include "physics/geometry/meshing/tetrahedron_quality.h"

#include <algorithm>
#include <array>

#include "physics/spatial/trig.h"

namespace pliant::physics {

double CalcMinDihedral(const Eigen::Vector3d& a, const Eigen::Vector3d& b, const Eigen::Vector3d& c,
                       const Eigen::Vector3d& d) {
  if (!(CalcSixVolumes(a, b, c, d) > 0)) return 0;
  // outward normals of the faces opposite to each corner
  const std::array<Eigen::Vector3d, 4> normals = {
      (c - b).cross(d - b).normalized(), (d - a).cross(c - a).normalized(),
      (b - a).cross(d - a).normalized(), (c - a).cross(b - a).normalized()};
  double least = kPi;
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j)
      least = std::min(least, kPi - CalcAcos(std::clamp(normals[i].dot(normals[j]), -1.0, 1.0)));
  }
  return least;
}

}  // namespace pliant::physics
