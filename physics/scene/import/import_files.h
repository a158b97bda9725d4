#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/scene/text/scene_message.h"

namespace pliant::physics {

// Kind of a file from which a world can be made.
enum class ImportKind { kNone, kRobot, kVolume, kSurface };

// Decides by the beginning of the file, and by its extension if that is not enough. kNone also for
// files that cannot be read, and for scenes.
ImportKind FindImportKind(const std::string& path);

struct ImportedScene {
  std::string yaml;
  // File of each body and robot, by its path in the scene, such as bodies[1].
  std::map<std::string, std::string> files;
};

// A scene file, with comments, of a world made of robot and mesh files: a floor, robots held by PD
// drives at their rest pose with differential IK at each tip, meshes as soft bodies of rubber. They
// stand next to each other on the floor. Paths in the scene are relative to `folder`. Other
// files that the files name are read only within `jail`, links resolved; empty: anywhere.
//
// errors  INVALID_ARGUMENT, NOT_FOUND…: a file that cannot be read, or is neither a robot nor a
//         mesh; all errors of the robots, one a line
absl::StatusOr<ImportedScene> WriteSceneOf(const std::vector<std::string>& files,
                                           const std::string& folder, const std::string& jail = "");

// Makes messages about such a scene refer to its files, since users have not seen the scene.
void ReferToFiles(const std::map<std::string, std::string>& files,
                  std::vector<SceneMessage>* messages);

}  // namespace pliant::physics
