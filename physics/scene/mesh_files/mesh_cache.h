#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "physics/geometry/meshing/surface/surface_meshing.h"

namespace pliant::physics {

// $PLIANT_MESH_CACHE, or else pliant/meshes in the user's cache folder ($XDG_CACHE_HOME, or .cache
// in $HOME); empty, which is no cache, when none of them is set.
std::string FindMeshCacheFolder();

// Cache of meshes of surfaces: files in one folder, named by the hash of their inputs. Errors of
// the folder are ignored: nothing is found or stored then. Several processes may share the folder.
class MeshCache {
 public:
  // folder     empty: nothing is kept
  // max_bytes  limit above which the least recently used files are removed
  explicit MeshCache(std::string folder, std::int64_t max_bytes = std::int64_t{256} << 20);

  // `key`: hexadecimal digits. A damaged file is ignored.
  std::optional<MeshedSurface> Find(const std::string& key) const;
  void Keep(const std::string& key, const MeshedSurface& mesh) const;

 private:
  void RemoveOldest() const;

  std::string folder_;
  std::int64_t max_bytes_;
};

}  // namespace pliant::physics
