#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "physics/contact/contact_detection.h"
#include "physics/dynamics/block.h"
#include "physics/dynamics/model.h"
#include "physics/stepping/stepper.h"

namespace pliant::physics {

// What every method starts from: all blocks posed at the start of the step, the contacts between them, which velocities
// take part in contact, the factor of A with those last, the free motion, and the contacts' rows on the participants.
//
// "Participating velocities" are numbered from 0 over the blocks that touch something, in Model order.
class PosedStep {
 public:
  // A block that touches something.
  struct ActiveBlock {
    int block;                     // in Model::blocks
    int first;                     // its first participating velocity
    int size;                      // participating velocities
    std::vector<int> groups;       // ascending
    std::vector<int> group_first;  // of each group, counted from `first`
    std::span<const double> A;     // Schur complement, size × size, both triangles
  };
  // Rows of one contact on consecutive participating velocities, in the contact's frame:
  // v_c += values (3 × columns, column-major) · v[first …].
  struct Entry {
    int active;  // index in active_blocks()
    int first;
    int columns;
    std::size_t values;
  };
  struct ContactRows {
    int first_entry, num_entries;
    Eigen::Vector3d bias;  // prescribed part of v_c [m/s]
    Eigen::Matrix3d W;  // Σ J_g A_gg⁻¹ J_gᵀ over the groups it touches [1/kg]: a diagonal estimate
  };

  explicit PosedStep(const Model& model);
  ~PosedStep();

  // INTERNAL, naming the body, when forces are not finite or a tangent matrix is not positive definite.
  absl::Status Pose(const Inputs& inputs, const StepSettings& settings, const State& state);

  const std::vector<ActiveBlock>& active_blocks() const { return active_; }
  const std::vector<ContactPoint>& contacts() const { return contacts_; }
  const std::vector<ContactRows>& rows() const { return rows_; }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<double>& values() const { return values_; }
  int num_participating() const { return num_participating_; }

  // Participating parts of the free motion and of the velocities at the start of the step.
  const std::vector<double>& v_star() const { return v_star_p_; }
  const std::vector<double>& v_start() const { return v_start_p_; }

  // Groups of contacts that share no block: independent problems. Each lists contacts, ascending.
  std::vector<std::vector<int>> FindIslands() const;

  // v_c = J v + b of a contact, in its frame.
  Eigen::Vector3d CalcContactVelocity(int contact, std::span<const double> v_participating) const;

  // Jᵀγ on the participating velocities [N·s]; impulses in contact frames.
  std::vector<double> CalcExertedImpulse(const std::vector<Eigen::Vector3d>& impulses) const;

  // All velocities from the participating ones (han2023 (15)). INTERNAL, naming the body, when not finite.
  absl::Status Complete(std::span<const double> v_participating, std::vector<double>* v) const;

  // ‖D (m(v) − Jᵀγ)‖ / max(‖D A v‖, ‖D Jᵀγ‖) on the full, unreduced system, D = diag(A)^(−1/2); impulses in contact
  // frames. 0 when the numerator is below 1e-14.
  double CalcResidual(std::span<const double> v,
                      const std::vector<Eigen::Vector3d>& impulses) const;

  // Moves the state to the end of the step, and records what the contacts exerted.
  void Commit(std::span<const double> v, const std::vector<Eigen::Vector3d>& impulses, State* state,
              StepReport* report) const;

 private:
  absl::Status Fault(int block, const absl::Status& status) const;
  BlockInputs GatherInputs(int block, const Inputs& inputs, const State& state) const;
  void DropImmovable();
  void FindParticipants();
  void BuildRows();

  const Model& model_;
  ContactDetector detector_;
  std::vector<std::unique_ptr<BlockStep>> steps_;
  std::vector<std::vector<int>> followed_;  // of each block
  StepSettings settings_;
  std::vector<ContactPoint> contacts_;
  std::vector<ActiveBlock> active_;
  std::vector<int> active_of_block_;  // −1: touches nothing
  std::vector<ContactRows> rows_;
  std::vector<Entry> entries_;
  std::vector<double> values_;
  std::vector<double> v_star_, v_star_p_, v_start_p_;
  int num_participating_ = 0;
};

// Adds the wall time of its life to a report's phase.
class PhaseTimer {
 public:
  PhaseTimer(StepReport* report, std::string phase)
      : report_(report), phase_(std::move(phase)), start_(std::chrono::steady_clock::now()) {}
  ~PhaseTimer() {
    report_->phase_seconds[phase_] +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  StepReport* report_;
  std::string phase_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace pliant::physics
