#include "physics/scene/mesh_files/volume_mesh_files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <sys/stat.h>

#include "physics/scene/mesh_files/mesh_cursor.h"
#include "physics/scene/mesh_files/surface_mesh_formats.h"
#include "physics/scene/mesh_files/volume_mesh_formats.h"
#include "xxhash.h"

namespace pliant::physics {
namespace {

// A binary STL has no magic number: 80 bytes, a count, and 50 bytes per triangle.
bool IsBinaryStl(std::string_view bytes) {
  if (bytes.size() < 84) return false;
  std::uint32_t count;
  std::memcpy(&count, bytes.data() + 80, 4);
  return bytes.size() == 84 + std::size_t{50} * count;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// First word of the first line that is not a comment.
std::string_view FirstWord(std::string_view bytes) {
  MeshCursor cursor(bytes, "");
  while (cursor.PeekWord().substr(0, 1) == "#") {
    cursor.Word();
    cursor.Line();
  }
  return cursor.PeekWord();
}

}  // namespace

std::string GuessFileKind(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, 4096);
  const std::string_view word = FirstWord(start);
  if (IsBinaryStl(bytes)) return "an STL surface";
  if (IsMujocoMsh(bytes)) return "a MuJoCo surface";
  if (word == "solid" && (Contains(start, "facet") || Contains(start, "endsolid")))
    return "an STL surface";
  if (word == "ply") return "a PLY surface";
  if (word == "OFF" || word == "COFF") return "an OFF surface";
  if (start.starts_with("glTF") || (word.substr(0, 1) == "{" && Contains(start, "\"asset\"")))
    return "a glTF surface";
  for (const char* obj : {"v", "vn", "vt", "o", "g", "mtllib", "usemtl"}) {
    if (word == obj) return "an OBJ surface";
  }
  if (Contains(start, "<COLLADA")) return "a COLLADA surface";
  if (Contains(start, "<VTKFile")) return "a VTK XML file";
  if (Contains(start, "<robot")) return "a URDF robot";
  if (Contains(start, "<sdf")) return "an SDF model";
  if (Contains(start, "<mujoco")) return "an MJCF model";
  if (word.starts_with("<")) return "an XML file";
  if (start.starts_with("\x89HDF")) return "an HDF5 file";
  if (start.starts_with("\x89PNG") || start.starts_with("\xff\xd8\xff")) return "an image";
  if (start.starts_with("\x1f\x8b") || start.starts_with("PK\x03\x04") ||
      start.starts_with("\x28\xb5\x2f\xfd")) {
    return "a compressed file";
  }
  return "";
}

absl::StatusOr<VolumeMeshFile> ReadVolumeMesh(std::string_view bytes, const std::string& name) {
  if (bytes.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the file is empty; expected a tetrahedral mesh"));
  if (IsLegacyVtk(bytes)) return ReadLegacyVtk(bytes, name);
  if (IsGmsh(bytes)) return ReadGmsh(bytes, name);
  if (IsMedit(bytes)) return ReadMedit(bytes, name);
  if (IsAbaqus(bytes)) return ReadAbaqus(bytes, name);
  const std::string kind = GuessFileKind(bytes);
  const std::string found = kind.empty()
                                ? absl::StrCat("the file begins with ", Quote(bytes.substr(0, 16)))
                                : absl::StrCat("this is ", kind);
  std::string mend = "Save it as legacy VTK, Gmsh 2.2 or 4.1, Medit or Abaqus";
  if (kind.ends_with("surface")) {
    mend =
        "Fill it with tetrahedra, for example with Gmsh or fTetWild, and save that as legacy VTK "
        "or Gmsh 2.2 or 4.1";
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", found, "; a deformable body needs a tetrahedral mesh. ", mend));
}

bool IsVolumeMesh(std::string_view bytes) {
  return IsLegacyVtk(bytes) || IsGmsh(bytes) || IsMedit(bytes) || IsAbaqus(bytes);
}

bool IsInsideFolder(const std::filesystem::path& path, const std::filesystem::path& folder) {
  auto part = path.begin();
  for (const std::filesystem::path& outer : folder) {
    if (outer.empty()) continue;  // a trailing slash
    if (part == path.end() || *part != outer) return false;
    ++part;
  }
  return true;
}

absl::StatusOr<std::string> ReadMeshFileBytes(const std::string& path, std::int64_t max_bytes,
                                              const std::string& kind) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR)
      return absl::NotFoundError(absl::StrCat(path, ": no such file"));
    if (error == EACCES)
      return absl::PermissionDeniedError(absl::StrCat(path, ": may not be read"));
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": cannot be opened: ", std::strerror(error)));
  }
  struct stat info {};
  if (fstat(fileno(file.get()), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, S_ISDIR(info.st_mode) ? ": is a folder" : ": is not a regular file",
                     "; expected a ", kind, " file"));
  }
  if (info.st_size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", info.st_size, " bytes; expected at most ", max_bytes));
  }

  // a file that grows meanwhile is read up to its old size
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": cannot be read: ", std::strerror(errno)));
  if (bytes.empty())
    return absl::InvalidArgumentError(absl::StrCat(path, ": the file is empty; expected a ", kind));
  return bytes;
}

std::string HashBytes(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return absl::StrCat(absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

void AppendFileHash(std::string_view bytes, std::string* hashes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  absl::StrAppend(hashes, hash.high64, ",", hash.low64, ";");
}

}  // namespace pliant::physics
