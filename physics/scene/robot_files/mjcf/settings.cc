#include "physics/scene/robot_files/mjcf/settings.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

void ReadChoice(const XmlElement& element, const char* attribute,
                std::initializer_list<const char*> choices, int* out, RobotLog* log) {
  const std::string* value = element.Find(attribute);
  if (value == nullptr) return;
  int i = 0;
  std::string expected;
  for (const char* choice : choices) {
    if (*value == choice) {
      *out = i;
      return;
    }
    absl::StrAppend(&expected, i == 0 ? "" : ", ", choice);
    ++i;
  }
  log->Error(element.place, absl::StrCat("<", element.name, "> ", attribute, ": \"", *value,
                                         "\" is not allowed; expected one of ", expected));
}

void Refuse(const XmlElement& element, const char* attribute, const char* why, RobotLog* log) {
  log->Error(element.place, absl::StrCat(element.Label(), " ", attribute, ": ", why));
}

}  // namespace

void MjcfSettings::Read(const XmlElement& compiler, RobotLog* log) {
  int choice = degrees ? 1 : 0;
  ReadChoice(compiler, "angle", {"radian", "degree"}, &choice, log);
  degrees = choice == 1;
  ReadBool(AttributeOf(compiler, "autolimits"), &automatic_limits, log);
  choice = static_cast<int>(inertia_from);
  ReadChoice(compiler, "inertiafromgeom", {"auto", "true", "false"}, &choice, log);
  inertia_from = static_cast<InertiaFrom>(choice);
  choice = global ? 1 : 0;
  ReadChoice(compiler, "coordinate", {"local", "global"}, &choice, log);
  global = choice == 1;
  if (global) {
    log->Mended(compiler.place,
                "<compiler> coordinate: \"global\" is obsolete; poses are converted to local ones");
  }
  if (const std::string* sequence = compiler.Find("eulerseq")) {
    const bool valid =
        sequence->size() == 3 && sequence->find_first_not_of("xyzXYZ") == std::string::npos;
    if (valid) {
      euler_sequence = *sequence;
    } else {
      Refuse(compiler, "eulerseq", "expected three of x, y, z, X, Y and Z", log);
    }
  }
  std::vector<double> groups;
  if (ReadNumbers(AttributeOf(compiler, "inertiagrouprange"), 2, 2, &groups, log, Range::kLength)) {
    first_inertia_group = static_cast<int>(groups[0]);
    last_inertia_group = static_cast<int>(groups[1]);
  }
  ReadNumber(AttributeOf(compiler, "boundmass"), &min_mass, log, Range::kNotNegative);
  ReadNumber(AttributeOf(compiler, "boundinertia"), &min_inertia, log, Range::kNotNegative);
  ReadBool(AttributeOf(compiler, "balanceinertia"), &balance_inertia, log);
  ReadNumber(AttributeOf(compiler, "settotalmass"), &total_mass, log);
  ReadBool(AttributeOf(compiler, "strippath"), &strip_paths, log);
  if (const std::string* folder = compiler.Find("assetdir")) mesh_folder = *folder;
  if (const std::string* folder = compiler.Find("meshdir")) mesh_folder = *folder;
}

double MjcfSettings::Radians(double angle) const {
  return degrees ? angle * (kPi / 180) : angle;
}

Matrix3d RotationFromEuler(const Vector3d& angles, const MjcfSettings& settings) {
  Matrix3d R = Matrix3d::Identity();
  for (int i = 0; i < 3; ++i) {
    const char letter = settings.euler_sequence[i];
    const int axis = std::tolower(static_cast<unsigned char>(letter)) - 'x';
    const Matrix3d turn =
        RotationFromVector(settings.Radians(angles[i]) * Vector3d::Unit(axis)).toRotationMatrix();
    // lower case: about the axes as turned so far
    R = std::islower(static_cast<unsigned char>(letter)) != 0 ? Matrix3d(R * turn)
                                                              : Matrix3d(turn * R);
  }
  return R;
}

Matrix3d RotationFromZ(const Vector3d& direction) {
  const Vector3d z = direction / std::sqrt(direction.squaredNorm());
  const Vector3d across(-z.y(), z.x(), 0);  // z-axis × z
  const double sine = std::sqrt(across.squaredNorm());
  if (sine < 1e-10) {
    Matrix3d R = Matrix3d::Identity();
    if (z.z() < 0) R.diagonal() << 1, -1, -1;
    return R;
  }
  const double angle = CalcAtan2(sine, z.z());
  return RotationFromVector(angle / sine * across).toRotationMatrix();
}

Matrix3d ReadMjcfRotation(const XmlElement& element, const MjcfSettings& settings, RobotLog* log) {
  std::vector<double> x;
  if (ReadNumbers(AttributeOf(element, "axisangle"), 4, 4, &x, log, Range::kAngle)) {
    const Vector3d axis(x[0], x[1], x[2]);
    const double length = std::sqrt(axis.squaredNorm());
    if (!(length > 0)) {
      Refuse(element, "axisangle", "the axis is zero; expected a direction", log);
      return Matrix3d::Identity();
    }
    return RotationFromVector(settings.Radians(x[3]) / length * axis).toRotationMatrix();
  }
  Vector3d euler;
  if (ReadVector(AttributeOf(element, "euler"), &euler, log, Range::kAngle))
    return RotationFromEuler(euler, settings);
  if (ReadNumbers(AttributeOf(element, "xyaxes"), 6, 6, &x, log, Range::kLength)) {
    Vector3d a(x[0], x[1], x[2]), b(x[3], x[4], x[5]);
    a /= std::max(std::sqrt(a.squaredNorm()), 1e-300);
    b -= a.dot(b) * a;
    const double length = std::sqrt(b.squaredNorm());
    if (!(a.squaredNorm() > 0.5) || !(length > 1e-10)) {
      Refuse(element, "xyaxes", "expected two directions that are not parallel", log);
      return Matrix3d::Identity();
    }
    b /= length;
    Matrix3d R;
    R << a, b, a.cross(b);
    return R;
  }
  Vector3d z;
  if (ReadAxis(AttributeOf(element, "zaxis"), &z, log, AxisLength::kAny)) return RotationFromZ(z);
  if (ReadNumbers(AttributeOf(element, "quat"), 4, 4, &x, log)) {
    const auto R = RotationFromQuaternion(x[0], x[1], x[2], x[3]);
    if (R.has_value()) return *R;
    Refuse(element, "quat", "is zero; expected a unit quaternion w x y z", log);
  }
  return Matrix3d::Identity();
}

RigidTransform ReadMjcfPose(const XmlElement& element, const MjcfSettings& settings,
                            RobotLog* log) {
  RigidTransform X;
  X.R = ReadMjcfRotation(element, settings, log);
  ReadVector(AttributeOf(element, "pos"), &X.p, log, Range::kLength);
  return X;
}

}  // namespace pliant::physics
