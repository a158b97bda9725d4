#include "server/run/scene_arguments.h"

namespace pliant::server {

physics::SceneResult LoadScene(const SceneArguments& arguments) {
  physics::SceneOptions options;
  options.overrides = arguments.overrides;
  options.method = arguments.method;
  options.repair_meshes = arguments.repair;
  return physics::LoadSceneFile(arguments.scene, options);
}

}  // namespace pliant::server
