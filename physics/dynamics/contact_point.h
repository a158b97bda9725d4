#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

inline constexpr int kWorldBlock = -1;

// A point that moves with a block: with a rigid frame of it, or with up to four of its nodes by weights.
struct Attachment {
  int block = kWorldBlock;  // index in Model::blocks; kWorldBlock: the fixed world
  int frame = 0;            // frame of the block, when num_nodes = 0
  int num_nodes = 0;
  std::array<int, 4> nodes{};
  std::array<double, 4> weights{};                // sum to 1
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();  // where it is at the start of the step [m]
};

// What the normal of a contact goes along with when its sides move.
enum class NormalSource : std::uint8_t {
  kFixed,  // nothing that is known to turn
  kA,      // the rigid frame or the triangle of nodes on that side, whose face it is
  kB,
  kBoth,     // an edge of each: it is across them
  kBetween,  // a round side: it points from the centre of curvature of A to that of B
};

// Contact between two moving attachments, as every method sees it. Filled by contact/, read by stepping/.
struct ContactPoint {
  Attachment a, b;
  int body_a = -1, body_b = -1;  // indices in Model::bodies, body_a < body_b unless self-contact
  Eigen::Vector3d p_W;           // where the two touch [m]
  Eigen::Matrix3d R_WC;          // contact frame; third column is nhat_AB_W, from A into B
  double gap = 0;        // signed distance at the start of the step [m], negative when overlapping
  double area = 0;       // [m²]; 0 for a point contact
  double stiffness = 0;  // [N/m]; infinite: as rigid as the conditioning allows
  double relaxation_time = 0;  // τ_d [s]
  double friction = 0;         // μ, one value: static and kinetic coincide
  // How the contact changes while its sides move. Radii of curvature of each where it touches [m]: the point of a round side
  // rolls on it; 0 where the side is a face, an edge or a vertex, whose point is of the material.
  NormalSource normal_source = NormalSource::kFixed;
  double radius_a = 0, radius_b = 0;
  // For kBetween: of the round side, along which it is straight; zero of a ball.
  Eigen::Vector3d axis_W = Eigen::Vector3d::Zero();
  std::uint64_t key =
      0;  // the same from step to step while the same features touch; unique in a set
};

// What a solved contact exerts over the step, for reports, probes and streams.
struct ContactForce {
  int body_a = -1, body_b = -1;
  Eigen::Vector3d p_W;
  Eigen::Vector3d normal_W;   // nhat_AB_W
  double gap = 0;             // at the start of the step [m]
  Eigen::Vector3d impulse_W;  // on B, over the step [N·s]
  // What each side was attached to: nodes of its block by weights, none for a rigid frame.
  struct Side {
    int num_nodes = 0;
    std::array<int, 4> nodes{};
    std::array<double, 4> weights{};
  };
  Side a{}, b{};
};

}  // namespace pliant::physics
