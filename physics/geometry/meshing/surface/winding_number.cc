#include "physics/geometry/meshing/surface/winding_number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <Eigen/Geometry>

#include "physics/spatial/demand.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr int kWindingLeafSize = 8;
constexpr int kMaxWindingDepth = 64;
// A dipole represents a node beyond this many radii.
constexpr double kDipoleReach = 2.2;

// Sum of angles atan2(y, x), as the argument of a product of complex numbers plus a number of full
// turns, so that one arctangent replaces many.
class AngleSum {
 public:
  void Add(double x, double y) {
    if (y == 0) return;
    const double re = re_ * x - im_ * y, im = re_ * y + im_ * x;
    if (im_ >= 0 && y > 0 && im < 0) ++turns_;
    if (im_ < 0 && y < 0 && (im > 0 || (im == 0 && re < 0))) --turns_;
    const double scale = 1 / (std::abs(re) + std::abs(im));
    re_ = re * scale;
    im_ = im * scale;
  }
  double Calc() const { return CalcAtan2(im_, re_) + 2 * kPi * turns_; }

 private:
  double re_ = 1, im_ = 0;
  int turns_ = 0;
};

// Adds half of the solid angle of a triangle seen from the origin, Van Oosterom & Strackee 1983.
void AddHalfSolidAngle(const Vector3d& a, const Vector3d& b, const Vector3d& c, AngleSum* sum) {
  const double la = std::sqrt(a.squaredNorm()), lb = std::sqrt(b.squaredNorm()),
               lc = std::sqrt(c.squaredNorm());
  const double y = a.dot(b.cross(c));
  const double x = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
  // scale, so that products neither overflow nor underflow in any unit of length
  const double scale = std::abs(x) + std::abs(y);
  if (scale > 0) sum->Add(x / scale, y / scale);
}

}  // namespace

WindingNumber::WindingNumber(const TriangleMesh& mesh) {
  PLIANT_DEMAND(!mesh.triangles.empty());
  const int n = static_cast<int>(mesh.triangles.size());
  std::vector<Vector3d> centroids(n);
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) {
    const auto& t = mesh.triangles[i];
    centroids[i] = (mesh.vertices[t[0]] + mesh.vertices[t[1]] + mesh.vertices[t[2]]) / 3;
    order[i] = i;
  }

  // split at the median of the longest side; children always come after their parent
  nodes_.resize(1);
  std::vector<std::pair<int, int>> ranges = {{0, n}};
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    const auto [first, count] = ranges[at];
    Vector3d lower = centroids[order[first]], upper = lower, center = Vector3d::Zero();
    Vector3d area_normal = Vector3d::Zero();
    double area = 0;
    for (int k = first; k < first + count; ++k) {
      const auto& t = mesh.triangles[order[k]];
      const Vector3d normal = 0.5 * (mesh.vertices[t[1]] - mesh.vertices[t[0]])
                                        .cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]);
      const double size = std::sqrt(normal.squaredNorm());
      area_normal += normal;
      area += size;
      center += size * centroids[order[k]];
      lower = lower.cwiseMin(centroids[order[k]]);
      upper = upper.cwiseMax(centroids[order[k]]);
    }
    center = area > 0 ? Vector3d(center / area) : Vector3d(0.5 * (lower + upper));
    double squared_radius = 0;
    for (int k = first; k < first + count; ++k) {
      for (const int v : mesh.triangles[order[k]])
        squared_radius = std::max(squared_radius, (mesh.vertices[v] - center).squaredNorm());
    }
    nodes_[at] = {center, area_normal, kDipoleReach * kDipoleReach * squared_radius, first, count};
    if (count <= kWindingLeafSize) continue;
    int axis = 0;
    (upper - lower).maxCoeff(&axis);
    const int left = count / 2;
    std::nth_element(order.begin() + first, order.begin() + first + left,
                     order.begin() + first + count, [&](int a, int b) {
                       return std::pair(centroids[a][axis], a) < std::pair(centroids[b][axis], b);
                     });
    nodes_[at].first = static_cast<int>(nodes_.size());
    nodes_[at].count = 0;
    nodes_.resize(nodes_.size() + 2);
    ranges.emplace_back(first, left);
    ranges.emplace_back(first + left, count - left);
  }
  corners_.resize(n);
  for (int k = 0; k < n; ++k) {
    for (int c = 0; c < 3; ++c) corners_[k][c] = mesh.vertices[mesh.triangles[order[k]][c]];
  }
}

double WindingNumber::Calc(const Vector3d& p) const {
  double angle = 0;
  AngleSum half;
  int stack[kMaxWindingDepth];
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node& node = nodes_[stack[--top]];
    const Vector3d offset = node.center - p;
    const double squared = offset.squaredNorm();
    if (squared > node.squared_reach && squared > 0) {
      angle += node.area_normal.dot(offset) / (squared * std::sqrt(squared));
      continue;
    }
    if (node.count == 0) {
      stack[top++] = node.first + 1;
      stack[top++] = node.first;
      continue;
    }
    for (int k = node.first; k < node.first + node.count; ++k)
      AddHalfSolidAngle(corners_[k][0] - p, corners_[k][1] - p, corners_[k][2] - p, &half);
  }
  return (angle + 2 * half.Calc()) / (4 * kPi);
}

}  // namespace pliant::physics
