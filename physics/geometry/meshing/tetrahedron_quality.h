#pragma once

#include <algorithm>
#include <cmath>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace pliant::physics {

// Six times the signed volume [m³].
inline double CalcSixVolumes(const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                             const Eigen::Vector3d& c, const Eigen::Vector3d& d) {
  return (b - a).cross(c - a).dot(d - a);
}

// Sum of the squares of the six edges [m²].
inline double CalcSumOfSquaredEdges(const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                                    const Eigen::Vector3d& c, const Eigen::Vector3d& d) {
  return (b - a).squaredNorm() + (c - a).squaredNorm() + (d - a).squaredNorm() +
         (c - b).squaredNorm() + (d - b).squaredNorm() + (d - c).squaredNorm();
}

// Cube of the mean ratio 12 (3V)^⅔ / Σ l²: 1 for a regular tetrahedron, 0 for a flat one, negative
// for an inverted one.
inline double CalcCubedMeanRatio(const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                                 const Eigen::Vector3d& c, const Eigen::Vector3d& d) {
  const double volume = CalcSixVolumes(a, b, c, d) / 6;
  const double sum = CalcSumOfSquaredEdges(a, b, c, d);
  return sum > 0 ? 15552 * volume * std::abs(volume) / (sum * sum * sum) : 0;
}

// Sine of the dihedral angle nearest to 0 or π; not positive for a flat or inverted tetrahedron.
inline double CalcMinDihedralSine(const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                                  const Eigen::Vector3d& c, const Eigen::Vector3d& d) {
  const Eigen::Vector3d ab = b - a, ac = c - a, ad = d - a, bc = c - b, bd = d - b, cd = d - c;
  const Eigen::Vector3d abc = ab.cross(ac);
  const double six_volumes = abc.dot(ad);
  // squared doubled areas of the faces, by the corner that each leaves out
  const double of_d = abc.squaredNorm(), of_c = ab.cross(ad).squaredNorm(),
               of_b = ac.cross(ad).squaredNorm(), of_a = bc.cross(bd).squaredNorm();
  if (!(of_a * of_b > 0 && of_c * of_d > 0)) return -1;
  // the sine at an edge of length l is 6V l / (2A₁ 2A₂), with the areas of its two faces: it is
  // smallest for the smallest l² / (4 A₁² 4 A₂²) if V > 0, and for the greatest if V < 0
  const double ratios[6] = {ab.squaredNorm() / (of_c * of_d), ac.squaredNorm() / (of_b * of_d),
                            ad.squaredNorm() / (of_b * of_c), bc.squaredNorm() / (of_a * of_d),
                            bd.squaredNorm() / (of_a * of_c), cd.squaredNorm() / (of_a * of_b)};
  const auto [least, greatest] = std::minmax_element(ratios, ratios + 6);
  return six_volumes * std::sqrt(six_volumes > 0 ? *least : *greatest);
}

// Smallest dihedral angle [rad]; 0 for a flat or inverted tetrahedron.
double CalcMinDihedral(const Eigen::Vector3d& a, const Eigen::Vector3d& b, const Eigen::Vector3d& c,
                       const Eigen::Vector3d& d);

}  // namespace pliant::physics
