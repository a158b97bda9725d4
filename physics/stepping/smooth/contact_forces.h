#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/contact/kinematics.h"
#include "physics/stepping/smooth/balance_blocks.h"
#include "physics/stepping/smooth/smooth_contact.h"
#include "physics/stepping/step/stages.h"
#include "solvers/linalg/lu/block_sum.h"

namespace pliant::physics {

// Forces of the contacts of a step in the smooth balance, and their derivatives.
class ContactForces {
 public:
  explicit ContactForces(const BalanceBlocks* blocks) : blocks_(*blocks) {}

  // Takes the contact points of a step from `state`, and `contacts` on them, which may be made
  // later.
  void Start(const StepStages& stages, const State& state, std::vector<SmoothContact>* contacts);
  // Points of the step. Those on a posed block are attached to nodes of their own, which move by
  // the block's rows.
  std::span<const ContactPoint> points() const { return points_; }

  // Begins a trial point of a stage of length c [s]. Appends these nodes to the positions and
  // velocities of all others.
  void Place(double c, std::span<const double> v, std::vector<double>* positions,
             std::vector<double>* velocities);
  // Subtracts the impulses that the contacts exert on nodes within c from r, and adds their forces
  // to the wrenches on frames. Adds the squares of the impulses over masses to *squares; `weights`
  // as of SmoothBalance. False where a contact is beyond its barrier.
  bool Add(const TrialConfiguration& trial, double c, std::span<const double> weights,
           std::span<double> r, std::span<SpatialColumns> wrenches, double* squares);
  // Makes the trial points at which AddJacobian is called from now on the iterates of one solve.
  void StartSolve() { duals_.assign(contacts_->size(), {}); }
  // Adds the derivatives of −c Jᵀ F at the last trial point, for the c of Add. Within a solve the
  // direction of friction is an unknown of its own (FrictionDual).
  void AddJacobian(const TrialConfiguration& trial, bool with_sliding_basis,
                   solvers::BlockSum* jacobian);

  // At the last trial point.
  const std::vector<SmoothContactForce>& forces() const { return forces_; }

 private:
  // A node of a contact on a posed block: its rows on the unknowns are some of posed_rows_.
  struct Node {
    Eigen::Vector3d start_W, prescribed_W;
    int first_row, num_rows;
  };
  struct PosedRow {
    int first, columns;  // unknowns
    std::size_t values;  // 3 × columns, column-major
  };
  // A velocity on which a contact depends: the load on its side that it feels, and the changes by
  // it of the loads on A and on B, which are torque and force as in SmoothContactTangent, and of
  // the gap.
  struct Velocity {
    int index;
    Eigen::Vector<double, 6> load_map, changes[2];
    double gap_change;
  };
  bool IsPosed(const Attachment& side) const {
    return side.block != kWorldBlock && blocks_.posed(side.block) != nullptr;
  }
  void AttachToPosed(const State& state, Attachment* side);
  std::span<const PosedRow> RowsOf(int node) const {
    return std::span(posed_rows_).subspan(nodes_[node].first_row, nodes_[node].num_rows);
  }
  Eigen::Vector3d ColumnOf(const PosedRow& row, int j) const {
    return VectorAt(std::span<const double>(posed_values_), static_cast<int>(row.values) + 3 * j);
  }
  // Calls f(unknown, J) for each unknown on which the velocity of a node of the side depends.
  template <typename F>
  void VisitUnknowns(const Attachment& side, int node, const F& f) const;
  const FrameDerivatives& DerivativesOf(const TrialConfiguration& trial, const Attachment& side);
  void FindVelocities(const TrialConfiguration& trial, const SmoothContact& contact,
                      const SmoothContactTangent& tangent, int side);
  void AddTangent(const TrialConfiguration& trial, const SmoothContact& contact,
                  const SmoothContactTangent& tangent, bool acts, solvers::BlockSum* jacobian);
  void AddWithin(const Attachment& on, const Attachment& of, solvers::BlockSum* jacobian) const;

  const BalanceBlocks& blocks_;
  std::vector<SmoothContact>* contacts_ = nullptr;
  std::span<const ContactPoint> points_;
  std::vector<ContactPoint> attached_points_;  // if any block is posed
  std::vector<Node> nodes_;
  std::vector<PosedRow> posed_rows_;
  std::vector<double> posed_values_;

  // the trial point
  double c_ = 0;
  std::vector<SmoothContactForce> forces_;
  std::vector<solvers::FrictionDual> duals_;   // of the contacts in a solve
  std::vector<FrameDerivatives> derivatives_;  // of each frame
  std::vector<char> has_derivatives_;

  // Scratch.
  BlockRows rows_;
  std::vector<Velocity> velocities_[2];  // of the sides
  Eigen::MatrixXd block_;
};

}  // namespace pliant::physics
