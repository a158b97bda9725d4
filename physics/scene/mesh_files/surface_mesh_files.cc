#include "physics/scene/mesh_files/surface_mesh_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

#include "physics/geometry/convex_hull.h"
#include "physics/scene/mesh_files/mesh_cursor.h"
#include "physics/scene/mesh_files/surface_mesh_formats.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Checks that a PLY header ends; otherwise the library would not return.
absl::Status CheckPlyHeader(std::string_view bytes, const std::string& name) {
  if (bytes.find("\nend_header") != std::string_view::npos ||
      bytes.find("\rend_header") != std::string_view::npos)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name,
      ": expected a line \"end_header\" after the elements of a PLY file, found none; the "
      "file may be cut off"));
}

// Checks that indices of COLLADA are whole numbers; otherwise the library would not return.
absl::Status CheckColladaIndices(std::string_view bytes, const std::string& name) {
  for (const std::string_view tag : {"<p>", "<vcount>"}) {
    for (std::size_t at = bytes.find(tag); at != std::string_view::npos; at = bytes.find(tag, at)) {
      at += tag.size();
      const std::size_t end = bytes.find_first_not_of("0123456789+- \t\r\n", at);
      if (end != std::string_view::npos && bytes[end] == '<') continue;
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": byte ", std::min(end, bytes.size()), ": expected whole numbers in ",
          std::string(tag), ", found ", Quote(bytes.substr(std::min(end, bytes.size()), 16))));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SurfaceMeshFile> ReadTriangles(std::string_view bytes, const std::string& name,
                                              const CompanionFiles& companions, bool has_parts) {
  if (bytes.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the file is empty; expected a surface mesh"));
  const std::string kind = GuessFileKind(bytes);
  if (kind == "an STL surface") {
    // text, unless the size is that of a binary file
    std::uint32_t count = 0;
    if (bytes.size() >= 84) std::memcpy(&count, bytes.data() + 80, 4);
    const bool binary = bytes.size() >= 84 && bytes.size() == 84 + std::size_t{50} * count;
    return binary ? ReadBinaryStl(bytes, name) : ReadTextStl(bytes, name);
  }
  if (kind == "a MuJoCo surface") return ReadMujocoMsh(bytes, name);
  if (kind == "an OBJ surface") return ReadObj(bytes, name, has_parts ? companions : nullptr);
  if (kind == "a PLY surface") {
    if (absl::Status status = CheckPlyHeader(bytes, name); !status.ok()) return status;
    return ReadForeignSurface(bytes, name, "ply", companions);
  }
  if (kind == "a glTF surface")
    return ReadForeignSurface(bytes, name, bytes.starts_with("glTF") ? "glb" : "gltf", companions);
  if (kind == "a COLLADA surface") {
    if (absl::Status status = CheckColladaIndices(bytes, name); !status.ok()) return status;
    // the library converts it to metres and y up
    absl::StatusOr<SurfaceMeshFile> file = ReadForeignSurface(bytes, name, "dae", companions);
    if (file.ok()) TurnUpright(&*file);
    return file;
  }
  if (name.ends_with(".stl") || name.ends_with(".STL")) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        ": expected \"solid\" or a binary STL whose length fits its number of triangles, found ",
        bytes.size(), " bytes that begin with ", Quote(bytes.substr(0, 16)),
        "; the file may be cut off"));
  }
  const std::string found = kind.empty()
                                ? absl::StrCat("the file begins with ", Quote(bytes.substr(0, 16)))
                                : absl::StrCat("this is ", kind);
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", found, "; expected a surface mesh: STL, OBJ, PLY, glTF or COLLADA"));
}

bool Less(const Vector3d& a, const Vector3d& b) {
  if (a.x() != b.x()) return a.x() < b.x();
  if (a.y() != b.y()) return a.y() < b.y();
  return a.z() < b.z();
}

// Replaces each vertex by `same` and drops those without a triangle; numbers follow first use.
void Renumber(const std::vector<int>& same, TriangleMesh* mesh) {
  std::vector<int> number(same.size(), -1);
  std::vector<Vector3d> vertices;
  for (auto& t : mesh->triangles) {
    for (int& v : t) {
      v = same[v];
      if (number[v] < 0) {
        number[v] = static_cast<int>(vertices.size());
        vertices.push_back(mesh->vertices[v] + Vector3d::Zero());  // −0 becomes 0
      }
      v = number[v];
    }
  }
  mesh->vertices = std::move(vertices);
}

void JoinEqualVertices(TriangleMesh* mesh) {
  std::vector<int> order(mesh->vertices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return Less(mesh->vertices[a], mesh->vertices[b]); });
  std::vector<int> same(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool repeated = i > 0 && !Less(mesh->vertices[order[i - 1]], mesh->vertices[order[i]]);
    same[order[i]] = repeated ? same[order[i - 1]] : order[i];
  }
  Renumber(same, mesh);
}

// Joins vertices closer than a millionth of the mesh's size, which differ only by rounding in the
// file.
void JoinCloseVertices(TriangleMesh* mesh) {
  Vector3d lower = mesh->vertices[0];
  Vector3d upper = lower;
  for (const Vector3d& p : mesh->vertices) {
    lower = lower.cwiseMin(p);
    upper = upper.cwiseMax(p);
  }
  const double reach = (upper - lower).norm() * 0x1p-20;
  if (!(reach > 0)) return;

  // hash grid with cells of that size: vertices in reach are in neighbouring cells
  constexpr std::int64_t kCells = (1 << 21) - 1;
  const auto cell = [&](const Vector3d& p, int axis) {
    return 1 + static_cast<std::int64_t>((p[axis] - lower[axis]) / reach);
  };
  std::unordered_map<std::int64_t, std::vector<int>> kept;
  std::vector<int> same(mesh->vertices.size());
  for (std::size_t i = 0; i < same.size(); ++i) {
    const Vector3d& p = mesh->vertices[i];
    const std::int64_t at[3] = {cell(p, 0), cell(p, 1), cell(p, 2)};
    const auto key = [&](std::int64_t dx, std::int64_t dy, std::int64_t dz) {
      return ((at[0] + dx) * (kCells + 1) + at[1] + dy) * (kCells + 1) + at[2] + dz;
    };
    int found = -1;
    for (int n = 0; n < 27; ++n) {
      const auto near = kept.find(key(n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1));
      if (near == kept.end()) continue;
      for (const int other : near->second) {
        const bool in_reach = (mesh->vertices[other] - p).norm() <= reach;
        if (in_reach && (found < 0 || other < found)) found = other;
      }
    }
    same[i] = found < 0 ? static_cast<int>(i) : found;
    if (found < 0) kept[key(0, 0, 0)].push_back(static_cast<int>(i));
  }
  Renumber(same, mesh);
}

// Drops triangles with a repeated corner, and all but the first with the same three corners;
// returns how many. Adds the latter to `repeated`.
int DropTriangles(TriangleMesh* mesh, std::vector<std::array<int, 3>>* repeated) {
  std::vector<std::pair<std::array<int, 3>, int>> sorted;
  std::vector<char> dropped(mesh->triangles.size(), 0);
  for (std::size_t i = 0; i < mesh->triangles.size(); ++i) {
    std::array<int, 3> t = mesh->triangles[i];
    dropped[i] = t[0] == t[1] || t[1] == t[2] || t[2] == t[0];
    std::sort(t.begin(), t.end());
    if (!dropped[i]) sorted.emplace_back(t, static_cast<int>(i));
  }
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first != sorted[i - 1].first) continue;
    dropped[sorted[i].second] = 1;
    repeated->push_back(mesh->triangles[sorted[i].second]);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (dropped[i]) continue;
    mesh->triangles[kept++] = mesh->triangles[i];
  }
  mesh->triangles.resize(kept);
  return static_cast<int>(dropped.size() - kept);
}

struct Edge {
  std::pair<int, int> ends;  // ascending
  int triangle;
  bool forward;  // the triangle runs from the lower to the higher end
};

std::vector<Edge> SortEdges(const TriangleMesh& mesh) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    for (int j = 0; j < 3; ++j) {
      const int a = mesh.triangles[i][j];
      const int b = mesh.triangles[i][(j + 1) % 3];
      edges.push_back({{std::min(a, b), std::max(a, b)}, static_cast<int>(i), a < b});
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.ends < b.ends; });
  return edges;
}

std::string At(const Vector3d& p) {
  return absl::StrCat("(", p.x(), ", ", p.y(), ", ", p.z(), ")");
}

// Checks that every edge has exactly two triangles.
absl::Status CheckClosed(const TriangleMesh& mesh, const std::vector<Edge>& edges,
                         const std::string& name) {
  int open = 0;
  int crowded = 0;
  std::pair<int, int> first;
  for (std::size_t begin = 0, end; begin < edges.size(); begin = end) {
    for (end = begin + 1; end < edges.size() && edges[end].ends == edges[begin].ends;) ++end;
    if (end - begin == 2) continue;
    if (open + crowded == 0) first = edges[begin].ends;
    ++(end - begin == 1 ? open : crowded);
  }
  if (open + crowded == 0) return absl::OkStatus();
  std::string found;
  if (open > 0) found = absl::StrCat(open, " edges with one triangle");
  if (crowded > 0)
    absl::StrAppend(&found, found.empty() ? "" : " and ", crowded,
                    " edges with more than two triangles");
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected a closed surface, found ", found, ", the first from ",
                   At(mesh.vertices[first.first]), " to ", At(mesh.vertices[first.second]),
                   ". Close it, or set `convex: true` to use its convex hull"));
}

double CalcSixVolumes(const TriangleMesh& mesh, const std::vector<int>& triangles) {
  double six_volumes = 0;
  const Vector3d origin = mesh.vertices[mesh.triangles[triangles[0]][0]];
  for (const int i : triangles) {
    const auto& t = mesh.triangles[i];
    six_volumes += (mesh.vertices[t[0]] - origin)
                       .dot((mesh.vertices[t[1]] - origin).cross(mesh.vertices[t[2]] - origin));
  }
  return six_volumes;
}

void Turn(std::array<int, 3>* triangle) {
  std::swap((*triangle)[1], (*triangle)[2]);
}

// Flips triangles until neighbours agree and each part with a flipped one faces outwards. Returns
// the number of flipped triangles, −1 for a one-sided surface.
int TurnToAgree(const std::vector<Edge>& edges, TriangleMesh* mesh) {
  // the two triangles of an edge are adjacent in `edges`
  std::vector<std::array<std::pair<int, bool>, 3>> neighbors(
      mesh->triangles.size());  // and whether their orientations agree
  std::vector<int> filled(mesh->triangles.size(), 0);
  for (std::size_t i = 0; i < edges.size(); i += 2) {
    const bool agree = edges[i].forward != edges[i + 1].forward;
    neighbors[edges[i].triangle][filled[edges[i].triangle]++] = {edges[i + 1].triangle, agree};
    neighbors[edges[i + 1].triangle][filled[edges[i + 1].triangle]++] = {edges[i].triangle, agree};
  }
  std::vector<int> turn(mesh->triangles.size(), -1);
  std::vector<int> queue;
  int turned = 0;
  for (std::size_t seed = 0; seed < turn.size(); ++seed) {
    if (turn[seed] >= 0) continue;
    turn[seed] = 0;
    queue.assign(1, static_cast<int>(seed));
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (const auto& [neighbor, agree] : neighbors[queue[at]]) {
        const int expected = agree ? turn[queue[at]] : 1 - turn[queue[at]];
        if (turn[neighbor] >= 0 && turn[neighbor] != expected) return -1;
        if (turn[neighbor] >= 0) continue;
        turn[neighbor] = expected;
        queue.push_back(neighbor);
      }
    }
    int turned_here = 0;
    for (const int i : queue) {
      if (turn[i] == 1) Turn(&mesh->triangles[i]);
      turned_here += turn[i];
    }
    if (turned_here > 0 && CalcSixVolumes(*mesh, queue) < 0) {
      for (const int i : queue) Turn(&mesh->triangles[i]);
      turned_here = static_cast<int>(queue.size()) - turned_here;
    }
    turned += turned_here;
  }
  return turned;
}

absl::StatusOr<SurfaceMeshFile> ReadOpen(std::string_view bytes, const std::string& name,
                                         const CompanionFiles& companions, bool has_parts) {
  absl::StatusOr<SurfaceMeshFile> file = ReadTriangles(bytes, name, companions, has_parts);
  if (!file.ok()) return file;
  if (file->mesh.triangles.empty()) {
    // points alone, as for a convex shape
    absl::StatusOr<TriangleMesh> hull = CalcConvexHull(file->mesh.vertices);
    if (!hull.ok())
      return absl::InvalidArgumentError(absl::StrCat(name, ": expected triangles, found none"));
    file->warnings.push_back(
        absl::StrCat(name, ": has ", file->mesh.vertices.size(),
                     " points and no triangles: it becomes their convex hull"));
    file->mesh = *std::move(hull);
  }
  JoinEqualVertices(&file->mesh);
  const int dropped = DropTriangles(&file->mesh, &file->repeated);
  if (dropped > 0)
    file->warnings.push_back(
        absl::StrCat(name, ": dropped ", dropped, " degenerate or repeated triangles"));
  if (file->mesh.triangles.empty())
    return absl::InvalidArgumentError(absl::StrCat(name, ": expected triangles, found none"));
  return file;
}

}  // namespace

absl::StatusOr<SurfaceMeshFile> ReadVisualSurface(std::string_view bytes, const std::string& name,
                                                  const CompanionFiles& companions) {
  return ReadOpen(bytes, name, companions, true);
}

absl::StatusOr<SurfaceMeshFile> ReadOpenSurfaceMesh(std::string_view bytes, const std::string& name,
                                                    const CompanionFiles& companions) {
  absl::StatusOr<SurfaceMeshFile> file = ReadOpen(bytes, name, companions, false);
  if (file.ok()) {
    file->parts.clear();
    file->textures.clear();
    file->visual_warnings.clear();
  }
  return file;
}

absl::StatusOr<SurfaceMeshFile> ReadSurfaceMesh(std::string_view bytes, const std::string& name,
                                                const CompanionFiles& companions) {
  absl::StatusOr<SurfaceMeshFile> file = ReadOpenSurfaceMesh(bytes, name, companions);
  if (!file.ok()) return file;
  return CloseSurfaceMesh(*std::move(file), name);
}

void TurnUpright(SurfaceMeshFile* file) {
  const auto turn = [](TriangleMesh* mesh) {
    for (Vector3d& p : mesh->vertices) p = Vector3d(p.x(), -p.z(), p.y());
  };
  turn(&file->mesh);
  for (VisualPart& part : file->parts) turn(&part.mesh);
}

absl::StatusOr<SurfaceMeshFile> CloseSurfaceMesh(SurfaceMeshFile file, const std::string& name) {
  TriangleMesh& mesh = file.mesh;
  std::vector<Edge> edges = SortEdges(mesh);
  if (absl::Status status = CheckClosed(mesh, edges, name); !status.ok()) {
    // perhaps its vertices only differ by rounding
    TriangleMesh joined = mesh;
    JoinCloseVertices(&joined);
    std::vector<std::array<int, 3>> repeated;
    DropTriangles(&joined, &repeated);
    const std::vector<Edge> joined_edges = SortEdges(joined);
    if (joined.triangles.empty() || !CheckClosed(joined, joined_edges, name).ok()) return status;
    file.warnings.push_back(absl::StrCat(name, ": joined ",
                                         mesh.vertices.size() - joined.vertices.size(),
                                         " vertices closer than a millionth of the size"));
    mesh = joined;
    edges = joined_edges;
  }

  const int turned = TurnToAgree(edges, &mesh);
  if (turned < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected a surface with an inside, found a one-sided one"));
  }
  if (turned > 0)
    file.warnings.push_back(
        absl::StrCat(name, ": reoriented ", turned, " triangles to agree with their neighbours"));

  std::vector<int> all(mesh.triangles.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  const double volume = CalcSixVolumes(mesh, all);
  if (volume == 0)
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected a surface that encloses a volume, found a flat one"));
  if (volume < 0) {
    for (auto& t : mesh.triangles) Turn(&t);
    file.warnings.push_back(
        absl::StrCat(name, ": turned the surface inside out, because its triangles faced inwards"));
  }
  return file;
}

}  // namespace pliant::physics
