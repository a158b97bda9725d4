#include <algorithm>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

// A strained and moving mat, thin enough that its factor is much sparser than a complement on one
// of its sides.
class ReducedMomentum : public ::testing::TestWithParam<const char*> {
 protected:
  ReducedMomentum() {
    FemParameters p;
    p.mesh = *MeshBox({0.4, 0.2, 0.02}, 0.02);
    p.materials = {{FindMaterial(GetParam()), {1e5, 0.3}, 1000}};
    p.rayleigh_alpha = 0.5;
    p.rayleigh_beta = 0.01;
    for (int i = 0; i < static_cast<int>(p.mesh.vertices.size()); ++i) {
      if (p.mesh.vertices[i].z() < -0.009) bottom_.push_back(i);
      if (p.mesh.vertices[i].x() < -0.199) p.prescribed.push_back({i, -1, {}});
    }
    block_ = MakeFemBlock(p);
    q_.resize(block_->num_positions());
    v_.resize(block_->num_velocities());
    block_->SetInitialState({q_, v_});
    for (std::size_t i = 0; i < q_.size(); ++i) {
      q_[i] *= 1 + 1e-3 * static_cast<double>(i % 7);
      v_[i] = 0.1 * static_cast<double>(i % 5);
    }
    step_ = block_->NewStep();
    BlockInputs inputs;
    inputs.targets.resize(block_->abilities().prescribed->followed_bodies().size());
    const absl::Status status = PoseBlock(*step_, {0.01, 1, 1, {0, 0, -9.81}}, q_, v_, inputs);
    EXPECT_TRUE(status.ok()) << status;
  }

  std::vector<int> bottom_;
  std::vector<double> q_, v_;  // the base of step_
  std::shared_ptr<const DynamicsBlock> block_;
  std::unique_ptr<BlockStep> step_;
};

TEST_P(ReducedMomentum, VanishesAtTheFreeMotion) {
  // a few nodes stay as they are; many are extended by some more, and their complement is sparse
  const std::vector<int> few(bottom_.begin(), bottom_.begin() + 20);
  for (const std::vector<int>& touched : {few, bottom_}) {
    std::vector<int> participants = touched;
    step_->ExtendParticipants(&participants);
    const bool is_sparse = touched.size() > 100;
    EXPECT_EQ(participants.size() > touched.size(), is_sparse);
    EXPECT_TRUE(std::ranges::includes(participants, touched));
    const std::size_t size = block_->num_velocities(), n = 3 * participants.size();
    std::vector<double> v_star(size), reference(size), push(size), all(size), residual(size);
    ASSERT_TRUE(step_->Factor(participants).ok());
    step_->CalcFreeMotion(v_star);
    ASSERT_TRUE(step_->Reduce(participants).ok());
    step_->CalcReducedMomentum(reference, push);
    EXPECT_EQ(step_->schur_complement().sparse != nullptr, is_sparse);

    Eigen::VectorXd change(n), pushed(n), momentum(n);
    std::vector<double> v_p(n);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = 3 * std::size_t(participants[k / 3]) + k % 3;
      v_p[k] = v_star[i];
      change[k] = v_star[i] - reference[i];
      pushed[k] = push[i];
    }
    if (is_sparse) {
      step_->schur_complement().sparse->Multiply({change.data(), n}, {momentum.data(), n});
    } else {
      momentum =
          Eigen::Map<const Eigen::MatrixXd>(step_->schur_complement().dense.data(), n, n) * change;
    }
    EXPECT_LT((momentum - pushed).norm(), 1e-10 * pushed.norm());

    // the momentum of the other nodes is balanced too
    step_->Complete(v_p, all);
    step_->CalcMomentumResidual(all, residual);
    EXPECT_LT(Eigen::Map<Eigen::VectorXd>(residual.data(), size).norm(), 1e-10 * pushed.norm());
  }
}

INSTANTIATE_TEST_SUITE_P(Material, ReducedMomentum,
                         testing::Values("LINEAR_COROTATIONAL", "NEO_HOOKEAN"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pliant::physics
