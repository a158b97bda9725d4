#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// Runs benchmarks/peers/SCRIPT on the case `given` and returns the JSON that it prints. Tries each
// Python that has `module`; returns nothing when there is none or the script fails.
std::optional<nlohmann::ordered_json> RunPeer(const std::string& script, const std::string& module,
                                              const nlohmann::ordered_json& given);

// Note of a row whose peer is missing.
inline constexpr char kNoPeer[] =
    "peer not installed: python3 -m venv build/oracle_venv && build/oracle_venv/bin/pip install -r "
    "tests/oracle/requirements.txt";

}  // namespace pliant::benchmarks
