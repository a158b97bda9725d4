#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "physics/scene/mesh_files/mesh_cache.h"
#include "physics/scene/text/scene_message.h"

namespace google::protobuf {
template <typename T>
class RepeatedPtrField;
}

namespace pliant::v1 {
class Probe;
class Scene;
}  // namespace pliant::v1

namespace pliant::physics {

struct SceneResult {
  std::shared_ptr<const Model> model;  // null when there are errors
  std::vector<SceneMessage> messages;
  bool ok() const { return model != nullptr; }
};

// Bounds on what a scene may ask for.
struct SceneLimits {
  std::int64_t max_text_bytes = 16 << 20;
  std::int64_t max_tetrahedra = 5'000'000;  // of all deformable bodies
  std::int64_t max_bodies = 100'000;
  std::int64_t max_particles = 2'000'000;  // with the points on their surfaces, of all bodies
};

// Receives the fraction of a scene that has been built, 0 to 1. Returns false to cancel the build.
using SceneProgress = std::function<bool(double share)>;

struct SceneOptions {
  std::vector<std::string> overrides;  // field.path=value, applied before validation
  std::string method;                  // overrides the method's kind; empty: as the scene says
  bool repair_meshes = false;
  // Folder from which mesh files may be read, symbolic links resolved; empty: the scene file's
  // folder and any absolute path.
  std::string jail;
  // Folder of the cache of meshes made from surfaces; empty: no cache.
  std::string mesh_cache = FindMeshCacheFolder();
  bool allow_files = true;  // false: a scene that names a file is refused
  SceneLimits limits;
  SceneProgress progress = nullptr;  // on the thread that loads the scene
};

// Probes of a built model, or messages about errors in them.
struct ProbesResult {
  std::vector<Probe> probes;
  std::vector<SceneMessage> messages;
  bool ok() const { return messages.empty(); }
};

// Reads probes for a built model, given as in a scene. They need no name, and their rates are
// ignored. Vertices are numbered as in the model, which leaves out those of a mesh file that belong
// to no tetrahedron. `name` and `field` are the file and the list's path in messages.
ProbesResult CompileProbes(const google::protobuf::RepeatedPtrField<v1::Probe>& given,
                           const std::string& name, const std::string& field, const Model& model);

// Names of the methods in the schema of scenes, in its order.
std::vector<std::string> MethodNames();

// Loads a scene file, or a robot or mesh file, for which a scene is made (import/import_files.h)
// unless files are limited to a folder.
SceneResult LoadSceneFile(const std::string& path, const SceneOptions& options = {});
// As above, or several robot and mesh files in one world.
SceneResult LoadSceneFiles(const std::vector<std::string>& paths, const SceneOptions& options = {});
// `name` is used as the file's name in messages.
SceneResult LoadSceneYaml(std::string_view yaml, const std::string& name,
                          const SceneOptions& options = {});
SceneResult LoadScene(const v1::Scene& scene, const std::string& name,
                      const SceneOptions& options = {});

}  // namespace pliant::physics
