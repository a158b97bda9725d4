#include "physics/mpm/liquid_spread.h"

#include <algorithm>
#include <cmath>

#include <Eigen/LU>

#include "physics/dynamics/parallel.h"
#include "physics/mpm/particle_transfer.h"
#include "physics/spatial/cube_root.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Particles nearer than this many spacings are displaced apart.
constexpr double kReach = 1.03;
// Time constant with which they separate [s], and their maximum speed in spacings per second.
constexpr double kSpreadTime = 0.01, kMaxSpeed = 5;
// Time constant with which J relaxes towards the density [s]. The density of so few particles is
// uncertain by some percent, and a liquid that is hard to compress turns this into motion: a
// shorter time stirs it, a longer one lets it lose volume.
constexpr double kDensityTime = 0.3;
// Relative error of an estimated density, per steepness, that J does not follow.
constexpr double kDoubt = 0.1;
// Steepness |∇D| Δx / D of the fill D next to an edge of a free surface: estimates of the density
// assume no more.
constexpr double kMaxSteepness = 2;
// Part of a node's cell that has to be open for its fill to count.
constexpr double kMinOpen = 0.02;
// Density below which a liquid is spray: its volume ratio does not increase any further.
constexpr double kSpray = 0.7;
constexpr int kCellsPerTask = 8;

// Fraction of a difference that a step of length h removes with the time constant `time`.
double CalcRate(double h, double time) {
  return h / (h + time);
}

// e^x for 0 ≤ x ≤ 3 within 1e-6, with the same bits on every machine.
double CalcGrowth(double x) {
  const double y = x / 8;
  double power = 1 + y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * (1 + y / 5))));
  for (int k = 0; k < 3; ++k) power *= power;
  return power;
}

}  // namespace

LiquidSpread::LiquidSpread(const ParticleModel* model) : model_(*model) {}

void LiquidSpread::Clear() {
  const std::size_t count = static_cast<std::size_t>(model_.num_particles);
  densities_.assign(count, 0.0);
  doubts_.assign(count, 0.0);
  displacements_.assign(count, Vector3d::Zero());
  touches_.assign(model_.bodies.size(), 0);
}

void LiquidSpread::Evaluate(const ParticleTransfer& transfer, const LiquidWalls& walls, double h) {
  Clear();
  if (spacings_.empty())
    for (const double volume : model_.particle_volume) spacings_.push_back(CalcCubeRoot(volume));
  h_ = h;
  rate_ = CalcRate(h, kDensityTime);
  CalcFill(transfer, walls);
  FindCells(transfer.grid());
  const double rate = CalcRate(h, kSpreadTime);
  const std::span<const ActiveGrid::Cell> cells = transfer.grid().cells();
  ParallelFor(static_cast<int>(cells.size()), kCellsPerTask, [&](int c) {
    const ActiveGrid::Cell& cell = cells[c];
    const std::array<int, 27> neighbours = FindNeighbours(transfer.grid(), cell);
    for (int i = cell.first; i < cell.first + cell.count; ++i) {
      const int p = transfer.particle_at(i);
      if (!model_.material_of(p).is_liquid()) continue;
      const Surroundings around = CalcSurroundings(transfer, p, cell);
      densities_[p] = around.density;
      doubts_[p] = kDoubt * around.steepness;
      // each of a pair goes half the way
      displacements_[p] = 0.5 * rate * CalcRepulsion(transfer, p, neighbours);
    }
  });
  CenterDisplacements();
  for (const LiquidWalls::Touch& touch : walls.touches()) {
    touches_[model_.body[touch.particle]] = 1;
    const double depth = 0.5 * spacings_[touch.particle] - touch.distance;
    displacements_[touch.particle] += rate * std::max(0.0, depth) * touch.normal;
  }
  LimitDisplacements();
}

double LiquidSpread::CalcVolumeChange(int particle, double J) const {
  const double density = densities_[particle];
  if (!is_evaluated(particle) || !touches_[model_.body[particle]]) return 0;
  if (density * J < 1 && density < kSpray) return 0;
  const double error = 1 / density - J;
  return rate_ * (error - std::clamp(error, -doubts_[particle], doubts_[particle]));
}

void LiquidSpread::CalcFill(const ParticleTransfer& transfer, const LiquidWalls& walls) {
  const double size = model_.grid.cell_size, cell_volume = size * size * size;
  fill_.assign(static_cast<std::size_t>(transfer.grid().num_nodes()), 0.0);
  for (const ActiveGrid::Cell& cell : transfer.grid().cells()) {
    double fill[kKernelNodes] = {};
    for (int i = cell.first; i < cell.first + cell.count; ++i) {
      const int p = transfer.particle_at(i);
      const Kernel kernel = transfer.MakeKernel(p, cell);
      const double ratio =
          model_.material_of(p).is_liquid() ? 1 : transfer.start(p).state.F.determinant();
      const double volume = model_.particle_volume[p] * ratio / cell_volume;
      for (int a = 0; a < kKernelNodes; ++a) fill[a] += volume * kernel.w[a];
    }
    for (int a = 0; a < kKernelNodes; ++a) fill_[cell.nodes[a]] += fill[a];
  }
  is_open_.resize(fill_.size());
  for (std::size_t i = 0; i < fill_.size(); ++i) {
    const double open = walls.CalcOpenPart(static_cast<int>(i));
    is_open_[i] = open > kMinOpen ? 1 : 0;
    if (open > kMinOpen) fill_[i] /= open;
  }
}

void LiquidSpread::FindCells(const ActiveGrid& grid) {
  cells_.assign(static_cast<std::size_t>(grid.num_nodes()), -1);
  for (std::size_t c = 0; c < grid.cells().size(); ++c)
    cells_[grid.cells()[c].nodes[0]] = static_cast<int>(c);
}

// The fill D at a particle, smoothed twice by the kernels, is too low near a free surface. Its
// steepness says by how much: at a plane surface with full density behind it, D times
// exp(r (0.25 + 0.4 r)) with r = |∇D| Δx / D is 1 at all distances that a particle may have, within
// some percent that depend on where the grid lies; for edges and corners, too.
LiquidSpread::Surroundings LiquidSpread::CalcSurroundings(const ParticleTransfer& transfer,
                                                          int particle,
                                                          const ActiveGrid::Cell& cell) const {
  const Kernel kernel = transfer.MakeKernel(particle, cell);
  // nodes behind walls are left out, and the weights of the others adapted
  double sum = 0, weight = 0;
  Vector3d sum_slope = Vector3d::Zero(), weight_slope = Vector3d::Zero();
  for (int a = 0; a < kKernelNodes; ++a) {
    if (!is_open_[cell.nodes[a]]) continue;
    const double fill = fill_[cell.nodes[a]];
    sum += kernel.w[a] * fill;
    weight += kernel.w[a];
    for (int r = 0; r < 3; ++r) {
      sum_slope[r] += kernel.gradient[r][a] * fill;
      weight_slope[r] += kernel.gradient[r][a];
    }
  }
  const double D = sum / weight;
  const Vector3d gradient = (sum_slope - D * weight_slope) / weight;
  Surroundings around;
  around.steepness =
      std::min(std::sqrt(gradient.squaredNorm()) * model_.grid.cell_size / D, kMaxSteepness);
  around.density = D * CalcGrowth(around.steepness * (0.25 + 0.4 * around.steepness));
  return around;
}

std::array<int, 27> LiquidSpread::FindNeighbours(const ActiveGrid& grid,
                                                 const ActiveGrid::Cell& cell) const {
  const auto [i, j, k] = cell.index;
  std::array<int, 27> neighbours = grid.pattern().FindNodesFrom({i - 1, j - 1, k - 1});
  for (int& neighbour : neighbours)
    if (neighbour >= 0) neighbour = cells_[neighbour];
  return neighbours;
}

// Sum of what each near neighbour lacks in distance, away from it [m].
Vector3d LiquidSpread::CalcRepulsion(const ParticleTransfer& transfer, int particle,
                                     std::span<const int> neighbours) const {
  const double size = model_.grid.cell_size;
  const Vector3d x = transfer.position_of(particle);
  Vector3d sum = Vector3d::Zero();
  for (const int neighbour : neighbours) {
    if (neighbour < 0) continue;
    const ActiveGrid::Cell& other = transfer.grid().cells()[neighbour];
    for (int i = other.first; i < other.first + other.count; ++i) {
      const int q = transfer.particle_at(i);
      const Vector3d apart = x - transfer.position_of(q);
      // no farther than the neighbouring cells reach
      const double reach = std::min(size, 0.5 * kReach * (spacings_[particle] + spacings_[q])),
                   distance2 = apart.squaredNorm();
      if (!(distance2 < reach * reach) || !(distance2 > 0)) continue;
      sum += (reach / std::sqrt(distance2) - 1) * apart;
    }
  }
  return sum;
}

// Displacements leave the centre of mass of a body where it is: they act on it without forces.
void LiquidSpread::CenterDisplacements() {
  for (const IndexRange& range : model_.particles) {
    const int end = range.first + range.count;
    Vector3d sum = Vector3d::Zero();
    double mass = 0;
    for (int p = range.first; p < end; ++p) {
      if (!is_evaluated(p)) continue;
      sum += model_.particle_mass[p] * displacements_[p];
      mass += model_.particle_mass[p];
    }
    if (sum.isZero(0)) continue;
    for (int p = range.first; p < end; ++p)
      if (is_evaluated(p)) displacements_[p] -= sum / mass;
  }
}

void LiquidSpread::LimitDisplacements() {
  for (std::size_t p = 0; p < displacements_.size(); ++p) {
    const double limit = kMaxSpeed * h_ * spacings_[p],
                 length = std::sqrt(displacements_[p].squaredNorm());
    if (length > limit) displacements_[p] *= limit / length;
  }
}

}  // namespace pliant::physics
