#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/fem/fem_model.h"

namespace pliant::physics {

// What steps of a deformable body have in common however its elements are solved: a group of three velocities a node, and
// nodes that follow another body.
class NodeStep : public BlockStep {
 public:
  explicit NodeStep(std::shared_ptr<const FemModel> model);

  int num_velocities() const override { return 3 * model_->num_nodes; }
  int num_groups() const override { return model_->num_nodes; }
  int group_offset(int group) const override { return 3 * group; }
  int group_size(int) const override { return 3; }
  int group_of_velocity(int velocity) const override { return velocity / 3; }

  void AppendRows(const Attachment& attachment, BlockRows* rows) const override;
  Eigen::Vector3d CalcPrescribedVelocity(const Attachment& attachment) const override;
  void Integrate(std::span<const double> v_new, std::span<double> q,
                 std::span<double> v) const override;

 protected:
  // Where nodes that follow another body are to be at the end of the step that `settings_` tell of, and how fast they get there.
  void PrescribeVelocities(std::span<const double> q0, const BlockInputs& inputs);
  // Calls visit(node, velocity) for each of them.
  template <typename Visit>
  void ForEachPrescribed(const Visit& visit) const {
    for (std::size_t k = 0; k < prescribed_velocity_.size(); ++k)
      visit(model_->parameters.prescribed[k].node, prescribed_velocity_[k]);
  }
  bool has_prescribed() const { return !prescribed_velocity_.empty(); }

  std::shared_ptr<const FemModel> model_;
  StepSettings settings_;

 private:
  std::vector<Eigen::Vector3d> prescribed_velocity_, prescribed_position_;
};

}  // namespace pliant::physics
