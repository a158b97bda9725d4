#pragma once

#include <cstdint>

namespace pliant {

// Number of times this program has called operator new, on any thread.
std::int64_t CountAllocations();

}  // namespace pliant
