#include "physics/scene/scene.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "physics/scene/compiler.h"
#include "physics/scene/import/import_files.h"
#include "physics/scene/text/overrides.h"
#include "physics/scene/text/scalar_text.h"
#include "physics/scene/text/scene_log.h"
#include "physics/scene/text/yaml_scene.h"
#include "physics/scene/text/yaml_tree.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

// Default name of a scene: `ball` for scenes/ball.yaml.
std::string Stem(const std::string& name) {
  return fs::path(name).stem().string();
}

// Replaces the scene's method by another one with its defaults.
void OverrideMethod(const std::string& method, v1::Scene* scene, SceneLog* log) {
  if (method.empty()) return;
  v1::Method* chosen = scene->mutable_method();
  log->MarkOverride("method", "--method");
  const std::vector<std::string> known = MethodNames();
  if (std::ranges::find(known, method) != known.end()) {
    chosen->GetReflection()->MutableMessage(chosen,
                                            v1::Method::descriptor()->FindFieldByName(method));
  } else {
    log->ErrorAt({"--method", 0, 0}, "method",
                 absl::StrCat(Quoted(method), " is not a method; expected ", JoinWithOr(known),
                              DidYouMean(method, known)));
  }
}

// Common part of the three ways to load a scene, from the message on.
SceneResult Build(v1::Scene scene, const std::string& name, const SceneOptions& options,
                  const std::string& folder, SceneLog* log) {
  OverrideMethod(options.method, &scene, log);
  for (const std::string& assignment : options.overrides) ApplyOverride(assignment, &scene, log);
  if (scene.name().empty()) scene.set_name(Stem(name));

  SceneResult result;
  result.model = SceneCompiler(scene, options, folder, log).Compile();
  result.messages = log->TakeMessages();
  return result;
}

SceneResult Refuse(SceneLog* log) {
  SceneResult result;
  result.messages = log->TakeMessages();
  return result;
}

SceneResult LoadText(std::string_view yaml, const std::string& name, const SceneOptions& options,
                     const std::string& folder) {
  SceneLog log(name);
  if (static_cast<std::int64_t>(yaml.size()) > options.limits.max_text_bytes) {
    log.Error("", absl::StrCat("has ", yaml.size(), " bytes; expected at most ",
                               options.limits.max_text_bytes, ". Put meshes into separate files"));
    return Refuse(&log);
  }
  YamlTree tree;
  if (const std::optional<YamlFault> fault = tree.Parse(yaml); fault.has_value()) {
    log.ErrorAt({name, fault->line, fault->column}, "", fault->message);
    return Refuse(&log);
  }
  const YamlNode* root = tree.root();
  if (root == nullptr || root->kind == YamlNode::Kind::kNull) {
    log.ErrorAt({name, 1, 1}, "", "is empty; expected a scene");
    return Refuse(&log);
  }
  if (root->kind != YamlNode::Kind::kMap) {
    log.ErrorAt({name, root->line, root->column}, "",
                absl::StrCat(root->kind == YamlNode::Kind::kList
                                 ? "is a list"
                                 : Quoted(root->text) + " is a single value",
                             "; expected a scene: a map of gravity, time_step, bodies and so on"));
    return Refuse(&log);
  }
  log.Mark("", root->line, root->column);
  v1::Scene scene;
  YamlReader(&log).ReadMessage(*root, "", &scene);
  return Build(std::move(scene), name, options, folder, &log);
}

// A world made of robot and mesh files.
SceneResult Import(const std::vector<std::string>& paths, const std::string& folder,
                   const std::string& name, const SceneOptions& options) {
  const absl::StatusOr<ImportedScene> imported = WriteSceneOf(paths, folder);
  if (imported.ok()) {
    SceneResult result = LoadText(imported->yaml, name, options, folder);
    ReferToFiles(imported->files, &result.messages);
    return result;
  }
  SceneLog log(name);
  log.Error("", std::string(imported.status().message()));
  return Refuse(&log);
}

}  // namespace

SceneResult LoadSceneFiles(const std::vector<std::string>& paths, const SceneOptions& options) {
  if (paths.size() == 1) return LoadSceneFile(paths[0], options);
  const std::string folder = paths.empty() ? "" : fs::path(paths[0]).parent_path().string();
  const std::string name = paths.empty() ? "scene" : absl::StrCat(paths[0], " and others");
  return Import(paths, folder, name, options);
}

std::vector<std::string> MethodNames() {
  std::vector<std::string> names;
  const google::protobuf::OneofDescriptor* kinds = v1::Method::descriptor()->oneof_decl(0);
  for (int i = 0; i < kinds->field_count(); ++i) names.emplace_back(kinds->field(i)->name());
  return names;
}

SceneResult LoadSceneFile(const std::string& path, const SceneOptions& options) {
  SceneLog log(path);
  if (options.jail.empty() && options.allow_files && FindImportKind(path) != ImportKind::kNone) {
    const std::string folder = fs::path(path).parent_path().string();
    return Import({path}, folder, path, options);
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    log.Error("", "does not exist; expected a scene file. Is the path right?");
    return Refuse(&log);
  }
  if (!fs::is_regular_file(status)) {
    log.Error("", fs::is_directory(status) ? "is a folder; expected a scene file"
                                           : "is not a regular file; expected a scene file");
    return Refuse(&log);
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    log.Error("",
              absl::StrCat("cannot be read: ", std::strerror(errno), ". Check its permissions"));
    return Refuse(&log);
  }
  // LoadText refuses larger files, so one byte more than allowed is enough. A file that grows
  // meanwhile is read up to its old size.
  const std::uintmax_t allowed = static_cast<std::uintmax_t>(options.limits.max_text_bytes) + 1;
  std::string text(static_cast<std::size_t>(std::min(fs::file_size(path, error), allowed)), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return LoadText(text, path, options, fs::path(path).parent_path().string());
}

SceneResult LoadSceneYaml(std::string_view yaml, const std::string& name,
                          const SceneOptions& options) {
  return LoadText(yaml, name, options, options.jail);
}

SceneResult LoadScene(const v1::Scene& scene, const std::string& name,
                      const SceneOptions& options) {
  SceneLog log(name);
  return Build(scene, name, options, options.jail, &log);
}

}  // namespace pliant::physics
