#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "physics/scene/mesh_files/volume_mesh_files.h"

namespace pliant::physics {

// Shape of a cell of a volume mesh, whatever its order: its corners come first in all formats.
enum class CellShape { kOther, kTetrahedron, kPyramid, kPrism, kHexahedron };

int CountCorners(CellShape shape);

// Collects the cells of a volume mesh file and makes tetrahedra of them: cells of higher order are
// reduced to their corners, and other shapes are divided.
//
// Pyramids, prisms and hexahedra are divided so that tetrahedra of neighbours share whole faces:
// from its vertex of the smallest number each cell is coned over the faces that do not have it, and
// each of their quadrilaterals is cut at its own smallest vertex. A face is therefore cut the same
// way from both sides. Corners are in the order of VTK, Gmsh and Abaqus: one face, then the
// opposite one or the tip; either orientation will do.
class VolumeCells {
 public:
  // Corners are vertex numbers, the first CountCorners(shape) of them; `straight`: the cell is of
  // first order.
  void Add(CellShape shape, const std::array<int, 8>& corners, int label, bool straight);

  // Counts a cell that is no solid, by the format's name of its type.
  void AddOther(const std::string& type) { ++others_[type]; }

  bool empty() const { return cells_.empty(); }

  // "none", or "7 other cells (type 5)".
  std::string DescribeOthers() const;

  // Appends the tetrahedra to `file`, which already has its vertices, and warnings of changes.
  void Assemble(const std::string& name, VolumeMeshFile* file) const;

 private:
  struct Cell {
    CellShape shape;
    std::array<int, 8> corners;
    int label;
  };

  std::vector<Cell> cells_;
  std::map<std::string, std::int64_t> others_;
  std::int64_t curved_ = 0;
};

}  // namespace pliant::physics
