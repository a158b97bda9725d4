#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "physics/dynamics/block_state.h"
#include "physics/dynamics/parallel.h"
#include "physics/mpm/active_grid.h"
#include "physics/mpm/kernel.h"
#include "physics/mpm/liquid_spread.h"
#include "physics/mpm/liquid_walls.h"
#include "physics/mpm/particle_model.h"

namespace pliant::physics {

// Transfers between particles and grid nodes during one step (zong2024 §III). Begin reuses its
// memory.
class ParticleTransfer {
 public:
  explicit ParticleTransfer(const ParticleModel* model);

  // Places the particles of a state on the grid and computes masses, momenta and start velocities
  // of its nodes. INTERNAL, naming the body, when a particle has left the bounds.
  absl::Status Begin(const BlockState& base, double h);

  // Receives the contacts of the step, in which the particles' block has the index `block`. Follows
  // Begin; without it, liquids are not kept spread.
  void SetContacts(int block, std::span<const ContactPoint> contacts);
  // Energy that Advance supplies to liquids in order to keep them spread [J].
  double CalcSpreadWork(const Eigen::Vector3d& gravity) const;

  const ActiveGrid& grid() const { return grid_; }
  const ParticleStart& start(int particle) const { return starts_[particle]; }
  // Per grid node: [kg], [N·s], [m/s]. Momenta contain the affine field of the particles only with
  // the lumped part of their mass; start velocities contain all of it.
  std::span<const double> masses() const { return masses_; }
  std::span<const double> momenta() const { return momenta_; }
  std::span<const double> start_velocities() const { return v0_; }
  // False for a particle that left the bounds and stopped for good.
  bool is_moving(int particle) const { return is_active_[model_.node[particle]] != 0; }

  int particle_at(int point) const { return model_.particle_of_node[grid_.points()[point]]; }
  Kernel MakeKernel(int particle, const ActiveGrid::Cell& cell) const {
    return {PositionOf(model_.node[particle]), cell.index, model_.grid.cell_size};
  }
  Eigen::Vector3d position_of(int particle) const { return PositionOf(model_.node[particle]); }
  // Copies the velocities of the nodes of a cell.
  static void Gather(const ActiveGrid::Cell& cell, std::span<const double> v, NodeVectors* nodes);

  // Visits the moving particles by cell: visit(particle, kernel, velocities on its nodes).
  template <typename Visit>
  void ForEachParticle(std::span<const double> v, const Visit& visit) const {
    NodeVectors nodes;
    for (const ActiveGrid::Cell& cell : grid_.cells()) {
      Gather(cell, v, &nodes);
      for (int i = cell.first; i < cell.first + cell.count; ++i) {
        const int p = particle_at(i);
        visit(p, MakeKernel(p, cell), nodes);
      }
    }
  }

  // Calls compute(cell, terms) for all cells, in parallel, and then collect(cell, terms) in their
  // order. `kept` is scratch memory, one Terms for each concurrent cell.
  template <typename Terms, typename Compute, typename Collect>
  void ForEachCell(std::vector<Terms>* kept, const Compute& compute, const Collect& collect) const {
    const int count = static_cast<int>(grid_.cells().size());
    kept->resize(std::min(count, kCellsAtOnce));
    for (int first = 0; first < count; first += kCellsAtOnce) {
      const int some = std::min(kCellsAtOnce, count - first);
      ParallelFor(some, kCellsPerTask, [&](int k) { compute(first + k, &(*kept)[k]); });
      for (int k = 0; k < some; ++k) collect(first + k, (*kept)[k]);
    }
  }

  // Grid nodes that interpolate the velocity of a node of the block, with weights that sum to 1;
  // none for a particle that has stopped.
  struct GridWeights {
    int count = 0;
    std::array<int, kKernelNodes> nodes;
    std::array<double, kKernelNodes> weights;
  };
  GridWeights FindGridWeights(int node) const;
  // The same for a contact at p_W of the ball around a node: a particle of a liquid is moved there,
  // others as a whole.
  GridWeights FindContactWeights(int node, const Eigen::Vector3d& p_W) const;

  // The weights of nodes of the grid at x, but for those that have less than a fraction of the
  // largest mass.
  GridWeights FindGridWeightsAt(const Eigen::Vector3d& x, double min_mass_ratio) const;

  // Velocities of the block's nodes, and affine fields of its particles, from those of the grid.
  void CalcVelocities(std::span<const double> v, std::span<double> state_v) const;
  void CalcAffineFields(std::span<const double> v, std::vector<double>* internals) const;
  // Positions, velocities and internals at the end of the step. `state` may be the base.
  void Advance(std::span<const double> v, double h, MutableBlockState state) const;

 private:
  // Cells per task, and cells whose terms are in memory at once.
  static constexpr int kCellsPerTask = 4, kCellsAtOnce = 64;

  absl::Status Place(const BlockState& base);
  void StartParticles(const BlockState& base, double h);
  void Collect(std::span<const double> v);
  void AddBoundaryViscosity();
  bool spreads_liquid() const { return has_liquid_ && model_.grid.is_corrected; }
  void StopLeaving(MutableBlockState state) const;
  void ReturnStrayPoints(MutableBlockState state) const;
  Eigen::Vector3d PositionOf(int node) const {
    return {q0_[3 * std::size_t(node)], q0_[3 * std::size_t(node) + 1],
            q0_[3 * std::size_t(node) + 2]};
  }

  const ParticleModel& model_;
  const bool has_liquid_;
  double h_ = 0;
  ActiveGrid grid_;
  std::vector<double> q0_, node_v0_;  // copies, since the state may be advanced in place
  std::vector<char> is_active_;       // of each node of the block
  std::vector<ParticleStart> starts_;
  std::vector<double> masses_, momenta_, v0_;
  LiquidWalls walls_;
  LiquidSpread spread_;
};

}  // namespace pliant::physics
