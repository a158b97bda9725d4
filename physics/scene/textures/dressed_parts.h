#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "physics/geometry/appearance.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"

namespace pliant::physics {

// A part of a surface with all that viewers need to draw it.
struct DressedPart {
  std::shared_ptr<const TriangleMesh> mesh;
  std::optional<Eigen::Vector4d> color;          // of its material
  std::shared_ptr<const Appearance> appearance;  // null: the colour alone
};

// Parts of a surface with their images; the whole surface as one part if the file has no colours.
// An image that cannot be read is left out, with a warning that names it and the remedy.
//
// name      of the surface's file in warnings
// read      bytes of a file that the surface names, of at most kMaxImageBytes
std::vector<DressedPart> DressParts(const SurfaceMeshFile& file, const std::string& name,
                                    const CompanionFiles& read, std::vector<std::string>* warnings);

}  // namespace pliant::physics
