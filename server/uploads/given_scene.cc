#include "server/uploads/given_scene.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_replace.h"

#include "server/host/text.h"

namespace pliant::server {

absl::StatusOr<physics::SceneResult> LoadGivenScene(const v1::CreateWorldRequest& request,
                                                    ObjectStore* objects,
                                                    physics::SceneProgress progress) {
  physics::SceneOptions options;
  options.progress = std::move(progress);
  options.allow_files = !request.files().empty();
  std::unique_ptr<StagedFiles> files;
  if (options.allow_files) {
    absl::StatusOr<std::unique_ptr<StagedFiles>> staged =
        objects->Stage({request.files().begin(), request.files().end()});
    if (!staged.ok()) return staged.status();
    files = *std::move(staged);
    options.jail = files->folder().string();
  }
  const std::string name =
      request.file_name().empty() ? "scene.yaml" : Shorten(request.file_name(), 200);
  physics::SceneResult scene = request.has_scene()
                                   ? physics::LoadScene(request.scene(), name, options)
                                   : physics::LoadSceneYaml(request.scene_yaml(), name, options);
  if (files == nullptr) return scene;
  // clients know their own paths, not those of this machine
  const std::string folder = files->folder().string() + "/";
  for (physics::SceneMessage& message : scene.messages) {
    for (std::string* text : {&message.file, &message.message})
      *text = absl::StrReplaceAll(*text, {{folder, ""}});
  }
  return scene;
}

}  // namespace pliant::server
