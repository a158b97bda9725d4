#include "benchmarks/particles/shipped_scene.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/scene.h"

namespace pliant::benchmarks {

std::string PathOfShipped(const std::string& name) {
  return absl::StrCat(PLIANT_SOURCE_DIR "/scenes/", name, ".yaml");
}

std::shared_ptr<const physics::Model> LoadShipped(const std::string& name,
                                                  std::vector<std::string> overrides,
                                                  nlohmann::ordered_json* row) {
  physics::SceneOptions options;
  options.overrides = std::move(overrides);
  options.overrides.push_back("sleeping=false");
  const physics::SceneResult scene = physics::LoadSceneFile(PathOfShipped(name), options);
  if (scene.ok()) return scene.model;
  (*row)["note"] =
      scene.messages.empty() ? "the scene does not load" : Format(scene.messages.front());
  return nullptr;
}

}  // namespace pliant::benchmarks
