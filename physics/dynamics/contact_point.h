#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "physics/dynamics/abilities/node_weights.h"

namespace pliant::physics {

inline constexpr int kWorldBlock = -1;

// A point that moves with a block: fixed to one of its rigid frames, or a weighted sum of its
// nodes.
struct Attachment {
  int block = kWorldBlock;  // index in Model::blocks; kWorldBlock: the fixed world
  int frame = 0;            // frame of the block, when there are no nodes
  NodeWeights nodes;        // weights sum to 1
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();  // position at the start of the step [m]

  // Whether the point moves with a frame, and not with nodes or the fixed world.
  bool is_on_frame() const { return block != kWorldBlock && nodes.empty(); }
};

// The geometric feature of a body on one side of a contact.
struct ContactFeature {
  enum class Kind : std::int8_t {
    kShape,  // one of Body::shapes
    // a vertex, edge or triangle of Body::surface: the attachment has one, two or three nodes
    kSurface,
    kPoint  // one of Body::points
  };
  Kind kind = Kind::kShape;
  int index = 0;  // of the shape or the point
};

// Contact between two moving attachments, common to all methods. Filled by contact/, read by
// stepping/. contact/kinematics.h computes how it changes with their motion.
struct ContactPoint {
  ContactPoint() {}  // left uninitialised for speed: there are thousands
  Attachment a, b;
  ContactFeature feature_a, feature_b;
  int body_a = -1, body_b = -1;  // indices in Model::bodies, body_a < body_b unless self-contact
  Eigen::Vector3d p_W;           // point of contact [m]
  Eigen::Matrix3d R_WC;          // contact frame; third column is nhat_AB_W, from A into B
  double gap = 0;        // signed distance at the start of the step [m], negative when overlapping
  double area = 0;       // [m²]; 0 for a point contact
  double stiffness = 0;  // [N/m]; infinite: as rigid as the conditioning allows
  double relaxation_time = 0;  // τ_d [s]
  double friction = 0;         // μ, kinetic
  // For methods that resolve slip speeds: the static coefficient, which falls to `friction` at the
  // Stribeck speed [m/s], and viscous friction [N·s/m]. A static coefficient below `friction` has
  // no effect.
  double static_friction = 0, stribeck_speed = 0, viscous_friction = 0;
  double restitution = 0;  // ratio of normal speeds after and before a collision
  // Speculative contacts only, which form in the course of the step; zero for present contacts:
  // time until contact [s] along the motion used in detection, and mean rate of the gap until then
  // [m/s], negative.
  double time_ahead = 0, gap_rate = 0;
  std::uint64_t key =
      0;  // persists from step to step while the same features touch; unique in a set

  bool is_speculative() const { return time_ahead > 0; }
  // True if both sides are on frames or the world: overlap can be corrected in their positions.
  bool is_between_frames() const { return a.nodes.empty() && b.nodes.empty(); }
};

// Impulse of a solved contact over the step, for reports, probes and streams.
struct ContactForce {
  int body_a = -1, body_b = -1;
  Eigen::Vector3d p_W;
  Eigen::Vector3d normal_W;          // nhat_AB_W
  double gap = 0;                    // at the start of the step [m]
  Eigen::Vector3d impulse_W;         // on B, over the step [N·s]
  NodeWeights nodes_a{}, nodes_b{};  // attachment nodes of each side; empty for a rigid frame
};

}  // namespace pliant::physics
