#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace pliant {

// Checks that a client of one version can talk to a server of another: major versions must be
// equal, and before 1.0 minor versions too. Otherwise FAILED_PRECONDITION, which says which one is
// older. Versions that cannot be parsed are accepted.
absl::Status CheckVersions(std::string_view client, std::string_view server);

}  // namespace pliant
