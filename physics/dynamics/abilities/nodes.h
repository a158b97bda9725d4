#pragma once

#include <Eigen/Core>

#include "physics/dynamics/block_state.h"
#include "physics/dynamics/contact_point.h"

namespace pliant::physics {

// Consecutive nodes or elements that form one body of a block.
struct IndexRange {
  int first = 0, count = 0;
};

// A block that moves nodes: points whose positions are the first 3 num_nodes() numbers of its q [m,
// W], and whose velocities are the first 3 num_nodes() numbers of its v [m/s, W]. Its other
// coordinates, such as rotations of nodes, follow them. A block may hold several bodies (all
// particles of a world share a grid): each is a `part` of it (Body::part) with a range of the
// nodes.
class NodeSet {
 public:
  virtual ~NodeSet() = default;
  virtual int num_nodes() const = 0;
  virtual IndexRange nodes_of(int /*part*/) const { return {0, num_nodes()}; }
  // True if a node's motion is prescribed by a body that the block follows.
  virtual bool is_node_prescribed(int /*node*/) const { return false; }
  // As FrameSet::contact_beta. Deformable bodies have many contacts on light nodes; stiffer
  // contacts would cost iterations.
  virtual double contact_beta() const { return 1; }
  // Velocity of a point attached to nodes [m/s].
  virtual Eigen::Vector3d CalcPointVelocity(const BlockState& state,
                                            const Attachment& point) const = 0;
  // Angular velocity in W of the rigid motion with the same angular momentum of the part about its
  // centre of mass, ω = I⁻¹ L [rad/s].
  virtual Eigen::Vector3d CalcAngularVelocity(const BlockState& state, int part) const = 0;
  // Bound on speeds within the block that are not node velocities, such as those due to the
  // velocity gradients of particles [m/s].
  virtual double CalcInnerSpeed(const BlockState& /*state*/) const { return 0; }
  // Rate at which the block rotates, or the largest rotation or shear rate of its parts if its step
  // assumes that these are small within a step [rad/s].
  virtual double CalcRotationRate(const BlockState& state) const;
};

}  // namespace pliant::physics
