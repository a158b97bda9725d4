#pragma once

#include <span>

#include <Eigen/Core>

#include "physics/dynamics/block.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Poses and velocities of frames and nodes, at the start of a step or at a solver's trial point.
struct TrialConfiguration {
  // of each block, first index in `frames`; arbitrary for a block whose frames touch nothing
  std::span<const int> first_frame;
  std::span<const FrameMotion> frames;
  // of each block, first index in `positions` and `velocities`
  std::span<const int> first_node;
  std::span<const double> positions;   // three numbers a node [m]
  std::span<const double> velocities;  // [m/s]; needed for contact velocities only

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
  // Contact point of each side, and its core: the centre of the ball, disc or ellipsoid to which a
  // round side belongs; otherwise the point itself.
  Eigen::Vector3d p_A, p_B;
  Eigen::Vector3d core_A, core_B;
};

// First derivatives of a placed contact. Columns are the directions in which the sides move, six
// for A, then six for B: rotations in W, and displacements. A frame rotates about Bo. A side with
// nodes is displaced by the weighted sum of their displacements, and rotates with the triangle or
// the edge that its first nodes span. Columns of a side fixed to the world are of no use.
struct ContactDerivatives {
  using Columns = Eigen::Matrix<double, 3, 12>;
  Columns normal, p_A, p_B;  // of nhat_AB_W and of the contact points
  Eigen::Matrix<double, 1, 12> gap;
  // Rotation by the displacements of the first nodes [1/m].
  struct Turn {
    int num_nodes = 0;
    Eigen::Matrix3d of_node[3];
  };
  Turn turns[2];  // of A and B
};

// Kinematics of one contact as its sides move: the touching features, as they were at the start of
// the step, placed at any configuration. Normals rotate with their face, triangle or edges. Round
// sides roll: their contact point stays where their own normal is the contact's. The rim of a
// cylinder is round, too, unless it lies nearly flat.
//
// For a speculative contact, the features are those at the time of contact.
//
// First derivatives follow from the rows of the attachments: d gap / dt = n · (v_B − v_A) at p_A
// and p_B.
class ContactKinematics {
 public:
  // The contact at `start`, where it was detected. `contact` outlives this object; its frame, gap
  // and points may be overwritten meanwhile.
  ContactKinematics(const Model& model, const ContactPoint& contact,
                    const TrialConfiguration& start);

  PlacedContact Place(const TrialConfiguration& trial) const;

  PlacedContact Differentiate(const TrialConfiguration& trial,
                              ContactDerivatives* derivatives) const;

  // v_B − v_A at the contact, in W [m/s].
  Eigen::Vector3d CalcRelativeVelocity(const TrialConfiguration& trial,
                                       const PlacedContact& placed) const;

  // The side of which the other touches a face or a triangle; 0: neither, −1: A, 1: B. The contact
  // moves along the face, with the other side.
  int face_side() const {
    return source_ == NormalSource::kA ? -1 : source_ == NormalSource::kB ? 1 : 0;
  }

  const Attachment& attachment_a() const { return contact_->a; }
  const Attachment& attachment_b() const { return contact_->b; }
  const Eigen::Vector3d& core_start_a() const { return a_.core_start; }
  const Eigen::Vector3d& core_start_b() const { return b_.core_start; }

 private:
  // The feature that the normal rotates with.
  enum class NormalSource : unsigned char {
    kFixed,  // none: constant
    kA,      // the face of A: its frame or triangle of nodes
    kB,
    kBoth,     // both frames, averaged
    kEdges,    // an edge of each side: perpendicular to both
    kBetween,  // a round side: from the centre of curvature of A to that of B
  };
  struct Side {
    // Semi-axes of the ellipsoid to which a round side belongs [m], and its rotation in the frame.
    // All are equal for a ball; the third is zero for a rim; all are zero for a face, edge or
    // vertex.
    Eigen::Vector3d radii = Eigen::Vector3d::Zero();
    Eigen::Matrix3d R_FE = Eigen::Matrix3d::Identity();
    Eigen::Vector3d core;        // in the frame, or in W relative to the weighted nodes
    Eigen::Vector3d core_start;  // in the world
    // direction of a shape's edge, in the frame
    Eigen::Vector3d edge = Eigen::Vector3d::Zero();
    // direction in which a round shape is straight, in the frame
    Eigen::Vector3d axis = Eigen::Vector3d::Zero();
    Eigen::Matrix3d triad;  // of a frame or a triangle, where the contact was found
    bool has_triad = false;
  };

  void CompleteSide(const Attachment& attachment, const Eigen::Vector3d& outward,
                    const Eigen::Matrix3d& R_WF, bool is_triangle, const TrialConfiguration& start,
                    Side* side) const;
  // Rotation of a side's frame or triangle since the contact was found; identity if it has none.
  Eigen::Matrix3d CalcTurn(const Side& side, const Attachment& attachment,
                           const TrialConfiguration& trial) const;
  Eigen::Vector3d PlaceEdge(const Side& side, const Attachment& attachment,
                            const TrialConfiguration& trial) const;
  // From the centre of A to that of B, across the axes along which sides are straight.
  Eigen::Vector3d CalcCentreLine(const TrialConfiguration& trial, const Eigen::Vector3d& core_A,
                                 const Eigen::Vector3d& core_B) const;
  Eigen::Matrix3d CalcFrame(const TrialConfiguration& trial, const Eigen::Vector3d& core_A,
                            const Eigen::Vector3d& core_B) const;
  void DifferentiateTurn(const Side& side, const Attachment& attachment,
                         const TrialConfiguration& trial, ContactDerivatives::Turn* turn) const;
  void DifferentiateNormal(const TrialConfiguration& trial, const PlacedContact& placed,
                           const ContactDerivatives::Columns& core_A,
                           const ContactDerivatives::Columns& core_B,
                           ContactDerivatives::Columns* normal) const;

  const ContactPoint* contact_;
  // where the contact was found
  Eigen::Matrix3d R_WC_;
  double gap_;
  Side a_, b_;
  NormalSource source_ = NormalSource::kFixed;
};

// Jacobian of a point's velocity in the frame's (ω, v_Bo): [−(p − Bo)×, I].
Eigen::Matrix<double, 3, 6> CalcPointJacobian(const RigidTransform& X_WB,
                                              const Eigen::Vector3d& p_W);

}  // namespace pliant::physics
