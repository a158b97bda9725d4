#include "physics/fem/fem_step.h"

#include <cmath>

#include "absl/strings/str_cat.h"

#include "solvers/linalg/partial_cholesky.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

bool AllFinite(std::span<const double> x) {
  for (const double value : x) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

class FemStep final : public BlockStep {
 public:
  explicit FemStep(std::shared_ptr<const FemModel> model)
      : model_(std::move(model)),
        A_(&model_->pattern),
        factored_(&model_->pattern),
        factor_(&model_->pattern) {
    const std::size_t n = 3 * std::size_t(model_->num_nodes);
    residual_.resize(n);
    v0_.resize(n);
    prescribed_velocity_.resize(model_->parameters.prescribed.size());
  }

  absl::Status Pose(const StepSettings& settings, std::span<const double> q0,
                    std::span<const double> v0, const BlockInputs& inputs) override {
    settings_ = settings;
    std::copy(v0.begin(), v0.end(), v0_.begin());
    PrescribeVelocities(q0, inputs);
    AssembleElements(q0, v0);
    AddExternalForces(inputs);
    if (!AllFinite(residual_) || !AllFinite(A_.values))
      return absl::InternalError("its forces are not finite");
    return absl::OkStatus();
  }

  int num_velocities() const override { return 3 * model_->num_nodes; }
  int num_groups() const override { return model_->num_nodes; }
  int group_offset(int group) const override { return 3 * group; }
  int group_size(int) const override { return 3; }
  int group_of_velocity(int velocity) const override { return velocity / 3; }

  absl::Status Factor(std::span<const int> participants) override {
    bool ok = false;
    if (prescribed_velocity_.empty()) {
      ok = factor_.Factor(A_, participants);
    } else {
      MaskPrescribed();
      ok = factor_.Factor(factored_, participants);
    }
    if (ok) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(
        "its tangent matrix is not positive definite at vertex ", factor_.failed_node()));
  }

  void CalcFreeMotion(std::span<double> v_star) const override {
    // A dv = −m(v0); prescribed velocities are known and go to the right-hand side
    std::vector<double> dv(residual_.size(), 0.0);
    std::vector<double> known(residual_.size(), 0.0);
    if (!prescribed_velocity_.empty()) {
      ForEachPrescribed([&](int node, const Vector3d& velocity) {
        for (int r = 0; r < 3; ++r) dv[3 * node + r] = velocity[r] - v0_[3 * node + r];
      });
      A_.Multiply(dv, known);
    }
    for (std::size_t i = 0; i < dv.size(); ++i) known[i] = -residual_[i] - known[i];
    ForEachPrescribed([&](int node, const Vector3d&) {
      const double* block = &factored_.values[9 * std::size_t(model_->pattern.column_starts[node])];
      for (int r = 0; r < 3; ++r) known[3 * node + r] = block[4 * r] * dv[3 * node + r];
    });
    factor_.Solve(known);
    for (std::size_t i = 0; i < dv.size(); ++i) v_star[i] = v0_[i] + known[i];
    ForEachPrescribed([&](int node, const Vector3d& velocity) {
      for (int r = 0; r < 3; ++r) v_star[3 * node + r] = velocity[r];
    });
  }

  std::span<const double> schur_complement() const override { return factor_.schur_complement(); }

  void ExpandParticipants(std::span<const double> dv_p, std::span<double> dv) const override {
    factor_.Expand(dv_p, dv);
  }

  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    A_.Multiply(x, y);
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override { A_.CopyDiagonal(diagonal); }

  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) const override {
    std::vector<double> dv(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) dv[i] = v[i] - v0_[i];
    A_.Multiply(dv, residual);
    for (std::size_t i = 0; i < v.size(); ++i) residual[i] += residual_[i];
    ForEachPrescribed([&](int node, const Vector3d&) {
      for (int r = 0; r < 3; ++r) residual[3 * node + r] = 0;
    });
  }

  void AppendRows(const Attachment& attachment, BlockRows* rows) const override {
    for (int k = 0; k < attachment.num_nodes; ++k) {
      const int node = attachment.nodes[k];
      const double w = attachment.weights[k];
      if (w == 0 || model_->prescribed_index[node] >= 0) continue;
      double* J = rows->Append(node, 3);
      J[0] = J[4] = J[8] = w;
    }
  }

  Vector3d CalcPrescribedVelocity(const Attachment& attachment) const override {
    Vector3d velocity = Vector3d::Zero();
    for (int k = 0; k < attachment.num_nodes; ++k) {
      const int index = model_->prescribed_index[attachment.nodes[k]];
      if (index >= 0) velocity += attachment.weights[k] * prescribed_velocity_[index];
    }
    return velocity;
  }

  void Integrate(std::span<const double> v_new, std::span<double> q,
                 std::span<double> v) const override {
    const double h = settings_.h, theta_vq = settings_.theta_vq;
    for (std::size_t i = 0; i < q.size(); ++i) {
      q[i] += h * (theta_vq * v_new[i] + (1 - theta_vq) * v[i]);
      v[i] = v_new[i];
    }
    // prescribed vertices land exactly where they belong
    ForEachPrescribed([&](int node, const Vector3d&) {
      const Vector3d& target = prescribed_position_[model_->prescribed_index[node]];
      for (int r = 0; r < 3; ++r) q[3 * node + r] = target[r];
    });
  }

 private:
  template <typename Visit>
  void ForEachPrescribed(const Visit& visit) const {
    for (std::size_t k = 0; k < prescribed_velocity_.size(); ++k) {
      visit(model_->parameters.prescribed[k].node, prescribed_velocity_[k]);
    }
  }

  void PrescribeVelocities(std::span<const double> q0, const BlockInputs& inputs) {
    const FemParameters& p = model_->parameters;
    prescribed_position_.resize(p.prescribed.size());
    for (std::size_t k = 0; k < p.prescribed.size(); ++k) {
      const FemParameters::Prescribed& one = p.prescribed[k];
      const auto followed = std::find(model_->followed.begin(), model_->followed.end(), one.body);
      const RigidTransform& X_WB = inputs.targets[followed - model_->followed.begin()];
      // held at the place in the followed body where it was at the start
      const Vector3d p_B = one.X_WB0.Inverse() * (p.X_WB * p.mesh.vertices[one.node]);
      prescribed_position_[k] = X_WB * p_B;
      prescribed_velocity_[k] =
          (prescribed_position_[k] - VectorAt(q0, 3 * one.node)) / settings_.h;
    }
  }

  // A = (1 + αθh) M + θh (θ_vq h + β) K (han2023 (11)) and the elements' part of m(v0)
  void AssembleElements(std::span<const double> q0, std::span<const double> v0) {
    const double h = settings_.h, theta = settings_.theta;
    const double alpha = model_->parameters.rayleigh_alpha, beta = model_->parameters.rayleigh_beta;
    const double mass_scale = 1 + alpha * theta * h;
    const double stiffness_scale = theta * h * (settings_.theta_vq * h + beta);
    // m(v0) = −h [f(q0) − θ h K v0 − (α M + β K) v0 + f_ext]
    const double rate_scale = theta * h + beta;

    std::fill(A_.values.begin(), A_.values.end(), 0.0);
    std::fill(residual_.begin(), residual_.end(), 0.0);
    const FemModel::Slot* slot = model_->slots.data();
    for (const ElementBatch& batch : model_->batches) {
      const LaneMatrix F = CalcGradient(batch, q0);
      const LaneMatrix rate = CalcGradient(batch, v0);
      const LaneMatrix R0 = CalcReferenceRotation(batch, F);
      LaneMatrix P = CalcStress(batch, R0, F, false);
      const LaneMatrix dP = CalcStress(batch, R0, rate, true);
      for (int i = 0; i < 9; ++i) P[i] += rate_scale * dP[i];
      Lane forces[4][3];
      CalcForces(batch, P, forces);
      for (int l = 0; l < kLanes; ++l) {
        for (int a = 0; a < 4; ++a) {
          for (int r = 0; r < 3; ++r) residual_[3 * batch.nodes[l][a] + r] -= h * forces[a][r][l];
        }
      }

      const Lane mass = mass_scale / 20 * batch.density * batch.volume;
      for (int a = 0; a < 4; ++a) {
        for (int c = 0; c <= a; ++c) {
          LaneMatrix K = CalcStiffness(batch, R0, a, c);
          for (int i = 0; i < 9; ++i) K[i] *= stiffness_scale;
          for (int r = 0; r < 3; ++r) K[4 * r] += a == c ? 2 * mass : mass;
          AddBlock(K, slot);
          slot += kLanes;
        }
      }
    }
    if (alpha != 0) {
      std::vector<double> Mv(v0.size());
      model_->MultiplyMass(v0, Mv);
      for (std::size_t i = 0; i < Mv.size(); ++i) residual_[i] += h * alpha * Mv[i];
    }
  }

  void AddBlock(const LaneMatrix& K, const FemModel::Slot* slots) {
    for (int l = 0; l < kLanes; ++l) {
      double* block = &A_.values[slots[l].offset];
      if (slots[l].transposed) {
        for (int c = 0; c < 3; ++c) {
          for (int r = 0; r < 3; ++r) block[3 * r + c] += K[3 * c + r][l];
        }
      } else {
        for (int i = 0; i < 9; ++i) block[i] += K[i][l];
      }
    }
  }

  void AddExternalForces(const BlockInputs& inputs) {
    const double h = settings_.h;
    Vector3d acceleration = settings_.gravity;
    for (const BlockForce& applied : inputs.forces) {
      if (applied.node >= 0) {
        for (int r = 0; r < 3; ++r) residual_[3 * applied.node + r] -= h * applied.force_W[r];
      } else {
        acceleration += applied.force_W / model_->mass;
      }
    }
    for (int i = 0; i < model_->num_nodes; ++i) {
      for (int r = 0; r < 3; ++r)
        residual_[3 * i + r] -= h * model_->node_mass[i] * acceleration[r];
    }
  }

  // rows and columns of prescribed vertices become diagonal
  void MaskPrescribed() {
    factored_.values = A_.values;
    const solvers::BlockPattern& pattern = model_->pattern;
    for (int j = 0; j < pattern.num_nodes; ++j) {
      for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
        const int i = pattern.rows[k];
        if (model_->prescribed_index[i] < 0 && model_->prescribed_index[j] < 0) continue;
        double* block = &factored_.values[9 * std::size_t(k)];
        for (int e = 0; e < 9; ++e) {
          if (i != j || e % 4 != 0) block[e] = 0;
        }
      }
    }
  }

  std::shared_ptr<const FemModel> model_;
  StepSettings settings_;
  solvers::BlockMatrix A_;
  solvers::BlockMatrix factored_;  // A_ with prescribed vertices decoupled
  solvers::PartialCholesky factor_;
  std::vector<double> residual_;  // m(v0)
  std::vector<double> v0_;
  std::vector<Vector3d> prescribed_velocity_, prescribed_position_;
};

}  // namespace

std::unique_ptr<BlockStep> MakeFemStep(std::shared_ptr<const FemModel> model) {
  return std::make_unique<FemStep>(std::move(model));
}

}  // namespace pliant::physics
