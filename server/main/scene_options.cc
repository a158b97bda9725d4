#include "server/main/scene_options.h"

#include "physics/scene/scene.h"

namespace pliant::server {

void AddMethodOption(CLI::App* command, std::string* method) {
  command->add_option("--method", *method, "Solution method instead of the scene's")
      ->check(CLI::IsMember(physics::MethodNames()));
}

void AddSceneOptions(CLI::App* command, SceneArguments* arguments) {
  command->add_option("scene", arguments->scene, "Scene file (YAML)")->required();
  AddMethodOption(command, &arguments->method);
  command
      ->add_option("--set", arguments->overrides,
                   "FIELD.PATH=VALUE: change a field of the scene; may be repeated")
      ->allow_extra_args(false);
  command->add_flag("--repair", arguments->repair,
                    "Reorient inverted tetrahedra, drop degenerate and duplicate ones");
  command->add_flag(
      "--strict", arguments->strict,
      "Treat warnings about the scene as errors; a run ends at the first step that does "
      "not converge, or that relaxes or leaves out something");
}

}  // namespace pliant::server
