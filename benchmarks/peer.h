#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// What benchmarks/peers/SCRIPT prints for a case, run by the first Python that has `module`;
// nothing when none has.
std::optional<nlohmann::ordered_json> RunPeer(const std::string& script, const std::string& module,
                                              const nlohmann::ordered_json& given);

// What to say where a peer is missing.
inline constexpr char kNoPeer[] =
    "peer not installed: python3 -m venv build/oracle_venv && build/oracle_venv/bin/pip install -r "
    "tests/oracle/requirements.txt";

}  // namespace pliant::benchmarks
