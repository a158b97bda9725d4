#pragma once

#include <span>

#include <Eigen/Core>

#include "physics/dynamics/block.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Where frames and nodes are and how they move: at the start of a step, or wherever a solver tries
// them.
struct TrialConfiguration {
  // of each block, in `frames`; any of a block whose frames nothing touches
  std::span<const int> first_frame;
  std::span<const FrameMotion> frames;
  // of each block, its first number in `positions` and `velocities`
  std::span<const int> first_node;
  std::span<const double> positions;   // three numbers a node [m]
  std::span<const double> velocities;  // [m/s]; only read for velocities of contacts

  const FrameMotion& frame(int block, int index) const {
    return frames[first_frame[block] + index];
  }
  Eigen::Vector3d position(int block, int node) const {
    return VectorAt(positions, first_node[block] + 3 * node);
  }
  Eigen::Vector3d velocity(int block, int node) const {
    return VectorAt(velocities, first_node[block] + 3 * node);
  }
};

// A contact at a trial configuration.
struct PlacedContact {
  double gap;            // [m]
  Eigen::Matrix3d R_WC;  // third column is nhat_AB_W
  // Where each side touches, and what that point is computed from: the centre of curvature of a
  // round side, which the point is a radius away from along the normal, and the point itself of
  // another.
  Eigen::Vector3d p_A, p_B;
  Eigen::Vector3d core_A, core_B;
};

// How one contact changes while its sides move: the pair of features that touch, as they were at
// the start of the step, placed at any configuration. Normals turn with the face, triangle or edges
// that they belong to; round sides roll: their point stays on the line between the centres.
//
// First derivatives follow from rows of the attachments: d gap / dt = n · (v_B − v_A) at p_A and
// p_B.
class ContactKinematics {
 public:
  // The contact as it is at `start`, where it was detected. `contact` outlives it; its frame, its
  // gap and its points may be overwritten meanwhile.
  ContactKinematics(const Model& model, const ContactPoint& contact,
                    const TrialConfiguration& start);

  PlacedContact Place(const TrialConfiguration& trial) const;

  // v_B − v_A where the two touch, in the world [m/s].
  Eigen::Vector3d CalcRelativeVelocity(const TrialConfiguration& trial,
                                       const PlacedContact& placed) const;

  const Attachment& attachment_a() const { return contact_->a; }
  const Attachment& attachment_b() const { return contact_->b; }
  // of curvature [m]; 0 of a face, an edge or a vertex
  double radius_a() const { return a_.radius; }
  double radius_b() const { return b_.radius; }
  const Eigen::Vector3d& core_start_a() const { return a_.core_start; }
  const Eigen::Vector3d& core_start_b() const { return b_.core_start; }

 private:
  // What the normal goes along with.
  enum class NormalSource : unsigned char {
    kFixed,  // nothing that is known to turn
    kA,      // the frame or the triangle of nodes on that side, whose face it is
    kB,
    kBoth,     // both frames, by halves
    kEdges,    // an edge of each: it is across them
    kBetween,  // a round side: it points from the centre of curvature of A to that of B
  };
  struct Side {
    double radius = 0;
    Eigen::Vector3d core;        // in the frame, or in the world beside the weighed nodes
    Eigen::Vector3d core_start;  // in the world
    // of a shape's edge: its direction in the frame
    Eigen::Vector3d edge = Eigen::Vector3d::Zero();
    // along which a round shape is straight, in the frame
    Eigen::Vector3d axis = Eigen::Vector3d::Zero();
    Eigen::Matrix3d triad;  // of a frame or a triangle, at the start
    bool has_triad = false;
  };

  Side MakeSide(const Attachment& attachment, const Eigen::Vector3d& outward, double radius,
                bool is_triangle, const TrialConfiguration& start) const;
  Eigen::Vector3d PlaceCore(const Side& side, const Attachment& attachment,
                            const TrialConfiguration& trial) const;
  Eigen::Matrix3d CalcTurn(const Side& side, const Attachment& attachment,
                           const TrialConfiguration& trial) const;
  Eigen::Vector3d PlaceEdge(const Side& side, const Attachment& attachment,
                            const TrialConfiguration& trial) const;
  Eigen::Matrix3d CalcFrame(const TrialConfiguration& trial, const Eigen::Vector3d& core_A,
                            const Eigen::Vector3d& core_B) const;

  const ContactPoint* contact_;
  // as they were at the start
  Eigen::Matrix3d R_WC_;
  double gap_;
  Eigen::Vector3d p_AB_;  // the sides of a contact that is still to come start apart
  Side a_, b_;
  NormalSource source_ = NormalSource::kFixed;
};

// How a point of a frame moves by (ω, v) of its origin: [−(p − Bo)×, I].
Eigen::Matrix<double, 3, 6> CalcPointJacobian(const RigidTransform& X_WB,
                                              const Eigen::Vector3d& p_W);

}  // namespace pliant::physics
