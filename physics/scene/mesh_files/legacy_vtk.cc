#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/mesh_cursor.h"
#include "physics/scene/mesh_files/volume_cells.h"
#include "physics/scene/mesh_files/volume_mesh_formats.h"

namespace pliant::physics {
namespace {

constexpr std::string_view kMagic = "# vtk DataFile Version";
constexpr int kVoxel = 11;

// Shape of a cell type, and its number of points; 0: any number, for Lagrange and Bézier cells.
struct VtkCell {
  CellShape shape = CellShape::kOther;
  int points = 0;
};

VtkCell FindVtkCell(std::int64_t type) {
  static const auto& cells = *new std::map<std::int64_t, VtkCell>{
      {10, {CellShape::kTetrahedron, 4}}, {kVoxel, {CellShape::kHexahedron, 8}},
      {12, {CellShape::kHexahedron, 8}},  {13, {CellShape::kPrism, 6}},
      {14, {CellShape::kPyramid, 5}},     {24, {CellShape::kTetrahedron, 10}},
      {25, {CellShape::kHexahedron, 20}}, {26, {CellShape::kPrism, 15}},
      {27, {CellShape::kPyramid, 13}},    {29, {CellShape::kHexahedron, 27}},
      {31, {CellShape::kPrism, 12}},      {32, {CellShape::kPrism, 18}},
      {33, {CellShape::kHexahedron, 24}}, {37, {CellShape::kPyramid, 19}},
      {71, {CellShape::kTetrahedron, 0}}, {72, {CellShape::kHexahedron, 0}},
      {73, {CellShape::kPrism, 0}},       {74, {CellShape::kPyramid, 0}},
      {78, {CellShape::kTetrahedron, 0}}, {79, {CellShape::kHexahedron, 0}},
      {80, {CellShape::kPrism, 0}},       {81, {CellShape::kPyramid, 0}}};
  const auto found = cells.find(type);
  return found == cells.end() ? VtkCell{} : found->second;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Bytes of a data type in binary files; 0 for types of no fixed size, −1 when unknown.
struct DataType {
  int size = -1;
  bool integer = false;
};

DataType FindDataType(std::string_view name) {
  static const auto& types = *new std::map<std::string, DataType, std::less<>>{
      {"char", {1, true}},           {"unsigned_char", {1, true}}, {"short", {2, true}},
      {"unsigned_short", {2, true}}, {"int", {4, true}},           {"unsigned_int", {4, true}},
      {"long", {8, true}},           {"unsigned_long", {8, true}}, {"vtktypeint64", {8, true}},
      {"vtktypeuint64", {8, true}},  {"vtkidtype", {4, true}},     {"float", {4, false}},
      {"double", {8, false}},        {"bit", {0, false}},          {"string", {0, false}},
      {"utf8_string", {0, false}},   {"variant", {0, false}}};
  const auto found = types.find(Lower(name));
  return found == types.end() ? DataType{} : found->second;
}

class LegacyVtkReader {
 public:
  LegacyVtkReader(std::string_view bytes, const std::string& name)
      : cursor_(bytes, name), name_(name) {}

  absl::StatusOr<VolumeMeshFile> Read() {
    ReadHeader();
    while (cursor_.ok() && ReadSection()) {
    }
    if (cursor_.ok()) Assemble();
    if (!cursor_.ok()) return cursor_.status();
    return std::move(file_);
  }

 private:
  void ReadHeader() {
    cursor_.Line();  // version
    cursor_.Line();  // title
    const std::string_view coding = cursor_.Word();
    if (Lower(coding) == "binary") {
      binary_ = true;
    } else if (Lower(coding) != "ascii") {
      cursor_.FailExpected("ASCII or BINARY", coding);
    }
    cursor_.Line();
    const std::string_view keyword = cursor_.Word();
    if (cursor_.ok() && Lower(keyword) != "dataset") cursor_.FailExpected("DATASET", keyword);
    const std::string_view dataset = cursor_.Word();
    if (cursor_.ok() && Lower(dataset) != "unstructured_grid") {
      cursor_.Fail(absl::StrCat("expected DATASET UNSTRUCTURED_GRID, found ", Quote(dataset),
                                Lower(dataset) == "polydata" ? ", which is a surface" : "",
                                "; a deformable body needs a tetrahedral mesh"));
    }
    cursor_.Line();
    // VTK writes big-endian on every machine
    if (cursor_.ok() && binary_) cursor_.SetBinary(true);
  }

  // False at the end, or where the rest cannot be parsed.
  bool ReadSection() {
    const std::string keyword = Lower(cursor_.Word());
    if (keyword.empty()) return false;
    if (keyword == "points") {
      ReadPoints();
    } else if (keyword == "cells") {
      ReadCells();
    } else if (keyword == "cell_types") {
      ReadCellTypes();
    } else if (keyword == "cell_data" || keyword == "point_data") {
      in_cell_data_ = keyword == "cell_data";
      data_count_ = cursor_.TextInteger("the number of data");
      cursor_.Line();
    } else if (keyword == "metadata") {
      SkipMetadata();
    } else {
      return ReadAttribute(keyword);
    }
    return true;
  }

  // Skips to the next empty line.
  void SkipMetadata() {
    cursor_.Line();
    while (cursor_.ok() && cursor_.remaining() > 0 && !cursor_.Line().empty()) {
    }
  }

  void ReadPoints() {
    const std::int64_t count = cursor_.TextInteger("the number of points");
    const std::string_view type_name = cursor_.Word();
    const DataType type = FindDataType(type_name);
    if (cursor_.ok() && (type.size <= 0 || type.integer))
      cursor_.FailExpected("float or double", type_name);
    cursor_.Line();
    cursor_.CheckCount(count, 3 * std::max(type.size, 1), "points");
    if (!cursor_.ok()) return;
    if (!vertices().empty()) return cursor_.Fail("a second POINTS section");
    vertices().reserve(count);
    for (std::int64_t i = 0; i < count && cursor_.ok(); ++i) {
      const double x = cursor_.Coordinate(type.size);
      const double y = cursor_.Coordinate(type.size);
      const double z = cursor_.Coordinate(type.size);
      vertices().emplace_back(x, y, z);
    }
  }

  void ReadCells() {
    const std::int64_t first = cursor_.TextInteger("the number of cells");
    const std::int64_t second = cursor_.TextInteger("the size of the cell list");
    cursor_.Line();
    if (cursor_.ok() && !starts_.empty()) return cursor_.Fail("a second CELLS section");
    // since version 5.1: one list of offsets and one of corners
    Lower(cursor_.PeekWord()) == "offsets" ? ReadOffsets(first, second) : ReadCounts(first, second);
  }

  void ReadCounts(std::int64_t cells, std::int64_t size) {
    cursor_.CheckCount(size, 4, "entries of the cell list");
    cursor_.CheckCount(cells, 4, "cells");
    starts_.push_back(0);
    for (std::int64_t cell = 0, used = 0; cell < cells && cursor_.ok(); ++cell) {
      const std::int64_t corners = cursor_.Integer(4, "the number of corners of a cell");
      used += 1 + corners;
      if (cursor_.ok() && (corners < 0 || used > size)) {
        cursor_.Fail(absl::StrCat("cell ", cell, " has ", corners,
                                  " corners, more than the list of ", size, " entries has left"));
      }
      for (std::int64_t i = 0; i < corners && cursor_.ok(); ++i) ReadCorner(4);
      starts_.push_back(static_cast<std::int64_t>(corners_.size()));
    }
  }

  void ReadOffsets(std::int64_t offsets, std::int64_t corners) {
    cursor_.Word();
    const int offset_size = IntegerType();
    cursor_.CheckCount(offsets, offset_size, "offsets");
    for (std::int64_t i = 0; i < offsets && cursor_.ok(); ++i) {
      const std::int64_t offset = cursor_.Integer(offset_size, "an offset");
      const std::int64_t least = starts_.empty() ? 0 : starts_.back();
      if (cursor_.ok() && (offset < least || offset > corners || (i == 0 && offset != 0))) {
        cursor_.Fail(absl::StrCat("expected an offset from ", least, " to ", i == 0 ? 0 : corners,
                                  ", found ", offset));
      }
      starts_.push_back(offset);
    }
    const std::string_view keyword = cursor_.Word();
    if (cursor_.ok() && Lower(keyword) != "connectivity")
      cursor_.FailExpected("CONNECTIVITY", keyword);
    const int corner_size = IntegerType();
    cursor_.CheckCount(corners, corner_size, "corners");
    for (std::int64_t i = 0; i < corners && cursor_.ok(); ++i) ReadCorner(corner_size);
    if (starts_.empty()) starts_.push_back(0);
  }

  // Returns the size in bytes of the integer type named next; reads to the end of the line.
  int IntegerType() {
    const std::string_view name = cursor_.Word();
    const DataType type = FindDataType(name);
    if (cursor_.ok() && !type.integer) cursor_.FailExpected("an integer type", name);
    cursor_.Line();
    return std::max(type.size, 1);
  }

  void ReadCorner(int size) {
    corners_.push_back(cursor_.Integer(size, "a corner of a cell"));
    corner_places_.push_back(cursor_.last_position());
  }

  void ReadCellTypes() {
    const std::int64_t count = cursor_.TextInteger("the number of cell types");
    cursor_.Line();
    cursor_.CheckCount(count, 4, "cell types");
    for (std::int64_t i = 0; i < count && cursor_.ok(); ++i)
      types_.push_back(cursor_.Integer(4, "a cell type"));
    saw_types_ = true;
  }

  // Reads an array of point or cell data, and keeps it if it can be labels.
  bool ReadAttribute(const std::string& keyword) {
    if (keyword == "field") {
      cursor_.Word();  // name
      const std::int64_t arrays = cursor_.TextInteger("the number of arrays");
      cursor_.Line();
      for (std::int64_t i = 0; i < arrays && cursor_.ok(); ++i) {
        if (Lower(cursor_.PeekWord()) == "metadata") {
          cursor_.Word();
          SkipMetadata();
        }
        cursor_.Word();  // name
        const std::int64_t components = cursor_.TextInteger("the number of components");
        const std::int64_t tuples = cursor_.TextInteger("the number of tuples");
        if (!ReadArray(cursor_.Word(), components, tuples)) return false;
      }
      return true;
    }
    std::int64_t components = 1;
    std::string_view type = "float";
    cursor_.Word();  // name
    if (keyword == "scalars") {
      type = cursor_.Word();
      std::string_view line = cursor_.Line();
      while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
      if (!line.empty())
        components = line == "1" ? 1 : line == "2" ? 2 : line == "3" ? 3 : line == "4" ? 4 : -1;
      if (components < 0) cursor_.FailExpected("1 to 4 components", line);
      if (Lower(cursor_.PeekWord()) == "lookup_table") cursor_.Line();
      return ReadArrayData(type, components, data_count_);
    }
    if (keyword == "lookup_table") {
      const std::int64_t size = cursor_.TextInteger("the size of the lookup table");
      return ReadArray(binary_ ? "unsigned_char" : "float", 4, size);
    }
    if (keyword == "color_scalars") {
      components = cursor_.TextInteger("the number of components");
      return ReadArray(binary_ ? "unsigned_char" : "float", components, data_count_);
    }
    if (keyword == "texture_coordinates") {
      components = cursor_.TextInteger("the number of components");
    } else if (keyword == "vectors" || keyword == "normals") {
      components = 3;
    } else if (keyword == "tensors") {
      components = 9;
    } else if (keyword == "tensors6") {
      components = 6;
    } else if (keyword != "global_ids" && keyword != "pedigree_ids") {
      return LeaveRest(absl::StrCat("unknown section ", Quote(keyword)));
    }
    return ReadArray(cursor_.Word(), components, data_count_);
  }

  bool ReadArray(std::string_view type, std::int64_t components, std::int64_t tuples) {
    cursor_.Line();
    return ReadArrayData(type, components, tuples);
  }

  bool ReadArrayData(std::string_view type_name, std::int64_t components, std::int64_t tuples) {
    if (!cursor_.ok()) return false;
    const DataType type = FindDataType(type_name);
    if (type.size <= 0) return LeaveRest(absl::StrCat("data of type ", Quote(type_name)));
    constexpr std::int64_t kMaxComponents = 4096;
    if (components < 0 || components > kMaxComponents) {
      cursor_.Fail(
          absl::StrCat("expected 0 to ", kMaxComponents, " components, found ", components));
    }
    cursor_.CheckCount(tuples, type.size, "data");
    if (!cursor_.ok()) return false;
    const bool labels = in_cell_data_ && type.integer && components == 1 && labels_.empty();
    if (!labels) {
      cursor_.Skip(components * tuples, type.size, "data");
      return true;
    }
    for (std::int64_t i = 0; i < tuples && cursor_.ok(); ++i)
      labels_.push_back(cursor_.Integer(type.size, "a label"));
    return true;
  }

  bool LeaveRest(const std::string& why) {
    if (!cursor_.ok()) return false;
    if (!saw_types_) {
      cursor_.Fail(absl::StrCat("expected POINTS, CELLS or CELL_TYPES, found ", why));
      return false;
    }
    Warn(absl::StrCat("ignored ", why, " and everything after it"));
    return false;
  }

  void Warn(const std::string& what) { file_.warnings.push_back(absl::StrCat(name_, ": ", what)); }

  void Assemble() {
    if (starts_.empty()) return cursor_.Fail("the file ends without a CELLS section");
    if (!saw_types_) return cursor_.Fail("the file ends without a CELL_TYPES section");
    const std::size_t cells = starts_.size() - 1;
    if (types_.size() != cells) {
      return cursor_.Fail(
          absl::StrCat("expected ", cells, " cell types, one per cell, found ", types_.size()));
    }
    const bool labelled = labels_.size() == cells && FitLabels();
    VolumeCells volumes;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const VtkCell kind = FindVtkCell(types_[cell]);
      if (kind.shape == CellShape::kOther) {
        volumes.AddOther(absl::StrCat(types_[cell]));
        continue;
      }
      const std::int64_t start = starts_[cell];
      const std::int64_t points = starts_[cell + 1] - start;
      const int count = CountCorners(kind.shape);
      if (points < count || (kind.points > 0 && points != kind.points) ||
          start + points > static_cast<std::int64_t>(corners_.size())) {
        return cursor_.Fail(absl::StrCat(
            "cell ", cell, ": expected ", std::max(kind.points, count), " corners of a ",
            types_[cell] == 10 ? "tetrahedron" : "cell of its type", ", found ", points));
      }
      std::array<int, 8> t{};
      for (int i = 0; i < count; ++i) {
        const std::int64_t corner = corners_[start + i];
        if (corner < 0 || corner >= static_cast<std::int64_t>(vertices().size())) {
          return cursor_.FailAt(
              corner_places_[start + i],
              absl::StrCat("cell ", cell, ": expected a point number from 0 to ",
                           static_cast<std::int64_t>(vertices().size()) - 1, ", found ", corner));
        }
        t[i] = static_cast<int>(corner);
      }
      if (types_[cell] == kVoxel) {
        std::swap(t[2], t[3]);
        std::swap(t[6], t[7]);
      }
      volumes.Add(kind.shape, t, labelled ? static_cast<int>(labels_[cell]) : 0, points == count);
    }
    if (volumes.empty()) {
      return cursor_.Fail(
          absl::StrCat("expected tetrahedra (cell type 10) or other solid cells, "
                       "found ",
                       volumes.DescribeOthers()));
    }
    volumes.Assemble(name_, &file_);
    // a labelled mesh keeps its labels even when all are 0
    if (labelled && file_.mesh.labels.empty())
      file_.mesh.labels.assign(file_.mesh.tetrahedra.size(), 0);
  }

  bool FitLabels() {
    const bool fit = std::all_of(labels_.begin(), labels_.end(), [](std::int64_t label) {
      return label >= std::numeric_limits<int>::min() && label <= std::numeric_limits<int>::max();
    });
    if (!fit) Warn("ignored cell labels beyond 32 bits");
    return fit;
  }

  std::vector<Eigen::Vector3d>& vertices() { return file_.mesh.vertices; }

  MeshCursor cursor_;
  std::string name_;
  VolumeMeshFile file_;
  bool binary_ = false;
  std::vector<std::int64_t> starts_;  // of each cell in corners_, and the end
  std::vector<std::int64_t> corners_;
  std::vector<std::size_t> corner_places_;
  std::vector<std::int64_t> types_;
  std::vector<std::int64_t> labels_;
  bool saw_types_ = false;
  bool in_cell_data_ = false;
  std::int64_t data_count_ = 0;
};

}  // namespace

bool IsLegacyVtk(std::string_view bytes) {
  return Lower(bytes.substr(0, kMagic.size())) == Lower(kMagic);
}

absl::StatusOr<VolumeMeshFile> ReadLegacyVtk(std::string_view bytes, const std::string& name) {
  return LegacyVtkReader(bytes, name).Read();
}

}  // namespace pliant::physics
