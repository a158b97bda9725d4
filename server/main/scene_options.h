#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "server/run/scene_arguments.h"

namespace pliant::server {

// Options shared by several commands. Their values are written to the second argument.
void AddMethodOption(CLI::App* command, std::string* method);
void AddSceneOptions(CLI::App* command, SceneArguments* arguments);

}  // namespace pliant::server
