#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace pliant::physics {

// The files of a folder, and of the folders below it, of which its owner wants a world: a scene
// alone, or robots and meshes, in the order of their paths. Robots and meshes that another file
// names are parts of that. If there are robots, meshes in folders belong to their packages. Paths
// are relative to `folder`.
//
// errors  INVALID_ARGUMENT: several scenes, or none of the three
absl::StatusOr<std::vector<std::string>> ChooseFiles(const std::string& folder);

// Whether a path is that of a scene, by its extension.
bool IsSceneFile(const std::string& path);

}  // namespace pliant::physics
