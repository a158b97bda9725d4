#include "physics/geometry/meshing/surface/background_lattice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/geometry/meshing/primitive_checks.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"
#include "solvers/linalg/parallel.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using Lattice3 = Eigen::Matrix<std::int64_t, 3, 1>;

// Maximum number of cells of the lattice around a surface.
constexpr double kMaxGridCells = 6e7;
// Lattice coordinates are integers, this many per spacing, so that bisection is exact.
constexpr std::int64_t kUnits = 1 << 12;

// The cubic cells of a lattice over the bounds of a region, with a margin of two cells. Point (i,
// j, k, c) is the corner of cell (i, j, k) for c = 0 and its centre for c = 1.
class CellGrid {
 public:
  CellGrid(const AxisAlignedBox& box, double spacing) : spacing_(spacing) {
    const Vector3d size = box.upper - box.lower;
    for (int axis = 0; axis < 3; ++axis)
      cells_[axis] = static_cast<int>(std::ceil(size[axis] / spacing)) + 4;
    // centred, so that symmetric bodies get nearly symmetric meshes
    for (int axis = 0; axis < 3; ++axis)
      origin_[axis] = 0.5 * (box.lower[axis] + box.upper[axis]) - 0.5 * spacing * cells_[axis];
  }

  int cells(int axis) const { return cells_[axis]; }
  double spacing() const { return spacing_; }
  std::size_t num_cells() const {
    return static_cast<std::size_t>(cells_[0]) * cells_[1] * cells_[2];
  }
  std::size_t Index(int i, int j, int k) const {
    return (static_cast<std::size_t>(k) * cells_[1] + j) * cells_[0] + i;
  }
  Lattice3 Coordinates(std::size_t cell, bool is_center) const {
    const std::int64_t i = cell % cells_[0], j = cell / cells_[0] % cells_[1],
                       k = cell / cells_[0] / cells_[1];
    return kUnits * Lattice3(i, j, k) + (is_center ? kUnits / 2 : 0) * Lattice3::Ones();
  }
  Vector3d Position(const Lattice3& at) const {
    return origin_ + spacing_ / kUnits * at.cast<double>();
  }
  int CellOf(double x, int axis) const {
    return std::clamp(static_cast<int>((x - origin_[axis]) / spacing_), 0, cells_[axis] - 1);
  }

 private:
  double spacing_;
  int cells_[3];
  Vector3d origin_;
};

// Marks the cells within one cell of a triangle's bounding box.
std::vector<char> MarkCells(const TriangleMesh& mesh, const CellGrid& grid) {
  std::vector<char> marked(grid.num_cells(), 0);
  for (const auto& t : mesh.triangles) {
    int lower[3], upper[3];
    for (int axis = 0; axis < 3; ++axis) {
      const auto [low, high] = std::minmax(
          {mesh.vertices[t[0]][axis], mesh.vertices[t[1]][axis], mesh.vertices[t[2]][axis]});
      lower[axis] = std::max(0, grid.CellOf(low, axis) - 1);
      upper[axis] = std::min(grid.cells(axis) - 1, grid.CellOf(high, axis) + 1);
    }
    for (int k = lower[2]; k <= upper[2]; ++k) {
      for (int j = lower[1]; j <= upper[1]; ++j) {
        for (int i = lower[0]; i <= upper[0]; ++i) marked[grid.Index(i, j, k)] = 1;
      }
    }
  }
  return marked;
}

// Finds the corners, or centres, that are inside. Between unmarked cells, a closed surface has no
// crossing.
std::vector<char> FindInside(const SurfaceRegion& region, const CellGrid& grid,
                             const std::vector<char>& marked, bool centers) {
  std::vector<char> inside(grid.num_cells(), 0);
  solvers::ParallelFor(grid.cells(1) * grid.cells(2), 1, [&](int row) {
    const std::size_t first = static_cast<std::size_t>(row) * grid.cells(0);
    for (int i = 1; i < grid.cells(0); ++i) {
      const std::size_t at = first + i;
      const bool unchanged = region.closed() && !marked[at] && !marked[at - 1];
      inside[at] = unchanged ? inside[at - 1]
                             : region.IsInside(grid.Position(grid.Coordinates(at, centers)));
    }
  });
  return inside;
}

// A mesh under longest-edge bisection.
class Bisection {
 public:
  Bisection(TetrahedralMesh* mesh, std::vector<Lattice3>* coordinates, const CellGrid& grid)
      : mesh_(*mesh), at_(*coordinates), grid_(grid), stars_(mesh->vertices.size()) {
    for (std::size_t t = 0; t < mesh_.tetrahedra.size(); ++t) {
      for (const int v : mesh_.tetrahedra[t]) stars_[v].push_back(static_cast<int>(t));
    }
    samples_.resize(mesh_.tetrahedra.size());
  }

  std::vector<SizeSample>& samples(int tetrahedron) { return samples_[tetrahedron]; }

  // Longest edge, ties broken by its vertices.
  std::pair<int, int> LongestEdge(const std::array<int, 4>& t) const {
    std::tuple<std::int64_t, int, int> best{-1, 0, 0};
    for (int i = 0; i < 4; ++i) {
      for (int j = i + 1; j < 4; ++j) {
        const auto [a, b] = std::minmax(t[i], t[j]);
        best = std::max(best, std::tuple(SquaredLength({a, b}), a, b));
      }
    }
    return {std::get<1>(best), std::get<2>(best)};
  }
  double Length(const std::pair<int, int>& edge) const {
    return (mesh_.vertices[edge.first] - mesh_.vertices[edge.second]).norm();
  }

  // In lattice units, exact.
  std::int64_t SquaredLength(const std::pair<int, int>& edge) const {
    return (at_[edge.first] - at_[edge.second]).squaredNorm();
  }

  // Bisects the longest edge of a tetrahedron, after those edges on which it depends.
  void Refine(int tetrahedron) {
    const std::pair<int, int> target = LongestEdge(mesh_.tetrahedra[tetrahedron]);
    std::vector<std::pair<int, int>> path = {target};
    while (!path.empty()) {
      const std::pair<int, int> edge = path.back();
      const std::vector<int> around = Around(edge);
      if (around.empty()) {
        path.pop_back();
        continue;
      }
      bool ready = true;
      for (const int t : around) {
        const std::pair<int, int> longest = LongestEdge(mesh_.tetrahedra[t]);
        // ties count as longest: otherwise, chains of them would refine the whole body
        if (SquaredLength(longest) == SquaredLength(edge)) continue;
        path.push_back(longest);
        ready = false;
        break;
      }
      if (!ready) continue;
      Split(edge, around);
      path.pop_back();
    }
  }

 private:
  std::vector<int> Around(const std::pair<int, int>& edge) const {
    std::vector<int> around;
    for (const int t : stars_[edge.first]) {
      const auto& corners = mesh_.tetrahedra[t];
      if (std::find(corners.begin(), corners.end(), edge.second) != corners.end())
        around.push_back(t);
    }
    return around;
  }

  void Split(const std::pair<int, int>& edge, const std::vector<int>& around) {
    const int middle = static_cast<int>(at_.size());
    at_.push_back((at_[edge.first] + at_[edge.second]) / 2);
    mesh_.vertices.push_back(grid_.Position(at_.back()));
    stars_.emplace_back();
    for (const int t : around) {
      const int other = static_cast<int>(mesh_.tetrahedra.size());
      std::array<int, 4> second = mesh_.tetrahedra[t];
      std::replace(second.begin(), second.end(), edge.first, middle);
      auto& first = mesh_.tetrahedra[t];
      std::replace(first.begin(), first.end(), edge.second, middle);
      auto& far = stars_[edge.second];
      std::replace(far.begin(), far.end(), t, other);
      for (const int v : second) {
        if (v != edge.second && v != middle) stars_[v].push_back(other);
      }
      stars_[middle].push_back(t);
      stars_[middle].push_back(other);
      mesh_.tetrahedra.push_back(second);
      samples_.emplace_back();
      // each half keeps the samples on its side of the cut
      std::vector<SizeSample> all = std::move(samples_[t]);
      samples_[t].clear();
      for (const SizeSample& sample : all) {
        const double near = (sample.point - mesh_.vertices[edge.first]).squaredNorm();
        const double away = (sample.point - mesh_.vertices[edge.second]).squaredNorm();
        samples_[near <= away ? t : other].push_back(sample);
      }
    }
  }

  TetrahedralMesh& mesh_;
  std::vector<Lattice3>& at_;
  const CellGrid& grid_;
  std::vector<std::vector<int>> stars_;
  std::vector<std::vector<SizeSample>> samples_;
};

}  // namespace

absl::StatusOr<BackgroundLattice> MakeBackgroundLattice(const SurfaceRegion& region, double spacing,
                                                        const std::vector<SizeSample>& samples,
                                                        double max_tetrahedra,
                                                        const IsCancelled& is_cancelled) {
  const Vector3d size = region.bounds().upper - region.bounds().lower;
  const double cells = ((size / spacing).array() + 4).prod();
  const auto too_many = [&](double count) {
    return absl::InvalidArgumentError(
        absl::StrCat("would give about ", count, " tetrahedra; expected at most ", max_tetrahedra));
  };
  if (!(cells <= kMaxGridCells)) return too_many(12 * cells);
  const CellGrid grid(region.bounds(), spacing);
  const std::vector<char> marked = MarkCells(region.mesh(), grid);
  const std::vector<char> corners = FindInside(region, grid, marked, false);
  if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
  const std::vector<char> centers = FindInside(region, grid, marked, true);
  if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;

  // cells whose tetrahedra are needed for samples, though all their points may be outside
  std::vector<char> wanted(samples.empty() ? 0 : grid.num_cells(), 0);
  std::vector<std::vector<int>> samples_of_cell(samples.empty() ? 0 : grid.num_cells());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Vector3d& p = samples[s].point;
    const int at[3] = {grid.CellOf(p.x(), 0), grid.CellOf(p.y(), 1), grid.CellOf(p.z(), 2)};
    samples_of_cell[grid.Index(at[0], at[1], at[2])].push_back(static_cast<int>(s));
    for (int n = 0; n < 27; ++n) {
      const int i = at[0] + n % 3 - 1, j = at[1] + n / 3 % 3 - 1, k = at[2] + n / 9 - 1;
      if (i < 0 || j < 0 || k < 0 || i >= grid.cells(0) || j >= grid.cells(1) || k >= grid.cells(2))
        continue;
      wanted[grid.Index(i, j, k)] = 1;
    }
  }

  // four tetrahedra for each face, each of the centres of its two cells and an edge of the face
  BackgroundLattice lattice;
  std::vector<int> numbers[2] = {std::vector<int>(grid.num_cells(), -1),
                                 std::vector<int>(grid.num_cells(), -1)};
  std::vector<Lattice3> coordinates;
  const auto number = [&](std::size_t cell, bool center) {
    int& known = numbers[center][cell];
    if (known < 0) {
      known = static_cast<int>(coordinates.size());
      coordinates.push_back(grid.Coordinates(cell, center));
      lattice.mesh.vertices.push_back(grid.Position(coordinates.back()));
      lattice.inside.push_back(center ? centers[cell] : corners[cell]);
    }
    return known;
  };
  const std::size_t strides[3] = {1, static_cast<std::size_t>(grid.cells(0)),
                                  static_cast<std::size_t>(grid.cells(0)) * grid.cells(1)};
  std::vector<std::pair<int, std::size_t>> cell_of_tetrahedron;
  for (int k = 1; k + 1 < grid.cells(2); ++k) {
    for (int j = 1; j + 1 < grid.cells(1); ++j) {
      for (int i = 1; i + 1 < grid.cells(0); ++i) {
        const std::size_t cell = grid.Index(i, j, k);
        for (int axis = 0; axis < 3; ++axis) {
          const std::size_t before = cell - strides[axis];
          const std::size_t u = strides[(axis + 1) % 3], v = strides[(axis + 2) % 3];
          const std::size_t ring[4] = {cell, cell + u, cell + u + v, cell + v};
          const bool needed = !samples.empty() && (wanted[cell] || wanted[before]);
          for (int side = 0; side < 4; ++side) {
            const std::size_t a = ring[side], b = ring[(side + 1) % 4];
            if (!needed && !centers[before] && !centers[cell] && !corners[a] && !corners[b])
              continue;
            lattice.mesh.tetrahedra.push_back(
                {number(before, true), number(cell, true), number(a, false), number(b, false)});
            if (!samples.empty())
              cell_of_tetrahedron.emplace_back(static_cast<int>(lattice.mesh.tetrahedra.size()) - 1,
                                               cell);
          }
        }
      }
    }
    if (static_cast<double>(lattice.mesh.tetrahedra.size()) > 2 * max_tetrahedra)
      return too_many(static_cast<double>(lattice.mesh.tetrahedra.size()));
    if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
  }
  Orient(&lattice.mesh);
  if (samples.empty()) return lattice;

  // assign each sample to the tetrahedron that contains it, which is between its cell and the next
  // ones
  Bisection bisection(&lattice.mesh, &coordinates, grid);
  const auto holds = [&](const std::array<int, 4>& t, const Vector3d& p) {
    const auto& x = lattice.mesh.vertices;
    const double least = -1e-9 * spacing * spacing * spacing;
    return CalcSixVolumes(p, x[t[1]], x[t[2]], x[t[3]]) >= least &&
           CalcSixVolumes(x[t[0]], p, x[t[2]], x[t[3]]) >= least &&
           CalcSixVolumes(x[t[0]], x[t[1]], p, x[t[3]]) >= least &&
           CalcSixVolumes(x[t[0]], x[t[1]], x[t[2]], p) >= least;
  };
  std::vector<char> given(samples.size(), 0);
  for (const auto& [t, cell] : cell_of_tetrahedron) {
    const std::array<int, 4> corners_of_t = lattice.mesh.tetrahedra[t];
    for (const std::size_t near : {cell, cell - strides[0], cell - strides[1], cell - strides[2]}) {
      for (const int s : samples_of_cell[near]) {
        if (given[s] || !holds(corners_of_t, samples[s].point)) continue;
        given[s] = 1;
        bisection.samples(t).push_back(samples[s]);
      }
    }
  }
  for (std::size_t t = 0; t < lattice.mesh.tetrahedra.size();) {
    double wanted_edge = spacing;
    for (const SizeSample& sample : bisection.samples(static_cast<int>(t)))
      wanted_edge = std::min(wanted_edge, sample.edge);
    const std::pair<int, int> longest = bisection.LongestEdge(lattice.mesh.tetrahedra[t]);
    if (bisection.Length(longest) <= 1.001 * wanted_edge) {
      ++t;
      continue;
    }
    bisection.Refine(static_cast<int>(t));
    if (static_cast<double>(lattice.mesh.tetrahedra.size()) > 4 * max_tetrahedra)
      return too_many(static_cast<double>(lattice.mesh.tetrahedra.size()));
  }
  const int known = static_cast<int>(lattice.inside.size());
  lattice.inside.resize(lattice.mesh.vertices.size());
  solvers::ParallelFor(static_cast<int>(lattice.mesh.vertices.size()) - known, 64, [&](int i) {
    lattice.inside[known + i] = region.IsInside(lattice.mesh.vertices[known + i]);
  });
  std::erase_if(lattice.mesh.tetrahedra, [&](const std::array<int, 4>& t) {
    return std::none_of(t.begin(), t.end(), [&](int v) { return lattice.inside[v]; });
  });
  if (static_cast<double>(lattice.mesh.tetrahedra.size()) > 2 * max_tetrahedra)
    return too_many(static_cast<double>(lattice.mesh.tetrahedra.size()));
  return lattice;
}

}  // namespace pliant::physics
