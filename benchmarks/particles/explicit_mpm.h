#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/dynamics/abilities/frames.h"
#include "physics/dynamics/model.h"
#include "physics/geometry/shape.h"
#include "physics/mpm/kernel.h"
#include "physics/mpm/materials/particle_material.h"

namespace pliant::benchmarks {

// A rigid body as explicit particles meet it during a substep.
struct Obstacle {
  std::span<const physics::Shape> shapes;  // in the body's frame
  physics::FrameMotion motion;
  Eigen::Vector3d center = Eigen::Vector3d::Zero();  // of mass, W [m]
  double friction = 0;
};

// Impulse of the particles on a rigid body.
struct ObstacleImpulse {
  Eigen::Vector3d linear = Eigen::Vector3d::Zero();   // W [N·s]
  Eigen::Vector3d angular = Eigen::Vector3d::Zero();  // about the centre of mass, W [N·m·s]
};

// Elastic particles stepped explicitly, a baseline for the convex method: APIC with quadratic
// B-splines and lumped mass, symplectic Euler, and the linear corotational energy with the rotation
// at the start of the substep.
//
// Contact is an exchange of inelastic Coulomb impulses with rigid bodies, whose velocities are
// given. A particle touches a body as a ball that reaches the surface of the fill. Nodes that it
// reaches, and that are within half a cell of the body or inside, then stop approaching, and stick
// or slide by the friction cone. This is the exact solution for each node, since mass is lumped.
// The normal is that of the distance at the particles: inside a box, that at a node is ambiguous
// near edges.
class ExplicitParticles {
 public:
  // The particles of `model`, all linear corotational, at rest. `cell_size`: of the grid [m].
  ExplicitParticles(const physics::Model& model, double cell_size);

  // Takes a substep of length dt [s]. False if the particles have blown up: they span too many
  // cells, or are not finite.
  bool Step(double dt, std::span<const Obstacle> obstacles);
  // Impulses of the last substep, of each obstacle.
  std::span<const ObstacleImpulse> impulses() const { return impulses_; }

  // Largest stable substep: the cell size over the speed of compression waves [s].
  double CalcCourantLimit() const;
  int num_particles() const { return static_cast<int>(particles_.size()); }

 private:
  struct Particle {
    Eigen::Vector3d x, v = Eigen::Vector3d::Zero();
    Eigen::Matrix3d C = Eigen::Matrix3d::Zero(), F = Eigen::Matrix3d::Identity();
    double mass, volume, radius;
    int body;
  };
  // A linear corotational material; none of bodies that are no particles.
  struct Material {
    double parameters[2] = {};  // Young's modulus [Pa], Poisson's ratio
    double density = 0;         // [kg/m³]
  };
  // A particle that touches an obstacle, with the normal out of the obstacle.
  struct Touch {
    int particle;
    Eigen::Vector3d normal;
  };

  bool PlaceGrid();
  // Calls visit(node, a) for the nodes a of the particle's kernel.
  template <typename Visit>
  void ForEachNode(const Particle& particle, const Visit& visit) const;
  physics::Kernel MakeKernel(const Particle& particle) const;
  Eigen::Vector3d PositionOf(int node) const;
  void MoveToGrid(double dt);
  ObstacleImpulse Exchange(const Obstacle& obstacle);
  void FindTouches(const Obstacle& obstacle);
  void MoveFromGrid(double dt);

  const double cell_size_;
  const Eigen::Vector3d gravity_;
  const physics::ParticleMaterial& elastic_;
  std::vector<Material> materials_;  // of each body of the model
  std::vector<Particle> particles_;
  // grid of a substep: lowest node, nodes along each axis, and their masses and velocities
  physics::GridIndex low_{}, size_{};
  std::vector<double> masses_;
  std::vector<Eigen::Vector3d> velocities_;
  std::vector<ObstacleImpulse> impulses_;
  // scratch of Exchange: normals of nodes, and which have one
  std::vector<Touch> touches_;
  std::vector<Eigen::Vector3d> normals_;
  std::vector<int> nodes_;
};

}  // namespace pliant::benchmarks
