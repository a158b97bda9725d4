#pragma once

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/mpm/active_grid.h"
#include "physics/mpm/liquid_walls.h"
#include "physics/mpm/particle_model.h"

namespace pliant::physics {

class ParticleTransfer;

// Keeps the particles of liquids evenly spread, and their volume ratios J equal to what their
// density says.
//
// J follows the divergence of velocity at the particles, which is blind to compression between
// them: without correction, particles cluster, and a liquid at rest loses volume although J stays
// at 1. During a step, therefore, particles that are nearer to each other than their spacing, or to
// a surface than half of it, are displaced apart, and J relaxes to the reciprocal of the density
// around its particle.
class LiquidSpread {
 public:
  explicit LiquidSpread(const ParticleModel* model);

  // No displacements and no changes of volume.
  void Clear();
  // Evaluates the particles at the start of a step of length h.
  void Evaluate(const ParticleTransfer& transfer, const LiquidWalls& walls, double h);

  // Displacement of each particle over the step, besides its motion [m]. By surfaces apart, their
  // mean over a body is 0.
  std::span<const Eigen::Vector3d> displacements() const { return displacements_; }
  // By how much the volume ratio J with which a particle starts the step changes, besides what its
  // motion does. Nothing where its body touches no surface: only under pressure does J go wrong.
  double CalcVolumeChange(int particle, double J) const;

 private:
  // Matter around a particle, as the kernels see it.
  struct Surroundings {
    // Density in relation to that at rest. Next to a wall or a free surface, it is that of the side
    // which contains matter.
    double density = 0;
    double steepness = 0;  // of the fill: 0 within the matter, about 1 next to a free surface
  };

  // Whether a particle is one of a liquid, and moves.
  bool is_evaluated(int particle) const { return densities_[particle] > 0; }
  void CalcFill(const ParticleTransfer& transfer, const LiquidWalls& walls);
  void FindCells(const ActiveGrid& grid);
  Surroundings CalcSurroundings(const ParticleTransfer& transfer, int particle,
                                const ActiveGrid::Cell& cell) const;
  // Cells that touch a cell, and itself: indices in ActiveGrid::cells(), −1 without particles.
  std::array<int, 27> FindNeighbours(const ActiveGrid& grid, const ActiveGrid::Cell& cell) const;
  Eigen::Vector3d CalcRepulsion(const ParticleTransfer& transfer, int particle,
                                std::span<const int> neighbours) const;
  void CenterDisplacements();
  void LimitDisplacements();

  const ParticleModel& model_;
  std::vector<double> spacings_;  // of each particle [m]
  double h_ = 0, rate_ = 0;       // the fraction of the error in J that the step removes
  // Each grid node has the volume of matter per open volume of its cell. It has no open volume
  // behind walls.
  std::vector<double> fill_;
  std::vector<char> is_open_;
  std::vector<int> cells_;  // of each grid node: the cell of which it is the lowest, or −1
  // The density around each particle in relation to that at rest, and the error in J that its
  // uncertainty allows.
  std::vector<double> densities_, doubts_;
  std::vector<Eigen::Vector3d> displacements_;
  std::vector<char> touches_;  // of each body: whether it touches a surface
};

}  // namespace pliant::physics
