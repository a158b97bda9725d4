#pragma once

#include <span>
#include <vector>

#include "physics/contact/kinematics.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "physics/stepping/step/stages.h"
#include "physics/stepping/step/trial_state.h"
#include "solvers/corrective/recursive_correction.h"

namespace pliant::physics {

// Maps a posed step onto the problem of the recursive corrective motion (zeng2022 §5): the frames,
// nodes and single velocities that contacts and constraints depend on, and their motion: nodes by
// their velocities, rigid frames by the exact map of their blocks' trial positions.
// ContactKinematics updates the contacts; constraints between points follow these.
//
// Mapped degrees of freedom are all nodes and rigid frames of contacts and constraints, and the
// single velocities that constraints name. A frame has its angular velocity and the velocity of its
// origin.
class CorrectiveGeometry final : public solvers::Relinearisation {
 public:
  CorrectiveGeometry(const Model& model, const StepStages& stages)
      : model_(model), stages_(stages) {}

  // Builds the problem of a step that starts from `state`, linearised there. Contacts first, then
  // scalar constraints, whose bounds, error and compliance the caller fills in.
  void Build(const State& state, double h, solvers::CorrectiveProblem* problem);

  // Resets the problem to the linearisation at the start of the step.
  void Reset(solvers::CorrectiveProblem* problem);

  // Sets a constraint's displacement at the start of the step.
  void SetError(int constraint, double error) { errors_[constraint] = error; }

  // Sets the problem's `compliance`, for the motion of blocks between recursions.
  void SetCompliance(const solvers::MappingCompliance* compliance) { compliance_ = compliance; }

  void Update(std::span<const double> y, std::span<const double> F, int first, int last,
              solvers::CorrectiveProblem* problem) override;

 private:
  enum class DofKind { kNode, kFrame, kVelocity };
  struct DofKey {
    int block;
    DofKind kind;
    int index;
    auto operator<=>(const DofKey&) const = default;
  };
  struct MappedDof {
    DofKey key;
    int height;
    int active;  // −1: prescribed
    int row;
  };
  // One side of a contact, or one term of a constraint, and its parts of the problem, whose degrees
  // of freedom and weights are part_dofs_ and part_weights_ at the same indices.
  struct Side {
    int first_part = 0, num_parts = 0;  // none: the world
    bool is_frame = false;
    int frame = -1;  // index in start_ and moved_
  };
  // One term of a constraint; its point is fixed in its frame, or on its nodes.
  struct Term {
    Side side;
    Eigen::Vector3d linear, angular;
    Eigen::Vector3d point;  // in the frame, or in the world at the start
    Eigen::Vector3d start;  // in the world
    double factor = 0;
    bool is_velocity = false;
  };
  struct MovingContact {
    ContactKinematics kinematics;
    Side a, b;
  };
  struct Moved {
    Eigen::Vector3d point, spin;  // position and angular velocity
  };

  // The phases of Build.
  void CollectDofs();
  void PlaceFrames(const State& state);
  void NumberRows(solvers::CorrectiveProblem* problem);
  void FillRows(solvers::CorrectiveProblem* problem);
  void MapContacts(const State& state, solvers::CorrectiveProblem* problem);
  void MapConstraints(solvers::CorrectiveProblem* problem);

  int FindDof(const DofKey& key) const;
  void AppendRows(const MappedDof& dof, solvers::CorrectiveProblem* problem);
  Side MakeSide(const Attachment& attachment, solvers::CorrectiveProblem* problem);
  Term MakeTerm(const ConstraintTerm& given, solvers::CorrectiveProblem* problem);
  void UpdatePoses(std::span<const double> F, int first, int last);
  void MoveBlock(int block, std::span<const double> F);
  void MoveNodes(const Side& side, std::span<const double> y);
  Moved Move(const Term& term, std::span<const double> y) const;
  Eigen::Vector3d SpinOf(const Side& side, std::span<const double> y) const;
  void WriteParts(const Side& side, const Eigen::Vector3d& point, double sign,
                  solvers::CorrectiveProblem* problem) const;
  TrialConfiguration At(std::span<const FrameMotion> frames,
                        std::span<const double> positions) const {
    return {first_frame_, frames, model_.position_offsets, positions, {}};
  }
  void UpdateContact(int contact, std::span<const double> y, solvers::CorrectiveProblem* problem);
  void UpdateConstraint(int constraint, std::span<const double> y,
                        solvers::CorrectiveProblem* problem);

  const Model& model_;
  const StepStages& stages_;
  const State* state_ = nullptr;
  const solvers::MappingCompliance* compliance_ = nullptr;
  double h_ = 0;
  std::vector<DofKey> keys_;
  std::vector<MappedDof> dofs_;
  std::vector<int> part_dofs_;
  std::vector<double> part_weights_;
  std::vector<MovingContact> contacts_;
  std::vector<Term> terms_;
  std::vector<int> first_term_;
  std::vector<double> errors_;  // of the constraints at the start
  // blocks with mapped frames, at the start and at the trial positions
  std::vector<int> first_frame_;  // of each block; −1: none
  std::vector<FrameMotion> start_, moved_;
  // nodes of all blocks at the trial velocities; valid where contacts have requested them
  std::vector<double> positions_;
  std::vector<char> is_due_;  // blocks to move
  BlockRows rows_;
  std::vector<double> dv_, v_p_, v_;
  TrialState trial_;
};

}  // namespace pliant::physics
