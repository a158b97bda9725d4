#pragma once

namespace pliant::physics {

// Allocations that this program made so far; the test's own operators count them.
long CountAllocations();

}  // namespace pliant::physics
