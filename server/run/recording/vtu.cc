#include "server/run/recording/vtu.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace pliant::server {
namespace {

static_assert(std::endian::native == std::endian::little, "VTU files are written little-endian");

// XML header and the appended numbers that it refers to, built together.
struct Appended {
  std::string xml;
  std::string bytes;

  template <typename T>
  void Add(std::string_view name, const char* type, int components, const std::vector<T>& values) {
    absl::StrAppendFormat(&xml,
                          "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" "
                          "format=\"appended\" offset=\"%d\"/>\n",
                          type, name, components, bytes.size());
    const std::uint64_t size = values.size() * sizeof(T);
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes.append(reinterpret_cast<const char*>(values.data()), size);
  }
};

}  // namespace

void UnstructuredGrid::AddCell(std::initializer_list<std::int64_t> nodes, int body) {
  constexpr std::uint8_t kTypes[] = {0, 1, 0, 5, 10};  // by the number of points
  connectivity.insert(connectivity.end(), nodes.begin(), nodes.end());
  offsets.push_back(static_cast<std::int64_t>(connectivity.size()));
  types.push_back(kTypes[nodes.size()]);
  bodies.push_back(body);
}

std::string FormatVtu(const UnstructuredGrid& grid, double time) {
  Appended file;
  file.xml =
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n<UnstructuredGrid>\n<FieldData>\n";
  absl::StrAppendFormat(&file.xml,
                        "<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
                        "format=\"ascii\">%.17g</DataArray>\n</FieldData>\n",
                        time);
  absl::StrAppendFormat(&file.xml, "<Piece NumberOfPoints=\"%d\" NumberOfCells=\"%d\">\n<Points>\n",
                        grid.points.size() / 3, grid.types.size());
  file.Add("Points", "Float64", 3, grid.points);
  file.xml += "</Points>\n<Cells>\n";
  file.Add("connectivity", "Int64", 1, grid.connectivity);
  file.Add("offsets", "Int64", 1, grid.offsets);
  file.Add("types", "UInt8", 1, grid.types);
  file.xml += "</Cells>\n<PointData>\n";
  for (const auto& array : grid.point_data) {
    file.Add(array.name, "Float64", array.components, array.values);
  }
  file.xml += "</PointData>\n<CellData>\n";
  file.Add("body", "Int32", 1, grid.bodies);
  for (const auto& array : grid.cell_data) {
    file.Add(array.name, "Float64", array.components, array.values);
  }
  file.xml += "</CellData>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_";
  return absl::StrCat(file.xml, file.bytes, "\n</AppendedData>\n</VTKFile>\n");
}

std::string FormatPvd(const std::vector<PvdFrame>& frames) {
  std::string text =
      "<?xml version=\"1.0\"?>\n"
      "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n<Collection>\n";
  for (const PvdFrame& frame : frames) {
    absl::StrAppendFormat(&text,
                          "<DataSet timestep=\"%.17g\" group=\"\" part=\"0\" file=\"%s\"/>\n",
                          frame.time, frame.file);
  }
  return text + "</Collection>\n</VTKFile>\n";
}

}  // namespace pliant::server
