#include "server/rpc/reflection.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"

#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/host/text.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/method_calls.h"

namespace pliant::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::FileDescriptorResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

// Adds the file and all that it imports, each once.
void AddFiles(const FileDescriptor* file, std::set<const FileDescriptor*>* added,
              FileDescriptorResponse* response) {
  if (!added->insert(file).second) return;
  google::protobuf::FileDescriptorProto description;
  file->CopyTo(&description);
  response->add_file_descriptor_proto(description.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) AddFiles(file->dependency(i), added, response);
}

void SetError(const std::string& what, ServerReflectionResponse* response) {
  response->mutable_error_response()->set_error_code(static_cast<int>(absl::StatusCode::kNotFound));
  response->mutable_error_response()->set_error_message(what);
}

void SetFiles(const FileDescriptor* file, const std::string& name,
              ServerReflectionResponse* response) {
  if (file == nullptr)
    return SetError(absl::StrCat("there is no \"", Shorten(name, 80), "\""), response);
  std::set<const FileDescriptor*> added;
  AddFiles(file, &added, response->mutable_file_descriptor_response());
}

ServerReflectionResponse Answer(const ServerReflectionRequest& request,
                                const std::vector<std::string>& services) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kListServices:
      for (const std::string& name : services)
        response.mutable_list_services_response()->add_service()->set_name(name);
      break;
    case ServerReflectionRequest::kFileByFilename:
      SetFiles(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(),
               &response);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      SetFiles(pool.FindFileContainingSymbol(request.file_containing_symbol()),
               request.file_containing_symbol(), &response);
      break;
    case ServerReflectionRequest::kFileContainingExtension:
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      SetError("the messages of this server have no extensions", &response);
  }
  return response;
}

// Answers each request of its stream. The call ends when reading fails because the client is gone.
class ReflectionCall final : public RpcCall {
 public:
  ReflectionCall(const std::vector<std::string>* services, std::unique_ptr<Arrival> arrival)
      : RpcCall(std::move(arrival)), services_(services) {
    StartRead(&in_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    ServerReflectionRequest request;
    if (!ParseBuffer(in_, &request)) {
      return Finish(
          ToGrpc(absl::InvalidArgumentError("the message is not a ServerReflectionRequest")));
    }
    StartWrite(WriteBuffer(Answer(request, *services_).SerializeAsString()));
  }
  void OnWriteDone(bool /*ok*/) override { StartRead(&in_); }

  const std::vector<std::string>* const services_;
  grpc::ByteBuffer in_;
};

}  // namespace

void ServeReflection(const std::vector<std::string>* services, std::unique_ptr<Arrival> arrival) {
  new ReflectionCall(services, std::move(arrival));
}

}  // namespace pliant::server
