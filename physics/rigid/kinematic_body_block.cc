#include <cmath>

#include "physics/rigid/rigid_body_block.h"
#include "physics/spatial/demand.h"
#include "physics/spatial/pose_numbers.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A prescribed motion over one step: constant velocity from the present pose to the target. It
// takes no part in any solve; contacts see its velocity.
class KinematicBodyStep final : public BlockStep, public FrameStep {
 public:
  StepAbilities abilities() override { return {.frames = this}; }
  std::span<const double> start_velocities() const override { return {}; }

  absl::Status Pose(const Stage& stage, const BlockState& base,
                    const BlockInputs& inputs) override {
    const std::span<const double> q0 = base.q;
    PLIANT_DEMAND(inputs.targets.size() == 1);
    const RigidTransform& target = inputs.targets.front();
    p0_ = VectorAt(q0, 4);
    p1_ = target.p;
    rotation_ = UnitQuaternion(target.R);
    omega_ = VectorFromRotation(rotation_ * RotationAt(q0).conjugate()) / stage.h;
    v_ = (p1_ - p0_) / stage.h;
    if (!v_.allFinite() || !omega_.allFinite())
      return absl::InternalError("its target pose is not finite");
    return absl::OkStatus();
  }
  absl::Status Factor(std::span<const int>) override { return absl::OkStatus(); }
  void CalcFreeMotion(std::span<double>) const override {}
  solvers::SchurComplement schur_complement() const override { return {}; }
  void Complete(std::span<const double>, std::span<double>) const override {}
  void MultiplyTangent(std::span<const double>, std::span<double>) const override {}
  void CalcTangentDiagonal(std::span<double>) const override {}
  void CalcMomentumResidual(std::span<const double>, std::span<double>) override {}
  void AppendRows(const Attachment& attachment, BlockRows* rows) const override {
    rows->prescribed += v_ + omega_.cross(attachment.p_W - p0_);
  }
  void AppendAngularRows(const Attachment&, BlockRows* rows) const override {
    rows->prescribed += omega_;
  }
  void Integrate(std::span<const double>, MutableBlockState state) const override {
    const std::span<double> q = state.q;
    WritePose(rotation_, p1_, q);
    for (int i = 0; i < 3; ++i) {
      q[7 + i] = omega_[i];
      q[10 + i] = v_[i];
    }
  }

 private:
  Eigen::Quaterniond rotation_ = Eigen::Quaterniond::Identity();
  Vector3d p0_ = Vector3d::Zero(), p1_ = Vector3d::Zero(), v_ = Vector3d::Zero(),
           omega_ = Vector3d::Zero();
};

// Prescribed motion with constant velocity over the step.
class KinematicBodyBalance final : public ForceBalance {
 public:
  void Start(const BlockState& start, const BlockInputs& inputs, double h) override {
    const RigidTransform& target = inputs.targets.front();
    rotation0_ = RotationAt(start.q);
    p0_ = VectorAt(start.q, 4);
    omega_ = VectorFromRotation(UnitQuaternion(target.R) * rotation0_.conjugate()) / h;
    v_ = (target.p - p0_) / h;
  }
  void Advance(std::span<const double>, std::span<double>) const override {}
  void CalcDifference(std::span<const double>, std::span<const double>,
                      std::span<double>) const override {}
  void Place(double time, std::span<const double>, std::span<double> q,
             std::span<double>) override {
    Eigen::Quaterniond rotation = RotationFromVector(time * omega_) * rotation0_;
    rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
    const Vector3d p = p0_ + time * v_;
    frame_ = {{rotation.toRotationMatrix(), p}, omega_, v_};
    WritePose(rotation, p, q);
    for (int i = 0; i < 3; ++i) {
      q[7 + i] = omega_[i];
      q[10 + i] = v_[i];
    }
  }
  void CalcFrames(std::span<FrameMotion> frames) const override { frames[0] = frame_; }
  absl::Status CalcResidual(std::span<const double>, const SpatialColumns&,
                            std::span<double>) override {
    return absl::OkStatus();
  }
  void AddJacobian(double, std::span<const double>, const SpatialColumns&, int,
                   solvers::BlockSum*) override {}
  void CalcFrameDerivatives(int, FrameDerivatives* derivatives) const override {
    for (SpatialColumns* part :
         {&derivatives->velocity, &derivatives->displacement, &derivatives->velocity_by_position})
      part->resize(6, 0);
  }

 private:
  Eigen::Quaterniond rotation0_ = Eigen::Quaterniond::Identity();
  Vector3d p0_ = Vector3d::Zero(), v_ = Vector3d::Zero(), omega_ = Vector3d::Zero();
  FrameMotion frame_;
};

class KinematicBodyBlock final : public DynamicsBlock,
                                 public FrameSet,
                                 public EquationOfMotion,
                                 public PrescribedMotion {
 public:
  KinematicBodyBlock(int body, const RigidTransform& X_WB) : body_(body), X_WB_(X_WB) {}

  int num_positions() const override { return 13; }
  int num_velocities() const override { return 0; }
  int num_frames() const override { return 1; }
  BlockAbilities abilities() const override {
    return {.frames = this, .equation = this, .prescribed = this};
  }
  bool is_complete() const override { return true; }
  double mass(int) const override { return 0; }
  std::vector<int> followed_bodies() const override { return {body_}; }
  void SetInitialState(MutableBlockState state) const override {
    WritePose(UnitQuaternion(X_WB_.R), X_WB_.p, state.q);
    std::fill(state.q.begin() + 7, state.q.end(), 0.0);
  }
  std::unique_ptr<BlockStep> NewStep() const override {
    return std::make_unique<KinematicBodyStep>();
  }
  std::unique_ptr<ForceBalance> NewForceBalance() const override {
    return std::make_unique<KinematicBodyBalance>();
  }
  std::unique_ptr<BlockStep> NewMassStep() const override { return NewStep(); }
  void CalcFrames(const BlockState& state, std::span<FrameMotion> frames) const override {
    const std::span<const double> q = state.q;
    frames[0] = {
        {RotationAt(q).toRotationMatrix(), VectorAt(q, 4)}, VectorAt(q, 7), VectorAt(q, 10)};
  }
  Vector3d CalcCenterOfMass(const BlockState& state, int) const override {
    return VectorAt(state.q, 4);
  }
  Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState&, int) const override {
    return Eigen::Matrix<double, 6, 1>::Zero();
  }
  Energies CalcEnergies(const BlockState&, const Vector3d&, int) const override { return {}; }

 private:
  int body_;
  RigidTransform X_WB_;
};

}  // namespace

std::shared_ptr<const DynamicsBlock> MakeKinematicBodyBlock(int body, const RigidTransform& X_WB) {
  return std::make_shared<KinematicBodyBlock>(body, X_WB);
}

}  // namespace pliant::physics
