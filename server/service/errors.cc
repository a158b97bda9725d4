#include "server/service/errors.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"

#include "physics/scene/scene.h"
#include "server/host/text.h"

namespace pliant::server {
namespace {

constexpr char kBadRequestType[] = "type.googleapis.com/google.rpc.BadRequest";

// gRPC carries error messages in headers, whose size clients limit (8 KiB by default), so only the
// first errors are included.
constexpr int kMaxErrors = 20;
constexpr std::size_t kMaxMessage = 3000;
// Limits on the warnings in a reply, which may be larger than a header.
constexpr int kMaxWarnings = 100;
constexpr std::size_t kMaxWarning = 1000;

}  // namespace

absl::Status SceneError(const std::vector<physics::SceneMessage>& messages, const char* what) {
  std::string text = what;
  google::rpc::BadRequest details;
  int errors = 0;
  for (const physics::SceneMessage& message : messages) {
    if (!message.error) continue;
    ++errors;
    const std::string line = physics::Format(message);
    if (errors > kMaxErrors || text.size() + line.size() > kMaxMessage) continue;
    absl::StrAppend(&text, "\n", line);
    google::rpc::BadRequest::FieldViolation* violation = details.add_field_violations();
    violation->set_field(message.path);
    violation->set_description(line);
  }
  const int listed = details.field_violations_size();
  if (errors > listed)
    absl::StrAppend(&text, "\nand ", errors - listed, " more; `pliantd check` shows all");
  absl::Status status = absl::InvalidArgumentError(text);
  if (listed > 0) status.SetPayload(kBadRequestType, absl::Cord(details.SerializeAsString()));
  return status;
}

void AddWarnings(const std::vector<physics::SceneMessage>& messages, v1::World* world) {
  const auto count = std::ranges::count_if(messages, [](const auto& m) { return !m.error; });
  for (physics::SceneMessage message : messages) {
    if (message.error) continue;
    if (world->warnings_size() == kMaxWarnings - 1 && count > kMaxWarnings) {
      world->add_warnings(
          absl::StrCat("and ", count - world->warnings_size(), " more; `pliantd check` shows all"));
      return;
    }
    message.error = true;  // omits the prefix of warnings
    world->add_warnings(Shorten(physics::Format(message), kMaxWarning));
  }
}

absl::Status NoUploads() {
  return absl::FailedPreconditionError(
      "this server keeps no uploads; start it with --data-dir FOLDER");
}

google::rpc::Status WriteStatus(const absl::Status& status) {
  google::rpc::Status message;
  message.set_code(static_cast<int>(status.code()));
  message.set_message(std::string(status.message()));
  status.ForEachPayload([&message](absl::string_view type, const absl::Cord& payload) {
    google::protobuf::Any* detail = message.add_details();
    detail->set_type_url(std::string(type));
    detail->set_value(std::string(payload));
  });
  return message;
}

}  // namespace pliant::server
