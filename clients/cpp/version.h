#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace pliant {

// Whether a client of one version can talk to a server of another: the first numbers must be equal,
// and before 1.0 the second ones, too. FAILED_PRECONDITION otherwise, which says which one is
// older. Versions that are no numbers fit every other one.
absl::Status CheckVersions(std::string_view client, std::string_view server);

}  // namespace pliant
