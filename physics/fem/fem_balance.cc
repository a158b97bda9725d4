#include "physics/fem/fem_balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/fem/assembly.h"
#include "physics/fem/node_step.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Displacement of nodes over which the stiffness is differenced along v, relative to the height of
// the flattest element.
constexpr double kDifference = 1e-6;

class FemBalance final : public ForceBalance {
 public:
  explicit FemBalance(std::shared_ptr<const FemModel> model)
      : model_(std::move(model)), stiffness_(&model_->pattern) {
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
    // the reciprocal of the largest gradient is the height of the flattest element
    double steepest = 0;
    for (const ElementBatch& batch : model_->elements.batches) {
      for (const auto& gradient : batch.gradients) {
        const Lane squared =
            gradient[0] * gradient[0] + gradient[1] * gradient[1] + gradient[2] * gradient[2];
        for (int l = 0; l < kLanes; ++l) steepest = std::max(steepest, squared[l]);
      }
    }
    if (steepest > 0) size_ = 1 / std::sqrt(steepest);
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
  }

  absl::Status CalcResidual(std::span<const double> a, const SpatialColumns&,
                            std::span<double> residual) override {
    const FemParameters& p = model_->parameters;
    work_.resize(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) work_[i] = a[i] + p.rayleigh_alpha * v_[i];
    forces_.resize(a.size());
    model_->MultiplyMass(work_, forces_);
    const bool is_damped = p.rayleigh_beta != 0;
    if (is_damped) std::ranges::fill(stiffness_.values, 0.0);
    Assemble(q_, 1, is_damped ? Tangent::kExact : Tangent::kNone, &forces_);
    if (is_damped) {
      stiffness_.Multiply(v_, work_);
      for (std::size_t i = 0; i < a.size(); ++i) forces_[i] += p.rayleigh_beta * work_[i];
    }
    AddVolumes(0, VolumeTangent::kNone, &forces_);
    for (std::size_t i = 0; i < a.size(); ++i) residual[i] = forces_[i] - loads_[i];
    if (p.plane_strain) model_->ProjectOntoPlane(residual);
    for (const FemParameters::Prescribed& one : p.prescribed)
      std::fill_n(residual.begin() + 3 * one.node, 3, 0.0);
    if (std::ranges::all_of(residual, [](double x) { return std::isfinite(x); }))
      return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("its forces are not finite; ", model_->DescribeWorstElement(q_)));
  }

  void AddJacobian(double c, std::span<const double>, const SpatialColumns&, int first,
                   solvers::BlockSum* jacobian) override {
    const FemParameters& p = model_->parameters;
    const double beta = p.rayleigh_beta;
    std::ranges::fill(stiffness_.values, 0.0);
    if (c > 0) {
      work_.assign(q_.size(), 0.0);
      Assemble(q_, c * (c + beta), Tangent::kExact, &work_);
      if (beta != 0) AddTurningOfDamping(c * c * beta);
      AddVolumes(c * c, VolumeTangent::kExact, &work_);
    }
    const double mass_scale = 1 + c * p.rayleigh_alpha;
    const solvers::BlockPattern& pattern = model_->pattern;
    const auto is_fixed = [&](int node) { return model_->prescribed_index[node] >= 0; };
    for (int j = 0; j < pattern.num_nodes; ++j) {
      for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
        const int i = pattern.rows[k];
        Matrix3d block = Eigen::Map<const Matrix3d>(&stiffness_.values[9 * std::size_t(k)]);
        block.diagonal().array() += mass_scale * mass_[k];
        if (is_fixed(i) || is_fixed(j)) {
          if (i != j) continue;
          block.setIdentity();
        }
        jacobian->Add(first + 3 * i, first + 3 * j, 3, 3, block.data(), 3);
        if (i == j) continue;
        const Matrix3d transposed = block.transpose();
        jacobian->Add(first + 3 * j, first + 3 * i, 3, 3, transposed.data(), 3);
      }
    }
    if (c > 0) AddVolumeColumns(first, jacobian);
  }

  void StoreInternals(std::vector<double>* internals) const override {
    if (!gauges_.empty()) *internals = gauges_;
  }

 private:
  // Subtracts the elements' forces from `residual`, and adds scale · K to the stiffness.
  void Assemble(std::span<const double> q, double scale, Tangent tangent,
                std::vector<double>* residual) {
    AssembleTurning(*model_, q, pressure_, 1, scale, tangent, &stiffness_, residual);
    AssembleNonlinear(*model_, q, pressure_, 1, scale, tangent, &at_, &stiffness_, residual);
  }

  // Adds scale · ∂(K(q) v)/∂q, which is how K changes along v: the energy's third derivatives are
  // symmetric.
  void AddTurningOfDamping(double scale) {
    double largest = 0;
    for (const double x : v_) largest = std::max(largest, std::abs(x));
    if (largest == 0) return;
    const double step = kDifference * size_ / largest;
    std::vector<double> moved(q_.size());
    for (const double sign : {1.0, -1.0}) {
      for (std::size_t i = 0; i < q_.size(); ++i) moved[i] = q_[i] + sign * step * v_[i];
      Assemble(moved, sign * scale / (2 * step), Tangent::kExact, &work_);
    }
  }

  // Volumes have no damping: scale · K alone is added to the stiffness, and to dense_.
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
  solvers::LowRank dense_;    // the part of the stiffness that volumes have beside
  std::vector<double> mass_;  // of each block of the pattern, times the identity
  double size_ = 1;           // height of the flattest element [m]
  std::vector<double> loads_;
  std::vector<Lane> pressure_;
  std::vector<Vector3d> prescribed_start_, prescribed_velocity_;
  std::vector<double> gauges_, gradient_;  // of each volume
  std::vector<double> q_, v_, work_, forces_;
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
  solvers::BlockPattern pattern_;  // of the participants: its diagonal
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
