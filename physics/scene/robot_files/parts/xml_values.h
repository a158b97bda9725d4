#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include "physics/scene/robot_files/parts/xml_tree.h"
#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// A value in an XML file and its name in messages.
struct XmlValue {
  const std::string* text = nullptr;  // null when it is not there
  const XmlElement* owner = nullptr;
  std::string_view attribute;  // empty: the text of `owner`

  std::string Name() const;
};

// <link mass="…">
XmlValue AttributeOf(const XmlElement& element, std::string_view attribute);
// <link><mass>…</mass></link>
XmlValue TextOfChild(const XmlElement& element, std::string_view child);
// <link><mass value="…"/></link>
XmlValue AttributeOfChild(const XmlElement& element, std::string_view child,
                          std::string_view attribute);
XmlValue TextOf(const XmlElement& element);

enum class Range {
  kAny,          // |x| ≤ 1e30
  kPositive,     // in (0, 1e30]
  kNotNegative,  // in [0, 1e30]
  kLength,       // |x| ≤ 1e6, a position [m]
  kSize,         // in (0, 1e6], a size [m]
  kSizeOrZero,   // in [0, 1e6], where a shape without size is left out
  kAngle,        // |x| ≤ 1e5 [rad or degrees]
  kInfinite      // infinite too
};

// These functions write to `out` and return true when the value is present and valid. An invalid
// value is an error in `log`; an absent one is not.
bool ReadNumber(const XmlValue& value, double* out, RobotLog* log, Range range = Range::kAny);
bool ReadInteger(const XmlValue& value, int* out, RobotLog* log, int least, int most);
bool ReadBool(const XmlValue& value, bool* out, RobotLog* log);
bool ReadVector(const XmlValue& value, Eigen::Vector3d* out, RobotLog* log,
                Range range = Range::kAny);
// From `least` to `most` numbers.
bool ReadNumbers(const XmlValue& value, std::size_t least, std::size_t most,
                 std::vector<double>* out, RobotLog* log, Range range = Range::kAny);

// A direction, scaled to unit length. Another length gives a warning unless the format allows any;
// zero is an error.
enum class AxisLength { kUnit, kAny };
bool ReadAxis(const XmlValue& value, Eigen::Vector3d* out, RobotLog* log,
              AxisLength length = AxisLength::kUnit);

// A number in C's notation, whatever the locale; also "inf" and "nan".
std::optional<double> ParseNumber(std::string_view text);

// A rotation matrix from a quaternion w, x, y, z of any length but zero.
std::optional<Eigen::Matrix3d> RotationFromQuaternion(double w, double x, double y, double z);

// As above, where the format requires a unit quaternion: another length gives a warning; zero is an
// error and returns the identity.
Eigen::Matrix3d ReadUnitQuaternion(const XmlValue& value, double w, double x, double y, double z,
                                   RobotLog* log);

}  // namespace pliant::physics
