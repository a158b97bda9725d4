#pragma once

#include <string>
#include <string_view>

#include "physics/scene/mesh_files/contained/surface_reading.h"

namespace pliant::physics {

// Reads glTF, PLY and COLLADA with Assimp, which crashes over some damaged files, does not end over
// others, and allocates what a file asks for. It must run in a process of its own.
//
// format      "gltf", "glb", "ply" or "dae"
// companions  gives the files that it names; no other is opened
SurfaceReading ReadWithAssimp(std::string_view bytes, const std::string& format,
                              const CompanionFiles& companions);

}  // namespace pliant::physics
