#include "physics/scene/mesh_files/contained/reader_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <spawn.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <sys/socket.h>
#include <sys/wait.h>

#include "physics/scene/mesh_files/contained/messages.h"
#include "physics/scene/mesh_files/contained/uri.h"

extern char** environ;

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

constexpr char kReader[] = "pliant_surface_reader";
constexpr char kReaderVariable[] = "PLIANT_SURFACE_READER";
constexpr double kMaxCompanionSecondsPerByte = 1e-5;
constexpr int kMaxRequests = 1000;

absl::Status CannotStart(int fault) {
  return absl::ResourceExhaustedError(
      absl::StrCat("its reader cannot be started: ", std::strerror(fault)));
}

// Starts the program with the socket as its standard input and nothing else; returns an errno.
int Start(const std::string& program, const std::string& format, int socket, pid_t* child) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  // the library writes failed assertions to standard error
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // connections of this process must end when it closes them
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  std::string name = program, argument = format;
  const std::array<char*, 3> arguments = {name.data(), argument.data(), nullptr};
  const int fault =
      posix_spawn(child, program.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return fault;
}

absl::StatusOr<std::string> Ask(const CompanionFiles& companions, const std::string& name) {
  if (!companions)
    return absl::PermissionDeniedError(
        absl::StrCat("it names ", name, ". Other files are not opened: save it as one (.glb)"));
  absl::StatusOr<std::string> companion = companions(name);
  if (companion.ok() || name.find('%') == std::string::npos) return companion;
  absl::StatusOr<std::string> decoded = companions(DecodeUri(name));
  return decoded.ok() ? decoded : companion;
}

// Serves the reader until it sends its result, or ends without one.
std::optional<std::string> Serve(int socket, std::string_view bytes,
                                 const CompanionFiles& companions, Deadline* deadline) {
  if (!SendMessage(socket, MessageKind::kFile, bytes, *deadline)) return std::nullopt;
  for (int k = 0; k < kMaxRequests; ++k) {
    std::optional<Message> message = ReceiveMessage(socket, *deadline);
    if (!message.has_value()) return std::nullopt;
    if (message->kind == MessageKind::kResult) return std::move(message->bytes);
    if (message->kind != MessageKind::kRequest) return std::nullopt;
    absl::StatusOr<std::string> companion = Ask(companions, message->bytes);
    if (companion.ok())
      *deadline += std::chrono::ceil<Deadline::duration>(
          std::chrono::duration<double>(kMaxCompanionSecondsPerByte) * companion->size());
    const auto kind = companion.ok() ? MessageKind::kFile : MessageKind::kRefusal;
    const std::string answer =
        companion.ok() ? *std::move(companion) : std::string(companion.status().message());
    if (!SendMessage(socket, kind, answer, *deadline)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::string> FindSurfaceReader() {
  std::error_code error;
  if (const char* named = std::getenv(kReaderVariable); named != nullptr && *named != '\0') {
    if (fs::is_regular_file(named, error)) return std::string(named);
    return absl::NotFoundError(absl::StrCat("its reader is not at ", named, ", which ",
                                            kReaderVariable, " names; correct or unset that"));
  }
  const fs::path bin = fs::canonical("/proc/self/exe", error).parent_path();
  const fs::path beside = bin / kReader;
  const fs::path installed = (bin / "../libexec/pliant" / kReader).lexically_normal();
  for (const fs::path& place : {beside, installed})
    if (fs::is_regular_file(place, error)) return place.string();
  return absl::NotFoundError(absl::StrCat(
      "its reader is neither at ", beside.string(), " nor at ", installed.string(),
      "; install Pliant as a whole, or set ", kReaderVariable, " to the path of ", kReader));
}

absl::StatusOr<std::string> RunReader(const std::string& program, const std::string& format,
                                      std::string_view bytes, const CompanionFiles& companions,
                                      std::chrono::duration<double> deadline) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return CannotStart(errno);
  Deadline until = Deadline::clock::now() + std::chrono::ceil<Deadline::duration>(deadline);
  pid_t child = 0;
  const int fault = Start(program, format, sockets[1], &child);
  close(sockets[1]);
  std::optional<std::string> result;
  if (fault == 0) result = Serve(sockets[0], bytes, companions, &until);
  close(sockets[0]);
  if (fault != 0) return CannotStart(fault);
  // a process that crashed keeps its status; one that still runs gets this one
  kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (result.has_value()) return *std::move(result);
  const int end = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (end == SIGXCPU || Deadline::clock::now() >= until)
    return absl::DeadlineExceededError("its reader does not end");
  return absl::InvalidArgumentError(end == SIGKILL ? "its reader fails" : "its reader crashes");
}

}  // namespace pliant::physics
