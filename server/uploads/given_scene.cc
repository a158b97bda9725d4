#include "server/uploads/given_scene.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "physics/scene/import/choose_files.h"
#include "physics/scene/import/import_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "server/host/text.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxImported = 100;

// Removes paths of this machine from a message to a client.
void HideFolder(const std::string& folder, std::string* text) {
  *text = absl::StrReplaceAll(*text, {{folder + "/", ""}, {folder, "the folder of the files"}});
}

// The folder with links resolved, as in messages.
std::string Resolve(const std::string& folder) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(folder, error);
  return error ? folder : resolved.string();
}

std::vector<physics::SceneMessage> SplitIntoMessages(const absl::Status& status,
                                                     const std::string& folder) {
  std::vector<physics::SceneMessage> messages;
  for (const absl::string_view part : absl::StrSplit(status.message(), '\n')) {
    std::string line(part);
    HideFolder(folder, &line);
    // FILE:LINE: what is wrong
    const std::size_t end = line.find(": ");
    physics::SceneMessage message;
    message.file = line.substr(0, end);
    message.message = end == std::string::npos ? "" : line.substr(end + 2);
    messages.push_back(std::move(message));
  }
  return messages;
}

absl::Status CheckNamed(const v1::CreateWorldRequest& request) {
  const auto& named = request.imported().files();
  for (int i = 0; i < named.size(); ++i) {
    if (!request.files().contains(named[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("imported.files[", i, "]: \"", Shorten(named[i], 80),
                       "\" is not among `files`; expected one of their paths"));
    }
    if (physics::IsSceneFile(named[i]) && named.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("imported.files[", i, "]: \"", Shorten(named[i], 80),
                       "\" is a scene; expected it alone, or robots and meshes"));
    }
  }
  return absl::OkStatus();
}

// Makes the paths of files beside and below a scene relative to it; others are unchanged, and are
// found by their names.
void MoveBeside(const std::string& scene, v1::CreateWorldRequest* request) {
  const std::string folder = fs::path(scene).parent_path().generic_string();
  if (folder.empty()) return;
  std::map<std::string, std::string> moved, others;
  for (const auto& [path, sha256] : request->files()) {
    if (path.starts_with(folder + "/")) {
      moved[path.substr(folder.size() + 1)] = sha256;
    } else {
      others[path] = sha256;
    }
  }
  moved.merge(others);
  request->mutable_files()->clear();
  request->mutable_files()->insert(moved.begin(), moved.end());
}

physics::SceneResult LoadText(const v1::CreateWorldRequest& request,
                              const physics::SceneOptions& options) {
  const std::string name =
      request.file_name().empty() ? "scene.yaml" : Shorten(request.file_name(), 200);
  return request.has_scene() ? physics::LoadScene(request.scene(), name, options)
                             : physics::LoadSceneYaml(request.scene_yaml(), name, options);
}

}  // namespace

physics::SceneResult LoadSceneWithFiles(const v1::CreateWorldRequest& request,
                                        const std::string& given_folder,
                                        physics::SceneProgress progress) {
  const std::string folder = Resolve(given_folder);
  physics::SceneOptions options;
  options.jail = folder;
  options.progress = std::move(progress);
  physics::SceneResult scene = LoadText(request, options);
  for (physics::SceneMessage& message : scene.messages) {
    for (std::string* text : {&message.file, &message.message}) HideFolder(folder, text);
  }
  return scene;
}

absl::StatusOr<Import> ImportFiles(ObjectStore* objects, v1::CreateWorldRequest* request) {
  if (absl::Status status = CheckNamed(*request); !status.ok()) return status;
  const auto staged = objects->Stage({request->files().begin(), request->files().end()});
  if (!staged.ok()) return staged.status();
  const std::string folder = Resolve((*staged)->folder().string());

  std::vector<std::string> paths(request->imported().files().begin(),
                                 request->imported().files().end());
  if (paths.empty()) {
    absl::StatusOr<std::vector<std::string>> chosen = physics::ChooseFiles(folder);
    if (!chosen.ok()) return Import{SplitIntoMessages(chosen.status(), folder), {}};
    paths = *std::move(chosen);
  }
  if (paths.size() > kMaxImported) {
    return absl::InvalidArgumentError(
        absl::StrCat("imported.files: ", paths.size(),
                     " robots and meshes are too many for one world; expected at most ",
                     kMaxImported, ". Leave some out"));
  }
  request->set_file_name(paths[0]);
  std::vector<std::string> places = paths;
  for (std::string& place : places) place = absl::StrCat(folder, "/", place);
  if (physics::IsSceneFile(paths[0])) {
    absl::StatusOr<std::string> yaml =
        physics::ReadMeshFileBytes(places[0], physics::SceneLimits().max_text_bytes, "scene");
    if (!yaml.ok()) return Import{SplitIntoMessages(yaml.status(), folder), {}};
    MoveBeside(paths[0], request);
    request->set_scene_yaml(*std::move(yaml));
    return Import();
  }
  absl::StatusOr<physics::ImportedScene> scene = physics::WriteSceneOf(places, folder, folder);
  if (!scene.ok()) return Import{SplitIntoMessages(scene.status(), folder), {}};
  request->set_scene_yaml(std::move(scene->yaml));
  Import import;
  for (auto& [path, file] : scene->files) {
    HideFolder(folder, &file);
    import.files[path] = file;
  }
  return import;
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
