#pragma once

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

}  // namespace pliant::physics
