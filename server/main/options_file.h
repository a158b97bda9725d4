#pragma once

#include <string>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>

namespace pliant::server {

// Every long option of `command` may come from the environment: `--http-port` from
// PLIANT_HTTP_PORT.
void ReadFromEnvironment(CLI::App* command);

// Gives the options of `command` that neither a flag nor the environment set what a TOML file says:
// in its section [NAME OF THE COMMAND], or before any section. INVALID_ARGUMENT names the file and
// the entry that no option answers to.
absl::Status ReadFromFile(const std::string& path, CLI::App* command);

}  // namespace pliant::server
