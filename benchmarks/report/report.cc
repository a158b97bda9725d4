#include "benchmarks/report/report.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string Today() {
  char text[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

// Prints one line per row: the case, then its numbers.
void PrintTable(const ordered_json& rows) {
  for (const ordered_json& row : rows) {
    std::printf("%-34s", row.at("case").get<std::string>().c_str());
    for (const auto& [key, value] : row.items()) {
      if (value.is_number_integer()) {
        std::printf("  %s %lld", key.c_str(), value.get<long long>());
      } else if (value.is_number()) {
        std::printf("  %s %.4g", key.c_str(), value.get<double>());
      } else if (value.is_boolean()) {
        std::printf("  %s %s", key.c_str(), value.get<bool>() ? "yes" : "no");
      }
      if (key == "step_ms") {
        std::printf("  step_ms median %.4f p95 %.4f", value.at("median").get<double>(),
                    value.at("p95").get<double>());
      }
    }
    if (row.contains("peer")) {
      if (row.at("peer").contains("step_ms"))
        std::printf("  peer median %.4f", row.at("peer").at("step_ms").at("median").get<double>());
      for (const auto& [key, value] : row.at("peer").items())
        if (value.is_number()) std::printf("  peer %s %.4g", key.c_str(), value.get<double>());
    }
    if (row.contains("note")) std::printf("  (%s)", row.at("note").get<std::string>().c_str());
    std::printf("\n");
  }
}

}  // namespace

ordered_json DescribeMachine() {
  return {{"cpu", CpuName()}, {"cores", std::thread::hardware_concurrency()}, {"date", Today()}};
}

int WriteReport(const ordered_json& report, const std::string& json) {
  if (json == "-") {
    std::printf("%s\n", report.dump(2).c_str());
    return 0;
  }
  PrintTable(report.at("rows"));
  if (json.empty()) return 0;
  std::ofstream file(json);
  file << report.dump(2) << "\n";
  if (file) return 0;
  std::fprintf(stderr, "cannot write %s; name a file in a folder that exists\n", json.c_str());
  return 4;
}

}  // namespace pliant::benchmarks
