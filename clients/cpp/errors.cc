#include "pliant/errors.h"

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"

#include "clients/cpp/files.h"

namespace pliant {

std::vector<FieldViolation> ListFieldViolations(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& bytes) {
    google::rpc::BadRequest request;
    if (type != "type.googleapis.com/google.rpc.BadRequest" ||
        !request.ParseFromString(std::string(bytes)))
      return;
    for (const auto& violation : request.field_violations())
      violations.push_back({violation.field(), violation.description()});
  });
  return violations;
}

absl::Status ReadStatus(const google::rpc::Status& status) {
  absl::Status result(static_cast<absl::StatusCode>(status.code()), status.message());
  for (const google::protobuf::Any& detail : status.details())
    result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  return result;
}

absl::Status FileError(const std::string& path, const std::string& problem) {
  absl::Status status = absl::InvalidArgumentError(path + ": " + problem);
  status.SetPayload(kFileProblem, absl::Cord(path));
  return status;
}

}  // namespace pliant
