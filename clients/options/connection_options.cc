#include "clients/options/connection_options.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "CLI/CLI.hpp"

namespace pliant::clients {
namespace {

std::string FindFile() {
  const char* named = std::getenv("PLIANT_CLIENT_CONFIG");
  if (named != nullptr) return named;
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder != '\0') return std::string(folder) + "/pliant/config";
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.config/pliant/config";
}

std::string Trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

}  // namespace

void ConnectionOptions::AddTo(CLI::App* app) {
  const auto add = [&](const char* name, std::string* value, const char* help,
                       const char* variable) {
    settings_.emplace_back(app->add_option(name, *value, help)->envname(variable), value);
  };
  add("--server", &client_.address, "Address of the server (default 127.0.0.1:50051)",
      "PLIANT_SERVER");
  add("--token-file", &client_.token_file, "File whose first line is the token for the server",
      "PLIANT_TOKEN_FILE");
  app->add_flag("--tls", client_.tls, "The server speaks TLS; implied by --ca and --cert");
  add("--ca", &client_.ca_file,
      "Authorities (PEM) that sign the server's certificate (default: the system's)", "PLIANT_CA");
  add("--cert", &client_.certificate_file, "Certificate of this client (PEM)", "PLIANT_CERT");
  add("--key", &client_.key_file, "Its key (PEM)", "PLIANT_KEY");
  token_option_ = app->add_option("--token", token_)->group("");
}

void ConnectionOptions::Complete() {
  if (token_option_->count() > 0) {
    throw std::invalid_argument(
        "--token: every user of this machine can read arguments; put the token into a file and "
        "give --token-file FILE, or set PLIANT_TOKEN");
  }
  ReadFile(FindFile());
  // a variable and not an argument, which everyone on this machine could read
  const char* token = std::getenv("PLIANT_TOKEN");
  if (token != nullptr && client_.token_file.empty()) client_.token = token;
}

void ConnectionOptions::ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = Trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t sign = line.find('=');
    std::string name = Trim(line.substr(0, sign));
    std::ranges::replace(name, '_', '-');
    const auto setting = std::ranges::find_if(
        settings_, [&](const Setting& known) { return known.first->check_lname(name); });
    if (sign == std::string::npos || setting == settings_.end()) {
      throw std::invalid_argument(path + ":" + std::to_string(number) + ": \"" + line +
                                  "\"; expected server, token-file, ca, cert or key = VALUE");
    }
    if (setting->first->count() == 0) *setting->second = Trim(line.substr(sign + 1));
  }
}

}  // namespace pliant::clients
