#include <cmath>
#include <vector>

#include "physics/rigid/free_turn.h"
#include "physics/rigid/rigid_body_block.h"
#include "physics/spatial/pose_numbers.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Vector3d Center(std::span<const double> q) {
  return {q[4], q[5], q[6]};
}

class FreeBodyBlock;

// One free body over one step; A is its spatial inertia at the start.
class FreeBodyStep final : public BlockStep, public FrameStep {
 public:
  explicit FreeBodyStep(const FreeBodyBlock& block) : block_(block) {
    space_ = VelocitySpace::MakeUniform(1, 6);
  }
  StepAbilities abilities() override { return {.frames = this}; }
  std::span<const double> start_velocities() const override { return v0_; }

  absl::Status Pose(const Stage& stage, const BlockState& base, const BlockInputs& inputs) override;

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
  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) override {
    double offset[6];
    for (int i = 0; i < 6; ++i) offset[i] = v[i] - v_star_[i];
    MultiplyTangent(offset, residual);
  }
  double CalcInputWork(std::span<const double> v) override {
    return 0.5 * stage_.impulse_scale() *
           (applied_torque_.dot(VectorAt(v0_, 0) + VectorAt(v, 0)) +
            applied_force_.dot(VectorAt(v0_, 3) + VectorAt(v, 3)));
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
  void Integrate(std::span<const double> v, MutableBlockState state) const override;

 private:
  const FreeBodyBlock& block_;
  Stage stage_;
  std::span<const double> v0_;  // of the base state
  Vector3d p_WBcm_ = Vector3d::Zero();
  Vector3d applied_force_ = Vector3d::Zero(), applied_torque_ = Vector3d::Zero();
  Eigen::Matrix<double, 6, 6> A_ = Eigen::Matrix<double, 6, 6>::Zero();
  Eigen::Matrix<double, 6, 1> v_star_ = Eigen::Matrix<double, 6, 1>::Zero();
  bool participates_ = false;
};

// Newton–Euler equations of a free body; x is a rotation vector in W, then the displacement of Bcm.
class FreeBodyBalance final : public ForceBalance {
 public:
  explicit FreeBodyBalance(const RigidBodyParameters& parameters) : of_(parameters) {}

  void Start(const BlockState& start, const BlockInputs& inputs, double) override {
    const Matrix3d R0 = RotationAt(start.q).toRotationMatrix();
    force_ = of_.mass * inputs.gravity;
    torque_.setZero();
    loads_.clear();
    for (const BlockForce& applied : inputs.forces) {
      force_ += applied.force_W;
      torque_ += applied.torque_W;
      if (applied.at_center_of_mass) continue;
      loads_.push_back(
          {R0.transpose() * (applied.p_W - VectorAt(start.q, 4)), Vector3d(applied.force_W)});
    }
  }

  void Advance(std::span<const double> x, std::span<double> q) const override {
    Eigen::Quaterniond rotation = RotationFromVector(VectorAt(x, 0)) * RotationAt(q);
    rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
    const double turned[] = {rotation.w(), rotation.x(), rotation.y(), rotation.z()};
    std::copy(std::begin(turned), std::end(turned), q.begin());
    for (int i = 0; i < 3; ++i) q[4 + i] += x[3 + i];
  }
  void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                      std::span<double> x) const override {
    const Vector3d turned = VectorFromRotation(RotationAt(q1) * RotationAt(q0).conjugate());
    for (int i = 0; i < 3; ++i) {
      x[i] = turned[i];
      x[3 + i] = q1[4 + i] - q0[4 + i];
    }
  }

  void Place(double, std::span<const double> x, std::span<double> q, std::span<double> v) override {
    R_ = RotationAt(q).toRotationMatrix();
    p_WBcm_ = VectorAt(q, 4);
    r_ = -(R_ * of_.p_BoBcm);
    omega_ = VectorAt(v, 0);
    v_ = VectorAt(v, 3);
    I_ = R_ * of_.inertia * R_.transpose();
    rotation_tangent_ = CalcRotationTangent(VectorAt(x, 0));
  }
  void CalcFrames(std::span<FrameMotion> frames) const override {
    frames[0] = {{R_, p_WBcm_ + r_}, omega_, v_ + omega_.cross(r_)};
  }

  absl::Status CalcResidual(std::span<const double> a, const SpatialColumns& wrenches,
                            std::span<double> residual) override {
    const Vector3d force = wrenches.block<3, 1>(3, 0);
    Vector3d torque = torque_ + wrenches.block<3, 1>(0, 0) + r_.cross(force);
    for (const auto& [p_B, applied] : loads_) torque += (R_ * p_B).cross(applied);
    const Vector3d angular = I_ * VectorAt(a, 0) + omega_.cross(I_ * omega_) - torque,
                   linear = of_.mass * VectorAt(a, 3) - force_ - force;
    for (int i = 0; i < 3; ++i) {
      residual[i] = angular[i];
      residual[3 + i] = linear[i];
    }
    if (!angular.allFinite() || !linear.allFinite())
      return absl::InternalError("its motion is not finite");
    return absl::OkStatus();
  }

  void AddJacobian(double c, std::span<const double> a, const SpatialColumns& wrenches, int first,
                   solvers::BlockSum* jacobian) override {
    // derivative by a rotation δθ of the body, for fixed y: δ(I y) = δθ × I y − I (δθ × y)
    const auto turn_inertia = [&](const Vector3d& y) {
      return Matrix3d(I_ * CrossMatrix(y) - CrossMatrix(I_ * y));
    };
    const Matrix3d omega = CrossMatrix(omega_);
    Matrix3d by_turn = turn_inertia(VectorAt(a, 0)) + omega * turn_inertia(omega_) -
                       CrossMatrix(wrenches.block<3, 1>(3, 0)) * CrossMatrix(r_);
    for (const auto& [p_B, applied] : loads_)
      by_turn -= CrossMatrix(applied) * CrossMatrix(R_ * p_B);
    const Matrix3d by_velocity = omega * I_ - CrossMatrix(I_ * omega_);
    const Matrix3d angular = I_ + c * by_velocity + c * c * by_turn * rotation_tangent_;
    jacobian->Add(first, first, 3, 3, angular.data(), 3);
    for (int i = 3; i < 6; ++i) jacobian->Add(first + i, first + i, of_.mass);
  }

  void CalcFrameDerivatives(int, FrameDerivatives* derivatives) const override {
    derivatives->velocity.setZero(6, 6);
    derivatives->velocity.diagonal().setOnes();
    derivatives->velocity.block<3, 3>(3, 0) = -CrossMatrix(r_);
    derivatives->displacement = derivatives->velocity;
    derivatives->displacement.leftCols<3>() =
        derivatives->velocity.leftCols<3>() * rotation_tangent_;
    derivatives->velocity_by_position.setZero(6, 6);
    derivatives->velocity_by_position.block<3, 3>(3, 0) =
        -CrossMatrix(omega_) * CrossMatrix(r_) * rotation_tangent_;
  }

 private:
  struct Load {
    Vector3d p_B, force_W;  // p_B: from Bcm
  };
  const RigidBodyParameters& of_;
  Vector3d force_ = Vector3d::Zero(), torque_ = Vector3d::Zero();  // of the inputs
  std::vector<Load> loads_;
  // set by Place
  Matrix3d R_ = Matrix3d::Identity(), I_ = Matrix3d::Zero(),
           rotation_tangent_ = Matrix3d::Identity();
  Vector3d p_WBcm_ = Vector3d::Zero(), r_ = Vector3d::Zero();  // r_: from Bcm to Bo
  Vector3d omega_ = Vector3d::Zero(), v_ = Vector3d::Zero();
};

class FreeBodyBlock final : public DynamicsBlock, public FrameSet, public EquationOfMotion {
 public:
  explicit FreeBodyBlock(const RigidBodyParameters& parameters) : parameters_(parameters) {}

  int num_positions() const override { return 7; }
  int num_velocities() const override { return 6; }
  int num_frames() const override { return 1; }
  double CalcSpeedBound(const BlockState& state, double r) const override {
    const double reach = std::sqrt(parameters_.p_BoBcm.squaredNorm()) + r;
    return std::sqrt(VectorAt(state.v, 3).squaredNorm()) +
           std::sqrt(VectorAt(state.v, 0).squaredNorm()) * reach;
  }
  BlockAbilities abilities() const override { return {.frames = this, .equation = this}; }
  double mass(int) const override { return parameters_.mass; }
  const Matrix3d& inertia() const { return parameters_.inertia; }

  void SetInitialState(MutableBlockState state) const override {
    WritePose(UnitQuaternion(parameters_.X_WB.R), parameters_.X_WB * parameters_.p_BoBcm, state.q);
    for (int i = 0; i < 3; ++i) {
      state.v[i] = parameters_.angular_velocity[i];
      state.v[3 + i] = parameters_.linear_velocity[i];
    }
  }
  std::unique_ptr<BlockStep> NewStep() const override {
    return std::make_unique<FreeBodyStep>(*this);
  }
  std::unique_ptr<ForceBalance> NewForceBalance() const override {
    return std::make_unique<FreeBodyBalance>(parameters_);
  }
  std::unique_ptr<BlockStep> NewMassStep() const override { return NewStep(); }

  void CalcFrames(const BlockState& state, std::span<FrameMotion> frames) const override {
    const std::span<const double> q = state.q, v = state.v;
    const Matrix3d R = RotationAt(q).toRotationMatrix();
    const Vector3d r = -(R * parameters_.p_BoBcm);
    frames[0] = {{R, Center(q) + r}, VectorAt(v, 0), VectorAt(v, 3) + VectorAt(v, 0).cross(r)};
  }
  Vector3d CalcCenterOfMass(const BlockState& state, int) const override { return Center(state.q); }
  Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int) const override {
    const std::span<const double> q = state.q, v = state.v;
    const Vector3d linear = parameters_.mass * VectorAt(v, 3);
    Eigen::Matrix<double, 6, 1> momentum;
    momentum << linear, Center(q).cross(linear) + WorldInertia(q) * VectorAt(v, 0);
    return momentum;
  }
  Energies CalcEnergies(const BlockState& state, const Vector3d& gravity, int) const override {
    const Vector3d omega = VectorAt(state.v, 0);
    const double kinetic = 0.5 * (parameters_.mass * VectorAt(state.v, 3).squaredNorm() +
                                  omega.dot(WorldInertia(state.q) * omega));
    return {kinetic, 0, -parameters_.mass * gravity.dot(Center(state.q))};
  }
  Matrix3d WorldInertia(std::span<const double> q) const {
    const Matrix3d R = RotationAt(q).toRotationMatrix();
    return R * parameters_.inertia * R.transpose();
  }

 private:
  RigidBodyParameters parameters_;
};

absl::Status FreeBodyStep::Pose(const Stage& stage, const BlockState& base,
                                const BlockInputs& inputs) {
  const std::span<const double> q0 = base.q, v0 = base.v;
  stage_ = stage;
  v0_ = v0;
  p_WBcm_ = Center(q0);
  const Matrix3d R0 = RotationAt(q0).toRotationMatrix();
  const Matrix3d I_W = R0 * block_.inertia() * R0.transpose();
  A_.topLeftCorner<3, 3>() = I_W;
  A_.bottomRightCorner<3, 3>() = block_.mass(0) * Matrix3d::Identity();

  Vector3d force = block_.mass(0) * inputs.gravity;
  Vector3d torque = Vector3d::Zero();
  applied_force_.setZero();
  for (const BlockForce& applied : inputs.forces) {
    force += applied.force_W;
    applied_force_ += applied.force_W;
    torque += applied.torque_W;
    if (!applied.at_center_of_mass) torque += (applied.p_W - p_WBcm_).cross(applied.force_W);
  }
  applied_torque_ = torque;
  const Vector3d omega = VectorAt(v0, 0);
  const double impulse = stage.impulse_scale();
  const Vector3d L = I_W * omega + impulse * torque;
  v_star_.head<3>() = SolveAngularVelocity(block_.inertia(), R0, L, stage.h, omega);
  v_star_.tail<3>() = VectorAt(v0, 3) + impulse / block_.mass(0) * force;
  if (!v_star_.allFinite()) return absl::InternalError("its free motion is not finite");
  return absl::OkStatus();
}

void FreeBodyStep::Integrate(std::span<const double> v, MutableBlockState state) const {
  const std::span<double> q = state.q;
  double mean[6];
  for (int i = 0; i < 6; ++i) mean[i] = stage_.move(state.v[i], v[i]);
  Eigen::Quaterniond rotation = RotationFromVector(stage_.h * VectorAt(mean, 0)) * RotationAt(q);
  rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
  q[0] = rotation.w();
  q[1] = rotation.x();
  q[2] = rotation.y();
  q[3] = rotation.z();
  for (int i = 0; i < 3; ++i) q[4 + i] += stage_.h * mean[3 + i];
  for (int i = 0; i < 6; ++i) state.v[i] = v[i];
}

}  // namespace

std::shared_ptr<const DynamicsBlock> MakeFreeBodyBlock(const RigidBodyParameters& parameters) {
  return std::make_shared<FreeBodyBlock>(parameters);
}

}  // namespace pliant::physics
