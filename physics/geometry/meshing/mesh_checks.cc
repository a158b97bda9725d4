#include "physics/geometry/meshing/mesh_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "physics/geometry/boundary.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

enum class Condition { kMissingVertex, kNonFinite, kDegenerate, kInverted, kSound };

Condition Judge(const TetrahedralMesh& mesh, const std::array<int, 4>& t) {
  for (const int v : t) {
    if (v < 0 || static_cast<std::size_t>(v) >= mesh.vertices.size())
      return Condition::kMissingVertex;
  }
  double longest_squared = 0;
  for (int i = 0; i < 4; ++i) {
    if (!mesh.vertices[t[i]].allFinite()) return Condition::kNonFinite;
    for (int j = i + 1; j < 4; ++j) {
      longest_squared =
          std::max(longest_squared, (mesh.vertices[t[i]] - mesh.vertices[t[j]]).squaredNorm());
    }
  }
  const double six_volumes = CalcSixVolumes(mesh.vertices[t[0]], mesh.vertices[t[1]],
                                            mesh.vertices[t[2]], mesh.vertices[t[3]]);
  // an overflow also counts as degenerate
  if (!(std::abs(six_volumes) > kDegenerateVolume * longest_squared * std::sqrt(longest_squared))) {
    return Condition::kDegenerate;
  }
  return six_volumes < 0 ? Condition::kInverted : Condition::kSound;
}

void SortAndUnite(std::vector<int>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

// Later tetrahedra with the same corners as an earlier one, ascending.
std::vector<int> FindDuplicates(const TetrahedralMesh& mesh,
                                const std::vector<TetrahedronFace>& sorted) {
  std::vector<int> duplicates;
  std::vector<std::pair<int, int>> opposite;  // corner and tetrahedron on one face
  VisitEqualFaces(sorted, [&](const TetrahedronFace* faces, std::size_t count) {
    if (count < 2) return;
    opposite.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const int id = faces[i].place / 4;
      opposite.emplace_back(mesh.tetrahedra[id][faces[i].place % 4], id);
    }
    if (count > 2) std::sort(opposite.begin(), opposite.end());
    for (std::size_t i = 1; i < count; ++i)
      if (opposite[i].first == opposite[i - 1].first) duplicates.push_back(opposite[i].second);
  });
  SortAndUnite(&duplicates);
  return duplicates;
}

std::vector<int> FindOnOverfullFaces(const std::vector<TetrahedronFace>& sorted) {
  std::vector<int> ids;
  VisitEqualFaces(sorted, [&](const TetrahedronFace* faces, std::size_t count) {
    for (std::size_t i = 0; count > 2 && i < count; ++i) ids.push_back(faces[i].place / 4);
  });
  SortAndUnite(&ids);
  return ids;
}

// Ends of boundary edges that are not shared by exactly two boundary triangles.
std::vector<int> FindNonManifoldVertices(const std::vector<TetrahedronFace>& sorted) {
  std::vector<std::pair<int, int>> edges;
  VisitEqualFaces(sorted, [&](const TetrahedronFace* faces, std::size_t count) {
    const auto& [a, b, c] = faces[0].corners;
    if (count == 1) edges.insert(edges.end(), {{a, b}, {a, c}, {b, c}});
  });
  std::sort(edges.begin(), edges.end());
  std::vector<int> ids;
  for (std::size_t begin = 0, end; begin < edges.size(); begin = end) {
    for (end = begin + 1; end < edges.size() && edges[end] == edges[begin];) ++end;
    if (end - begin != 2) ids.insert(ids.end(), {edges[begin].first, edges[begin].second});
  }
  SortAndUnite(&ids);
  return ids;
}

std::vector<int> FindUnused(const TetrahedralMesh& mesh) {
  std::vector<char> used(mesh.vertices.size(), 0);
  for (const auto& t : mesh.tetrahedra) {
    for (const int v : t) {
      if (v >= 0 && static_cast<std::size_t>(v) < used.size()) used[v] = 1;
    }
  }
  std::vector<int> unused;
  for (std::size_t v = 0; v < used.size(); ++v) {
    if (!used[v]) unused.push_back(static_cast<int>(v));
  }
  return unused;
}

std::string Count(std::size_t count, const char* adjective, const char* one, const char* many) {
  return absl::StrCat(count, adjective, count == 1 ? one : many);
}

}  // namespace

bool MeshDefect::repairable() const {
  return kind == MeshDefectKind::kDegenerate || kind == MeshDefectKind::kInverted ||
         kind == MeshDefectKind::kDuplicate || kind == MeshDefectKind::kUnusedVertex;
}

std::string Describe(const MeshDefect& defect) {
  const char* kTetrahedra[] = {" tetrahedron", " tetrahedra"};
  const char* kVertices[] = {" vertex", " vertices"};
  const char* before = "";
  const char* after = "";
  bool vertices = false;
  switch (defect.kind) {
    case MeshDefectKind::kMissingVertex:
      after = " with a corner that is no vertex of the mesh";
      break;
    case MeshDefectKind::kNonFiniteVertex:
      before = " non-finite";
      vertices = true;
      break;
    case MeshDefectKind::kDegenerate:
      before = " degenerate";
      break;
    case MeshDefectKind::kInverted:
      before = " inverted";
      break;
    case MeshDefectKind::kDuplicate:
      before = " duplicate";
      break;
    case MeshDefectKind::kOverfullFace:
      after = " on faces that three or more of them share";
      break;
    case MeshDefectKind::kUnusedVertex:
      before = " unused";
      vertices = true;
      break;
    case MeshDefectKind::kNonManifoldBoundary:
      after = " where the boundary is not a surface";
      vertices = true;
      break;
  }
  constexpr std::size_t kShown = 8;
  const auto end = defect.ids.begin() + std::min(kShown, defect.ids.size());
  const char* const* noun = vertices ? kVertices : kTetrahedra;
  return absl::StrCat(Count(defect.ids.size(), before, noun[0], noun[1]), after, " (",
                      absl::StrJoin(defect.ids.begin(), end, ", "),
                      defect.ids.size() > kShown ? ", …)" : ")");
}

std::vector<MeshDefect> FindDefects(const TetrahedralMesh& mesh) {
  std::vector<int> missing, non_finite, degenerate, inverted;
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
    if (!mesh.vertices[v].allFinite()) non_finite.push_back(static_cast<int>(v));
  }
  std::vector<char> excluded(mesh.tetrahedra.size(), 0);
  for (std::size_t i = 0; i < mesh.tetrahedra.size(); ++i) {
    const Condition condition = Judge(mesh, mesh.tetrahedra[i]);
    const int id = static_cast<int>(i);
    if (condition == Condition::kMissingVertex) missing.push_back(id);
    if (condition == Condition::kDegenerate) degenerate.push_back(id);
    if (condition == Condition::kInverted) inverted.push_back(id);
    excluded[i] = condition != Condition::kInverted && condition != Condition::kSound;
  }
  std::vector<TetrahedronFace> faces = SortFaces(mesh, excluded);
  std::vector<int> duplicates = FindDuplicates(mesh, faces);
  for (const int id : duplicates) excluded[id] = 1;
  std::erase_if(faces, [&](const TetrahedronFace& face) { return excluded[face.place / 4]; });

  std::vector<MeshDefect> defects;
  const auto add = [&defects](MeshDefectKind kind, std::vector<int> ids) {
    if (!ids.empty()) defects.push_back({kind, std::move(ids)});
  };
  add(MeshDefectKind::kMissingVertex, std::move(missing));
  add(MeshDefectKind::kNonFiniteVertex, std::move(non_finite));
  add(MeshDefectKind::kDegenerate, std::move(degenerate));
  add(MeshDefectKind::kInverted, std::move(inverted));
  add(MeshDefectKind::kDuplicate, std::move(duplicates));
  add(MeshDefectKind::kOverfullFace, FindOnOverfullFaces(faces));
  add(MeshDefectKind::kUnusedVertex, FindUnused(mesh));
  add(MeshDefectKind::kNonManifoldBoundary, FindNonManifoldVertices(faces));
  return defects;
}

MeshRepair RepairMesh(const TetrahedralMesh& mesh) {
  MeshRepair repair;
  TetrahedralMesh& mended = repair.mesh;

  // tetrahedra: drop the bad ones, keep the rest in order, and flip inverted ones
  std::vector<char> dropped(mesh.tetrahedra.size(), 0), excluded(mesh.tetrahedra.size(), 0);
  for (std::size_t i = 0; i < mesh.tetrahedra.size(); ++i) {
    const Condition condition = Judge(mesh, mesh.tetrahedra[i]);
    dropped[i] = condition == Condition::kDegenerate;
    excluded[i] = dropped[i] || condition == Condition::kMissingVertex;
    repair.dropped_degenerate += dropped[i];
  }
  for (const int id : FindDuplicates(mesh, SortFaces(mesh, excluded))) {
    dropped[id] = 1;
    ++repair.dropped_duplicates;
  }
  for (std::size_t i = 0; i < mesh.tetrahedra.size(); ++i) {
    if (dropped[i]) continue;
    std::array<int, 4> t = mesh.tetrahedra[i];
    if (Judge(mesh, t) == Condition::kInverted) {
      std::swap(t[2], t[3]);
      ++repair.flipped;
    }
    repair.tetrahedra.push_back(static_cast<int>(i));
    mended.tetrahedra.push_back(t);
    if (!mesh.labels.empty()) mended.labels.push_back(mesh.labels[i]);
  }

  // vertices: drop unused ones; a missing corner stays missing
  mended.vertices = mesh.vertices;
  const std::vector<int> unused = FindUnused(mended);
  repair.dropped_vertices = static_cast<int>(unused.size());
  std::vector<int> number(mesh.vertices.size(), 0);
  for (const int v : unused) number[v] = -1;
  mended.vertices.clear();
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] < 0) continue;
    number[v] = static_cast<int>(mended.vertices.size());
    repair.vertices.push_back(static_cast<int>(v));
    mended.vertices.push_back(mesh.vertices[v]);
  }
  for (std::array<int, 4>& t : mended.tetrahedra) {
    for (int& v : t) v = v >= 0 && static_cast<std::size_t>(v) < number.size() ? number[v] : -1;
  }
  return repair;
}

std::string Describe(const MeshRepair& repair) {
  std::vector<std::string> done;
  const auto add = [&done](int count, const char* verb, const char* adjective, const char* one,
                           const char* many) {
    if (count > 0) done.push_back(absl::StrCat(verb, Count(count, adjective, one, many)));
  };
  add(repair.flipped, "flipped ", "", " tetrahedron", " tetrahedra");
  add(repair.dropped_degenerate, "dropped ", " degenerate", " tetrahedron", " tetrahedra");
  add(repair.dropped_duplicates, "dropped ", " duplicate", " tetrahedron", " tetrahedra");
  add(repair.dropped_vertices, "dropped ", " unused", " vertex", " vertices");
  return absl::StrJoin(done, ", ");
}

}  // namespace pliant::physics
