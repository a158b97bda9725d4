#pragma once

#include <string>
#include <vector>

#include "physics/scene/scene.h"

namespace pliant::server {

// The scene of a command, and overrides of its file.
struct SceneArguments {
  std::string scene;                   // file
  std::string method;                  // empty: the scene's
  std::vector<std::string> overrides;  // field.path=value
  bool repair = false;                 // mend tetrahedral meshes
  bool strict = false;                 // warnings are errors
};

physics::SceneResult LoadScene(const SceneArguments& arguments);

}  // namespace pliant::server
