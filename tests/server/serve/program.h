#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <regex>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include <sys/wait.h>

extern char** environ;

namespace pliant::server {

inline constexpr std::chrono::seconds kProgramTimeout{60};

// pliantd as a child process, with stdout in a pipe and stderr in a file.
class Program {
 public:
  // `max_file_bytes` limits the size of the files that it writes; 0 means no limit. `program`
  // replaces the pliantd beside this test.
  Program(const std::vector<std::string>& arguments, const std::filesystem::path& errors,
          int max_file_bytes = 0, const std::filesystem::path& program = {}) {
    const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path();
    std::string path = (program.empty() ? folder / "pliantd" : program).string();
    EXPECT_TRUE(std::filesystem::exists(path))
        << path << " is not built; build everything, not this test alone";
    std::vector<std::string> words{path};
    if (max_file_bytes > 0) {
      const std::string blocks = std::to_string(max_file_bytes / 512);
      words = {"sh", "-c", "ulimit -f " + blocks + "; exec \"$0\" \"$@\"", path};
      path = "/bin/sh";
    }
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (const std::string& argument : words) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::array<int, 2> pipe_ends{};
    EXPECT_EQ(pipe(pipe_ends.data()), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    EXPECT_EQ(posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    out_ = fdopen(pipe_ends[0], "r");
  }
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    fclose(out_);
  }

  std::string ReadLine() {
    std::array<char, 512> line{};
    return fgets(line.data(), line.size(), out_) != nullptr ? line.data() : "";
  }
  pid_t id() const { return pid_; }
  void Signal(int number) const { kill(pid_, number); }

  // Returns the exit status, or −1 after a time-out or the end by a signal.
  int Wait() {
    const auto end = std::chrono::steady_clock::now() + kProgramTimeout;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end) return -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  FILE* out_ = nullptr;
};

// Ports in the ready line; none when the line has any other form.
inline std::optional<std::pair<std::string, std::string>> ParseReady(const std::string& line) {
  static const std::regex kReady(
      "\\{\"ready\": true, \"grpc\": \"127\\.0\\.0\\.1:([0-9]+)\", \"http\": "
      "\"http://127\\.0\\.0\\.1:([0-9]+)\"\\}\n");
  std::smatch match;
  if (!std::regex_match(line, match, kReady)) return std::nullopt;
  return std::pair{match[1].str(), match[2].str()};
}

}  // namespace pliant::server
