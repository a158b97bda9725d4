#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "physics/stepping/step/stages.h"
#include "solvers/corrective/recursive_correction.h"

namespace pliant::physics {

// Where the contacts and constraints of a posed step are once what carries them has moved (zeng2022 §5): nodes by their
// velocities, rigid frames by the exact map of their blocks' trial positions. Frames of contacts turn with the features that
// their normals belong to, round sides roll, and constraints between points follow these.
//
// It poses the corrective problem too. Carriers are all nodes and rigid frames of contacts and constraints, and single
// velocities that constraints name; a frame is told by its angular velocity and the velocity of its origin.
class CorrectiveGeometry final : public solvers::Relinearisation {
 public:
  CorrectiveGeometry(const Model& model, const StepStages& stages)
      : model_(model), stages_(stages) {}

  // The problem of a step that starts from `state`, linearised there. Contacts first, then scalar constraints, whose bounds,
  // error and compliance are left to the caller.
  void Build(const State& state, double h, solvers::CorrectiveProblem* problem);

  // Takes the problem back to the linearisation at the start of the step.
  void Reset(solvers::CorrectiveProblem* problem);

  // What a constraint's displacement is at the start of the step.
  void SetError(int constraint, double error) { errors_[constraint] = error; }

  // `compliance` of that problem, for the motion of blocks between recursions.
  void SetCompliance(const solvers::MappingCompliance* compliance) { compliance_ = compliance; }

  void Update(std::span<const double> y, std::span<const double> F, int first, int last,
              solvers::CorrectiveProblem* problem) override;

 private:
  enum class CarrierKind { kNode, kFrame, kVelocity };
  struct CarrierKey {
    int block;
    CarrierKind kind;
    int index;
    auto operator<=>(const CarrierKey&) const = default;
  };
  struct Carrier {
    CarrierKey key;
    int height;
    int active;  // −1: prescribed
    int row;
  };
  // One side of a contact, or one term of a constraint: what it is carried by. Parts of the problem, in the same order.
  struct Side {
    int first_part = 0, num_parts = 0;
    int carrier[4] = {-1, -1, -1, -1};  // of each part; none: the world
    double weight[4] = {};
    double sign = 1;  // of the velocity in the contact's
    bool is_frame = false;
    int moved = -1;         // index in start_ and moved_ of a frame
    double radius = 0;      // of a round side
    Eigen::Vector3d core;   // in the frame: the centre of curvature, or the point itself
    Eigen::Vector3d start;  // of the same in the world
  };
  struct Term {
    Side side;
    Eigen::Vector3d linear, angular;
    double factor = 0;
    bool is_velocity = false;
  };
  // How a contact is at the start of the step.
  struct Start {
    Side a, b;
    Eigen::Matrix3d R_WC;
    double gap;
    Eigen::Vector3d apart;  // from A to B, of a contact that is still to come
    NormalSource source;
    Eigen::Vector3d axis;  // in the frame of the round side
  };
  struct Moved {
    Eigen::Vector3d core, spin;  // where it is, and its angular velocity
  };

  int FindCarrier(const CarrierKey& key) const;
  void CollectCarriers();
  void AppendRows(const Carrier& carrier, solvers::CorrectiveProblem* problem);
  Side MakeSide(const Attachment& attachment, const Eigen::Vector3d& core, double sign,
                solvers::CorrectiveProblem* problem);
  void UpdatePoses(std::span<const double> F, int first, int last);
  void MoveBlock(int block, std::span<const double> F);
  Moved Move(const Side& side, std::span<const double> y) const;
  // What carries its part of the normal: a rotation since the start. False when it has none.
  bool CalcTurn(const Side& side, std::span<const double> y, Eigen::Matrix3d* turn) const;
  Eigen::Vector3d NodeAt(const Side& side, int k, std::span<const double> y) const;
  Eigen::Matrix3d CalcFrame(const Start& start, std::span<const double> y, const Moved& a,
                            const Moved& b) const;
  void WriteParts(const Side& side, const Eigen::Vector3d& point, double sign,
                  solvers::CorrectiveProblem* problem) const;
  void UpdateContact(int contact, std::span<const double> y, solvers::CorrectiveProblem* problem);
  void UpdateConstraint(int constraint, std::span<const double> y,
                        solvers::CorrectiveProblem* problem);

  const Model& model_;
  const StepStages& stages_;
  const State* state_ = nullptr;
  const solvers::MappingCompliance* compliance_ = nullptr;
  double h_ = 0;
  std::vector<CarrierKey> keys_;
  std::vector<Carrier> carriers_;
  std::vector<Start> starts_;
  std::vector<Term> terms_;
  std::vector<int> first_term_;
  std::vector<double> errors_;  // of the constraints at the start
  // blocks whose frames carry something: where they are at the start and at the trial positions
  std::vector<int> first_frame_;  // of each block; −1: none
  std::vector<FrameMotion> start_, moved_;
  std::vector<char> is_due_;  // blocks to move
  BlockRows rows_;
  std::vector<double> dv_, v_p_, v_, q_, v_end_, internals_;
};

}  // namespace pliant::physics
