#pragma once

#include <iosfwd>
#include <string>

#include "server/run/scene_arguments.h"

namespace pliant::server {

// Options of `pliantd check`.
struct CheckOptions : SceneArguments {
  std::string json;  // file, "-" for `out`; empty: messages for people on `err`
};

// Validates a scene. The JSON is a list of {file, line, column, path, message, severity}; warnings
// do not change the exit status. Returns an ExitStatus.
int Check(const CheckOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pliant::server
