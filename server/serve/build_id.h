#pragma once

#include <string>

namespace pliant::server {

// The build of this program, in hexadecimal: equal for equal code and options, whatever the version
// says. Empty when the linker wrote none.
std::string FindBuildId();

}  // namespace pliant::server
