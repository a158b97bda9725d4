#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/mpm/particle_model.h"
#include "physics/mpm/particle_transfer.h"

namespace pliant::physics {

// Directions of the plastic flow of particles that yield, as unknowns of Newton's method in a step.
//
// A yielding particle resists with a stress of constant size along N = dev ε / ‖dev ε‖. Where
// strains of a step are many times the yield strain, N turns widely between two iterations, a
// tangent at N holds in a small neighbourhood only, and line searches cut steps short: fifty
// iterations and more. With N as a separate unknown in ‖dev ε‖ N = dev ε, linearised like all else
// and kept at ‖N‖ ≤ 1, there are a few (the primal-dual method of Chan, Golub and Mulet 1999 for
// total variation, which is the same problem).
class PlasticFlow {
 public:
  // `transfer`: the particles of the step on their grid.
  PlasticFlow(const ParticleModel* model, const ParticleTransfer* transfer);

  // Forgets all directions: 0.
  void Start();
  // Sets the directions at node velocities v in a step of length h, where tangents are the exact
  // derivatives then.
  void Set(std::span<const double> v, double h);
  // Newton's update for a step from H by `change`. Different particles may be updated concurrently.
  void Advance(int particle, const Eigen::Matrix3d& H, const Eigen::Matrix3d& change);
  // The same for all particles, and a step from node velocities v by `change`, of length h.
  void Advance(std::span<const double> v, std::span<const double> change, double h);

  // Response of a particle to H, with the tangent that Newton's method uses.
  void Respond(int particle, const Eigen::Matrix3d& H, ParticleResponse* response) const;

 private:
  const ParticleModel& model_;
  const ParticleTransfer& transfer_;
  std::vector<Eigen::Matrix3d> directions_;  // of each particle; empty if none yields
  std::vector<double> zero_;
};

}  // namespace pliant::physics
