#include "physics/scene/robot_files/parts/defects.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "absl/strings/str_cat.h"
#include <Eigen/Eigenvalues>

namespace pliant::physics {

using Eigen::Matrix3d;
using Eigen::Vector3d;

namespace {

constexpr double kRigidStiffness = 1e10;  // [N/m]

}  // namespace

Matrix3d NearestInertia(const Matrix3d& tensor) {
  const Eigen::SelfAdjointEigenSolver<Matrix3d> solver(tensor);
  Vector3d m = solver.eigenvalues();  // ascending
  // project onto the plane of the only inequality that ascending moments can break
  const double excess = m[2] - m[1] - m[0];
  if (excess > 0) m += excess / 3 * Vector3d(1, 1, -1);
  // a moment below zero breaks the others too; the nearest tensor is then that of a rod, or zero
  if (m[0] < 0) {
    const double rod = std::max(0.5 * (solver.eigenvalues()[1] + solver.eigenvalues()[2]), 0.0);
    m = {0, rod, rod};
  }
  const Matrix3d& R = solver.eigenvectors();
  return R * m.asDiagonal() * R.transpose();
}

bool HasNoVolume(const Geometry& geometry) {
  if (const auto* box = std::get_if<Box>(&geometry)) return box->half_size.minCoeff() == 0;
  if (const auto* sphere = std::get_if<Sphere>(&geometry)) return sphere->radius == 0;
  if (const auto* capsule = std::get_if<Capsule>(&geometry)) return capsule->radius == 0;
  if (const auto* cylinder = std::get_if<Cylinder>(&geometry))
    return cylinder->radius == 0 || cylinder->length == 0;
  if (const auto* ellipsoid = std::get_if<Ellipsoid>(&geometry))
    return ellipsoid->radii.minCoeff() == 0;
  return false;
}

bool LeaveOutWithoutVolume(const Geometry& geometry, const FilePlace& place,
                           const std::string& what, RobotLog* log) {
  if (!HasNoVolume(geometry)) return false;
  log->Mended(place, absl::StrCat(what, ": a shape with a size of 0 is left out"));
  return true;
}

void SetLimits(double lower, double upper, const FilePlace& place, const std::string& what,
               Joint* joint, RobotLog* log) {
  if (lower > upper) {
    log->Mended(place, absl::StrCat(what, ": its lower limit ", lower, " is above the upper limit ",
                                    upper, "; it is free, without limits"));
    return;
  }
  joint->lower = lower;
  joint->upper = upper;
}

double ReadBound(double given, const FilePlace& place, const std::string& what, RobotLog* log) {
  if (!(given < 0)) return given;
  log->Mended(place, absl::StrCat(what, ": ", given, " is taken for no limit"));
  return std::numeric_limits<double>::infinity();
}

bool ReadRestitution(const XmlValue& value, double* restitution, RobotLog* log) {
  double given = 0;
  if (!ReadNumber(value, &given, log, Range::kNotNegative)) return false;
  if (given > 1) {
    log->Mended(value.owner->place, absl::StrCat(value.Name(), ": a restitution of ", given,
                                                 " would gain energy; 1 is used"));
  }
  *restitution = std::min(given, 1.0);
  return true;
}

void ReadContactStiffness(const XmlValue& value, double* stiffness, RobotLog* log) {
  double given = 0;
  if (ReadNumber(value, &given, log, Range::kPositive) && given < kRigidStiffness)
    *stiffness = given;
}

}  // namespace pliant::physics
