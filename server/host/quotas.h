#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace pliant::physics {
struct Model;
}

namespace pliant::server {

// Resources that worlds use.
struct Usage {
  std::int64_t worlds = 0;
  std::int64_t dofs = 0;    // degrees of freedom
  std::int64_t memory = 0;  // [B], see CalcUsage

  Usage& operator+=(const Usage& other);
};

// Usage of one world of a model. Its memory is an estimate from the sizes of meshes and state.
Usage CalcUsage(const physics::Model& model);

// Maximum usage; 0: no limit.
struct Quota {
  std::int64_t worlds = 0;
  std::int64_t dofs = 0;
  std::int64_t memory = 0;  // [B]
};

struct Quotas {
  Quota server{};                                // of all worlds together
  Quota user{};                                  // of all worlds with the same owner
  Quota world{};                                 // of each
  std::int64_t uploads = std::int64_t{4} << 30;  // of files that clients upload together [B]
};

// RESOURCE_EXHAUSTED, naming quota and need, if `used` and `needed` together exceed a quota.
// `whose`: e.g. "the server".
absl::Status CheckQuota(const Quota& quota, const Usage& used, const Usage& needed,
                        const std::string& whose);

}  // namespace pliant::server
