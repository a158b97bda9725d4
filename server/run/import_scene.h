#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace pliant::server {

// Options of `pliantd import`.
struct ImportOptions {
  std::vector<std::string> files = {};  // robots and meshes
  std::string out = "";                 // scene file; empty or "-": `out` of the call
};

// Writes a scene of robot and mesh files by physics::WriteSceneOf. Returns an ExitStatus.
int ImportScene(const ImportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pliant::server
