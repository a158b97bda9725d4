#include "server/host/quotas.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "physics/dynamics/model.h"

namespace pliant::server {
namespace {

// Fitted to the resident memory of servers after a few steps, accurate to a third: worlds of one
// box, of a pile of 1000 boxes, of one soft ball of 30,000 degrees of freedom and of a hundred of
// 1200.
constexpr double kWorldBytes = 250e3;  // threads, queues and buffers
constexpr double kRigidBytes = 32e3;   // with its contacts
constexpr double kElementBytes = 600;
constexpr double kParticleBytes = 2000;  // with its part of the grid and of the matrix
// The factor of a mesh of n vertices that is numbered by nested dissection has O(n^4/3) blocks.
constexpr double kFactorBytes = 2000;

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
  double memory = kWorldBytes;
  for (const physics::Body& body : model.bodies) {
    const int particles = physics::CountPoints(model, body);
    if (particles > 0) {
      memory += kParticleBytes * particles;
      continue;
    }
    const double vertices = static_cast<double>(body.mesh.vertices.size());
    const double elements = static_cast<double>(body.mesh.tetrahedra.size());
    memory += vertices == 0 ? kRigidBytes
                            : kElementBytes * elements + kFactorBytes * std::pow(vertices, 4.0 / 3);
  }
  return {.worlds = 1,
          .dofs = model.velocity_offsets.back(),
          .memory = static_cast<std::int64_t>(memory)};
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
