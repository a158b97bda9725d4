#pragma once

#include <string>

namespace pliant::server {

// Build id of this program, in hexadecimal: equal for equal code and options, whatever the version.
// Empty if the linker wrote none.
std::string FindBuildId();

}  // namespace pliant::server
