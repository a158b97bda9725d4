#include "physics/scene/mesh_files/mesh_cache.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "xxhash.h"

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

// File: magic; then the hash of all that follows it: smallest angle, numbers of vertices,
// tetrahedra and warnings; coordinates; corners; for each warning its length and text.
constexpr char kCacheMagic[] = "pliant mesh 1\n";
constexpr std::size_t kCacheMagicSize = sizeof(kCacheMagic) - 1;
constexpr std::size_t kCacheBodyStart = kCacheMagicSize + 8;
constexpr char kCacheSuffix[] = ".mesh";

template <typename T>
void AppendBytes(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Takes values from the front of bytes.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}

  bool Take(void* to, std::size_t size) {
    if (size > bytes_.size()) return false;
    std::memcpy(to, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return true;
  }
  bool CanHold(std::uint64_t count, std::size_t size) const {
    return count <= bytes_.size() / size;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string FindMeshCacheFolder() {
  if (const char* chosen = std::getenv("PLIANT_MESH_CACHE"); chosen != nullptr) return chosen;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return (fs::path(cache) / "pliant" / "meshes").string();
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return (fs::path(home) / ".cache" / "pliant" / "meshes").string();
  return "";
}

MeshCache::MeshCache(std::string folder, std::int64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::optional<MeshedSurface> MeshCache::Find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = fs::path(folder_) / (key + kCacheSuffix);
  const absl::StatusOr<std::string> bytes = ReadMeshFileBytes(path.string(), max_bytes_);
  if (!bytes.ok() || bytes->size() < kCacheBodyStart || !bytes->starts_with(kCacheMagic))
    return std::nullopt;
  std::uint64_t hash = 0;
  std::memcpy(&hash, bytes->data() + kCacheMagicSize, sizeof(hash));
  const std::string_view body = std::string_view(*bytes).substr(kCacheBodyStart);
  if (XXH3_64bits(body.data(), body.size()) != hash) return std::nullopt;

  Taker taker(body);
  MeshedSurface found;
  std::array<std::uint64_t, 3> counts{};
  if (!taker.Take(&found.min_dihedral, sizeof(double)) || !taker.Take(&counts, sizeof(counts)) ||
      !taker.CanHold(counts[0], 24) || !taker.CanHold(counts[1], 16) ||
      !taker.CanHold(counts[2], 8))
    return std::nullopt;
  found.mesh.vertices.resize(counts[0]);
  found.mesh.tetrahedra.resize(counts[1]);
  if (!taker.Take(found.mesh.vertices.data(), 24 * counts[0]) ||
      !taker.Take(found.mesh.tetrahedra.data(), 16 * counts[1]))
    return std::nullopt;
  for (std::uint64_t i = 0; i < counts[2]; ++i) {
    std::uint64_t size = 0;
    if (!taker.Take(&size, sizeof(size)) || !taker.CanHold(size, 1)) return std::nullopt;
    found.warnings.emplace_back(size, '\0');
    if (!taker.Take(found.warnings.back().data(), size)) return std::nullopt;
  }
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return found;
}

void MeshCache::Keep(const std::string& key, const MeshedSurface& mesh) const {
  if (folder_.empty()) return;
  std::string body;
  AppendBytes(mesh.min_dihedral, &body);
  for (const std::uint64_t count :
       {mesh.mesh.vertices.size(), mesh.mesh.tetrahedra.size(), mesh.warnings.size()})
    AppendBytes(count, &body);
  static_assert(sizeof(Eigen::Vector3d) == 24 && sizeof(std::array<int, 4>) == 16);
  for (const Eigen::Vector3d& p : mesh.mesh.vertices)
    body.append(reinterpret_cast<const char*>(p.data()), 24);
  for (const auto& t : mesh.mesh.tetrahedra)
    body.append(reinterpret_cast<const char*>(t.data()), 16);
  for (const std::string& warning : mesh.warnings) {
    AppendBytes(std::uint64_t{warning.size()}, &body);
    body += warning;
  }
  if (static_cast<std::int64_t>(body.size() + kCacheBodyStart) > max_bytes_) return;

  // write a temporary file and rename it, so that no reader sees half a file
  std::error_code error;
  fs::create_directories(folder_, error);
  const fs::path path = fs::path(folder_) / (key + kCacheSuffix);
  const fs::path beside = absl::StrCat(path.string(), ".", ::getpid(), ".part");
  {
    std::ofstream stream(beside, std::ios::binary);
    stream.write(kCacheMagic, kCacheMagicSize);
    const std::uint64_t hash = XXH3_64bits(body.data(), body.size());
    stream.write(reinterpret_cast<const char*>(&hash), sizeof(hash));
    stream.write(body.data(), static_cast<std::streamsize>(body.size()));
    stream.flush();
    if (!stream) {
      stream.close();
      fs::remove(beside, error);
      return;
    }
  }
  fs::rename(beside, path, error);
  if (error) fs::remove(beside, error);
  RemoveOldest();
}

void MeshCache::RemoveOldest() const {
  struct Entry {
    fs::file_time_type time;
    fs::path path;
    std::int64_t size;
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (at->path().extension() != kCacheSuffix) continue;
    const auto size = static_cast<std::int64_t>(fs::file_size(at->path(), gone));
    const fs::file_time_type time = fs::last_write_time(at->path(), gone);
    if (gone) continue;
    entries.push_back({time, at->path(), size});
    total += size;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time < b.time : a.path < b.path;
  });
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) break;
    fs::remove(entry.path, error);
    total -= entry.size;
  }
}

}  // namespace pliant::physics
