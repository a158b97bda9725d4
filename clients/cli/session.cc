#include "clients/cli/session.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "clients/cli/terminal/interrupts.h"

namespace pliant::clients {
namespace {

int ExitStatusOf(const absl::Status& status) {
  if (absl::IsUnavailable(status) || status.GetPayload(kFileProblem)) return kUnreachable;
  return kRefused;
}

}  // namespace

ClientOptions Session::client_options() const {
  ClientOptions options = options_.connection.client();
  if (options_.timeout > 0) {
    options.timeout = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>(options_.timeout));
    options.long_timeout = options.timeout;
  }
  options.checks_server = false;
  return options;
}

Client& Session::client() {
  if (Interrupted()) throw CommandError(kInterrupted, "");
  if (client_ == nullptr) {
    auto client = Client::Connect(client_options());
    // the address is not valid, or a file of the options cannot be read
    if (!client.ok()) throw CommandError(kUnreachable, std::string(client.status().message()));
    const std::lock_guard lock(mutex_);
    client_ = *std::move(client);
  }
  return *client_;
}

void Session::Interrupt() {
  const std::lock_guard lock(mutex_);
  if (client_ != nullptr) client_->CancelAll();
}

void Session::Check(const absl::Status& status) const {
  if (status.ok()) return;
  if (Interrupted()) throw CommandError(kInterrupted, "");
  throw CommandError(ExitStatusOf(status), std::string(status.message()));
}

std::string ReadFile(const std::string& path) {
  std::error_code error;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream || std::filesystem::is_directory(path, error))
    throw CommandError(kUnreachable, path + ": cannot be read; check the path and its permissions");
  return std::move(content).str();
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) {
    throw CommandError(kUnreachable,
                       path + ": cannot be written; check the folder and the space on the disk");
  }
}

}  // namespace pliant::clients
