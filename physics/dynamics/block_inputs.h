#pragma once

#include <vector>

#include <Eigen/Core>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// An external force on a block, resolved to its frame or node.
struct BlockForce {
  int frame = -1;  // −1: on `node`; both −1: spread over the nodes of `part` by mass
  int node = -1;
  int part = 0;
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();  // point of application, when on a frame
  bool at_center_of_mass = true;
  Eigen::Vector3d force_W = Eigen::Vector3d::Zero();
  Eigen::Vector3d torque_W = Eigen::Vector3d::Zero();
};

// An effort on one channel of a block, in the block's numbering: a generalised force on a velocity
// of a joint tree, or an internal volumetric stress in a region of a deformable body. Efforts on
// one channel add up.
struct ChannelEffort {
  int channel;
  double effort;  // [N·m], [N] or [Pa]
};

// Sets the gauge pressure at rest of one of a block's volumes (VolumeSet); it holds until it is set
// again.
struct VolumePressure {
  int volume;
  double gauge;  // [Pa]
};

// Loads and prescribed targets of a block in one step.
struct BlockInputs {
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();  // [m/s²]
  std::vector<BlockForce> forces;
  std::vector<ChannelEffort> efforts;
  std::vector<VolumePressure> pressures;
  // Prescribed poses at the end of the step, of the bodies in PrescribedMotion::followed_bodies()
  // and in that order.
  std::vector<RigidTransform> targets;
};

// A block whose motion is prescribed, in whole or in part.
class PrescribedMotion {
 public:
  virtual ~PrescribedMotion() = default;
  // Model::bodies whose prescribed motion the block follows: itself for a kinematic body; the
  // bodies to which prescribed vertices are attached for a deformable one; −1 is the world.
  virtual std::vector<int> followed_bodies() const = 0;
  // True if all of its motion is prescribed: a step of the block has no unknowns.
  virtual bool is_complete() const { return false; }
};

}  // namespace pliant::physics
