#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/geometry/appearance.h"
#include "physics/geometry/mesh.h"

namespace pliant::physics {

// A part of a surface with one material.
struct VisualPart {
  // Vertices with the same place, texture coordinates and colour are one; its triangles may be
  // open, repeated, or turned in any way.
  TriangleMesh mesh;
  Appearance appearance;                 // without its image
  std::optional<Eigen::Vector4d> color;  // of the material: red, green, blue and alpha in 0 … 1
  int texture = -1;                      // in SurfaceMeshFile::textures; −1: none
};

// An image that a file names, or contains.
struct TextureSource {
  std::string name;
  std::string bytes = {};  // empty: a file of that name
};

struct SurfaceMeshFile {
  TriangleMesh mesh;
  std::vector<std::string> warnings;  // changes to the mesh, each with the file's name
  // Triangles with the corners of others, which `mesh` leaves out.
  std::vector<std::array<int, 3>> repeated = {};
  int concave_polygons = 0;  // of the file, of which other programs may make other triangles
  // Parts for drawing, from ReadVisualSurface; none without colours and textures.
  std::vector<VisualPart> parts = {};
  std::vector<TextureSource> textures = {};
  std::vector<std::string> visual_warnings = {};  // parts not shown, each with the file's name
};

// Returns the bytes of a file named in a mesh, such as a glTF buffer, or an error when it must not
// be read.
using CompanionFiles = std::function<absl::StatusOr<std::string>(const std::string& name)>;

// Reads a closed surface, as a rigid body needs it, from the bytes of a file: STL (ASCII or
// binary), OBJ, PLY, glTF or COLLADA. The content decides the format. Equal vertices are joined,
// polygons cut into triangles, degenerate and repeated triangles dropped; triangles are turned to
// agree with each other and, as a whole, to enclose a positive volume. Points without triangles
// become their convex hull. Axes and lengths are the file's own; COLLADA, which names its axes and
// its unit, is converted to z up and metres.
//
// name        stands for the file in messages
// companions  files that it names; none are opened without
// errors      INVALID_ARGUMENT with file, line or byte, found and expected; also when the surface
//             is not closed: the number of open edges and where the first one is
absl::StatusOr<SurfaceMeshFile> ReadSurfaceMesh(std::string_view bytes, const std::string& name,
                                                const CompanionFiles& companions = nullptr);

// Reads a surface as above, closed or not. Only vertices are joined and triangles dropped. For a
// convex hull or a shell.
absl::StatusOr<SurfaceMeshFile> ReadOpenSurfaceMesh(std::string_view bytes, const std::string& name,
                                                    const CompanionFiles& companions = nullptr);

// Reads an open surface with its parts, textures and warnings about them. Without `companions`,
// those described in other files are missing.
absl::StatusOr<SurfaceMeshFile> ReadVisualSurface(std::string_view bytes, const std::string& name,
                                                  const CompanionFiles& companions);

// Rotates a surface with y up to z up.
void TurnUpright(SurfaceMeshFile* file);

// Turns a surface read as open into a closed one.
//
// errors  as ReadSurfaceMesh
absl::StatusOr<SurfaceMeshFile> CloseSurfaceMesh(SurfaceMeshFile file, const std::string& name);

}  // namespace pliant::physics
