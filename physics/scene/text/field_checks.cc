#include "physics/scene/text/field_checks.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"

#include "physics/scene/text/scalar_text.h"
#include "physics/scene/text/yaml_scene.h"
#include "physics/spatial/trig.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::RepeatedField;

void CheckNumber(double value, const FieldDescriptor* field, const std::string& path,
                 SceneLog* log) {
  if (std::isfinite(value)) return;
  log->Error(path, absl::StrCat(Quoted(NumberText(value)),
                                " is not finite; expected a plain number", UnitPhrase(field)));
}

bool CheckLargest(const std::string& path, double value, const std::string& noun, double largest,
                  SceneLog* log) {
  if (std::abs(value) <= largest) return true;
  log->Error(path, absl::StrCat(NumberText(value), " is not allowed; expected ", noun,
                                " of at most ", NumberText(largest), ". Is the unit right?"));
  return false;
}

}  // namespace

bool CheckPositive(const std::string& path, double value, const std::string& noun, SceneLog* log,
                   double largest, double smallest) {
  if (value >= smallest) return CheckLargest(path, value, "a " + noun, largest, log);
  log->Error(path, absl::StrCat(NumberText(value), " is not allowed; expected a positive ", noun,
                                value > 0 ? absl::StrCat(" of at least ", NumberText(smallest),
                                                         ". Is the unit right?")
                                          : ""));
  return false;
}

bool CheckNotNegative(const std::string& path, double value, const std::string& noun, SceneLog* log,
                      double largest) {
  if (value >= 0) return CheckLargest(path, value, "a " + noun, largest, log);
  log->Error(
      path, absl::StrCat(NumberText(value), " is not allowed; expected a ", noun, " of 0 or more"));
  return false;
}

bool CheckLength(const std::string& path, bool given, double value, const std::string& noun,
                 SceneLog* log) {
  if (!given) return Missing(path, absl::StrCat("a positive ", noun, " in metres"), log);
  return CheckPositive(path, value, noun + " in metres", log, kMaxLength, kMinLength);
}

bool CheckTorus(const std::string& path, const v1::Torus& torus, SceneLog* log) {
  bool ok = CheckLength(path + ".ring_radius", torus.has_ring_radius(), torus.ring_radius(),
                        "radius", log);
  ok &= CheckLength(path + ".tube_radius", torus.has_tube_radius(), torus.tube_radius(), "radius",
                    log);
  if (!ok || torus.tube_radius() < torus.ring_radius()) return ok;
  log->Error(path + ".tube_radius",
             absl::StrCat(NumberText(torus.tube_radius()),
                          " is not allowed; expected less than the ring_radius of ",
                          NumberText(torus.ring_radius()), " metres"));
  return false;
}

bool Missing(const std::string& path, const std::string& expected, SceneLog* log) {
  log->Missing(path, absl::StrCat("is missing; expected ", expected));
  return false;
}

bool ReadVector(const std::string& path, const RepeatedField<double>& numbers,
                const std::string& noun, double largest, SceneLog* log, Eigen::Vector3d* vector) {
  if (numbers.empty()) return true;
  if (numbers.size() != 3) {
    log->Error(path,
               absl::StrCat(numbers.size(), numbers.size() == 1 ? " number is" : " numbers are",
                            " given; expected 3: the ", noun, " along x, y and z"));
    return false;
  }
  bool ok = true;
  for (int i = 0; i < 3; ++i) {
    ok &= CheckLargest(absl::StrCat(path, "[", i, "]"), numbers[i], "a " + noun, largest, log);
    (*vector)[i] = numbers[i];
  }
  return ok;
}

bool ReadQuaternion(const std::string& path, const double* wxyz, SceneLog* log,
                    Eigen::Quaterniond* rotation) {
  const double largest =
      std::max({std::abs(wxyz[0]), std::abs(wxyz[1]), std::abs(wxyz[2]), std::abs(wxyz[3])});
  if (!(largest > 1e-9)) {
    log->Error(path,
               "a quaternion of length zero is not a rotation; expected [w, x, y, z]. The identity "
               "is [1, 0, 0, 0]");
    return false;
  }
  // scale first, so that squares neither underflow nor overflow
  const double w = wxyz[0] / largest, x = wxyz[1] / largest, y = wxyz[2] / largest,
               z = wxyz[3] / largest;
  const double norm = std::sqrt(w * w + x * x + y * y + z * z);
  *rotation = Eigen::Quaterniond(w / norm, x / norm, y / norm, z / norm);
  return true;
}

bool ReadPose(const std::string& path, const v1::Pose& pose, SceneLog* log, RigidTransform* X) {
  *X = RigidTransform();
  bool ok =
      ReadVector(path + ".position", pose.position(), "position in metres", kMaxLength, log, &X->p);
  if (pose.has_quaternion()) {
    const std::string at = path + ".quaternion";
    Eigen::Quaterniond rotation;
    if (pose.quaternion().value_size() != 4) {
      log->Error(at, absl::StrCat(pose.quaternion().value_size(),
                                  " numbers are given; expected 4: w, x, y and z"));
      return false;
    }
    if (!ReadQuaternion(at, pose.quaternion().value().data(), log, &rotation)) return false;
    X->R = rotation.toRotationMatrix();
  }
  if (pose.has_rpy_degrees()) {
    const std::string at = path + ".rpy_degrees";
    Eigen::Vector3d rpy = Eigen::Vector3d::Zero();
    if (pose.rpy_degrees().value_size() != 3) {
      log->Error(at,
                 absl::StrCat(pose.rpy_degrees().value_size(),
                              " numbers are given; expected 3: roll, pitch and yaw in degrees"));
      return false;
    }
    if (!ReadVector(at, pose.rpy_degrees().value(), "angle in degrees", 36000, log, &rpy))
      return false;
    X->R = RotationFromRollPitchYaw(rpy * (kPi / 180)).toRotationMatrix();
  }
  return ok;
}

bool CheckName(const std::string& path, const std::string& name, SceneLog* log) {
  constexpr std::size_t kMaxTextLength = 128;
  if (name.empty()) return Missing(path, "a name", log);
  if (name.size() > kMaxTextLength) {
    log->Error(path, absl::StrCat(Quoted(name), " has ", name.size(),
                                  " characters; expected a name of at most ", kMaxTextLength));
    return false;
  }
  for (const char c : name) {
    if (c == '/') {
      log->Error(path, absl::StrCat(Quoted(name),
                                    " contains a '/', which separates a robot from its link; "
                                    "expected a name without it"));
      return false;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      log->Error(path, absl::StrCat(Quoted(name),
                                    " contains a control character; expected a name on one line"));
      return false;
    }
  }
  return true;
}

std::optional<double> FindNumber(const Message& message, const std::string& name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE ||
      field->is_repeated() || !message.GetReflection()->HasField(message, field))
    return std::nullopt;
  return message.GetReflection()->GetDouble(message, field);
}

void CheckEveryField(const Message& message, const std::string& path, SceneLog* log) {
  const Reflection* reflection = message.GetReflection();
  if (const auto& unknown = reflection->GetUnknownFields(message); !unknown.empty()) {
    log->Error(path, absl::StrCat(
                         "contains field number ", unknown.field(0).number(),
                         ", which is unknown to this version. Use a server as new as the client"));
  }
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string at = path.empty() ? field->name() : absl::StrCat(path, ".", field->name());
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const bool repeated = field->is_repeated();
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_DOUBLE: {
          const double value = repeated ? reflection->GetRepeatedDouble(message, field, i)
                                        : reflection->GetDouble(message, field);
          if (!std::isfinite(value))
            CheckNumber(value, field, repeated ? absl::StrCat(at, "[", i, "]") : at, log);
          break;
        }
        case FieldDescriptor::CPPTYPE_ENUM: {
          const int value = reflection->GetEnumValue(message, field);
          if (field->enum_type()->FindValueByNumber(value) == nullptr) {
            log->Error(at, absl::StrCat(value, " is not a valid choice; expected ",
                                        JoinWithOr(EnumNames(field))));
          }
          break;
        }
        case FieldDescriptor::CPPTYPE_MESSAGE:
          CheckEveryField(repeated ? reflection->GetRepeatedMessage(message, field, i)
                                   : reflection->GetMessage(message, field),
                          repeated ? absl::StrCat(at, "[", i, "]") : at, log);
          break;
        default:
          break;
      }
    }
  }
}

}  // namespace pliant::physics
