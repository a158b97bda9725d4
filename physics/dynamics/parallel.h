#pragma once

#include "solvers/linalg/parallel.h"

namespace pliant::physics {

using solvers::ParallelFor;

}  // namespace pliant::physics
