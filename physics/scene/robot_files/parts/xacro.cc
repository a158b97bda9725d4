#include "physics/scene/robot_files/parts/xacro.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <sys/wait.h>

extern char** environ;

namespace pliant::physics {
namespace {

constexpr int kTimeLimit = 60'000;  // without output [ms]
constexpr std::size_t kMaxComplaint = 400;

std::string HowTo(const std::string& path) {
  return absl::StrCat("Expand it with `xacro ", path,
                      " > robot.urdf`, and give that file (xacro is part of ROS, and on PyPI)");
}

// Output and messages of a program; its exit status is that of waitpid.
struct Output {
  std::string text;
  std::string messages;
  int status = 0;
};

// Reads both pipes until they are closed; false when nothing came for too long, or too much.
bool ReadAll(int out, int err, Output* output) {
  std::array<pollfd, 2> pipes = {pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  std::string* const texts[] = {&output->text, &output->messages};
  std::array<char, 1 << 16> buffer;
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    const int ready = poll(pipes.data(), pipes.size(), kTimeLimit);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    for (int i = 0; i < 2; ++i) {
      if (pipes[i].revents == 0) continue;
      const ssize_t count = read(pipes[i].fd, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        pipes[i].fd = -1;  // poll ignores it
        continue;
      }
      texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
      if (texts[i]->size() > kMaxXmlBytes) return false;
    }
  }
  return true;
}

absl::StatusOr<Output> RunXacro(const std::string& path) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return absl::ResourceExhaustedError("no pipe can be made");
  if (pipe2(err, O_CLOEXEC) != 0) {
    close(out[0]);
    close(out[1]);
    return absl::ResourceExhaustedError("no pipe can be made");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  std::string program = "xacro", file = path;
  char* arguments[] = {program.data(), file.data(), nullptr};
  pid_t child = 0;
  const int fault = posix_spawnp(&child, "xacro", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  Output output;
  const bool whole = fault == 0 && ReadAll(out[0], err[0], &output);
  close(out[0]);
  close(err[0]);
  if (fault != 0) return absl::NotFoundError(std::strerror(fault));
  if (!whole) kill(child, SIGKILL);
  while (waitpid(child, &output.status, 0) < 0 && errno == EINTR) {
  }
  if (!whole) return absl::DeadlineExceededError("it does not end");
  return output;
}

}  // namespace

bool HasXacro(const XmlElement& root) {
  if (root.name.starts_with("xacro:")) return true;
  return std::any_of(root.children.begin(), root.children.end(), HasXacro);
}

absl::StatusOr<std::string> ExpandXacro(const std::string& path, const RobotFileOptions& options) {
  if (!options.allow_files || !options.jail.empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat("is a xacro file, which is not expanded here. ", HowTo(path)));
  }
  const absl::StatusOr<Output> output = RunXacro(path);
  if (absl::IsNotFound(output.status())) {
    return absl::NotFoundError(
        absl::StrCat("is a xacro file, and the program `xacro` is not installed. ", HowTo(path)));
  }
  if (!output.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is a xacro file, and `xacro` failed: ", output.status().message(), ". ", HowTo(path)));
  }
  if (output->status == 0 && !output->text.empty()) return output->text;
  std::string why = output->messages;
  absl::StripTrailingAsciiWhitespace(&why);
  if (why.size() > kMaxComplaint) why.erase(0, why.size() - kMaxComplaint);
  if (why.empty()) why = "it says nothing";
  return absl::InvalidArgumentError(absl::StrCat("is a xacro file, and `xacro` failed: ", why));
}

}  // namespace pliant::physics
