#pragma once

#include <string>
#include <string_view>

#include "physics/scene/mesh_files/surface_mesh_files.h"

namespace pliant::physics {

// The outcome of reading a file: a surface, or a refusal that gives the reason.
struct SurfaceReading {
  SurfaceMeshFile file;  // without warnings
  std::string refusal;
};

// As bytes: the count of each array, then its items, as this machine stores them.
std::string Pack(const SurfaceReading& reading);

// The reverse. Returns false when the bytes are none that Pack writes, or name vertices or textures
// that do not exist: a reader that a damaged file has overwritten can send anything.
bool Unpack(std::string_view bytes, SurfaceReading* reading);

}  // namespace pliant::physics
