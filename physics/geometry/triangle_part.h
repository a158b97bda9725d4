#pragma once

#include <array>

#include <Eigen/Core>

namespace pliant::physics {

// A convex part of a triangle: a polygon whose corners are barycentric weights, counter-clockwise
// as the triangle. It is cut by planes: each is a linear function on the triangle, given by its
// values at the three vertices.
class TrianglePart {
 public:
  static constexpr int kMaxCuts = 8;

  // The whole triangle.
  TrianglePart();
  // The sub-triangle with corners a, b and c.
  TrianglePart(const Eigen::Vector3d& a, const Eigen::Vector3d& b, const Eigen::Vector3d& c);

  // Keeps the part where the linear function is at most `level`; at most kMaxCuts calls.
  void CutAbove(const Eigen::Vector3d& values, double level);

  bool empty() const { return num_corners_ < 3; }
  int num_corners() const { return num_corners_; }
  const Eigen::Vector3d& corner(int i) const { return corners_[i]; }

  // Area as a fraction of the whole triangle's, and the weights of the centroid, or of the mean of
  // the corners when the area is zero.
  double CalcFraction() const;
  Eigen::Vector3d CalcCentroid() const;

 private:
  int num_corners_ = 3;
  std::array<Eigen::Vector3d, 3 + kMaxCuts> corners_;
};

// Number of corners of the divisions² equal triangles that a triangle is cut into.
constexpr int CountPieceCorners(int divisions) {
  return (divisions + 1) * (divisions + 2) / 2;
}

// Calls visit(number, corners, points) for each of these triangles, with the barycentric weights of
// one corner a column, and the corners' numbers among all.
template <typename Visit>
void VisitPieces(int divisions, const Visit& visit) {
  const auto corner = [&](int i, int j) -> Eigen::Vector3d {
    return Eigen::Vector3d(divisions - i - j, i, j) / divisions;
  };
  const auto point = [&](int i, int j) { return j * (divisions + 1) - j * (j - 1) / 2 + i; };
  int number = 0;
  Eigen::Matrix3d corners;
  for (int j = 0; j < divisions; ++j) {
    for (int i = 0; i + j < divisions; ++i) {
      corners << corner(i, j), corner(i + 1, j), corner(i, j + 1);
      visit(number++, corners, std::array{point(i, j), point(i + 1, j), point(i, j + 1)});
      if (i + j + 2 > divisions) continue;
      corners << corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1);
      visit(number++, corners, std::array{point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)});
    }
  }
}

}  // namespace pliant::physics
