#pragma once

#include <string>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

namespace pliant::server {

// Adds --config, the path for ReadFromFile, and lets every long option of `command` be set from the
// environment: `--http-port` from PLIANT_HTTP_PORT.
void AddConfigOption(CLI::App* command, std::string* config);

// Sets the options of `command` that neither a flag nor the environment set from a TOML file: from
// its section [NAME OF THE COMMAND], or from before any section. INVALID_ARGUMENT names the file
// and the entry that matches no option.
absl::Status ReadFromFile(const std::string& path, CLI::App* command);

}  // namespace pliant::server
