#pragma once

#include <string>

#include "physics/scene/mesh_files/surface_mesh_files.h"

namespace pliant::physics {

// Serves the files that the mesh at `path` names, such as the buffers of glTF, from its own folder.
// With a `jail`, none outside that folder is read, and one that is not where the mesh names it is
// found anywhere in the jail by its name (FindFileByName).
//
// errors  PERMISSION_DENIED: outside the jail, or an absolute path; NOT_FOUND and others: as
//         ReadMeshFileBytes
CompanionFiles ServeCompanions(std::string path, std::string jail);

}  // namespace pliant::physics
