#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/geometry/mesh.h"

namespace pliant::physics {

struct SurfaceMeshFile {
  TriangleMesh mesh;
  std::vector<std::string> warnings;  // what was changed, each with the file's name
};

// The bytes of a file that a mesh names, such as a glTF's buffer; an error when it may not be read.
using CompanionFiles = std::function<absl::StatusOr<std::string>(const std::string& name)>;

// Reads a closed surface, as a rigid body needs it, from the bytes of a file: STL (ASCII or
// binary), OBJ, PLY, or glTF. The content decides the format. Equal vertices are joined, polygons
// cut into triangles, degenerate and repeated triangles dropped; triangles are turned to agree with
// each other and, as a whole, to enclose a positive volume. Axes and lengths are the file's own.
//
// name        stands for the file in messages
// companions  files that it names; none are opened without
// errors      INVALID_ARGUMENT with file, line or byte, found and expected; also when the surface
//             is not closed: the number of open edges and where the first one is
absl::StatusOr<SurfaceMeshFile> ReadSurfaceMesh(std::string_view bytes, const std::string& name,
                                                const CompanionFiles& companions = nullptr);

// The same files, closed or not, as they are but for joined vertices and dropped triangles: for a
// convex hull or a shell.
absl::StatusOr<SurfaceMeshFile> ReadOpenSurfaceMesh(std::string_view bytes, const std::string& name,
                                                    const CompanionFiles& companions = nullptr);

// A surface that was read and is open, as a closed one.
//
// errors  as ReadSurfaceMesh
absl::StatusOr<SurfaceMeshFile> CloseSurfaceMesh(SurfaceMeshFile file, const std::string& name);

}  // namespace pliant::physics
