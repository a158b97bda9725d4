#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// Processor, number of cores and today's date.
nlohmann::ordered_json DescribeMachine();

// Prints a report as a table, with one line for each of its rows, and writes it to the file `json`
// if that is named. `json` "-": writes it to standard output instead. Returns an exit status: 4 if
// the file cannot be written.
int WriteReport(const nlohmann::ordered_json& report, const std::string& json);

}  // namespace pliant::benchmarks
