#pragma once

#include <string>

#include "physics/scene/mesh_files/surface_mesh_files.h"

namespace pliant::physics {

// Serves the files that the mesh at `path` names, such as the buffers of glTF, from its own folder.
// With a `jail`, only files in that folder are read, and a file that is not where the mesh names it
// is searched for in the whole jail by its name (FindFileByName).
//
// errors  PERMISSION_DENIED: outside the jail, or an absolute path; NOT_FOUND and others: as
//         ReadMeshFileBytes
CompanionFiles ServeCompanions(std::string path, std::string jail);

}  // namespace pliant::physics
