#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "physics/stepping/step/stages.h"

namespace pliant::physics {

// Contacts are solved with the rates of their gaps at the start of the step. When a rigid body
// rotates by an angle φ, its points deviate from this motion by φ² r / 2, for radii r of its shape,
// and gaps close by more than their rates predict. RotationalClosing finds the difference, from the
// touching features at the end of the step.
class RotationalClosing {
 public:
  explicit RotationalClosing(const Model& model);

  // Prepares Find for a step from `state`, whose system is posed.
  void Start(const State& state, const StepStages& stages);

  // Writes to closing[c], for each contact c of an island, by how much its gap after a step with
  // the participating velocities `v` is smaller than its rate predicts [m], at least 0; 0 if the
  // rate leaves it open. Islands may be searched in parallel.
  void Find(std::span<const int> contacts, std::span<const double> v, std::span<double> closing);

 private:
  enum class Rotation : char { kUnknown, kNegligible, kLarge };

  bool Rotates(int body, const Attachment& side, std::span<const double> v);
  Rotation FindRotation(int block, std::span<const double> v) const;
  double CalcLargestClosing(int body, const Attachment& side, const Eigen::Vector3d& p_W) const;
  void PlaceFrames(int block, std::span<const double> v);
  double CalcClosing(const ContactPoint& point, double gap_by_rate) const;

  const Model& model_;
  const State* state_ = nullptr;
  const StepStages* stages_ = nullptr;
  std::vector<int> first_frame_;          // of each block
  std::vector<FrameMotion> start_, end_;  // of rotating blocks and those that they touch
  std::vector<Rotation> rotations_;       // of each block of one frame
  std::vector<char> is_placed_;
};

}  // namespace pliant::physics
