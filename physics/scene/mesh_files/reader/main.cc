// Reads one surface in a process of its own, so that a damaged file cannot crash or block the
// caller: pliant_surface_reader FORMAT. Standard input is a socket, over which it receives the
// file, requests other files that it names, and sends the surface. Processor time and memory are
// limited.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include "absl/status/status.h"
#include <sys/resource.h>

#include "physics/scene/mesh_files/contained/messages.h"
#include "physics/scene/mesh_files/contained/surface_reading.h"
#include "physics/scene/mesh_files/reader/assimp_surface.h"

namespace pliant::physics {
namespace {

constexpr std::size_t kSeconds = 2;                    // of processor time
constexpr std::size_t kBytesPerSecond = 1 << 20;       // size of files that adds a second [B]
constexpr std::size_t kMemory = std::size_t{2} << 30;  // beyond that of the program [B]
constexpr std::size_t kMemoryPerByte = 32;

// Address space of this process [B].
std::size_t CalcAddressSpace() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void Limit(__rlimit_resource_t resource, std::size_t value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  setrlimit(resource, &limit);
}

// Limits of processor time and memory, which grow with the size of the files.
class Limits {
 public:
  Limits() {
    Limit(RLIMIT_CORE, 0);
    AddFile(0);
  }
  void AddFile(std::size_t size) {
    bytes_ += size;
    Limit(RLIMIT_CPU, kSeconds + bytes_ / kBytesPerSecond);
    if (address_space_ > 0) Limit(RLIMIT_AS, address_space_ + kMemory + kMemoryPerByte * bytes_);
  }

 private:
  std::size_t address_space_ = CalcAddressSpace();
  std::size_t bytes_ = 0;
};

SurfaceReading Read(const std::string& bytes, const std::string& format, Limits* limits) {
  const CompanionFiles ask = [&](const std::string& name) -> absl::StatusOr<std::string> {
    std::optional<Message> reply;
    if (SendMessage(STDIN_FILENO, MessageKind::kRequest, name, Deadline::max()))
      reply = ReceiveMessage(STDIN_FILENO, Deadline::max());
    if (!reply.has_value()) _exit(1);
    if (reply->kind != MessageKind::kFile) return absl::NotFoundError(reply->bytes);
    limits->AddFile(reply->bytes.size());
    return std::move(reply->bytes);
  };
  try {
    return ReadWithAssimp(bytes, format, ask);
  } catch (const std::exception& error) {
    return {{}, std::string("its reader fails (") + error.what() + ")"};
  }
}

int Main(int argc, char** argv) {
  Limits limits;
  std::optional<Message> file;
  if (argc == 2) file = ReceiveMessage(STDIN_FILENO, Deadline::max());
  if (!file.has_value() || file->kind != MessageKind::kFile) {
    std::fprintf(stderr, "pliant_surface_reader: pliantd runs this program to read surfaces\n");
    return 2;
  }
  limits.AddFile(file->bytes.size());
  std::string packed = Pack(Read(file->bytes, argv[1], &limits));
  if (packed.size() > kMaxMessageBytes)
    packed = Pack({{}, "it has too many vertices and triangles; expected at most 1 GiB of them"});
  const bool is_sent = SendMessage(STDIN_FILENO, MessageKind::kResult, packed, Deadline::max());
  _exit(is_sent ? 0 : 1);  // the library may have left damaged memory
}

}  // namespace
}  // namespace pliant::physics

int main(int argc, char** argv) {
  return pliant::physics::Main(argc, argv);
}
