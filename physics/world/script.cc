#include "physics/world/script.h"

#include <algorithm>
#include <cmath>

#include "physics/spatial/demand.h"

namespace pliant::physics {
namespace {

// Position of t in a table of times: between two entries, before the first or after the last.
struct Place {
  std::size_t left = 0, right = 0;
  double s = 0;  // 0 at left, 1 at right
  bool outside = false;
};

Place FindPlace(const std::vector<double>& times, double t, double h) {
  PLIANT_DEMAND(!times.empty());
  const double early = t - 1e-6 * h;
  const auto right = std::lower_bound(times.begin(), times.end(), early);
  if (right == times.begin()) return {0, 0, 0, true};
  if (right == times.end()) return {times.size() - 1, times.size() - 1, 0, true};
  const std::size_t k = static_cast<std::size_t>(right - times.begin());
  const double s = (t - times[k - 1]) / (times[k] - times[k - 1]);
  return {k - 1, k, std::clamp(s, 0.0, 1.0), false};
}

Eigen::Vector3d Vector(const std::vector<double>& values, std::size_t first) {
  PLIANT_DEMAND(values.size() >= first + 3);
  return {values[first], values[first + 1], values[first + 2]};
}

Eigen::Quaterniond Quaternion(const std::vector<double>& values) {
  PLIANT_DEMAND(values.size() == 7);
  const Eigen::Quaterniond q(values[3], values[4], values[5], values[6]);
  const double norm = std::sqrt(q.w() * q.w() + q.x() * q.x() + q.y() * q.y() + q.z() * q.z());
  PLIANT_DEMAND(norm > 0);
  return Eigen::Quaterniond(q.w() / norm, q.x() / norm, q.y() / norm, q.z() / norm);
}

// Linear interpolation, exact at both ends, so that a constant table gives the same bits at every
// time.
Eigen::Vector3d Interpolate(const Eigen::Vector3d& a, const Eigen::Vector3d& b, double s) {
  return s == 1.0 ? b : Eigen::Vector3d(a + s * (b - a));
}

}  // namespace

Eigen::Quaterniond Slerp(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b, double s) {
  if (s == 0.0) return a;
  if (s == 1.0) return b;
  Eigen::Quaterniond between = a.conjugate() * b;
  // q and −q are one rotation: take the one that turns by less than half a turn
  if (between.w() < 0) between.coeffs() = -between.coeffs();
  return a * RotationFromVector(s * VectorFromRotation(between));
}

RigidTransform SampleScriptedPose(const Script& script, const RigidTransform& X_WB0, double t,
                                  double h) {
  const Place place = FindPlace(script.times, t, h);
  const std::vector<double>& left = script.values[place.left];
  const std::vector<double>& right = script.values[place.right];

  RigidTransform X_WB = X_WB0;
  X_WB.p = Interpolate(Vector(left, 0), Vector(right, 0), place.s);
  if (left.size() == 7) {
    X_WB.R = Slerp(Quaternion(left), Quaternion(right), place.s).toRotationMatrix();
  }
  return X_WB;
}

std::optional<Eigen::Vector3d> SampleScriptedVector(const Script& script, double t, double h) {
  const Place place = FindPlace(script.times, t, h);
  if (place.outside) return std::nullopt;
  return Interpolate(Vector(script.values[place.left], 0), Vector(script.values[place.right], 0),
                     place.s);
}

std::optional<std::array<double, 6>> SampleScriptedNumbers(const Script& script, bool is_target,
                                                           double t, double h) {
  const Place place = FindPlace(script.times, t, h);
  if (place.outside && !is_target) return std::nullopt;
  const std::vector<double>& left = script.values[place.left];
  const std::vector<double>& right = script.values[place.right];
  std::array<double, 6> numbers{};
  PLIANT_DEMAND(left.size() <= numbers.size());
  for (std::size_t i = 0; i < left.size(); ++i)
    numbers[i] = place.s == 1.0 ? right[i] : left[i] + place.s * (right[i] - left[i]);
  return numbers;
}

}  // namespace pliant::physics
