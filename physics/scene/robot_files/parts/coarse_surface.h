#pragma once

#include <cstddef>
#include <optional>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// A closed surface with about so many triangles, whose vertices are some of the given closed one's
// and which is within half a percent of its size from it. None if the given one has not more, or if
// no such surface is found.
std::optional<TriangleMesh> MakeCoarseSurface(const TriangleMesh& surface, std::size_t triangles);

}  // namespace pliant::physics
