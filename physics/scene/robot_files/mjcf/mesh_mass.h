#pragma once

#include <optional>
#include <string_view>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"

namespace pliant::physics {

// The attribute `inertia` of a mesh asset says where the mesh has its mass.
enum class MjcfMeshInertia {
  kLegacy,  // in the tetrahedra between the triangles and their centroid, all counted as positive
  kExact,   // in the volume that it encloses
  kConvex,  // in its convex hull
  kShell,   // on its surface
};

// kLegacy for no text; none for an unknown one.
std::optional<MjcfMeshInertia> ParseMeshInertia(std::string_view text);

// Mass properties for a density of 1. `volume` is the area for kShell; for kLegacy and kExact it is
// negative if the triangles face inwards. The vertices are those of the file in single precision,
// as MuJoCo reads them, times `scale`. Vertices without triangles are their convex hull.
MassProperties CalcMeshMass(TriangleMesh mesh, const Eigen::Vector3d& scale,
                            MjcfMeshInertia inertia);

}  // namespace pliant::physics
