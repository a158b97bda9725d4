#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace pliant::server {

// An unstructured grid of tetrahedra, triangles and vertices (cells of one point) with data on
// points and cells, in VTK's layout.
struct UnstructuredGrid {
  struct Array {
    std::string name;
    int components;
    std::vector<double> values;
  };
  std::vector<double> points;              // 3 a point [m]
  std::vector<std::int64_t> connectivity;  // points of all cells, one cell after the other
  std::vector<std::int64_t> offsets;       // end of each cell in `connectivity`
  std::vector<std::uint8_t> types;         // 10 tetrahedron, 5 triangle, 1 vertex
  std::vector<std::int32_t> bodies;        // one a cell
  std::vector<Array> point_data, cell_data;

  // A cell of four points, of three or of one.
  void AddCell(std::initializer_list<std::int64_t> nodes, int body);
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
