#pragma once

#include <optional>
#include <string_view>

namespace pliant::server {

// Role of a client. Each one includes those before it.
enum class Role { kViewer, kOperator, kAdmin };

inline constexpr Role kRoles[] = {Role::kViewer, Role::kOperator, Role::kAdmin};

constexpr const char* NameOf(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kOperator:
      return "operator";
    case Role::kAdmin:
      break;
  }
  return "admin";
}

constexpr std::optional<Role> ParseRole(std::string_view name) {
  for (const Role role : kRoles) {
    if (name == NameOf(role)) return role;
  }
  return std::nullopt;
}

}  // namespace pliant::server
