#include "server/host/quotas.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "physics/dynamics/model.h"

namespace pliant::server {
namespace {

// Measured as resident memory of servers with worlds of many sizes; see the test.
constexpr std::int64_t kWorldBytes = 300 << 10;  // threads, queues and buffers of one world
constexpr std::int64_t kDofBytes = 5 << 10;      // states, factors and workspaces of a method
constexpr std::int64_t kBodyBytes = 8 << 10;
constexpr std::int64_t kElementBytes = 1 << 10;  // of deformable meshes

absl::Status Refuse(const char* what, std::int64_t needed, std::int64_t used, std::int64_t limit,
                    const std::string& whose) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the scene has ", needed, " ", what, ", and ", whose, " has ",
      std::max<std::int64_t>(0, limit - used), " of its ", limit,
      used > 0 ? " left; delete a world, or make the scene smaller" : "; make the scene smaller"));
}

}  // namespace

Usage& Usage::operator+=(const Usage& other) {
  worlds += other.worlds;
  dofs += other.dofs;
  memory += other.memory;
  return *this;
}

Usage CalcUsage(const physics::Model& model) {
  Usage usage{.worlds = 1, .dofs = model.velocity_offsets.back(), .memory = kWorldBytes};
  usage.memory += kDofBytes * usage.dofs;
  for (const physics::Body& body : model.bodies)
    usage.memory +=
        kBodyBytes + kElementBytes * static_cast<std::int64_t>(body.mesh.tetrahedra.size());
  return usage;
}

absl::Status CheckQuota(const Quota& quota, const Usage& used, const Usage& needed,
                        const std::string& whose) {
  if (quota.worlds > 0 && used.worlds + needed.worlds > quota.worlds) {
    return absl::ResourceExhaustedError(
        absl::StrCat(whose, " has ", used.worlds, " worlds, which is ",
                     whose == "the server" ? "its limit" : "the limit of a user",
                     "; delete one before creating another"));
  }
  if (quota.dofs > 0 && used.dofs + needed.dofs > quota.dofs)
    return Refuse("degrees of freedom", needed.dofs, used.dofs, quota.dofs, whose);
  if (quota.memory > 0 && used.memory + needed.memory > quota.memory)
    return Refuse("bytes of estimated memory", needed.memory, used.memory, quota.memory, whose);
  return absl::OkStatus();
}

}  // namespace pliant::server
