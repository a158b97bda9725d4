#include "physics/mpm/filling/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "physics/mpm/filling/sample_elimination.h"
#include "physics/mpm/filling/surface_points.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Candidates for each particle of a Poisson disk sample.
constexpr int kCandidates = 4;
// Maximum number of random points tried in each cell.
constexpr int kMaxRounds = 64;
// Blocks with more cells than this poll for cancellation.
constexpr double kPolledCells = 64;
// Distance within which particles crowd each other, relative to the spacing: twice the largest
// radius of packed balls, 2 ∛(1 / (4 √2)).
constexpr double kReach = 1.1225;

// Cells of a lattice that divide a box.
struct Lattice {
  Lattice(const AxisAlignedBox& box, double spacing) : center(0.5 * (box.lower + box.upper)) {
    const Vector3d size = box.upper - box.lower;
    for (int i = 0; i < 3; ++i) {
      count[i] = CountAlong(size[i], spacing);
      step[i] = size[i] / count[i];
    }
  }

  // Position of a point given in numbers of cells.
  Vector3d At(const Vector3d& cells) const {
    Vector3d p;
    // symmetric about the centre, to the last bit
    for (int i = 0; i < 3; ++i) p[i] = center[i] + step[i] * (cells[i] - 0.5 * count[i]);
    return p;
  }

  double CalcDiagonal() const { return std::sqrt(step.squaredNorm()); }  // of a cell

  Vector3d center, step;
  std::array<int, 3> count;
};

// Visits the cells that a solid, or the space within `margin` of it, may intersect, by recursive
// bisection of blocks of cells.
class CellSearch {
 public:
  // Distances of at least `depth` inside need not be exact.
  CellSearch(const Solid& solid, const Lattice& lattice, double margin, double depth,
             const IsCancelled& is_cancelled)
      : solid_(solid),
        lattice_(lattice),
        margin_(margin),
        depth_(depth),
        is_cancelled_(is_cancelled) {}

  // Calls visit(cell, distance) with the signed distance of the centre of the cell. Returns false
  // if cancelled.
  template <typename Visit>
  bool Run(const Visit& visit) const {
    return Search({{0, 0, 0}, lattice_.count}, false, visit);
  }

 private:
  struct Block {
    std::array<int, 3> begin, end;
  };

  template <typename Visit>
  bool Search(const Block& block, bool is_deep, const Visit& visit) const {
    const Vector3d begin(block.begin[0], block.begin[1], block.begin[2]),
        end(block.end[0], block.end[1], block.end[2]);
    const Vector3d size = (end - begin).cwiseProduct(lattice_.step);
    const bool is_cell = (end - begin).maxCoeff() <= 1;
    double distance = -depth_;
    if (!is_deep) {
      if (size.prod() > kPolledCells * lattice_.step.prod() && is_cancelled_ && is_cancelled_())
        return false;
      distance = solid_.CalcDistance(lattice_.At(0.5 * (begin + end)));
      const double radius = 0.5 * std::sqrt(size.squaredNorm());
      if (distance > margin_ + 1.001 * radius) return true;
      is_deep = distance < -depth_ - 1.001 * radius;
    }
    if (is_cell) {
      visit(block.begin, distance);
      return true;
    }
    int axis = 0;
    for (int i = 1; i < 3; ++i) {
      const bool is_longer = size[i] > size[axis] || block.end[axis] - block.begin[axis] == 1;
      if (is_longer && block.end[i] - block.begin[i] > 1) axis = i;
    }
    Block lower = block, upper = block;
    lower.end[axis] = upper.begin[axis] = (block.begin[axis] + block.end[axis]) / 2;
    return Search(lower, is_deep, visit) && Search(upper, is_deep, visit);
  }

  const Solid& solid_;
  const Lattice& lattice_;
  double margin_, depth_;
  const IsCancelled& is_cancelled_;
};

Vector3d ToVector(const std::array<int, 3>& cell) {
  return {1.0 * cell[0], 1.0 * cell[1], 1.0 * cell[2]};
}

bool FillWithLattice(const Solid& solid, double spacing, const IsCancelled& is_cancelled,
                     ParticleFill* fill) {
  const Lattice lattice(solid.bounds(), spacing);
  const double max_radius = 0.5 * lattice.step.maxCoeff();
  return CellSearch(solid, lattice, 0, max_radius, is_cancelled)
      .Run([&](const std::array<int, 3>& cell, double distance) {
        if (!(distance < 0)) return;
        fill->positions.push_back(lattice.At(ToVector(cell) + Vector3d::Constant(0.5)));
        fill->radii.push_back(std::min(-distance, max_radius));
      });
}

// Random points, and the lattice cell of each.
struct Candidates {
  std::vector<Vector3d> points;
  std::vector<int> cells;
};

// Stratified sampling: draws one random point per round in each cell that a solid, or the space
// within `margin` of it, may intersect, until there are `wanted` more or after `rounds` rounds.
// Keeps points for which accept(point, distance of the centre of its cell). Returns false if
// cancelled.
template <typename Accept>
bool Sample(const Solid& solid, const Lattice& lattice, double margin, std::size_t wanted,
            int rounds, const IsCancelled& is_cancelled, RandomNumbers* random,
            Candidates* candidates, const Accept& accept) {
  struct Cell {
    std::array<int, 3> number;
    double distance;
  };
  std::vector<Cell> cells;
  const auto add = [&](const std::array<int, 3>& number, double distance) {
    cells.push_back({number, distance});
  };
  if (!CellSearch(solid, lattice, margin, lattice.CalcDiagonal(), is_cancelled).Run(add))
    return false;
  wanted += candidates->points.size();
  for (int round = 0; round < rounds && candidates->points.size() < wanted; ++round) {
    if (is_cancelled && is_cancelled()) return false;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const double x = random->Next(), y = random->Next(), z = random->Next();
      const Vector3d p = lattice.At(ToVector(cells[c].number) + Vector3d(x, y, z));
      if (!accept(p, cells[c].distance)) continue;
      candidates->points.push_back(p);
      candidates->cells.push_back(static_cast<int>(c));
    }
  }
  return true;
}

bool FillWithPoissonDisks(const Solid& solid, const FillOptions& options,
                          const IsCancelled& is_cancelled, ParticleFill* fill) {
  const double spacing = options.spacing, reach = kReach * spacing;
  const int count =
      std::max(1, static_cast<int>(solid.volume() / (spacing * spacing * spacing) + 0.5));
  RandomNumbers random(options.seed);
  Candidates candidates;
  const Lattice within(solid.bounds(), spacing);
  const double deep = -within.CalcDiagonal();
  if (!Sample(solid, within, 0, std::size_t{kCandidates} * count, kMaxRounds, is_cancelled, &random,
              &candidates, [&](const Vector3d& p, double distance) {
                return distance <= deep || solid.CalcDistance(p) < 0;
              }))
    return false;
  const std::size_t num_within = candidates.points.size();
  // without points around the solid, particles would gather at its surface
  AxisAlignedBox bounds = solid.bounds();
  bounds.Grow(reach);
  const Lattice around(bounds, spacing);
  if (!Sample(solid, around, reach, std::numeric_limits<int>::max(), kCandidates, is_cancelled,
              &random, &candidates, [&](const Vector3d& p, double distance) {
                if (distance <= -around.CalcDiagonal()) return false;
                const double of_point = solid.CalcDistance(p);
                return of_point >= 0 && of_point < reach;
              }))
    return false;

  const int num_around = static_cast<int>(candidates.points.size() - num_within);
  std::vector<int> chosen = EliminateCrowded(candidates.points, 0, num_around, count, reach);
  std::ranges::stable_sort(chosen, {}, [&](int i) { return candidates.cells[i]; });
  for (const int i : chosen) {
    const Vector3d& p = candidates.points[i];
    fill->positions.push_back(p);
    fill->radii.push_back(std::min(-solid.CalcDistance(p), 0.5 * spacing));
  }
  return true;
}

}  // namespace

absl::StatusOr<ParticleFill> FillSolid(const Solid& solid, const FillOptions& options,
                                       const IsCancelled& is_cancelled) {
  ParticleFill fill;
  const bool is_filled = options.layout == FillOptions::Layout::kLattice
                             ? FillWithLattice(solid, options.spacing, is_cancelled, &fill)
                             : FillWithPoissonDisks(solid, options, is_cancelled, &fill);
  if (!is_filled) return absl::CancelledError("the filling was cancelled");
  if (fill.positions.empty()) return fill;
  fill.particle_volume = solid.volume() / static_cast<double>(fill.positions.size());
  fill.surface = SpreadOverSurface(solid, options.spacing);
  return fill;
}

}  // namespace pliant::physics
