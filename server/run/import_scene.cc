#include "server/run/import_scene.h"

#include <filesystem>
#include <ostream>

#include "physics/scene/import/import_files.h"
#include "server/files/files.h"
#include "server/run/exit_status.h"

namespace pliant::server {

int ImportScene(const ImportOptions& options, std::ostream& out, std::ostream& err) {
  const std::string folder = std::filesystem::path(options.out).parent_path().string();
  const absl::StatusOr<physics::ImportedScene> scene = physics::WriteSceneOf(options.files, folder);
  if (!scene.ok()) {
    err << scene.status().message() << '\n';
    return kInvalidScene;
  }
  if (options.out.empty() || options.out == "-") {
    out << scene->yaml << std::flush;
  } else if (absl::Status status = WriteWholeFile(options.out, scene->yaml); !status.ok()) {
    err << "pliantd import: " << status.message() << '\n';
    return kEnvironment;
  }
  return kDone;
}

}  // namespace pliant::server
