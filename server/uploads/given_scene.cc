#include "server/uploads/given_scene.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_replace.h"

#include "server/host/text.h"

namespace pliant::server {
namespace {

physics::SceneResult LoadText(const v1::CreateWorldRequest& request,
                              const physics::SceneOptions& options) {
  const std::string name =
      request.file_name().empty() ? "scene.yaml" : Shorten(request.file_name(), 200);
  return request.has_scene() ? physics::LoadScene(request.scene(), name, options)
                             : physics::LoadSceneYaml(request.scene_yaml(), name, options);
}

}  // namespace

physics::SceneResult LoadSceneWithFiles(const v1::CreateWorldRequest& request,
                                        const std::string& folder,
                                        physics::SceneProgress progress) {
  physics::SceneOptions options;
  options.jail = folder;
  options.progress = std::move(progress);
  physics::SceneResult scene = LoadText(request, options);
  // clients know their own paths, not those of this machine
  for (physics::SceneMessage& message : scene.messages) {
    for (std::string* text : {&message.file, &message.message})
      *text = absl::StrReplaceAll(*text, {{folder + "/", ""}});
  }
  return scene;
}

absl::StatusOr<physics::SceneResult> LoadGivenScene(const v1::CreateWorldRequest& request,
                                                    ObjectStore* objects,
                                                    physics::SceneProgress progress) {
  if (request.files().empty()) {
    physics::SceneOptions options;
    options.allow_files = false;
    options.progress = std::move(progress);
    return LoadText(request, options);
  }
  absl::StatusOr<std::unique_ptr<StagedFiles>> files =
      objects->Stage({request.files().begin(), request.files().end()});
  if (!files.ok()) return files.status();
  return LoadSceneWithFiles(request, (*files)->folder().string(), std::move(progress));
}

}  // namespace pliant::server
