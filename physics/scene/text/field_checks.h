#pragma once

#include <optional>
#include <string>

#include <Eigen/Core>

#include "physics/scene/text/scene_log.h"
#include "physics/spatial/rigid_transform.h"

namespace google::protobuf {
class Message;
template <typename T>
class RepeatedField;
}  // namespace google::protobuf

namespace pliant::v1 {
class Pose;
class Torus;
}  // namespace pliant::v1

namespace pliant::physics {

// Checks of single fields of a scene. Each returns whether the field is valid and otherwise reports
// to `log` the value, what was expected, and the remedy. The noun includes the unit: "density in
// kg/m³".

// Lengths and positions beyond this are wrong units, or would lose contact gaps to rounding [m].
inline constexpr double kMaxLength = 1e6;
inline constexpr double kMaxDensity = 1e9;  // [kg/m³]
inline constexpr double kMaxFriction = 1e6;
inline constexpr double kMinLength = 1e-6;

// 0 < smallest ≤ value ≤ largest
bool CheckPositive(const std::string& path, double value, const std::string& noun, SceneLog* log,
                   double largest = 1e18, double smallest = 1e-12);

// 0 ≤ value ≤ largest
bool CheckNotNegative(const std::string& path, double value, const std::string& noun, SceneLog* log,
                      double largest = 1e18);

// A size of a shape: between kMinLength and kMaxLength.
bool CheckLength(const std::string& path, bool given, double value, const std::string& noun,
                 SceneLog* log);

// Checks the radii of a torus, whose tube must not reach its axis.
bool CheckTorus(const std::string& path, const v1::Torus& torus, SceneLog* log);

bool Missing(const std::string& path, const std::string& expected, SceneLog* log);

// Three numbers, at most `largest` in magnitude; an empty list leaves `vector` unchanged.
bool ReadVector(const std::string& path, const google::protobuf::RepeatedField<double>& numbers,
                const std::string& noun, double largest, SceneLog* log, Eigen::Vector3d* vector);

// Position and rotation; omitted parts stay zero and identity.
bool ReadPose(const std::string& path, const v1::Pose& pose, SceneLog* log, RigidTransform* X);

// A unit quaternion from four numbers w, x, y, z of any length but zero.
bool ReadQuaternion(const std::string& path, const double* wxyz, SceneLog* log,
                    Eigen::Quaterniond* rotation);

// A name of a body, group, region or probe: 1 to 128 characters, none of them '/' or a control
// character.
bool CheckName(const std::string& path, const std::string& name, SceneLog* log);

// Value of an optional field that is a number, by its name; nothing when it is not given, or when
// there is no such field.
std::optional<double> FindNumber(const google::protobuf::Message& message, const std::string& name);

// Reports numbers that are not finite, and enum values and fields unknown to this version, in the
// whole message.
void CheckEveryField(const google::protobuf::Message& message, const std::string& path,
                     SceneLog* log);

}  // namespace pliant::physics
