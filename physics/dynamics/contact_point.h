#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "physics/dynamics/abilities/node_weights.h"

namespace pliant::physics {

inline constexpr int kWorldBlock = -1;

// A point that moves with a block: with a rigid frame of it, or with any number of its nodes by
// weights.
struct Attachment {
  int block = kWorldBlock;  // index in Model::blocks; kWorldBlock: the fixed world
  int frame = 0;            // frame of the block, when there are no nodes
  NodeWeights nodes;        // weights sum to 1
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();  // where it is at the start of the step [m]
};

// What of a body touches on one side of a contact.
struct ContactFeature {
  enum class Kind : std::int8_t {
    kShape,  // one of Body::shapes
    // a vertex, an edge or a triangle of Body::surface, as the attachment has one, two or three
    // nodes
    kSurface,
    kPoint  // one of Body::points
  };
  Kind kind = Kind::kShape;
  int index = 0;  // of the shape or the point
};

// Contact between two moving attachments, as every method sees it. Filled by contact/, read by
// stepping/. contact/kinematics.h computes how it changes when the two move.
struct ContactPoint {
  ContactPoint() {}  // not zeroed before it is filled: there are thousands
  Attachment a, b;
  ContactFeature feature_a, feature_b;
  int body_a = -1, body_b = -1;  // indices in Model::bodies, body_a < body_b unless self-contact
  Eigen::Vector3d p_W;           // where the two touch [m]
  Eigen::Matrix3d R_WC;          // contact frame; third column is nhat_AB_W, from A into B
  double gap = 0;        // signed distance at the start of the step [m], negative when overlapping
  double area = 0;       // [m²]; 0 for a point contact
  double stiffness = 0;  // [N/m]; infinite: as rigid as the conditioning allows
  double relaxation_time = 0;  // τ_d [s]
  double friction = 0;         // μ, one value: static and kinetic coincide
  // Of a speculative contact, which the two make only in the course of the step: after which time
  // of the motion that it was looked for along [s], and at which mean rate its gap falls until then
  // [m/s], negative. Zero of what touches already.
  double time_ahead = 0, gap_rate = 0;
  std::uint64_t key =
      0;  // the same from step to step while the same features touch; unique in a set

  bool is_speculative() const { return time_ahead > 0; }
};

// What a solved contact exerts over the step, for reports, probes and streams.
struct ContactForce {
  int body_a = -1, body_b = -1;
  Eigen::Vector3d p_W;
  Eigen::Vector3d normal_W;          // nhat_AB_W
  double gap = 0;                    // at the start of the step [m]
  Eigen::Vector3d impulse_W;         // on B, over the step [N·s]
  NodeWeights nodes_a{}, nodes_b{};  // that each side was attached to; none of a rigid frame
};

}  // namespace pliant::physics
