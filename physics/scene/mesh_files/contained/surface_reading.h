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

// Serialises: the count of each array, then its items in this machine's representation.
std::string Pack(const SurfaceReading& reading);

// Deserialises. Returns false if Pack cannot have written the bytes, or if they refer to vertices
// or textures that do not exist: a reader whose memory a damaged file has overwritten can send
// anything.
bool Unpack(std::string_view bytes, SurfaceReading* reading);

}  // namespace pliant::physics
