#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "server/run/scene_arguments.h"

namespace pliant::server {

// Options that several commands share; what they are given goes to the second argument.
void AddMethodOption(CLI::App* command, std::string* method);
void AddSceneOptions(CLI::App* command, SceneArguments* arguments);

}  // namespace pliant::server
