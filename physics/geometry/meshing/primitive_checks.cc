#include "physics/geometry/meshing/primitive_checks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "physics/geometry/meshing/tetrahedron_quality.h"

namespace pliant::physics {
namespace {

// Range of lengths whose cubes are ordinary numbers [m].
constexpr double kMinLength = 1e-9;
constexpr double kMaxLength = 1e9;

absl::Status CheckLength(const char* name, double value) {
  if (value >= kMinLength && value <= kMaxLength) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", value,
                                                 " is not allowed; expected a length between ",
                                                 kMinLength, " and ", kMaxLength, " m"));
}

}  // namespace

absl::Status CheckLengths(std::initializer_list<std::pair<const char*, double>> lengths) {
  for (const auto& [name, value] : lengths) {
    if (absl::Status status = CheckLength(name, value); !status.ok()) return status;
  }
  return absl::OkStatus();
}

double CountEdges(double length, double edge_length) {
  return std::max(1.0, std::round(length / edge_length));
}

absl::Status CheckCount(double tetrahedra, double edge_length) {
  if (tetrahedra <= kMaxPrimitiveTetrahedra) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("edge_length: ", edge_length, " m would give ",
                                                 tetrahedra, " tetrahedra; expected at most ",
                                                 kMaxPrimitiveTetrahedra, ". Use a longer edge"));
}

absl::Status CheckNotCancelled(const IsCancelled& is_cancelled) {
  return is_cancelled && is_cancelled() ? absl::CancelledError("the meshing was cancelled")
                                        : absl::OkStatus();
}

void Orient(TetrahedralMesh* mesh) {
  for (std::array<int, 4>& t : mesh->tetrahedra) {
    const double volume = CalcSixVolumes(mesh->vertices[t[0]], mesh->vertices[t[1]],
                                         mesh->vertices[t[2]], mesh->vertices[t[3]]);
    if (volume < 0) std::swap(t[2], t[3]);
  }
}

}  // namespace pliant::physics
