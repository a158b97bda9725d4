#include <cmath>

#include "physics/rigid/free_turn.h"
#include "physics/rigid/rigid_body_block.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Vector3d Center(std::span<const double> q) {
  return {q[4], q[5], q[6]};
}

class FreeBodyBlock;

// One free body over one step: A is its spatial inertia at the start.
class FreeBodyStep final : public BlockStep {
 public:
  explicit FreeBodyStep(const FreeBodyBlock& block) : block_(block) {}

  absl::Status Pose(const StepSettings& settings, std::span<const double> q0,
                    std::span<const double> v0, const BlockInputs& inputs) override;
  int num_velocities() const override { return 6; }
  int num_groups() const override { return 1; }
  int group_offset(int) const override { return 0; }
  int group_size(int) const override { return 6; }
  int group_of_velocity(int) const override { return 0; }

  absl::Status Factor(std::span<const int> participants) override {
    participates_ = !participants.empty();
    return absl::OkStatus();
  }
  void CalcFreeMotion(std::span<double> v_star) const override {
    for (int i = 0; i < 6; ++i) v_star[i] = v_star_[i];
  }
  solvers::SchurComplement schur_complement() const override {
    return std::span<const double>(A_.data(), participates_ ? std::size_t{36} : 0);
  }
  void Complete(std::span<const double> v_p, std::span<double> v) const override {
    std::copy(v_p.begin(), v_p.end(), v.begin());
  }
  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    for (int i = 0; i < 6; ++i) {
      y[i] = 0;
      for (int j = 0; j < 6; ++j) y[i] = std::fma(A_(i, j), x[j], y[i]);
    }
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override {
    for (int i = 0; i < 6; ++i) diagonal[i] = A_(i, i);
  }
  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) const override {
    double offset[6];
    for (int i = 0; i < 6; ++i) offset[i] = v[i] - v_star_[i];
    MultiplyTangent(offset, residual);
  }
  void AppendRows(const Attachment& attachment, BlockRows* rows) const override {
    // v_P = v + ω × r = [−r×, I] (ω, v)
    Eigen::Map<Eigen::Matrix<double, 3, 6>> J(rows->Append(0, 6));
    J.leftCols<3>() = -CrossMatrix(attachment.p_W - p_WBcm_);
    J.rightCols<3>().setIdentity();
  }
  void AppendAngularRows(const Attachment&, BlockRows* rows) const override {
    Eigen::Map<Eigen::Matrix<double, 3, 6>>(rows->Append(0, 6)).leftCols<3>().setIdentity();
  }
  Vector3d CalcPrescribedVelocity(const Attachment&) const override { return Vector3d::Zero(); }
  void Integrate(std::span<const double> v_new, std::span<double> q,
                 std::span<double> v) const override;

 private:
  const FreeBodyBlock& block_;
  StepSettings settings_;
  Vector3d p_WBcm_ = Vector3d::Zero();
  Eigen::Matrix<double, 6, 6> A_ = Eigen::Matrix<double, 6, 6>::Zero();
  Eigen::Matrix<double, 6, 1> v_star_ = Eigen::Matrix<double, 6, 1>::Zero();
  bool participates_ = false;
};

class FreeBodyBlock final : public DynamicsBlock {
 public:
  explicit FreeBodyBlock(const RigidBodyParameters& parameters) : parameters_(parameters) {}

  int num_positions() const override { return 7; }
  int num_velocities() const override { return 6; }
  int num_frames() const override { return 1; }
  double mass() const override { return parameters_.mass; }
  const Matrix3d& inertia() const { return parameters_.inertia; }

  void SetInitialState(std::span<double> q, std::span<double> v) const override {
    Eigen::Quaterniond rotation(parameters_.X_WB.R);
    rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
    const Vector3d center = parameters_.X_WB * parameters_.p_BoBcm;
    const double values[] = {rotation.w(), rotation.x(), rotation.y(), rotation.z(),
                             center.x(),   center.y(),   center.z()};
    std::copy(std::begin(values), std::end(values), q.begin());
    for (int i = 0; i < 3; ++i) {
      v[i] = parameters_.angular_velocity[i];
      v[3 + i] = parameters_.linear_velocity[i];
    }
  }
  std::unique_ptr<BlockStep> NewStep() const override {
    return std::make_unique<FreeBodyStep>(*this);
  }

  void CalcFrames(std::span<const double> q, std::span<const double> v,
                  std::span<FrameMotion> frames) const override {
    const Matrix3d R = RotationAt(q).toRotationMatrix();
    const Vector3d r = -(R * parameters_.p_BoBcm);
    frames[0] = {{R, Center(q) + r}, VectorAt(v, 0), VectorAt(v, 3) + VectorAt(v, 0).cross(r)};
  }
  Vector3d CalcCenterOfMass(std::span<const double> q) const override { return Center(q); }
  Eigen::Matrix<double, 6, 1> CalcMomentum(std::span<const double> q,
                                           std::span<const double> v) const override {
    const Vector3d linear = parameters_.mass * VectorAt(v, 3);
    Eigen::Matrix<double, 6, 1> momentum;
    momentum << linear, Center(q).cross(linear) + WorldInertia(q) * VectorAt(v, 0);
    return momentum;
  }
  double CalcKineticEnergy(std::span<const double> q, std::span<const double> v) const override {
    return 0.5 * (parameters_.mass * VectorAt(v, 3).squaredNorm() +
                  VectorAt(v, 0).dot(WorldInertia(q) * VectorAt(v, 0)));
  }
  Matrix3d WorldInertia(std::span<const double> q) const {
    const Matrix3d R = RotationAt(q).toRotationMatrix();
    return R * parameters_.inertia * R.transpose();
  }

 private:
  RigidBodyParameters parameters_;
};

absl::Status FreeBodyStep::Pose(const StepSettings& settings, std::span<const double> q0,
                                std::span<const double> v0, const BlockInputs& inputs) {
  settings_ = settings;
  p_WBcm_ = Center(q0);
  const Matrix3d R0 = RotationAt(q0).toRotationMatrix();
  const Matrix3d I_W = R0 * block_.inertia() * R0.transpose();
  A_.topLeftCorner<3, 3>() = I_W;
  A_.bottomRightCorner<3, 3>() = block_.mass() * Matrix3d::Identity();

  Vector3d force = block_.mass() * settings.gravity;
  Vector3d torque = Vector3d::Zero();
  for (const BlockForce& applied : inputs.forces) {
    force += applied.force_W;
    torque += applied.torque_W;
    if (!applied.at_center_of_mass) torque += (applied.p_W - p_WBcm_).cross(applied.force_W);
  }
  const Vector3d omega = VectorAt(v0, 0);
  const Vector3d L = I_W * omega + settings.h * torque;
  v_star_.head<3>() = SolveAngularVelocity(block_.inertia(), R0, L, settings.h, omega);
  v_star_.tail<3>() = VectorAt(v0, 3) + settings.h / block_.mass() * force;
  if (!v_star_.allFinite()) return absl::InternalError("its free motion is not finite");
  return absl::OkStatus();
}

void FreeBodyStep::Integrate(std::span<const double> v_new, std::span<double> q,
                             std::span<double> v) const {
  // velocities at θ_vq between start and end move the body (han2023 §IV)
  double mean[6];
  for (int i = 0; i < 6; ++i)
    mean[i] = settings_.theta_vq * v_new[i] + (1 - settings_.theta_vq) * v[i];
  Eigen::Quaterniond rotation = RotationFromVector(settings_.h * VectorAt(mean, 0)) * RotationAt(q);
  rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
  q[0] = rotation.w();
  q[1] = rotation.x();
  q[2] = rotation.y();
  q[3] = rotation.z();
  for (int i = 0; i < 3; ++i) q[4 + i] += settings_.h * mean[3 + i];
  for (int i = 0; i < 6; ++i) v[i] = v_new[i];
}

}  // namespace

std::shared_ptr<const DynamicsBlock> MakeFreeBodyBlock(const RigidBodyParameters& parameters) {
  return std::make_shared<FreeBodyBlock>(parameters);
}

}  // namespace pliant::physics
