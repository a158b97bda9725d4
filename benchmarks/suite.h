#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// The default scene at rest and squeezed against real time, and the factorisation against Eigen's on the same matrix.
// Only the cases whose name contains `only`.
nlohmann::ordered_json RunFoundation(const std::string& only);

}  // namespace pliant::benchmarks
