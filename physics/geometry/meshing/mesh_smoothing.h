#pragma once

#include <functional>

#include "absl/status/status.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {

// Smart Laplacian smoothing (Freitag 1997): each pass moves every vertex towards the mean of its
// neighbours as far as that improves its worst tetrahedron, so the worst tetrahedron of the mesh
// never gets worse. Boundary vertices move along the boundary.
//
// project  nearest point of the surface to a point near it [m]
// errors   CANCELLED: the mesh is then valid, but only partly smoothed
absl::Status SmoothVertices(int passes,
                            const std::function<Eigen::Vector3d(const Eigen::Vector3d&)>& project,
                            TetrahedralMesh* mesh, const IsCancelled& is_cancelled = {});

}  // namespace pliant::physics
