#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace pliant::physics {

// Chooses the files of a folder and its subfolders from which to make a world: a single scene, or
// robots and meshes, in the order of their paths. Robots and meshes that another file names are
// left out as its parts. If there are robots, meshes in subfolders belong to their packages. Paths
// are relative to `folder`.
//
// errors  INVALID_ARGUMENT: several scenes, or none of the three
absl::StatusOr<std::vector<std::string>> ChooseFiles(const std::string& folder);

// Whether a path is that of a scene, by its extension.
bool IsSceneFile(const std::string& path);

}  // namespace pliant::physics
