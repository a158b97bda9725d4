#pragma once

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/dynamics/contact_point.h"
#include "physics/mpm/particle_model.h"

namespace pliant::physics {

class ParticleTransfer;

// The surfaces that particles of liquids touch in a step, as the nodes of the grid see them.
class LiquidWalls {
 public:
  // A particle and a surface.
  struct Touch {
    int particle;
    Eigen::Vector3d p_W;     // Attachment::p_W of its contact [m]
    Eigen::Vector3d normal;  // from the surface to the particle
    double distance;         // of the particle's centre; negative beyond the surface [m]
    int next;                // touch of the same particle, or −1
  };

  explicit LiquidWalls(const ParticleModel* model);

  void Clear();
  // Finds the touches among the contacts of a step; `block` is the index of the particles' block.
  void Find(const ParticleTransfer& transfer, int block, std::span<const ContactPoint> contacts);

  std::span<const Touch> touches() const { return touches_; }
  // The touch of a particle whose contact is attached at p_W, or null.
  const Touch* FindTouch(int particle, const Eigen::Vector3d& p_W) const;
  // Fraction of the kernel of a grid node that is outside the surfaces.
  double CalcOpenPart(int node) const;
  // Factor on the weight of a grid node in contacts with the normal n, with which equal forces on
  // all particles at a surface are in equilibrium with a uniform pressure.
  double CalcWeightFactor(int node, const Eigen::Vector3d& n) const;

 private:
  // A surface close to a grid node, by sums over its touches.
  struct Plane {
    Eigen::Vector3d normal;
    Eigen::Vector3d point;    // Σ weight · point on the surface [m]
    double distance, weight;  // Σ weight · distance of the node [m], Σ weight
  };
  struct Planes {
    int count = 0;
    std::array<Plane, 3> of;
  };

  void AddPlane(const ParticleTransfer& transfer, const Touch& touch);
  void CalcAreas(const ParticleTransfer& transfer);

  const ParticleModel& model_;
  std::vector<Touch> touches_;
  std::vector<int> first_touch_;  // of each particle, or −1
  // Each grid node has its planes, the area vector of the boundary of the matter, −Σ V ∇w [m²], and
  // the part of this vector that the contacts represent.
  std::vector<Planes> planes_;
  std::vector<Eigen::Vector3d> boundary_, touched_;
};

}  // namespace pliant::physics
