#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// A tetrahedral mesh as stored in a file. Corners are valid vertex numbers and coordinates finite;
// FindDefects checks the rest (orientation, flat or repeated tetrahedra, unused vertices).
struct VolumeMeshFile {
  TetrahedralMesh mesh;
  std::vector<std::string> warnings;  // omissions, each with the file's name
};

// Reads a mesh from the bytes of a file; the content decides the format:
//   legacy VTK 1 to 5.1, ASCII or binary, UNSTRUCTURED_GRID; the first integer cell scalars are the
//     labels
//   Gmsh 1, 2 and 4.1, ASCII or binary (1: ASCII only); a label is the physical tag, or else the
//     elementary one
//   Abaqus and CalculiX (.inp): C3D4, 5, 6, 8, 10, 15, 20 and their variants; labels number the
//     element sets and parts in the order of the file
//   Medit (.mesh), ASCII; labels are the references
// Cells of higher order are read by their corners; hexahedra, prisms and pyramids are divided. Both
// give a warning, as do other cells, which are left out.
//
// name     stands for the file in messages
// errors   INVALID_ARGUMENT with file, line (text) or byte (binary), what was found and what was
//          expected; a file that is something else is named
absl::StatusOr<VolumeMeshFile> ReadVolumeMesh(std::string_view bytes, const std::string& name);

// Whether the bytes begin as one of these formats.
bool IsVolumeMesh(std::string_view bytes);

inline constexpr std::int64_t kMaxMeshFileBytes = std::int64_t{512} << 20;

// The bytes of a file.
//
// errors   NOT_FOUND: no such file; PERMISSION_DENIED; INVALID_ARGUMENT: not a regular file, empty,
//          or more than `max_bytes`; all name the path, and that a file of `kind` was expected
absl::StatusOr<std::string> ReadMeshFileBytes(const std::string& path,
                                              std::int64_t max_bytes = kMaxMeshFileBytes,
                                              const std::string& kind = "mesh");

// 128-bit hash as 32 hexadecimal digits.
std::string HashBytes(std::string_view bytes);

// Appends the hash of a file's bytes to those of other files.
void AppendFileHash(std::string_view bytes, std::string* hashes);

// Whether a path lies in a folder, by name only: resolve links and dots of both first.
bool IsInsideFolder(const std::filesystem::path& path, const std::filesystem::path& folder);

// Kind of a file guessed from its first bytes, for messages: "an STL surface", "an OBJ surface", "a
// URDF robot"…; empty when unknown.
std::string GuessFileKind(std::string_view bytes);

}  // namespace pliant::physics
