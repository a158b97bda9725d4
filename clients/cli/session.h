#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "clients/cli/terminal/command_error.h"
#include "clients/options/connection_options.h"
#include "pliant/client.h"

namespace pliant::clients {

// The global options, and the connection to the server.
class Session {
 public:
  struct Options {
    ConnectionOptions connection;
    bool json = false;
    double timeout = 0;  // [s]; 0: 10 s, or none for calls that may take long
  };

  explicit Session(const Options* options) : options_(*options) {}

  bool json() const { return options_.json; }
  const Options& options() const { return options_; }

  // Connects on the first call. Throws CommandError.
  Client& client();
  World world(const std::string& name) { return client().GetWorld(name); }

  // Calls a method and returns its response. Throws CommandError with the server's error, and
  // when the program was interrupted.
  template <typename Request>
  auto Call(const Request& request) {
    return Value(client().Call(request));
  }

  // Value of a result. Throws CommandError with the exit status for the error.
  template <typename T>
  T Value(absl::StatusOr<T> result) const {
    Check(result.status());
    return *std::move(result);
  }
  void Check(const absl::Status& status) const;

  // Cancels the calls under way. Called on the signal thread.
  void Interrupt();

  ClientOptions client_options() const;

 private:
  const Options& options_;
  std::mutex mutex_;
  std::shared_ptr<Client> client_;
};

// Both throw CommandError.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);

}  // namespace pliant::clients
