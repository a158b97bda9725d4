// Compares tetrahedral meshes of surfaces with those of fTetWild.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/peers/peer.h"
#include "benchmarks/suite.h"
#include "physics/geometry/meshing/surface/surface_meshing.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/spatial/trig.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Vector3d;
using nlohmann::ordered_json;
using physics::TetrahedralMesh;
using physics::TriangleMesh;

constexpr char kInstallTetWild[] =
    "peer not installed: build/oracle_venv/bin/pip install pytetwild pyvista, or name another "
    "Python in PLIANT_PEER_PYTHON";

// A sphere of radius 1 with lobes of height 0.2, made of 4 n (n − 1) triangles.
TriangleMesh MakeLobedSphere(int n) {
  TriangleMesh mesh;
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j < 2 * n; ++j) {
      const double theta = physics::kPi * i / n, phi = physics::kPi * j / n;
      const double rim = std::sin(theta), r = 1 + 0.2 * rim * rim * std::cos(5 * phi);
      mesh.vertices.emplace_back(r * rim * std::cos(phi), r * rim * std::sin(phi),
                                 r * std::cos(theta));
    }
  }
  const auto at = [n](int i, int j) { return i * 2 * n + (i == 0 || i == n ? 0 : j % (2 * n)); };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < 2 * n; ++j) {
      if (i > 0) mesh.triangles.push_back({at(i, j), at(i + 1, j), at(i, j + 1)});
      if (i + 1 < n) mesh.triangles.push_back({at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)});
    }
  }
  return mesh;
}

// Largest distance from the triangles' vertices and centroids of `from` to `to`.
double CalcDistance(const TriangleMesh& from, const TriangleMesh& to) {
  const physics::TriangleBvh bvh(to.triangles, physics::PositionsOf(to));
  double farthest = 0;
  const auto visit = [&](const Vector3d& p) {
    farthest =
        std::max(farthest, bvh.FindNearest(physics::PositionsOf(to), p, 1e9).at.squared_distance);
  };
  for (const auto& t : from.triangles) {
    visit((from.vertices[t[0]] + from.vertices[t[1]] + from.vertices[t[2]]) / 3);
    for (const int v : t) visit(from.vertices[v]);
  }
  return std::sqrt(farthest);
}

// Largest distance to `to` from points at most `spacing` apart along the sharp edges of `from`, at
// which its normal turns by more than the default sharp angle.
double CalcSharpEdgeDistance(const TriangleMesh& from, const TriangleMesh& to, double spacing) {
  const physics::TriangleBvh edges(from.triangles, physics::PositionsOf(from));
  const physics::TriangleBvh bvh(to.triangles, physics::PositionsOf(to));
  const double limit = std::cos(physics::SurfaceMeshing().sharp_angle);
  const auto normal = [&](int triangle) -> Vector3d {
    const auto& [a, b, c] = from.triangles[triangle];
    return (from.vertices[b] - from.vertices[a])
        .cross(from.vertices[c] - from.vertices[a])
        .normalized();
  };
  double farthest = 0;
  for (const auto& edge : edges.edges()) {
    if (edge.triangles[1] < 0 || normal(edge.triangles[0]).dot(normal(edge.triangles[1])) >= limit)
      continue;
    const Vector3d &a = from.vertices[edge.vertices[0]], &b = from.vertices[edge.vertices[1]];
    const int count = 1 + static_cast<int>((b - a).norm() / spacing);
    for (int i = 0; i <= count; ++i) {
      const Vector3d p = a + (b - a) * i / count;
      farthest =
          std::max(farthest, bvh.FindNearest(physics::PositionsOf(to), p, 1e9).at.squared_distance);
    }
  }
  return std::sqrt(farthest);
}

// Quality of a mesh of a surface.
ordered_json Judge(const TetrahedralMesh& mesh, const TriangleMesh& surface, double edge_length) {
  double min_dihedral = physics::kPi, enclosed = 0;
  for (const auto& t : mesh.tetrahedra) {
    const auto& x = mesh.vertices;
    double angle = physics::CalcMinDihedral(x[t[0]], x[t[1]], x[t[2]], x[t[3]]);
    // other programs may order the vertices of a tetrahedron the other way round
    if (angle == 0) angle = physics::CalcMinDihedral(x[t[0]], x[t[1]], x[t[3]], x[t[2]]);
    min_dihedral = std::min(min_dihedral, angle);
  }
  for (const auto& t : surface.triangles)
    enclosed +=
        surface.vertices[t[0]].dot(surface.vertices[t[1]].cross(surface.vertices[t[2]])) / 6;
  const TriangleMesh boundary{mesh.vertices, physics::ExtractBoundary(mesh).triangles};
  return {
      {"tetrahedra", mesh.tetrahedra.size()},
      {"min_dihedral_deg", min_dihedral * 180 / physics::kPi},
      {"volume_error", std::abs(physics::CalcVolume(mesh)) / std::abs(enclosed) - 1},
      {"hausdorff_edges",
       std::max(CalcDistance(surface, boundary), CalcDistance(boundary, surface)) / edge_length},
      {"sharp_edge_distance_edges",
       CalcSharpEdgeDistance(surface, boundary, 0.05 * edge_length) / edge_length}};
}

ordered_json RunSurface(const std::string& name, const TriangleMesh& surface, double edge_length) {
  ordered_json row{{"case", name}, {"triangles", surface.triangles.size()}};
  physics::SurfaceMeshing options;
  options.edge_length = edge_length;
  const double start = Now();
  const auto meshed = physics::MeshSurface(surface, options);
  row["seconds"] = Now() - start;
  if (!meshed.ok()) {
    row["note"] = std::string(meshed.status().message());
    return row;
  }
  row.update(Judge(meshed->mesh, surface, edge_length));

  // the peer gets the edge length that gives about as many tetrahedra
  ordered_json given{{"edge_length", edge_length},
                     {"vertices", ordered_json::array()},
                     {"triangles", surface.triangles}};
  for (const Vector3d& p : surface.vertices) given["vertices"].push_back({p.x(), p.y(), p.z()});
  std::optional<ordered_json> peer;
  double wanted = edge_length;
  for (int attempt = 0; attempt < 3; ++attempt) {
    given["edge_length"] = wanted;
    peer = RunPeer("tetwild_mesh.py", "pytetwild", given);
    if (!peer) break;
    const double ratio = static_cast<double>(peer->at("tetrahedra").size()) /
                         static_cast<double>(meshed->mesh.tetrahedra.size());
    if (ratio > 0.8 && ratio < 1.25) break;
    wanted *= std::cbrt(ratio);
  }
  if (!peer) {
    row["peer"] = {{"name", "fTetWild"}};
    row["note"] = kInstallTetWild;
    return row;
  }
  TetrahedralMesh theirs;
  for (const auto& p : peer->at("vertices"))
    theirs.vertices.emplace_back(p[0].get<double>(), p[1].get<double>(), p[2].get<double>());
  theirs.tetrahedra = peer->at("tetrahedra").get<std::vector<std::array<int, 4>>>();
  ordered_json judged{
      {"name", "fTetWild"}, {"version", peer->at("version")}, {"seconds", peer->at("seconds")}};
  judged.update(Judge(theirs, surface, edge_length));
  row["peer"] = judged;
  row["ratio"] = peer->at("seconds").get<double>() / row["seconds"].get<double>();
  return row;
}

}  // namespace

ordered_json RunMeshing(const std::string& only) {
  ordered_json rows = ordered_json::array();
  const auto add = [&](const std::string& name, const TriangleMesh& surface, double edge_length) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "running %s …\n", name.c_str());
    rows.push_back(RunSurface(name, surface, edge_length));
  };
  const TriangleMesh fine = MakeLobedSphere(160);
  add("lobed_100k_to_20k", fine, 0.145);
  add("lobed_100k_to_200k", fine, 0.0665);
  add("lobed_5k_to_20k", MakeLobedSphere(36), 0.145);
  TriangleMesh box;
  for (int i = 0; i < 8; ++i) box.vertices.emplace_back(i & 1, i >> 1 & 1, i >> 2);
  for (const auto& f : {std::array{0, 2, 3, 1}, std::array{4, 5, 7, 6}, std::array{0, 1, 5, 4},
                        std::array{2, 6, 7, 3}, std::array{0, 4, 6, 2}, std::array{1, 3, 7, 5}}) {
    box.triangles.push_back({f[0], f[1], f[2]});
    box.triangles.push_back({f[0], f[2], f[3]});
  }
  add("cube", box, 0.08);
  const auto add_file = [&](const std::string& name, const std::string& path, double edge_length) {
    const auto bytes = physics::ReadMeshFileBytes(path);
    if (!bytes.ok()) return;
    const auto file = physics::ReadOpenSurfaceMesh(*bytes, path);
    if (file.ok()) add(name, file->mesh, edge_length);
  };
  add_file("pumpkin", PLIANT_SOURCE_DIR "/scenes/meshes/rubber_pumpkin/pumpkin.stl", 5);
  // parts from other projects, if present
  const char* given = std::getenv("PLIANT_ASSETS");
  const std::string assets = given ? given : PLIANT_SOURCE_DIR "/../shared/assets";
  add_file("fandisk", assets + "/trimesh/fandisk.obj", 0.06);
  add_file("plate_holes", assets + "/trimesh/plate_holes.STL", 8);
  return rows;
}

}  // namespace pliant::benchmarks
