#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/fem/fem_model.h"

namespace pliant::physics {

// The part of a deformable body's step that does not depend on how its elements are solved: a group
// of three velocities for each node, and nodes attached to other bodies.
class NodeStep : public BlockStep {
 public:
  explicit NodeStep(std::shared_ptr<const FemModel> model);

  std::span<const double> start_velocities() const override { return v0_; }
  void AppendRows(const Attachment& attachment, BlockRows* rows) const override;
  void Integrate(std::span<const double> v, MutableBlockState state) const override;
  double CalcInputWork(std::span<const double> v) override;

 protected:
  // Starts a stage: computes the end-of-stage positions of nodes attached to other bodies, the
  // velocities that lead to them, and the pressures of activations and volumes. INTERNAL when a
  // volume has collapsed.
  absl::Status Start(const Stage& stage, const BlockState& base, const BlockInputs& inputs);
  // Calls visit(node, velocity) for each attached node.
  template <typename Visit>
  void ForEachPrescribed(const Visit& visit) const {
    for (std::size_t k = 0; k < prescribed_velocity_.size(); ++k)
      visit(model_->parameters.prescribed[k].node, prescribed_velocity_[k]);
  }
  bool has_prescribed() const { return !prescribed_velocity_.empty(); }

  std::shared_ptr<const FemModel> model_;
  Stage stage_;
  std::span<const double> q0_, v0_;  // the base's
  std::vector<Lane> pressure_;       // of activations, per batch; empty: none
  std::vector<double> gauges_;       // gauge pressure at rest of each volume in this step [Pa]

 private:
  absl::Status StartVolumes(const BlockState& base, const BlockInputs& inputs);

  std::vector<BlockForce> forces_;  // of the inputs
  double pressure_work_ = 0;        // work of inputs that set pressures of volumes [J]
  std::vector<Eigen::Vector3d> prescribed_velocity_, prescribed_position_;
};

}  // namespace pliant::physics
