#pragma once

#include <string>
#include <string_view>

namespace pliant::physics {

// Decodes a file name in a URI, as glTF and COLLADA have them: %20 is a space.
std::string DecodeUri(std::string_view name);

}  // namespace pliant::physics
