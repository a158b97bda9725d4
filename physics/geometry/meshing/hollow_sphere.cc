#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "physics/geometry/meshing/primitive_checks.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {

absl::StatusOr<TetrahedralMesh> MeshHollowSphere(double radius, double wall_thickness,
                                                 double edge_length,
                                                 const IsCancelled& is_cancelled) {
  if (absl::Status status = CheckLengths(
          {{"radius", radius}, {"wall_thickness", wall_thickness}, {"edge_length", edge_length}});
      !status.ok())
    return status;
  if (!(wall_thickness < radius)) {
    return absl::InvalidArgumentError(absl::StrCat("wall_thickness ", wall_thickness,
                                                   " leaves no cavity in a radius of ", radius));
  }
  const double layers = CountEdges(wall_thickness, edge_length);
  const double edges = CountEdges(radius, edge_length);
  if (absl::Status status = CheckCount(60 * edges * edges * layers, edge_length); !status.ok())
    return status;

  // layers of the surface of a solid sphere, scaled inwards
  absl::StatusOr<TetrahedralMesh> solid = MeshSphere(radius, edge_length, is_cancelled);
  if (!solid.ok()) return solid.status();
  const BoundarySurface surface = ExtractBoundary(*solid);
  std::vector<int> number(solid->vertices.size(), -1);
  const int count = static_cast<int>(surface.vertices.size());
  for (int i = 0; i < count; ++i) number[surface.vertices[i]] = i;
  const int num_layers = static_cast<int>(layers);
  TetrahedralMesh mesh;
  for (int layer = 0; layer <= num_layers; ++layer) {
    const double scale = 1 - layer / layers * (wall_thickness / radius);
    for (const int v : surface.vertices) mesh.vertices.push_back(scale * solid->vertices[v]);
  }

  // each prism is cut into three, with the diagonal of a side between the lower of its two numbers
  // on one layer and the higher on the next, so that neighbours agree
  for (int layer = 0; layer < num_layers; ++layer) {
    for (const std::array<int, 3>& triangle : surface.triangles) {
      std::array<int, 3> a{number[triangle[0]], number[triangle[1]], number[triangle[2]]};
      std::sort(a.begin(), a.end());
      for (int& v : a) v += layer * count;
      for (int k = 0; k < 3; ++k) {
        std::array<int, 4> t;
        for (int i = 0; i < 4; ++i) t[i] = i <= k ? a[i] : a[i - 1] + count;
        mesh.tetrahedra.push_back(t);
      }
    }
    if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
  }
  Orient(&mesh);
  return mesh;
}

}  // namespace pliant::physics
