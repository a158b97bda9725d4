#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace pliant::server {

// What `pliantd check` was asked for.
struct CheckOptions {
  std::string scene;                   // file
  std::string method;                  // empty: the scene's
  std::vector<std::string> overrides;  // field.path=value
  bool repair = false;                 // check what is left when tetrahedral meshes are mended
  std::string json;                    // file, "-" for `out`; empty: messages for people on `err`
};

// Validates a scene. The JSON is a list of {file, line, column, path, message, severity}; warnings
// do not change the exit status. Returns an ExitStatus.
int Check(const CheckOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pliant::server
