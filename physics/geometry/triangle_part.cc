#include "physics/geometry/triangle_part.h"

#include "physics/spatial/demand.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Signed area of a triangle whose corners are given by weights, as a fraction of the whole
// triangle.
double CalcFractionOf(const Vector3d& a, const Vector3d& b, const Vector3d& c) {
  return (b[1] - a[1]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[1] - a[1]);
}

}  // namespace

TrianglePart::TrianglePart()
    : TrianglePart(Vector3d::UnitX(), Vector3d::UnitY(), Vector3d::UnitZ()) {}

TrianglePart::TrianglePart(const Vector3d& a, const Vector3d& b, const Vector3d& c) {
  corners_[0] = a;
  corners_[1] = b;
  corners_[2] = c;
}

void TrianglePart::CutAbove(const Vector3d& values, double level) {
  // clip as Sutherland & Hodgman do
  std::array<Vector3d, 3 + kMaxCuts> before;
  std::array<double, 3 + kMaxCuts> above;
  const int count = num_corners_;
  bool is_cut = false;
  for (int i = 0; i < count; ++i) {
    before[i] = corners_[i];
    above[i] = values.dot(before[i]) - level;
    is_cut |= !(above[i] <= 0);
  }
  if (!is_cut) return;
  num_corners_ = 0;
  for (int i = 0; i < count; ++i) {
    const int next = i + 1 < count ? i + 1 : 0;
    const Vector3d &from = before[i], &to = before[next];
    const double f = above[i], g = above[next];
    PLIANT_DEMAND(num_corners_ + 2 <= static_cast<int>(corners_.size()));
    if (f <= 0) corners_[num_corners_++] = from;
    if ((f < 0 && g > 0) || (f > 0 && g < 0))
      corners_[num_corners_++] = (g * from - f * to) / (g - f);
  }
}

double TrianglePart::CalcFraction() const {
  double sum = 0;
  for (int i = 2; i < num_corners_; ++i)
    sum += CalcFractionOf(corners_[0], corners_[i - 1], corners_[i]);
  return sum;
}

Vector3d TrianglePart::CalcCentroid() const {
  Vector3d sum = Vector3d::Zero(), middle = Vector3d::Zero();
  double fraction = 0;
  for (int i = 0; i < num_corners_; ++i) middle += corners_[i];
  for (int i = 2; i < num_corners_; ++i) {
    const double part = CalcFractionOf(corners_[0], corners_[i - 1], corners_[i]);
    fraction += part;
    sum += part / 3 * (corners_[0] + corners_[i - 1] + corners_[i]);
  }
  return fraction > 1e-12 ? Vector3d(sum / fraction) : Vector3d(middle / num_corners_);
}

}  // namespace pliant::physics
