#include "clients/cpp/command_check.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace pliant {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status NotFinite(const std::string& field, double value) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is not allowed; expected a finite number"));
}

// Checks all doubles of a message.
absl::Status CheckFinite(const Message& message, const std::string& path) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE) continue;
    const std::string name = absl::StrCat(path, ".", field.name());
    if (field.is_repeated()) {
      for (int k = 0; k < reflection.FieldSize(message, &field); ++k) {
        const double value = reflection.GetRepeatedDouble(message, &field, k);
        if (!std::isfinite(value)) return NotFinite(absl::StrCat(name, "[", k, "]"), value);
      }
    } else if (const double value = reflection.GetDouble(message, &field); !std::isfinite(value)) {
      return NotFinite(name, value);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLength(absl::string_view field, int size, int expected, bool may_be_empty) {
  if (size == expected || (may_be_empty && size == 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " has ", size, " numbers; expected ",
                                                 expected, may_be_empty ? " or none" : ""));
}

}  // namespace

absl::Status CheckCommand(const v1::CommandRequest& command) {
  const FieldDescriptor* chosen = command.GetReflection()->GetOneofFieldDescriptor(
      command, command.GetDescriptor()->FindOneofByName("command"));
  if (chosen == nullptr)
    return absl::InvalidArgumentError(
        "the command is empty; set a twist, joint targets, or another");
  const Message& content = command.GetReflection()->GetMessage(command, chosen);
  absl::Status status = CheckFinite(content, std::string(chosen->name()));
  if (!status.ok()) return status;
  if (command.has_joint_targets()) {
    const v1::JointTargets& targets = command.joint_targets();
    return CheckLength("joint_targets.values", targets.values_size(), targets.joints_size(), false);
  }
  if (command.has_twist()) {
    status = CheckLength("twist.linear", command.twist().linear_size(), 3, true);
    if (!status.ok()) return status;
    return CheckLength("twist.angular", command.twist().angular_size(), 3, true);
  }
  if (command.has_pose()) {
    status = CheckLength("pose.position", command.pose().position_size(), 3, false);
    if (!status.ok()) return status;
    return CheckLength("pose.quaternion", command.pose().quaternion_size(), 4, true);
  }
  return absl::OkStatus();
}

}  // namespace pliant
