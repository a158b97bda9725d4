#include "physics/scene/mesh_files/volume_cells.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <Eigen/Geometry>

namespace pliant::physics {
namespace {

using Face = std::vector<int>;  // three or four corners, counter-clockwise from outside

const std::vector<Face>& FacesOf(CellShape shape) {
  static const auto& pyramid =
      *new std::vector<Face>{{0, 3, 2, 1}, {0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}};
  static const auto& prism =
      *new std::vector<Face>{{0, 2, 1}, {3, 4, 5}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}};
  static const auto& hexahedron = *new std::vector<Face>{{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                                         {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
  return shape == CellShape::kPyramid ? pyramid : shape == CellShape::kPrism ? prism : hexahedron;
}

double CalcSixfoldVolume(const std::vector<Eigen::Vector3d>& x, const std::array<int, 4>& t) {
  return (x[t[1]] - x[t[0]]).dot((x[t[2]] - x[t[0]]).cross(x[t[3]] - x[t[0]]));
}

// Appends the tetrahedra of a cell, except those with a repeated corner (edges of zero length).
void Divide(CellShape shape, const std::array<int, 8>& corners,
            std::vector<std::array<int, 4>>* out) {
  if (shape == CellShape::kTetrahedron) {
    out->push_back({corners[0], corners[1], corners[2], corners[3]});
    return;
  }
  const int apex = *std::min_element(corners.begin(), corners.begin() + CountCorners(shape));
  for (const Face& face : FacesOf(shape)) {
    std::array<int, 4> v{};
    const std::size_t n = face.size();
    for (std::size_t i = 0; i < n; ++i) v[i] = corners[face[i]];
    const auto end = v.begin() + static_cast<std::ptrdiff_t>(n);
    if (std::find(v.begin(), end, apex) != end) continue;
    std::rotate(v.begin(), std::min_element(v.begin(), end), end);
    for (std::size_t i = 1; i + 1 < n; ++i) {
      const int a = v[0], b = v[i], c = v[i + 1];
      if (a != b && b != c && c != a) out->push_back({apex, a, b, c});
    }
  }
}

}  // namespace

int CountCorners(CellShape shape) {
  switch (shape) {
    case CellShape::kOther:
      return 0;
    case CellShape::kTetrahedron:
      return 4;
    case CellShape::kPyramid:
      return 5;
    case CellShape::kPrism:
      return 6;
    case CellShape::kHexahedron:
      return 8;
  }
  return 0;
}

void VolumeCells::Add(CellShape shape, const std::array<int, 8>& corners, int label,
                      bool straight) {
  cells_.push_back({shape, corners, label});
  curved_ += straight ? 0 : 1;
}

std::string VolumeCells::DescribeOthers() const {
  if (others_.empty()) return "none";
  std::int64_t count = 0;
  std::vector<std::string> types;
  for (const auto& [type, number] : others_) {
    count += number;
    types.push_back(type);
  }
  return absl::StrCat(count, " other cells (type ", absl::StrJoin(types, ", "), ")");
}

void VolumeCells::Assemble(const std::string& name, VolumeMeshFile* file) const {
  TetrahedralMesh& mesh = file->mesh;
  const bool labelled =
      std::any_of(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.label != 0; });
  std::int64_t counts[5] = {};
  std::int64_t made = 0;
  std::vector<std::array<int, 4>> parts;
  for (const Cell& cell : cells_) {
    parts.clear();
    Divide(cell.shape, cell.corners, &parts);
    ++counts[static_cast<int>(cell.shape)];
    if (cell.shape != CellShape::kTetrahedron) {
      // formats differ in the orientation of prisms
      double volume = 0;
      for (const auto& t : parts) volume += CalcSixfoldVolume(mesh.vertices, t);
      if (volume < 0) {
        for (auto& t : parts) std::swap(t[2], t[3]);
      }
      made += static_cast<std::int64_t>(parts.size());
    }
    mesh.tetrahedra.insert(mesh.tetrahedra.end(), parts.begin(), parts.end());
    if (labelled) mesh.labels.insert(mesh.labels.end(), parts.size(), cell.label);
  }
  const auto warn = [&](const std::string& what) {
    file->warnings.push_back(absl::StrCat(name, ": ", what));
  };
  if (!others_.empty()) warn(absl::StrCat("ignored ", DescribeOthers()));
  if (curved_ > 0) {
    warn(absl::StrCat(curved_,
                      " cells of higher order are read by their corners; their edges "
                      "become straight"));
  }
  if (made == 0) return;
  std::vector<std::string> kinds;
  const std::pair<CellShape, const char*> plurals[] = {{CellShape::kHexahedron, "hexahedra"},
                                                       {CellShape::kPrism, "prisms"},
                                                       {CellShape::kPyramid, "pyramids"}};
  for (const auto& [shape, plural] : plurals) {
    const std::int64_t count = counts[static_cast<int>(shape)];
    if (count > 0) kinds.push_back(absl::StrCat(count, " ", plural));
  }
  warn(absl::StrCat(absl::StrJoin(kinds, ", "), " are divided into ", made, " tetrahedra"));
}

}  // namespace pliant::physics
