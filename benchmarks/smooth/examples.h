#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// Calls add(name, run) for each row of an example of Larionov et al. 2023 with soft bodies: seconds
// per step, convergence, memory and the paper's figures.
using AddRow = std::function<void(const std::string& name,
                                  const std::function<nlohmann::ordered_json()>& run)>;
void AddSmoothExamples(const AddRow& add);

}  // namespace pliant::benchmarks
