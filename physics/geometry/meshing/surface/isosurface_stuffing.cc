#include "physics/geometry/meshing/surface/isosurface_stuffing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

#include "physics/geometry/meshing/tetrahedron_quality.h"
#include "solvers/linalg/parallel.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A lattice vertex moves onto a cut within this share of an edge: α_long for the longest edges of
// tetrahedra, α_short for others (Labelle & Shewchuk 2007, table 2).
constexpr double kLongReach = 0.24999;
constexpr double kShortReach = 0.41189;
// A warped tetrahedron keeps more than this share of its volume.
constexpr double kMinVolumeShare = 0.02;
// Parts smaller than this share of the largest one are dropped.
constexpr double kFragmentShare = 0.005;

struct CutEdge {
  int inside, outside;  // vertices
  bool is_long;
  double t = 0;  // from the inside vertex
  bool in_hole = false;
  int vertex = -1;  // vertex at the cut, once made
};

std::vector<CutEdge> CollectCutEdges(const BackgroundLattice& lattice) {
  const auto& x = lattice.mesh.vertices;
  std::vector<CutEdge> edges;
  for (const auto& t : lattice.mesh.tetrahedra) {
    double longest = 0;
    for (int i = 0; i < 4; ++i) {
      for (int j = i + 1; j < 4; ++j)
        longest = std::max(longest, (x[t[i]] - x[t[j]]).squaredNorm());
    }
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        if (!lattice.inside[t[i]] || lattice.inside[t[j]]) continue;
        edges.push_back({t[i], t[j], (x[t[i]] - x[t[j]]).squaredNorm() > 0.95 * longest});
      }
    }
  }
  std::sort(edges.begin(), edges.end(), [](const CutEdge& a, const CutEdge& b) {
    return std::tuple(a.inside, a.outside, !a.is_long) <
           std::tuple(b.inside, b.outside, !b.is_long);
  });
  const auto same = [](const CutEdge& a, const CutEdge& b) {
    return a.inside == b.inside && a.outside == b.outside;
  };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
  return edges;
}

enum class Side : std::int8_t { kOutside = -1, kOn = 0, kInside = 1 };

// Fills the inner parts of cut tetrahedra with tetrahedra.
class Stencils {
 public:
  explicit Stencils(TetrahedralMesh* mesh) : mesh_(*mesh) {}

  // Adds the inner part of a positive tetrahedron. `sides`: of its corners; cut(i, j): the vertex
  // on the edge from inner corner i to outer corner j.
  template <typename Cut>
  void Add(const std::array<int, 4>& corners, const std::array<Side, 4>& sides, const Cut& cut) {
    // corners by side: inside, on, outside
    std::array<int, 4> order = {0, 1, 2, 3};
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return sides[a] > sides[b]; });
    const int inner = static_cast<int>(std::count(sides.begin(), sides.end(), Side::kInside));
    const int on = static_cast<int>(std::count(sides.begin(), sides.end(), Side::kOn));
    if (inner == 0) return;
    for (int i = 0; i < 4; ++i) places_[i] = {corners[order[i]], Reference(order[i])};
    const auto at = [&](int i, int j) {
      return Place{cut(order[i], order[j]), 0.5 * (Reference(order[i]) + Reference(order[j]))};
    };
    const auto& c = places_;
    if (inner + on == 4) {
      AddTetrahedron(c[0], c[1], c[2], c[3]);
    } else if (inner == 3) {
      AddPrism({c[0], c[1], c[2], at(0, 3), at(1, 3), at(2, 3)});
    } else if (inner == 2 && on == 1) {
      AddPyramid(c[0], c[1], at(1, 3), at(0, 3), c[2]);
    } else if (inner == 2) {
      AddPrism({c[0], at(0, 2), at(0, 3), c[1], at(1, 2), at(1, 3)});
    } else if (on == 2) {
      AddTetrahedron(c[0], c[1], c[2], at(0, 3));
    } else if (on == 1) {
      AddTetrahedron(c[0], c[1], at(0, 2), at(0, 3));
    } else {
      AddTetrahedron(c[0], at(0, 1), at(0, 2), at(0, 3));
    }
  }

 private:
  // A vertex, and where it would be in a regular lattice with cuts halfway, which decides
  // orientations.
  struct Place {
    int vertex;
    Vector3d reference;
  };

  static Vector3d Reference(int corner) {
    return corner == 0 ? Vector3d(0, 0, 0) : Vector3d(Vector3d::Unit(corner - 1));
  }

  void AddTetrahedron(const Place& a, const Place& b, const Place& c, const Place& d) {
    const bool positive = CalcSixVolumes(a.reference, b.reference, c.reference, d.reference) > 0;
    mesh_.tetrahedra.push_back(positive ? std::array{a.vertex, b.vertex, c.vertex, d.vertex}
                                        : std::array{a.vertex, b.vertex, d.vertex, c.vertex});
  }

  // Splits quadrilaterals at their lowest vertex number, so that neighbours agree.
  void AddPyramid(const Place& a, const Place& b, const Place& c, const Place& d,
                  const Place& top) {
    if (std::min(a.vertex, c.vertex) < std::min(b.vertex, d.vertex)) {
      AddTetrahedron(a, b, c, top);
      AddTetrahedron(a, c, d, top);
    } else {
      AddTetrahedron(b, c, d, top);
      AddTetrahedron(b, d, a, top);
    }
  }

  // `p`: the corners of the end triangles, (0, 1, 2) and (3, 4, 5).
  void AddPrism(const std::array<Place, 6>& p) {
    int least = 0;
    for (int i = 1; i < 6; ++i) least = p[i].vertex < p[least].vertex ? i : least;
    const int own = least / 3 * 3, other = 3 - own;
    const int i = least % 3, j = (i + 1) % 3, k = (i + 2) % 3;
    AddTetrahedron(p[own + i], p[other + i], p[other + j], p[other + k]);
    AddPyramid(p[own + j], p[own + k], p[other + k], p[other + j], p[own + i]);
  }

  TetrahedralMesh& mesh_;
  std::array<Place, 4> places_;
};

int FindRoot(std::vector<int>* parents, int i) {
  while ((*parents)[i] != i) i = (*parents)[i] = (*parents)[(*parents)[i]];
  return i;
}

// Drops small parts that no face joins to others, and unused vertices.
void DropFragments(StuffedMesh* stuffed) {
  TetrahedralMesh& mesh = stuffed->mesh;
  const int n = static_cast<int>(mesh.tetrahedra.size());
  std::vector<std::pair<std::array<int, 3>, int>> faces;
  faces.reserve(4 * mesh.tetrahedra.size());
  for (int t = 0; t < n; ++t) {
    for (int omitted = 0; omitted < 4; ++omitted) {
      std::array<int, 3> face{};
      for (int i = 0, k = 0; i < 4; ++i)
        if (i != omitted) face[k++] = mesh.tetrahedra[t][i];
      std::sort(face.begin(), face.end());
      faces.emplace_back(face, t);
    }
  }
  std::sort(faces.begin(), faces.end());
  std::vector<int> parents(n);
  std::iota(parents.begin(), parents.end(), 0);
  for (std::size_t i = 1; i < faces.size(); ++i) {
    if (faces[i].first != faces[i - 1].first) continue;
    const int a = FindRoot(&parents, faces[i].second), b = FindRoot(&parents, faces[i - 1].second);
    parents[std::max(a, b)] = std::min(a, b);
  }
  std::vector<double> volumes(n, 0);
  for (int t = 0; t < n; ++t) {
    const auto& c = mesh.tetrahedra[t];
    volumes[FindRoot(&parents, t)] += CalcSixVolumes(mesh.vertices[c[0]], mesh.vertices[c[1]],
                                                     mesh.vertices[c[2]], mesh.vertices[c[3]]);
  }
  const double largest = n > 0 ? *std::max_element(volumes.begin(), volumes.end()) : 0;
  int kept = 0;
  for (int t = 0; t < n; ++t) {
    const int root = FindRoot(&parents, t);
    if (volumes[root] >= kFragmentShare * largest) {
      mesh.tetrahedra[kept++] = mesh.tetrahedra[t];
    } else if (root == t) {
      ++stuffed->dropped_fragments;
    }
  }
  mesh.tetrahedra.resize(kept);

  std::vector<int> number(mesh.vertices.size(), -1);
  for (const auto& t : mesh.tetrahedra)
    for (const int v : t) number[v] = 0;
  int count = 0;
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] < 0) continue;
    mesh.vertices[count] = mesh.vertices[v];
    stuffed->on_boundary[count] = stuffed->on_boundary[v];
    stuffed->in_hole[count] = stuffed->in_hole[v];
    number[v] = count++;
  }
  mesh.vertices.resize(count);
  stuffed->on_boundary.resize(count);
  stuffed->in_hole.resize(count);
  for (auto& t : mesh.tetrahedra)
    for (int& v : t) v = number[v];
}

// Moves vertices back to their places in the lattice until no tetrahedron is inverted or nearly
// flat. The reaches exclude that in a regular lattice, but not where its edges change their length.
void RestoreInverted(const BackgroundLattice& lattice, std::vector<Vector3d>* warped,
                     std::vector<Side>* sides) {
  const std::vector<Vector3d>&x = lattice.mesh.vertices, &w = *warped;
  for (bool any = true; any;) {
    any = false;
    for (const auto& t : lattice.mesh.tetrahedra) {
      const double volume = CalcSixVolumes(x[t[0]], x[t[1]], x[t[2]], x[t[3]]);
      if (CalcSixVolumes(w[t[0]], w[t[1]], w[t[2]], w[t[3]]) > kMinVolumeShare * volume) continue;
      const int v = *std::ranges::max_element(
          t, {}, [&](int corner) { return (w[corner] - x[corner]).squaredNorm(); });
      if (w[v] == x[v]) continue;
      (*warped)[v] = x[v];
      (*sides)[v] = lattice.inside[v] ? Side::kInside : Side::kOutside;
      any = true;
    }
  }
}

}  // namespace

StuffedMesh StuffLattice(const SurfaceRegion& region, BackgroundLattice lattice) {
  std::vector<Vector3d>& x = lattice.mesh.vertices;
  std::vector<CutEdge> edges = CollectCutEdges(lattice);
  solvers::ParallelFor(static_cast<int>(edges.size()), 64, [&](int i) {
    const SurfaceRegion::Exit exit = region.FindExit(x[edges[i].inside], x[edges[i].outside]);
    edges[i].t = exit.t;
    edges[i].in_hole = exit.in_hole;
  });

  // each vertex moves to the nearest cut within reach
  std::vector<Side> sides(x.size());
  for (std::size_t v = 0; v < x.size(); ++v)
    sides[v] = lattice.inside[v] ? Side::kInside : Side::kOutside;
  std::vector<std::pair<double, int>> nearest(x.size(), {1, -1});  // distance in reaches, edge
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const double reach = edges[i].is_long ? kLongReach : kShortReach;
    auto& in = nearest[edges[i].inside];
    auto& out = nearest[edges[i].outside];
    in = std::min(in, std::pair(edges[i].t / reach, static_cast<int>(i)));
    out = std::min(out, std::pair((1 - edges[i].t) / reach, static_cast<int>(i)));
  }
  std::vector<Vector3d> warped = x;
  for (std::size_t v = 0; v < x.size(); ++v) {
    const auto [distance, edge] = nearest[v];
    if (edge < 0 || distance >= 1) continue;
    const CutEdge& cut = edges[edge];
    warped[v] = x[cut.inside] + cut.t * (x[cut.outside] - x[cut.inside]);
    sides[v] = Side::kOn;
  }
  RestoreInverted(lattice, &warped, &sides);
  StuffedMesh stuffed;
  stuffed.in_hole.assign(x.size(), 0);
  for (std::size_t v = 0; v < x.size(); ++v)
    if (sides[v] == Side::kOn) stuffed.in_hole[v] = edges[nearest[v].second].in_hole;
  stuffed.mesh.vertices = std::move(warped);
  for (CutEdge& cut : edges) {
    if (sides[cut.inside] != Side::kInside || sides[cut.outside] != Side::kOutside) continue;
    cut.vertex = static_cast<int>(stuffed.mesh.vertices.size());
    stuffed.mesh.vertices.push_back(x[cut.inside] + cut.t * (x[cut.outside] - x[cut.inside]));
    stuffed.in_hole.push_back(cut.in_hole);
  }
  stuffed.on_boundary.assign(stuffed.mesh.vertices.size(), 1);
  for (std::size_t v = 0; v < x.size(); ++v) stuffed.on_boundary[v] = sides[v] == Side::kOn;

  const auto find_cut = [&](int inner, int outer) {
    const auto at = std::lower_bound(edges.begin(), edges.end(), std::pair(inner, outer),
                                     [](const CutEdge& edge, const std::pair<int, int>& key) {
                                       return std::pair(edge.inside, edge.outside) < key;
                                     });
    return at->vertex;
  };
  Stencils stencils(&stuffed.mesh);
  for (const auto& t : lattice.mesh.tetrahedra) {
    stencils.Add(t, {sides[t[0]], sides[t[1]], sides[t[2]], sides[t[3]]},
                 [&](int i, int j) { return find_cut(t[i], t[j]); });
  }
  DropFragments(&stuffed);
  return stuffed;
}

}  // namespace pliant::physics
