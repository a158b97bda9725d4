#include "server/auth/identity.h"

#include <algorithm>

namespace pliant::server {

std::optional<Role> Identity::HighestRole() const {
  std::optional<Role> highest;
  for (const Grant& grant : grants) highest = std::max(highest, std::optional(grant.role));
  return highest;
}

std::optional<Role> Identity::RoleOn(const std::map<std::string, std::string>& labels) const {
  std::optional<Role> role;
  for (const Grant& grant : grants)
    if (grant.worlds.Matches(labels)) role = std::max(role, std::optional(grant.role));
  return role;
}

bool Identity::Has(Role role, const std::map<std::string, std::string>& labels) const {
  const std::optional<Role> own = RoleOn(labels);
  return own && *own >= role;
}

bool Identity::HasEverywhere(Role role) const {
  return std::ranges::any_of(grants, [role](const Grant& grant) {
    return grant.role >= role && grant.worlds.matches_all();
  });
}

Identity Anyone() {
  Identity anyone;
  anyone.grants = {Grant{Role::kAdmin, {}}};
  return anyone;
}

}  // namespace pliant::server
