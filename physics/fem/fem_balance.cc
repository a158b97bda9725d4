#include "physics/fem/fem_balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/fem/assembly.h"
#include "physics/fem/node_step.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

class FemBalance final : public ForceBalance {
 public:
  explicit FemBalance(std::shared_ptr<const FemModel> model)
      : model_(std::move(model)), stiffness_(&model_->pattern), damping_(*model_) {
    mass_.resize(model_->pattern.num_blocks(), 0.0);
    for (std::size_t b = 0; b < model_->elements.batches.size(); ++b) {
      const ElementBatch& batch = model_->elements.batches[b];
      const Lane m = batch.density * batch.volume / 20;
      const int* slot = &model_->slots[10 * kLanes * b];
      for (int a = 0; a < 4; ++a) {
        for (int c = 0; c <= a; ++c, slot += kLanes) {
          for (int l = 0; l < kLanes; ++l) mass_[slot[l] / 9] += (a == c ? 2 : 1) * m[l];
        }
      }
    }
  }

  void Start(const BlockState& start, const BlockInputs& inputs, double h) override {
    const int n = model_->num_nodes;
    loads_.assign(3 * std::size_t(n), 0.0);
    std::vector<double> gravity(loads_.size());
    for (int i = 0; i < n; ++i) {
      for (int r = 0; r < 3; ++r) gravity[3 * i + r] = inputs.gravity[r];
    }
    model_->MultiplyMass(gravity, loads_);
    for (const BlockForce& applied : inputs.forces) {
      for (int i = 0; i < n; ++i) {
        if (applied.node >= 0 && applied.node != i) continue;
        const double share = applied.node >= 0 ? 1 : model_->node_mass[i] / model_->mass;
        for (int r = 0; r < 3; ++r) loads_[3 * i + r] += share * applied.force_W[r];
      }
    }
    model_->activations.Spread(inputs.efforts, &pressure_);
    model_->CopyGauges(start, &gauges_);
    for (const VolumePressure& pressure : inputs.pressures)
      gauges_[pressure.volume] = pressure.gauge;
    const FemParameters& p = model_->parameters;
    prescribed_start_.clear();
    prescribed_velocity_.clear();
    for (const FemParameters::Prescribed& one : p.prescribed) {
      const auto followed = std::ranges::find(model_->followed, one.body);
      const RigidTransform& X_WB = inputs.targets[followed - model_->followed.begin()];
      const Vector3d target = X_WB * (one.X_WB0.Inverse() * (p.X_WB * p.mesh.vertices[one.node]));
      prescribed_start_.push_back(VectorAt(start.q, 3 * one.node));
      prescribed_velocity_.push_back((target - prescribed_start_.back()) / h);
    }
  }

  void UseMeanRates(bool uses) override { uses_mean_rates_ = uses; }

  void Advance(std::span<const double> x, std::span<double> q) const override {
    for (std::size_t i = 0; i < x.size(); ++i) q[i] += x[i];
  }
  void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                      std::span<double> x) const override {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = q1[i] - q0[i];
  }

  void Place(double time, std::span<const double>, std::span<double> q,
             std::span<double> v) override {
    for (std::size_t k = 0; k < prescribed_velocity_.size(); ++k) {
      const int first = 3 * model_->parameters.prescribed[k].node;
      for (int r = 0; r < 3; ++r) {
        q[first + r] = prescribed_start_[k][r] + time * prescribed_velocity_[k][r];
        v[first + r] = prescribed_velocity_[k][r];
      }
    }
    q_.assign(q.begin(), q.end());
    v_.assign(v.begin(), v.end());
    // E(q) − E(q̂) = sym(Fᵀ ΔF) with F halfway
    damped_q_ = q_;
    if (uses_mean_rates_)
      for (std::size_t i = 0; i < q_.size(); ++i) damped_q_[i] -= 0.5 * time * v_[i];
  }

  absl::Status CalcResidual(std::span<const double> a, const SpatialColumns&,
                            std::span<double> residual) override {
    const FemParameters& p = model_->parameters;
    work_.resize(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) work_[i] = a[i] + p.rayleigh_alpha * v_[i];
    forces_.resize(a.size());
    model_->MultiplyMass(work_, forces_);
    Assemble(q_, 1, Tangent::kNone, &forces_);
    damping_.AddForces(*model_, damped_q_, v_, &forces_);
    AddVolumes(0, VolumeTangent::kNone, &forces_);
    for (std::size_t i = 0; i < a.size(); ++i) residual[i] = forces_[i] - loads_[i];
    if (p.plane_strain) model_->ProjectOntoPlane(residual);
    prescribed_power_ = 0;
    for (std::size_t k = 0; k < p.prescribed.size(); ++k) {
      const int first = 3 * p.prescribed[k].node;
      prescribed_power_ +=
          VectorAt(std::span<const double>(residual), first).dot(prescribed_velocity_[k]);
      std::fill_n(residual.begin() + first, 3, 0.0);
    }
    if (std::ranges::all_of(residual, [](double x) { return std::isfinite(x); }))
      return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("its forces are not finite; ", model_->DescribeWorstElement(q_)));
  }

  double prescribed_power() const override { return prescribed_power_; }

  void AddJacobian(double c, std::span<const double>, const SpatialColumns&, int first,
                   solvers::BlockSum* jacobian) override {
    const FemParameters& p = model_->parameters;
    std::ranges::fill(stiffness_.values, 0.0);
    if (c > 0) {
      work_.assign(q_.size(), 0.0);
      Assemble(q_, c * c, Tangent::kExact, &work_);
      AddVolumes(c * c, VolumeTangent::kExact, &work_);
    }
    const bool is_damped = c > 0 && !damping_.is_zero();
    if (is_damped) {
      transposed_ = stiffness_;
      damping_.Differentiate(*model_, damped_q_, v_, c, uses_mean_rates_ ? 0.5 * c * c : c * c,
                             &stiffness_, &*transposed_);
    }
    const double mass_scale = 1 + c * p.rayleigh_alpha;
    const solvers::BlockPattern& pattern = model_->pattern;
    const auto is_fixed = [&](int node) { return model_->prescribed_index[node] >= 0; };
    for (int j = 0; j < pattern.num_nodes; ++j) {
      for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
        const int i = pattern.rows[k];
        const auto block_of = [k](const solvers::BlockMatrix& A) {
          return Eigen::Map<const Matrix3d>(&A.values[9 * std::size_t(k)]);
        };
        Matrix3d block = block_of(stiffness_),
                 transposed = block_of(is_damped ? *transposed_ : stiffness_).transpose();
        for (Matrix3d* of : {&block, &transposed}) of->diagonal().array() += mass_scale * mass_[k];
        if (is_fixed(i) || is_fixed(j)) {
          if (i != j) continue;
          block.setIdentity();
        }
        jacobian->Add(first + 3 * i, first + 3 * j, 3, 3, block.data(), 3);
        if (i == j) continue;
        jacobian->Add(first + 3 * j, first + 3 * i, 3, 3, transposed.data(), 3);
      }
    }
    if (c > 0) AddVolumeColumns(first, jacobian);
  }

  void CalcMassDiagonal(const SpatialColumns&, std::span<double> diagonal) override {
    for (int j = 0; j < model_->num_nodes; ++j) {
      const bool is_fixed = model_->prescribed_index[j] >= 0;
      // the first block of each column is that of the diagonal
      const double m = is_fixed ? 1 : mass_[model_->pattern.column_starts[j]];
      std::fill_n(&diagonal[3 * std::size_t(j)], 3, m);
    }
  }

  void StoreInternals(std::vector<double>* internals) const override {
    if (!gauges_.empty()) *internals = gauges_;
  }

 private:
  // Subtracts the elements' forces from `residual`, and adds scale · K to the stiffness.
  void Assemble(std::span<const double> q, double scale, Tangent tangent,
                std::vector<double>* residual) {
    AssembleExactCorotational(*model_, q, pressure_, 1, scale, tangent, &stiffness_, residual);
    AssembleNonlinear(*model_, q, pressure_, 1, scale, tangent, &at_, &stiffness_, residual);
  }

  // Volumes have no damping: adds scale · K, in part to the stiffness, in part to dense_.
  void AddVolumes(double scale, VolumeTangent tangent, std::vector<double>* residual) {
    AssembleVolumes(model_->volumes, q_, gauges_, 1, scale, tangent, &gradient_, &stiffness_,
                    &dense_, residual);
  }

  void AddVolumeColumns(int first, solvers::BlockSum* jacobian) const {
    for (std::size_t k = 0; k < model_->volumes.size(); ++k) {
      if (!(dense_.weights[k] > 0)) continue;
      solvers::BlockSum::Outer& outer = jacobian->outers.emplace_back();
      outer.weight = dense_.weights[k];
      const std::vector<double>& gradient = dense_.columns[k];
      for (int i = 0; i < static_cast<int>(gradient.size()); ++i) {
        if (gradient[i] == 0 || model_->prescribed_index[i / 3] >= 0) continue;
        outer.places.push_back(first + i);
        outer.values.push_back(gradient[i]);
      }
    }
  }

  std::shared_ptr<const FemModel> model_;
  solvers::BlockMatrix stiffness_;
  solvers::LowRank dense_;  // low-rank part of the stiffness, of the volumes
  StrainRateDamping damping_;
  std::optional<solvers::BlockMatrix> transposed_;  // of the stiffness with damping
  std::vector<double> mass_;  // factor of the identity in each block of the pattern
  std::vector<double> loads_;
  std::vector<Lane> pressure_;
  std::vector<Vector3d> prescribed_start_, prescribed_velocity_;
  double prescribed_power_ = 0;
  std::vector<double> gauges_, gradient_;  // of each volume
  bool uses_mean_rates_ = false;
  std::vector<double> q_, v_, work_, forces_;
  std::vector<double> damped_q_;  // positions at which damping acts
  FemModel::Deformation at_;
};

class FemMassStep final : public NodeStep {
 public:
  explicit FemMassStep(std::shared_ptr<const FemModel> model)
      : NodeStep(std::move(model)), A_(&pattern_) {}

  absl::Status Pose(const Stage& stage, const BlockState& base,
                    const BlockInputs& inputs) override {
    return Start(stage, base, inputs);
  }
  absl::Status Factor(std::span<const int> participants) override {
    participants_.assign(participants.begin(), participants.end());
    const int n = static_cast<int>(participants.size());
    pattern_.num_nodes = n;
    pattern_.column_starts.resize(n + 1);
    pattern_.rows.resize(n);
    std::iota(pattern_.column_starts.begin(), pattern_.column_starts.end(), 0);
    std::iota(pattern_.rows.begin(), pattern_.rows.end(), 0);
    A_.values.assign(9 * participants.size(), 0.0);
    for (int k = 0; k < n; ++k) {
      for (int r = 0; r < 3; ++r)
        A_.values[9 * std::size_t(k) + 4 * r] = model_->node_mass[participants[k]];
    }
    return absl::OkStatus();
  }
  solvers::SchurComplement schur_complement() const override { return {&A_, pattern_.rows}; }
  void CalcFreeMotion(std::span<double> v_star) const override {
    std::ranges::copy(v0_, v_star.begin());
  }
  void Complete(std::span<const double> v_participants, std::span<double> v) const override {
    for (std::size_t k = 0; k < participants_.size(); ++k)
      std::copy_n(&v_participants[3 * k], 3, &v[3 * std::size_t(participants_[k])]);
  }
  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) override {
    for (std::size_t i = 0; i < v.size(); ++i)
      residual[i] = model_->node_mass[i / 3] * (v[i] - v0_[i]);
  }
  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = model_->node_mass[i / 3] * x[i];
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override {
    for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = model_->node_mass[i / 3];
  }

 private:
  solvers::BlockPattern pattern_;  // diagonal, over the participants
  solvers::BlockMatrix A_;
  std::vector<int> participants_;
};

}  // namespace

std::unique_ptr<ForceBalance> MakeFemBalance(std::shared_ptr<const FemModel> model) {
  return std::make_unique<FemBalance>(std::move(model));
}

std::unique_ptr<BlockStep> MakeFemMassStep(std::shared_ptr<const FemModel> model) {
  return std::make_unique<FemMassStep>(std::move(model));
}

}  // namespace pliant::physics
