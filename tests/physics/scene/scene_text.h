#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "physics/scene/scene.h"

namespace pliant::physics {

// All messages of a scene, one per line, as `check` prints them.
inline std::string Messages(const SceneResult& result) {
  std::string lines;
  for (const SceneMessage& message : result.messages)
    absl::StrAppend(&lines, Format(message), "\n");
  return lines;
}

inline std::string Messages(std::string_view yaml, const SceneOptions& options = {}) {
  return Messages(LoadSceneYaml(yaml, "s.yaml", options));
}

}  // namespace pliant::physics
