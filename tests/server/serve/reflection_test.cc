// A client without our .proto files learns the schema by reflection alone.

#include <set>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/descriptor_database.h"
#include "google/protobuf/dynamic_message.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;

// Returns a field by name, for messages without generated classes.
const Message& Part(const Message& message, const char* field, int index = -1) {
  const FieldDescriptor* at = message.GetDescriptor()->FindFieldByName(field);
  const google::protobuf::Reflection& values = *message.GetReflection();
  return index < 0 ? values.GetMessage(message, at) : values.GetRepeatedMessage(message, at, index);
}
int Count(const Message& message, const char* field) {
  return message.GetReflection()->FieldSize(message,
                                            message.GetDescriptor()->FindFieldByName(field));
}
std::string Text(const Message& message, const char* field, int index = -1) {
  const FieldDescriptor* at = message.GetDescriptor()->FindFieldByName(field);
  const google::protobuf::Reflection& values = *message.GetReflection();
  return index < 0 ? values.GetString(message, at) : values.GetRepeatedString(message, at, index);
}

class Reflection : public ServerTest {
 protected:
  // Sends one request to the reflection service, e.g. {"file_containing_symbol",
  // "google.rpc.Status"}.
  std::unique_ptr<Message> Ask(const char* question, const std::string& about) {
    // messages of the service itself are linked in
    const auto make = [](const char* name) {
      const Descriptor* type =
          google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
              std::string("grpc.reflection.v1alpha.") + name);
      return std::unique_ptr<Message>(
          MessageFactory::generated_factory()->GetPrototype(type)->New());
    };
    const auto request = make("ServerReflectionRequest");
    request->GetReflection()->SetString(request.get(),
                                        request->GetDescriptor()->FindFieldByName(question), about);
    const grpc::Slice bytes(request->SerializeAsString());
    const grpc::ByteBuffer sent(&bytes, 1);
    grpc::ByteBuffer received;

    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kTimeout);
    grpc::CompletionQueue queue;
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    const auto call = grpc::GenericStub(channel_).PrepareCall(
        &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
    call->StartCall(nullptr);
    EXPECT_TRUE(wait());
    call->WriteLast(sent, {}, nullptr);
    EXPECT_TRUE(wait());
    call->Read(&received, nullptr);
    EXPECT_TRUE(wait());
    grpc::Status status;
    call->Finish(&status, nullptr);
    EXPECT_TRUE(wait());
    EXPECT_TRUE(status.ok()) << status.error_message();

    auto response = make("ServerReflectionResponse");
    grpc::Slice answer;
    EXPECT_TRUE(received.DumpToSingleSlice(&answer).ok());
    EXPECT_TRUE(response->ParseFromArray(answer.begin(), static_cast<int>(answer.size())));
    return response;
  }

  std::set<std::string> ListServices() {
    const auto response = Ask("list_services", "*");
    const Message& list = Part(*response, "list_services_response");
    std::set<std::string> names;
    for (int i = 0; i < Count(list, "service"); ++i)
      names.insert(Text(Part(list, "service", i), "name"));
    return names;
  }

  // Adds the file that defines `symbol`, and those it imports, to the database.
  void Learn(const std::string& symbol) {
    const auto response = Ask("file_containing_symbol", symbol);
    const Message& files = Part(*response, "file_descriptor_response");
    EXPECT_GT(Count(files, "file_descriptor_proto"), 0) << symbol << response->DebugString();
    for (int i = 0; i < Count(files, "file_descriptor_proto"); ++i) {
      google::protobuf::FileDescriptorProto file;
      ASSERT_TRUE(file.ParseFromString(Text(files, "file_descriptor_proto", i)));
      if (names_.insert(file.name()).second) database_.Add(file);
    }
  }

  std::unique_ptr<Message> Decode(const std::string& type, const std::string& bytes) {
    Learn(type);
    const Descriptor* descriptor = known_.FindMessageTypeByName(type);
    if (descriptor == nullptr) return nullptr;
    std::unique_ptr<Message> message(factory_.GetPrototype(descriptor)->New());
    return message->ParseFromString(bytes) ? std::move(message) : nullptr;
  }

  std::set<std::string> names_;
  google::protobuf::SimpleDescriptorDatabase database_;
  google::protobuf::DescriptorPool known_{&database_};
  google::protobuf::DynamicMessageFactory factory_;
};

TEST_F(Reflection, ResolvesEveryServiceItLists) {
  const std::set<std::string> services = ListServices();
  for (const char* expected : {"pliant.v1.WorldService", "pliant.v1.StreamService",
                               "pliant.v1.ControlService", "grpc.health.v1.Health"}) {
    EXPECT_EQ(services.count(expected), 1U) << expected;
  }
  for (const std::string& name : services) {
    Learn(name);
    const auto* service = known_.FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    EXPECT_GT(service->method_count(), 0) << name;
  }
}

TEST_F(Reflection, DetailsOfAnInvalidSceneAreReadAsBadRequest) {
  std::string bad = kTestScene;
  bad.replace(bad.find("density: 1000"), 13, "density: -3.5");
  const grpc::Status refused = Create("bad", bad);
  ASSERT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  const auto status = Decode("google.rpc.Status", refused.error_details());
  ASSERT_NE(status, nullptr);
  ASSERT_EQ(Count(*status, "details"), 1);
  const std::string url = Text(Part(*status, "details", 0), "type_url");
  const auto details =
      Decode(url.substr(url.rfind('/') + 1), Text(Part(*status, "details", 0), "value"));
  ASSERT_NE(details, nullptr) << url;
  EXPECT_EQ(details->GetDescriptor()->full_name(), "google.rpc.BadRequest");
  ASSERT_GE(Count(*details, "field_violations"), 1);
  EXPECT_EQ(Text(Part(*details, "field_violations", 0), "field"), "bodies[2].rigid.density");
}

}  // namespace
}  // namespace pliant::server
