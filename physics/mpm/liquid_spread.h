#pragma once

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/mpm/active_grid.h"
#include "physics/mpm/particle_model.h"

namespace pliant::physics {

class ParticleTransfer;

// Keeps the particles of liquids evenly spread, and their volume ratios J equal to what their
// density says.
//
// J follows the divergence of velocity at the particles, which is blind to compression between
// them: without correction, particles cluster, and a liquid at rest loses volume although J stays
// at 1. Between two steps, therefore, particles that are nearer to each other than their spacing
// are displaced apart, and J relaxes to the reciprocal of the density around its particle.
class LiquidSpread {
 public:
  explicit LiquidSpread(const ParticleModel* model);

  // Evaluates the particles at the start of a step of length h, once they are on the grid.
  void Evaluate(const ParticleTransfer& transfer, double h);

  // Displacement of each particle over the step, besides its motion; their mean over a body is 0
  // [m].
  std::span<const Eigen::Vector3d> displacements() const { return displacements_; }
  // Volume ratio with which a particle starts the step, if its own is J.
  double CorrectVolumeRatio(int particle, double J) const;

 private:
  // Matter around a particle, as the kernels see it.
  struct Surroundings {
    // Density in relation to that at rest. Next to a wall or a free surface, it is that of the side
    // which contains matter.
    double density = 0;
    double steepness = 0;  // of the fill: 0 within the matter, about 1 next to a boundary
    // Towards the nearest boundary of the matter, at full length next to it, and zero within.
    Eigen::Vector3d outward = Eigen::Vector3d::Zero();
  };

  // Whether a particle is one of a liquid, and moves.
  bool is_evaluated(int particle) const { return densities_[particle] > 0; }
  void CalcFill(const ParticleTransfer& transfer);
  void FindCells(const ActiveGrid& grid);
  Surroundings CalcSurroundings(const ParticleTransfer& transfer, int particle,
                                const ActiveGrid::Cell& cell) const;
  // Cells that touch a cell, and itself: indices in ActiveGrid::cells(), −1 without particles.
  std::array<int, 27> FindNeighbours(const ActiveGrid& grid, const ActiveGrid::Cell& cell) const;
  Eigen::Vector3d CalcRepulsion(const ParticleTransfer& transfer, int particle,
                                std::span<const int> neighbours) const;
  void CenterDisplacements();

  const ParticleModel& model_;
  std::vector<double> spacings_;  // of each particle [m]
  double rate_ = 0;               // fraction of the error in J that the step removes
  std::vector<double> fill_;      // of each grid node: volume of matter per cell
  std::vector<int> cells_;        // of each grid node: the cell of which it is the lowest, or −1
  // The density around each particle in relation to that at rest, and the error in J that its
  // uncertainty allows.
  std::vector<double> densities_, doubts_;
  std::vector<Eigen::Vector3d> displacements_;
};

}  // namespace pliant::physics
