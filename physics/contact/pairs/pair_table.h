#pragma once

#include <vector>

#include "physics/contact/geometries/collision_geometry.h"
#include "physics/contact/pairs/narrow_phase.h"

namespace pliant::physics {

// Appends the contacts of two bodies, or of a body with itself, with gap below the margin. The
// functions are looked up in a table by the kinds of the two geometries.
void CollideGeometries(const CollisionGeometry& a, const CollisionGeometry& b,
                       const PairSettings& settings, NarrowScratch* scratch,
                       std::vector<Touch>* touches);
void CollideWithSelf(const CollisionGeometry& geometry, const PairSettings& settings,
                     NarrowScratch* scratch, std::vector<Touch>* touches);

}  // namespace pliant::physics
