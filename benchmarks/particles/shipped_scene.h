#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/suite.h"
#include "physics/dynamics/model.h"

namespace pliant::benchmarks {

std::string PathOfShipped(const std::string& name);

// The model of a shipped scene, without sleeping. Null, with a note in the row, if the scene does
// not load.
std::shared_ptr<const physics::Model> LoadShipped(const std::string& name,
                                                  std::vector<std::string> overrides,
                                                  nlohmann::ordered_json* row);

}  // namespace pliant::benchmarks
