#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

#include "pliant/client.h"

namespace pliant::clients {

inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;  // the server refused, or the world has a fault
inline constexpr int kWrongUsage = 2;
inline constexpr int kInvalidScene = 3;
inline constexpr int kUnreachable = 4;    // no server answers, or a file cannot be read or written
inline constexpr int kInterrupted = 130;  // by SIGINT or SIGTERM, as shells report it
inline constexpr int kPipeClosed = 141;   // whoever read the output has gone, likewise

// Ends the command with an exit status and a message for stderr; none if it is empty.
class CommandError : public std::runtime_error {
 public:
  CommandError(int exit_status, const std::string& message)
      : std::runtime_error(message), exit_status(exit_status) {}
  const int exit_status;
};

// What the options say, and the connection that they lead to.
class Session {
 public:
  struct Options {
    std::string server, token_file, ca, cert, key;
    bool tls = false;
    bool json = false;
    double timeout = 0;  // [s]; 0: 10 s, or none for calls that may take long
  };

  explicit Session(const Options* options) : options_(*options) {}

  bool json() const { return options_.json; }
  const Options& options() const { return options_; }

  // Connects when it is first asked for. Throws CommandError.
  Client& client();
  World world(const std::string& name) { return client().GetWorld(name); }

  // Calls a method and returns its response. Throws CommandError with the server's error, and
  // when the program was interrupted.
  template <typename Request>
  auto Call(const Request& request) {
    return Value(client().Call(request, call_options()));
  }

  // The value of a result, or CommandError with the exit status that fits the error.
  template <typename T>
  T Value(absl::StatusOr<T> result) const {
    Check(result.status());
    return *std::move(result);
  }
  void Check(const absl::Status& status) const;

  // Ends the calls under way, on the thread of the signals.
  void Interrupt();

  CallOptions call_options() const;
  ClientOptions client_options() const;

 private:
  const Options& options_;
  std::mutex mutex_;
  std::shared_ptr<Client> client_;
};

// The message as one line of JSON with the field names of the schema.
std::string ToJson(const google::protobuf::Message& message);

// Reads a whole file. Throws CommandError.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);

}  // namespace pliant::clients
