#include "benchmarks/peers/peer.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace pliant::benchmarks {

std::optional<nlohmann::ordered_json> RunPeer(const std::string& script, const std::string& module,
                                              const nlohmann::ordered_json& given) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("pliant_bench_" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << given;
  const char* chosen = std::getenv("PLIANT_PEER_PYTHON");
  std::optional<nlohmann::ordered_json> result;
  for (const std::string& python :
       {std::string(chosen != nullptr ? chosen : ""),
        std::string(PLIANT_SOURCE_DIR "/build/oracle_venv/bin/python3"), std::string("python3")}) {
    if (python.empty() || result) continue;
    const std::string command = "'" + python + "' -c 'import " + module + "' 2>/dev/null && '" +
                                python + "' '" PLIANT_SOURCE_DIR "/benchmarks/peers/" + script +
                                "' '" + path.string() + "'";
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) continue;
    std::string output;
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      output.append(buffer, n);
    if (::pclose(pipe) != 0) continue;
    nlohmann::ordered_json read = nlohmann::ordered_json::parse(output, nullptr, false);
    if (!read.is_discarded()) result = std::move(read);
  }
  std::filesystem::remove(path);
  return result;
}

}  // namespace pliant::benchmarks
