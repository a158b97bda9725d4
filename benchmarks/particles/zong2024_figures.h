#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// Data for Figures 3, 6 and 7 of Zong et al. 2024: a ball on a slope; a cube between two panels,
// and panels that lift and shake a heavy cube, both also with explicit particles. Adds a row for
// each case whose name contains `only`, of at most `max_steps` steps, or all of them if 0.
void AddZong2024Figures(const std::string& only, int max_steps, nlohmann::ordered_json* rows);

}  // namespace pliant::benchmarks
