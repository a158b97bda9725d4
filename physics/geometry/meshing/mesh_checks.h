#pragma once

#include <string>
#include <vector>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

enum class MeshDefectKind {
  kMissingVertex,    // tetrahedra: a corner is not a vertex number
  kNonFiniteVertex,  // vertices: NaN or infinite
  kDegenerate,    // tetrahedra: repeated corner, or 6 |V| ≤ kDegenerateVolume · longest edge³
  kInverted,      // tetrahedra: negative volume, not degenerate
  kDuplicate,     // tetrahedra: the same four corners as an earlier one
  kOverfullFace,  // tetrahedra: on a face that three or more of them share
  kUnusedVertex,  // vertices: of no tetrahedron
  // vertices: on a boundary edge that does not lie between exactly two boundary triangles
  kNonManifoldBoundary,
};

inline constexpr double kDegenerateVolume = 1e-6;

// One kind of defect, and the vertices or tetrahedra that have it, ascending.
struct MeshDefect {
  MeshDefectKind kind;
  std::vector<int> ids;
  // A body can be made in spite of it: unused vertices and a non-manifold boundary.
  bool harmless() const {
    return kind == MeshDefectKind::kUnusedVertex || kind == MeshDefectKind::kNonManifoldBoundary;
  }
  // True if RepairMesh can repair it.
  bool repairable() const;
};

// "3 inverted tetrahedra (5, 9, 12)"; after the first eight numbers: "…".
std::string Describe(const MeshDefect& defect);

// Defects in the order of MeshDefectKind; empty for a sound mesh. O(n log n). Any corner numbers
// are allowed. Tetrahedra with a missing or non-finite vertex, or degenerate, are skipped by later
// checks; duplicates do not count twice on a face.
std::vector<MeshDefect> FindDefects(const TetrahedralMesh& mesh);

struct MeshRepair {
  TetrahedralMesh mesh;
  int flipped = 0;  // inverted tetrahedra, two corners swapped
  int dropped_degenerate = 0;
  int dropped_duplicates = 0;
  int dropped_vertices = 0;     // unused, also those that became so by dropping
  std::vector<int> vertices;    // number in the given mesh of each vertex kept
  std::vector<int> tetrahedra;  // number in the given mesh of each tetrahedron kept

  bool changed() const {
    return flipped + dropped_degenerate + dropped_duplicates + dropped_vertices > 0;
  }
};

// Flips inverted tetrahedra and drops degenerate ones, duplicates and unused vertices; order is
// kept. Defects that cannot be repaired (missing or non-finite vertices, overfull faces) stay.
MeshRepair RepairMesh(const TetrahedralMesh& mesh);

// "flipped 3 tetrahedra, dropped 1 degenerate tetrahedron"; empty when nothing was done.
std::string Describe(const MeshRepair& repair);

}  // namespace pliant::physics
