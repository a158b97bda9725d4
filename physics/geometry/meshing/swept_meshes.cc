#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "physics/geometry/meshing/mesh_smoothing.h"
#include "physics/geometry/meshing/primitive_checks.h"
#include "physics/geometry/meshing/subdivided_tetrahedra.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A disc of n rings around a centre in six equal sectors; ring k has 6k vertices. Vertices are
// coloured 0, 1, 2 so that every triangle has all three.
struct HexagonalDisc {
  std::vector<Eigen::Vector2d> vertices;  // radius 1
  std::vector<int> colors;
  std::vector<std::array<int, 3>> triangles;
  int rings = 0;
};

int RingStart(int ring) {
  return ring == 0 ? 0 : 1 + 3 * ring * (ring - 1);
}

// The vertex `step` steps after the start of a sector.
int DiscVertex(int ring, int sector, int step) {
  return ring == 0 ? 0 : RingStart(ring) + (sector * ring + step) % (6 * ring);
}

HexagonalDisc MakeDisc(int rings) {
  // lattice directions at the start of each sector, in the basis of the first two
  constexpr int kDirections[7][2] = {{1, 0}, {0, 1}, {-1, 1}, {-1, 0}, {0, -1}, {1, -1}, {1, 0}};
  HexagonalDisc disc;
  disc.rings = rings;
  disc.vertices.emplace_back(0, 0);
  disc.colors.push_back(0);
  for (int ring = 1; ring <= rings; ++ring) {
    const double radius = ring / static_cast<double>(rings);
    for (int i = 0; i < 6 * ring; ++i) {
      const auto [sin, cos] = CalcSinCos(2 * kPi * i / (6 * ring));
      disc.vertices.emplace_back(radius * cos, radius * sin);
      const int sector = i / ring;
      const int step = i % ring;
      const int a = (ring - step) * kDirections[sector][0] + step * kDirections[sector + 1][0];
      const int b = (ring - step) * kDirections[sector][1] + step * kDirections[sector + 1][1];
      disc.colors.push_back(((a - b) % 3 + 3) % 3);
    }
    for (int sector = 0; sector < 6; ++sector) {
      for (int step = 0; step < ring; ++step) {
        const int outer = DiscVertex(ring, sector, step);
        const int next = DiscVertex(ring, sector, step + 1);
        const int inner = DiscVertex(ring - 1, sector, step);
        disc.triangles.push_back({outer, next, inner});
        if (step + 1 < ring)
          disc.triangles.push_back({inner, next, DiscVertex(ring - 1, sector, step + 1)});
      }
    }
  }
  return disc;
}

// Adds the prisms between copies of the disc that start at vertices `low` and `high`, three
// tetrahedra each. The diagonal of a side rises from the lower to the higher colour, so neighbours
// agree; layers with swapped ends mirror each other.
void AddLayer(const HexagonalDisc& disc, int low, int high, TetrahedralMesh* mesh) {
  for (std::array<int, 3> t : disc.triangles) {
    std::sort(t.begin(), t.end(),
              [&disc](int a, int b) { return disc.colors[a] < disc.colors[b]; });
    mesh->tetrahedra.push_back({low + t[0], low + t[1], low + t[2], high + t[2]});
    mesh->tetrahedra.push_back({low + t[0], low + t[1], high + t[1], high + t[2]});
    mesh->tetrahedra.push_back({low + t[0], high + t[0], high + t[1], high + t[2]});
  }
}

// Adds the layer between discs `layer` and `next`; every other one is mirrored.
void AddAlternatingLayer(const HexagonalDisc& disc, int layer, int next, TetrahedralMesh* mesh) {
  const int size = static_cast<int>(disc.vertices.size());
  const int begin = layer * size;
  const int end = next * size;
  layer % 2 == 0 ? AddLayer(disc, begin, end, mesh) : AddLayer(disc, end, begin, mesh);
}

// The end of a capsule beyond its last disc: a spherical cap over the six sectors of that disc.
struct Cap {
  int rings;
  double radius;
  double center;    // |z| of the centre of the sphere
  double shoulder;  // distance of the disc from there
  int sign;         // of z
};

// Adds a cap. `disc` is the first vertex of the disc below it.
absl::Status AddCap(const Cap& cap, int disc, const IsCancelled& is_cancelled,
                    TetrahedralMesh* mesh) {
  // corners: 0 the centre of the disc, 1 to 6 on its rim, 7 the pole
  std::vector<std::array<int, 4>> sectors;
  for (int i = 0; i < 6; ++i) sectors.push_back({0, 1 + i, 1 + (i + 1) % 6, 7});

  const double latitude = kPi / 2 - CalcAcos(cap.shoulder / cap.radius);
  const Vector3d origin(0, 0, cap.sign * (cap.center + cap.shoulder));
  std::vector<int> numbers;  // mesh vertex of each lattice point; -1: new
  const auto place = [&](const LatticePoint& point) -> Vector3d {
    int rim_corners[2] = {0, 0};
    int rim_weights[2] = {0, 0};
    int rims = 0;
    int pole = 0;
    for (int i = 0; i < point.count; ++i) {
      if (point.corner[i] == 7) pole = point.weight[i];
      if (point.corner[i] == 0 || point.corner[i] == 7) continue;
      rim_corners[rims] = point.corner[i] - 1;
      rim_weights[rims++] = point.weight[i];
    }
    // the last sector ends at the first corner
    if (rims == 2 && rim_corners[0] == 0 && rim_corners[1] == 5) {
      std::swap(rim_corners[0], rim_corners[1]);
      std::swap(rim_weights[0], rim_weights[1]);
    }
    const int ring = rim_weights[0] + rim_weights[1];
    const int shell = ring + pole;
    if (pole == 0) {
      numbers.push_back(disc + DiscVertex(ring, rim_corners[0], rim_weights[1]));
      return mesh->vertices[numbers.back()];
    }
    numbers.push_back(-1);
    Vector3d on_sphere(0, 0, cap.sign * (cap.center + cap.radius));
    if (ring > 0) {
      const SinCos up = CalcSinCos(latitude + (kPi / 2 - latitude) * pole / shell);
      const SinCos around =
          CalcSinCos(2 * kPi * (rim_corners[0] * ring + rim_weights[1]) / (6 * ring));
      on_sphere = {cap.radius * up.cos * around.cos, cap.radius * up.cos * around.sin,
                   cap.sign * (cap.center + cap.radius * up.sin)};
    }
    return origin + (on_sphere - origin) * (shell / static_cast<double>(cap.rings));
  };
  const absl::StatusOr<TetrahedralMesh> lattice =
      SubdivideTetrahedra(sectors, cap.rings, place, is_cancelled);
  if (!lattice.ok()) return lattice.status();

  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= 0) continue;
    numbers[i] = static_cast<int>(mesh->vertices.size());
    mesh->vertices.push_back(lattice->vertices[i]);
  }
  for (const std::array<int, 4>& t : lattice->tetrahedra) {
    mesh->tetrahedra.push_back({numbers[t[0]], numbers[t[1]], numbers[t[2]], numbers[t[3]]});
  }
  return absl::OkStatus();
}

constexpr int kSmoothingPasses = 20;

double CountDiscTetrahedra(double rings) {
  return 18 * rings * rings;
}

}  // namespace

absl::StatusOr<TetrahedralMesh> MeshCylinder(double radius, double length, double edge_length,
                                             const IsCancelled& is_cancelled) {
  if (absl::Status status =
          CheckLengths({{"radius", radius}, {"length", length}, {"edge_length", edge_length}});
      !status.ok()) {
    return status;
  }
  const double rings = CountEdges(radius, edge_length);
  const double layers = CountEdges(length, edge_length);
  if (absl::Status status = CheckCount(CountDiscTetrahedra(rings) * layers, edge_length);
      !status.ok())
    return status;

  const HexagonalDisc disc = MakeDisc(static_cast<int>(rings));
  TetrahedralMesh mesh;
  for (int layer = 0; layer <= layers; ++layer) {
    if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
    const double z = 0.5 * length * ((2 * layer - layers) / layers);
    for (const Eigen::Vector2d& p : disc.vertices)
      mesh.vertices.emplace_back(radius * p.x(), radius * p.y(), z);
    if (layer < layers) AddAlternatingLayer(disc, layer, layer + 1, &mesh);
  }
  Orient(&mesh);
  return mesh;
}

absl::StatusOr<TetrahedralMesh> MeshTorus(double ring_radius, double tube_radius,
                                          double edge_length, int slices,
                                          const IsCancelled& is_cancelled) {
  if (absl::Status status = CheckLengths({{"ring_radius", ring_radius},
                                          {"tube_radius", tube_radius},
                                          {"edge_length", edge_length}});
      !status.ok()) {
    return status;
  }
  if (ring_radius <= tube_radius) {
    return absl::InvalidArgumentError(
        absl::StrCat("tube_radius: ", tube_radius,
                     " is not allowed; expected less than ring_radius ", ring_radius));
  }
  // an even number of layers, so that mirrored layers meet; at least six keep the ring round
  const double rings = CountEdges(tube_radius, edge_length);
  if (slices != 0 && (slices < 6 || slices % 2 != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("slices: ", slices, " is not allowed; expected an even number, at least 6"));
  }
  const double layers =
      slices > 0 ? slices : std::max(6.0, 2 * CountEdges(kPi * ring_radius, edge_length));
  if (absl::Status status = CheckCount(CountDiscTetrahedra(rings) * layers, edge_length);
      !status.ok())
    return status;

  const HexagonalDisc disc = MakeDisc(static_cast<int>(rings));
  TetrahedralMesh mesh;
  for (int layer = 0; layer < layers; ++layer) {
    if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
    const auto [sin, cos] = CalcSinCos(2 * kPi * layer / layers);
    for (const Eigen::Vector2d& p : disc.vertices) {
      const double distance = ring_radius + tube_radius * p.x();
      mesh.vertices.emplace_back(distance * cos, distance * sin, tube_radius * p.y());
    }
    AddAlternatingLayer(disc, layer, layer + 1 < layers ? layer + 1 : 0, &mesh);
  }
  Orient(&mesh);
  return mesh;
}

absl::StatusOr<TetrahedralMesh> MeshCapsule(double radius, double length, double edge_length,
                                            const IsCancelled& is_cancelled) {
  if (absl::Status status = CheckLengths({{"radius", radius}, {"edge_length", edge_length}});
      !status.ok())
    return status;
  if (length != 0) {
    if (absl::Status status = CheckLengths({{"length", length}}); !status.ok()) return status;
  }
  // discs reach from one shoulder to the other, a third of the radius beyond the centres of the
  // caps: the sectors of the caps are then nearly equilateral
  const double shoulder = 0.34 * radius;
  const double rings = CountEdges(radius, edge_length);
  const double layers = CountEdges(length + 2 * shoulder, edge_length);
  if (absl::Status status =
          CheckCount(CountDiscTetrahedra(rings) * layers + 12 * rings * rings * rings, edge_length);
      !status.ok()) {
    return status;
  }
  const int n = static_cast<int>(rings);
  const HexagonalDisc disc = MakeDisc(n);
  const double top = 0.5 * length + shoulder;

  TetrahedralMesh mesh;
  for (int layer = 0; layer <= layers; ++layer) {
    if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
    const double z = top * ((2 * layer - layers) / layers);
    const double beyond = std::max(0.0, std::abs(z) - 0.5 * length);
    const double width = std::sqrt(radius * radius - beyond * beyond);
    for (const Eigen::Vector2d& p : disc.vertices)
      mesh.vertices.emplace_back(width * p.x(), width * p.y(), z);
    if (layer < layers) AddAlternatingLayer(disc, layer, layer + 1, &mesh);
  }

  const int last = static_cast<int>(layers) * static_cast<int>(disc.vertices.size());
  for (const auto& [sign, first] : {std::pair{-1, 0}, std::pair{1, last}}) {
    const Cap cap{n, radius, 0.5 * length, shoulder, sign};
    if (absl::Status status = AddCap(cap, first, is_cancelled, &mesh); !status.ok()) return status;
  }
  Orient(&mesh);

  // vertices crowd along the axis where discs give way to caps: spread them, boundary vertices
  // along the surface
  absl::Status status = SmoothVertices(
      kSmoothingPasses,
      [=](const Vector3d& p) -> Vector3d {
        const Vector3d center(0, 0, std::clamp(p.z(), -0.5 * length, 0.5 * length));
        return center + (p - center) * (radius / (p - center).norm());
      },
      &mesh, is_cancelled);
  if (!status.ok()) return status;
  return mesh;
}

}  // namespace pliant::physics
