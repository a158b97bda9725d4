#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "physics/dynamics/model.h"

namespace pliant::v1 {
class Scene;
}

namespace pliant::physics {

// One thing that is wrong, or doubtful, in a scene.
struct SceneMessage {
  std::string file;
  int line = 0;    // from 1; 0 when the scene came as a message
  int column = 0;  // from 1
  std::string path;      // bodies[1].deformable.material.poissons_ratio
  std::string message;   // what is wrong, the value, what was expected, the mend
  bool error = true;     // false: a warning
};

// FILE:LINE:COL: field.path: message
std::string Format(const SceneMessage& message);

struct SceneResult {
  std::shared_ptr<const Model> model;   // null when there are errors
  std::vector<SceneMessage> messages;
  bool ok() const { return model != nullptr; }
};

struct SceneOptions {
  std::vector<std::string> overrides;   // field.path=value, applied before validation
  std::string method;                   // overrides the method's kind; empty: as the scene says
  bool repair_meshes = false;
  // Folder that mesh files may be read from, symbolic links resolved; empty: the scene file's folder and any absolute path.
  std::string jail;
  bool allow_files = true;              // false: a scene that names a file is refused
};

SceneResult LoadSceneFile(const std::string& path, const SceneOptions& options = {});
// `name` stands for the file in messages.
SceneResult LoadSceneYaml(std::string_view yaml, const std::string& name, const SceneOptions& options = {});
SceneResult LoadScene(const v1::Scene& scene, const std::string& name, const SceneOptions& options = {});

}  // namespace pliant::physics
