#pragma once

#include "solvers/linalg/parallel.h"

namespace pliant::physics {

using solvers::ParallelFor;
using solvers::ParallelForWithin;

}  // namespace pliant::physics
