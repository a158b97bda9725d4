#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/auth/label_selector.h"
#include "server/auth/role.h"

namespace pliant::server {

// A role on the worlds that a selector chooses.
struct Grant {
  Role role = Role::kViewer;
  LabelSelector worlds;
  bool operator==(const Grant&) const = default;
};

// Name and permissions of a client. Without grants it has no permission.
struct Identity {
  std::string name;  // empty: a client without a token
  std::vector<Grant> grants;
  std::chrono::system_clock::time_point expires = std::chrono::system_clock::time_point::max();
  std::string credential;        // hash of its token
  std::uint64_t generation = 0;  // of the files that it was read from

  // The highest role of the client on any world.
  std::optional<Role> HighestRole() const;

  // The role of the client on a world with these labels; none: it may not even see the world.
  std::optional<Role> RoleOn(const std::map<std::string, std::string>& labels) const;

  // True if the client has this role on a world with these labels.
  bool Has(Role role, const std::map<std::string, std::string>& labels) const;

  // True if the client has this role on every world.
  bool HasEverywhere(Role role) const;
};

// Every client of a server without accounts.
Identity Anyone();

}  // namespace pliant::server
