#include <array>
#include <cctype>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/mesh_cursor.h"
#include "physics/scene/mesh_files/volume_cells.h"
#include "physics/scene/mesh_files/volume_mesh_formats.h"

namespace pliant::physics {
namespace {

// Sections of cells: shape, and nodes of each cell.
const std::map<std::string, std::pair<CellShape, int>, std::less<>>& MeditCells() {
  static const auto& cells = *new std::map<std::string, std::pair<CellShape, int>, std::less<>>{
      {"Tetrahedra", {CellShape::kTetrahedron, 4}}, {"TetrahedraP2", {CellShape::kTetrahedron, 10}},
      {"Hexahedra", {CellShape::kHexahedron, 8}},   {"HexahedraQ2", {CellShape::kHexahedron, 27}},
      {"Prisms", {CellShape::kPrism, 6}},           {"PrismsP2", {CellShape::kPrism, 18}},
      {"Pyramids", {CellShape::kPyramid, 5}},       {"PyramidsP2", {CellShape::kPyramid, 14}}};
  return cells;
}

class MeditReader {
 public:
  MeditReader(std::string_view bytes, const std::string& name)
      : cursor_(bytes, name), name_(name) {}

  absl::StatusOr<VolumeMeshFile> Read() {
    while (cursor_.ok() && !cursor_.PeekWord().empty() && ReadSection()) {
    }
    if (cursor_.ok() && !ended_) cursor_.Fail("the file ends without End; is it cut off?");
    if (cursor_.ok() && cells_.empty()) {
      cursor_.Fail(others_ > 0 ? "expected a section Tetrahedra or of other solid cells, found "
                                 "only a surface. Mesh the volume"
                               : "the file ends without a section Tetrahedra");
    }
    if (!cursor_.ok()) return cursor_.status();
    cells_.Assemble(name_, &file_);
    return std::move(file_);
  }

 private:
  // False at the end.
  bool ReadSection() {
    const std::string keyword(cursor_.Word());
    if (keyword == "End") {
      ended_ = true;
      return false;
    }
    if (keyword.starts_with("#")) {
      cursor_.Line();
    } else if (keyword.starts_with("MeshVersionFormatted")) {
      cursor_.TextInteger("the version of the format");
    } else if (keyword == "Dimension") {
      const std::int64_t dimension = cursor_.TextInteger("the dimension");
      if (cursor_.ok() && dimension != 3)
        cursor_.Fail(absl::StrCat("expected dimension 3, found ", dimension));
    } else if (keyword == "Vertices") {
      ReadVertices();
    } else if (const auto found = MeditCells().find(keyword); found != MeditCells().end()) {
      ReadCells(found->second.first, found->second.second);
    } else if (std::isalpha(static_cast<unsigned char>(keyword[0])) != 0) {
      SkipNumbers(keyword);
    } else {
      cursor_.FailExpected("a section such as Vertices", keyword);
    }
    return true;
  }

  // Sections that do not affect the cells end at the next word.
  void SkipNumbers(const std::string& keyword) {
    if (keyword == "Triangles" || keyword == "Quadrilaterals") ++others_;
    while (cursor_.ok() && !cursor_.PeekWord().empty() &&
           std::isalpha(static_cast<unsigned char>(cursor_.PeekWord()[0])) == 0) {
      cursor_.Word();
    }
  }

  void ReadVertices() {
    if (!file_.mesh.vertices.empty()) return cursor_.Fail("a second section Vertices");
    const std::int64_t count = cursor_.TextInteger("the number of vertices");
    cursor_.CheckCount(count, 8, "vertices");
    for (std::int64_t i = 0; i < count && cursor_.ok(); ++i) {
      const double x = cursor_.Coordinate(8);
      const double y = cursor_.Coordinate(8);
      const double z = cursor_.Coordinate(8);
      cursor_.TextInteger("the reference of a vertex");
      if (cursor_.ok()) file_.mesh.vertices.emplace_back(x, y, z);
    }
  }

  void ReadCells(CellShape shape, int nodes) {
    const std::int64_t count = cursor_.TextInteger("the number of cells");
    cursor_.CheckCount(count, 2 * static_cast<std::size_t>(nodes), "cells");
    const auto vertices = static_cast<std::int64_t>(file_.mesh.vertices.size());
    const int corners = CountCorners(shape);
    for (std::int64_t i = 0; i < count && cursor_.ok(); ++i) {
      std::array<int, 8> cell{};
      for (int k = 0; k < nodes && cursor_.ok(); ++k) {
        const std::int64_t vertex = cursor_.TextInteger("a vertex of a cell");
        if (cursor_.ok() && (vertex < 1 || vertex > vertices)) {
          cursor_.Fail(
              absl::StrCat("expected a vertex number from 1 to ", vertices, ", found ", vertex));
        }
        if (cursor_.ok() && k < corners) cell[k] = static_cast<int>(vertex - 1);
      }
      const std::int64_t label = cursor_.TextInteger("the reference of a cell");
      const bool fits =
          label >= std::numeric_limits<int>::min() && label <= std::numeric_limits<int>::max();
      if (cursor_.ok())
        cells_.Add(shape, cell, fits ? static_cast<int>(label) : 0, nodes == corners);
    }
  }

  MeshCursor cursor_;
  std::string name_;
  VolumeMeshFile file_;
  VolumeCells cells_;
  bool ended_ = false;
  int others_ = 0;
};

}  // namespace

bool IsMedit(std::string_view bytes) {
  return MeshCursor(bytes.substr(0, 4096), "").PeekWord().starts_with("MeshVersionFormatted");
}

absl::StatusOr<VolumeMeshFile> ReadMedit(std::string_view bytes, const std::string& name) {
  return MeditReader(bytes, name).Read();
}

}  // namespace pliant::physics
