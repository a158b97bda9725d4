#pragma once

#include <cstdlib>
#include <string>

namespace pliant {

// Folder of the robots and meshes of other projects, which are not part of this repository: the one
// that PLIANT_ASSETS names, or the one beside the sources. Tests skip where it is absent.
inline std::string FindAssets() {
  if (const char* folder = std::getenv("PLIANT_ASSETS")) return folder;
  return std::string(PLIANT_SOURCE_DIR) + "/../shared/assets";
}

}  // namespace pliant
