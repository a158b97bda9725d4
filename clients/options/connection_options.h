#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pliant/client.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace pliant::clients {

// Address of the server, token and certificates: from options, else from environment variables,
// else from a file of lines such as `server = 10.0.0.2:50051`.
class ConnectionOptions {
 public:
  // Adds --server, --token-file, --tls, --ca, --cert and --key.
  void AddTo(CLI::App* app);

  // Reads the file and PLIANT_TOKEN, once the arguments have been parsed. Throws
  // std::invalid_argument for a token among the arguments, and for a line of the file that is no
  // setting, naming it.
  void Complete();

  const ClientOptions& client() const { return client_; }

 private:
  using Setting = std::pair<CLI::Option*, std::string*>;
  void ReadFile(const std::string& path);

  ClientOptions client_;
  std::vector<Setting> settings_;
  std::string token_;  // as an argument, which is refused
  CLI::Option* token_option_ = nullptr;
};

}  // namespace pliant::clients
