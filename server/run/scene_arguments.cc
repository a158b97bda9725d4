#include "server/run/scene_arguments.h"

namespace pliant::server {

physics::SceneResult LoadScene(const SceneArguments& arguments) {
  physics::SceneOptions options;
  options.overrides = arguments.overrides;
  options.method = arguments.method;
  options.repair_meshes = arguments.repair;
  physics::SceneResult result = physics::LoadSceneFile(arguments.scene, options);
  if (!arguments.strict) return result;
  for (physics::SceneMessage& message : result.messages) message.error = true;
  if (!result.messages.empty()) result.model = nullptr;
  return result;
}

}  // namespace pliant::server
