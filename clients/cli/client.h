#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "google/protobuf/message.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

#include "pliant/v1/control.grpc.pb.h"
#include "pliant/v1/objects.grpc.pb.h"
#include "pliant/v1/record.grpc.pb.h"
#include "pliant/v1/stream.grpc.pb.h"
#include "pliant/v1/world.grpc.pb.h"

namespace pliant::clients {

inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;  // the server refused, or the world has a fault
inline constexpr int kWrongUsage = 2;
inline constexpr int kInvalidScene = 3;
inline constexpr int kUnreachable = 4;  // no server answers, or a file cannot be read or written

// Ends the command with an exit status and a message for stderr.
class CommandError : public std::runtime_error {
 public:
  CommandError(int exit_status, const std::string& message)
      : std::runtime_error(message), exit_status(exit_status) {}
  const int exit_status;
};

// The connection to one server, and how results are printed.
class Client {
 public:
  // Options shared by all commands, set by the command-line parser.
  struct Options {
    std::string server = "127.0.0.1:50051";
    std::string token;  // empty: none
    bool tls = false;
    std::string ca;  // file of authorities that sign the server's certificate; empty: the system's
    std::string cert;  // file of this client's certificate, and of its key; empty: none
    std::string key;
    bool json = false;
    double timeout = 0;  // [s]; 0: 10 s, or none for calls that may take long
  };

  explicit Client(const Options* options) : options_(*options) {}

  bool json() const { return options_.json; }
  v1::WorldService::Stub& worlds();
  v1::StreamService::Stub& streams();
  v1::ControlService::Stub& control();
  v1::RecordService::Stub& records();
  v1::ObjectService::Stub& objects();

  // Returns the server's grpc.health.v1 status by name, e.g. "SERVING".
  std::string CheckHealth();

  // Calls a method and returns its response. Throws CommandError with the server's error.
  template <typename Service, typename Request, typename Response>
  Response Call(Service& service,
                grpc::Status (Service::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request, bool may_take_long = false) {
    grpc::ClientContext context;
    Prepare(&context, may_take_long);
    Response response;
    Check((service.*method)(&context, request, &response));
    return response;
  }

  // Sets the token and the deadline of a call.
  void Prepare(grpc::ClientContext* context, bool may_take_long) const;
  void Check(const grpc::Status& status) const;  // throws CommandError unless OK

 private:
  std::shared_ptr<grpc::Channel> Connect();

  const Options& options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::WorldService::Stub> worlds_;
  std::unique_ptr<v1::StreamService::Stub> streams_;
  std::unique_ptr<v1::ControlService::Stub> control_;
  std::unique_ptr<v1::RecordService::Stub> records_;
  std::unique_ptr<v1::ObjectService::Stub> objects_;
};

// Sends bytes to the server in chunks, unless it has them. Returns their SHA-256.
std::string Upload(Client* client, std::string_view bytes);

// Returns the message as one line of JSON with the field names of the schema.
std::string ToJson(const google::protobuf::Message& message);

// Returns worlds/NAME for NAME or worlds/NAME.
std::string WorldName(const std::string& world);

}  // namespace pliant::clients
