#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/types.h>

namespace pliant::server {

// The threads of a process that keep processors awake, see AwakeProcessors.
inline std::vector<pid_t> FindSpinningThreads(pid_t process) {
  std::vector<pid_t> threads;
  const std::filesystem::path tasks =
      std::filesystem::path("/proc") / std::to_string(process) / "task";
  for (const auto& entry : std::filesystem::directory_iterator(tasks)) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    if (name.starts_with("awake ")) threads.push_back(std::stoi(entry.path().filename()));
  }
  return threads;
}

// True if the thread runs or waits for a processor, that is, does not sleep.
inline bool IsRunnable(pid_t process, pid_t thread) {
  std::string line;
  std::getline(std::ifstream(std::filesystem::path("/proc") / std::to_string(process) / "task" /
                             std::to_string(thread) / "stat"),
               line);
  return line.find(") R ") != std::string::npos;
}

}  // namespace pliant::server
