#include "server/gateway/origin.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace pliant::server {

bool IsLoopbackHost(const std::string& host) {
  std::string name = absl::AsciiStrToLower(host);
  if (!name.empty() && name.front() == '[') {
    name = name.substr(0, name.find(']') + 1);
  } else {
    name = name.substr(0, name.find(':'));
  }
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

bool IsOriginAllowed(const std::string& origin, const std::string& host, bool loopback_only,
                     const std::vector<std::string>& allowed_origins) {
  if (origin.empty()) return true;
  const std::string asked = absl::AsciiStrToLower(origin);
  const auto listed = [&asked](const std::string& one) {
    return absl::AsciiStrToLower(one) == asked;
  };
  if (std::any_of(allowed_origins.begin(), allowed_origins.end(), listed)) return true;
  if (loopback_only && !IsLoopbackHost(host)) return false;
  const std::string own = absl::AsciiStrToLower(host);
  return asked == "http://" + own || asked == "https://" + own;
}

}  // namespace pliant::server
