#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// First steps of cubes of 10 thousand to a million particles that rest on the ground. Adds a row
// for each case whose name contains `only`, but those of a million, which take minutes, not if
// `only` is empty.
void AddLargeBodies(const std::string& only, nlohmann::ordered_json* rows);

}  // namespace pliant::benchmarks
