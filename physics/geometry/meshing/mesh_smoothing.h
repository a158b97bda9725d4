#pragma once

#include <functional>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Moves each vertex towards the mean of its neighbours as far as that improves the worst of its
// tetrahedra, pass after pass; so the worst tetrahedron of the mesh never gets worse (smart
// Laplacian smoothing, Freitag 1997). Vertices of the boundary move along it.
//
// project  nearest point of the surface to a point near it [m]
void SmoothVertices(int passes,
                    const std::function<Eigen::Vector3d(const Eigen::Vector3d&)>& project,
                    TetrahedralMesh* mesh);

}  // namespace pliant::physics
