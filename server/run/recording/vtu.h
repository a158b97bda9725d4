#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pliant::server {

// An unstructured grid of tetrahedra and triangles with data on points and cells, in VTK's layout.
struct UnstructuredGrid {
  struct Array {
    std::string name;
    int components;
    std::vector<double> values;
  };
  std::vector<double> points;              // 3 a point [m]
  std::vector<std::int64_t> connectivity;  // points of all cells, one cell after the other
  std::vector<std::int64_t> offsets;       // end of each cell in `connectivity`
  std::vector<std::uint8_t> types;         // 10 tetrahedron, 5 triangle
  std::vector<std::int32_t> bodies;        // one a cell
  std::vector<Array> point_data, cell_data;

  void AddCell(std::vector<std::int64_t> nodes, int body);
};

// A .vtu file: XML with the numbers appended in binary, little-endian, as 64-bit reals. `time` [s].
std::string FormatVtu(const UnstructuredGrid& grid, double time);

// A .pvd file: the frames of a series and their times.
struct PvdFrame {
  double time;  // [s]
  std::string file;
};
std::string FormatPvd(const std::vector<PvdFrame>& frames);

}  // namespace pliant::server
