#include "physics/rigid/joint_tree_block.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <tbb/enumerable_thread_specific.h>

#include "physics/rigid/joint_laws.h"
#include "physics/rigid/tree_kinematics.h"
#include "solvers/linalg/dense.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Forces of velocity products at the middle of the step: rounds of fixed-point iteration, each O(h) closer.
constexpr int kMidpointRounds = 3;

void CopyFrames(const TreeKinematics& kinematics, std::span<FrameMotion> frames) {
  for (int link = 0; link < static_cast<int>(frames.size()); ++link) {
    const RigidTransform X_WB = kinematics.link_pose(link);
    frames[link] = {X_WB, kinematics.angular_velocity(link),
                    kinematics.CalcPointVelocity(link, X_WB.p)};
  }
}

class JointTreeStep final : public BlockStep {
 public:
  JointTreeStep(const JointTree& tree, const std::vector<JointForceLaw>& laws,
                const std::vector<JointStop>& stops, bool turns_freely)
      : tree_(tree),
        laws_(laws),
        stops_(stops),
        turns_freely_(turns_freely),
        kinematics_(tree),
        at_rest_(tree),
        n_(tree.num_velocities()) {
    A_.resize(std::size_t(n_) * n_);
    L_.resize(A_.size());
    jacobian_.resize(6 * std::size_t(n_));
    for (auto* x : {&applied_, &bias_, &v_star_, &v_mid_}) x->resize(n_);
  }

  bool CalcFrames(std::span<const double> q0, std::span<const double> v0,
                  std::span<FrameMotion> frames) override {
    tree_.CalcPositions(q0, &kinematics_);
    tree_.CalcVelocities(v0, &kinematics_);
    CopyFrames(kinematics_, frames);
    is_placed_ = true;
    return true;
  }

  absl::Status Pose(const StepSettings& settings, std::span<const double> q0,
                    std::span<const double> v0, const BlockInputs& inputs) override {
    settings_ = settings;
    const double h = settings.h;
    q0_ = q0;
    v0_ = v0;
    if (!is_placed_) {
      tree_.CalcPositions(q0, &kinematics_);
      tree_.CalcVelocities(v0, &kinematics_);
    }
    is_placed_ = false;
    tree_.CalcMassMatrix(kinematics_, A_);

    // what acts from outside, and the joints' own springs and dampers at the start
    std::fill(applied_.begin(), applied_.end(), 0.0);
    for (const BlockForce& force : inputs.forces) {
      tree_.AddWrench(kinematics_, force.frame, force.p_W, force.torque_W, force.force_W, applied_);
    }
    for (const CoordinateForce& force : inputs.coordinate_forces)
      applied_[force.velocity] += force.force;
    for (int i = 0; i < n_; ++i) {
      const auto [k, d] = laws_[i];
      if (d > 0) applied_[i] -= d * v0[i];
      if (k > 0) {
        const int link = tree_.link_of_velocity(i);
        const double error = CalcSpringError(tree_, link, i - tree_.velocity_start(link), q0);
        applied_[i] -= k * (error + h * v0[i]);
      }
      A_[std::size_t(i) * n_ + i] += h * (d + h * k);
    }

    std::copy(A_.begin(), A_.end(), L_.begin());
    if (solvers::FactorCholesky(n_, L_.data(), n_) >= 0)
      return absl::InternalError("its mass matrix is not positive definite");
    tree_.CalcBias(kinematics_, settings.gravity, bias_);
    CalcVStar();
    if (turns_freely_) {
      for (int k = 0; k < kMidpointRounds; ++k) {
        for (int i = 0; i < n_; ++i) v_mid_[i] = 0.5 * (v0[i] + v_star_[i]);
        tree_.CalcVelocities(v_mid_, &kinematics_);
        tree_.CalcBias(kinematics_, settings.gravity, bias_);
        CalcVStar();
      }
    }
    for (const double v : v_star_) {
      if (!std::isfinite(v)) return absl::InternalError("its free motion is not finite");
    }
    return absl::OkStatus();
  }

  int num_velocities() const override { return n_; }
  int num_groups() const override { return 1; }
  int group_offset(int) const override { return 0; }
  int group_size(int) const override { return n_; }
  int group_of_velocity(int) const override { return 0; }

  absl::Status Factor(std::span<const int> participants) override {
    participates_ = !participants.empty();
    return absl::OkStatus();
  }
  void CalcFreeMotion(std::span<double> v_star) const override {
    std::copy(v_star_.begin(), v_star_.end(), v_star.begin());
  }
  solvers::SchurComplement schur_complement() const override {
    return std::span<const double>(A_.data(), participates_ ? A_.size() : 0);
  }
  std::span<const double> factor() const override { return L_; }
  void Complete(std::span<const double> v_p, std::span<double> v) const override {
    std::copy(v_p.begin(), v_p.end(), v.begin());
  }
  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    solvers::MultiplySymmetric(n_, A_.data(), n_, x.data(), y.data());
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override {
    for (int i = 0; i < n_; ++i) diagonal[i] = A_[std::size_t(i) * n_ + i];
  }
  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) const override {
    for (int i = 0; i < n_; ++i) offset_[i] = v[i] - v_star_[i];
    MultiplyTangent(offset_, residual);
  }

  void AppendRows(const Attachment& attachment, BlockRows* rows) const override {
    double* J = rows->Append(0, n_);
    tree_.FillPointJacobian(kinematics_, attachment.frame, attachment.p_W,
                            {J, 3 * std::size_t(n_)});
  }
  void AppendAngularRows(const Attachment& attachment, BlockRows* rows) const override {
    double* J = rows->Append(0, n_);
    tree_.CalcJacobian(kinematics_, attachment.frame, attachment.p_W, jacobian_);
    for (int j = 0; j < n_; ++j) {
      for (int r = 0; r < 3; ++r) J[3 * j + r] = jacobian_[6 * std::size_t(j) + r];
    }
  }
  Vector3d CalcPrescribedVelocity(const Attachment&) const override { return Vector3d::Zero(); }

  void AppendConstraints(int block, ConstraintSet* constraints) const override {
    AppendStops(block, stops_, settings_.h, q0_, v0_, v_star_, constraints);
  }

  void CalcGravityCompensation(std::span<double> force) const override {
    std::fill(v_mid_.begin(), v_mid_.end(), 0.0);
    tree_.CalcPositions(q0_, &at_rest_);
    tree_.CalcVelocities(v_mid_, &at_rest_);
    tree_.CalcBias(at_rest_, settings_.gravity, force);
  }

  void Integrate(std::span<const double> v_new, std::span<double> q,
                 std::span<double> v) const override {
    // velocities at θ_vq between start and end move it (han2023 §IV)
    for (int i = 0; i < n_; ++i)
      v_mid_[i] = settings_.theta_vq * v_new[i] + (1 - settings_.theta_vq) * v[i];
    tree_.IntegratePositions(v_mid_, settings_.h, q);
    std::copy(v_new.begin(), v_new.end(), v.begin());
  }

 private:
  // v* = v0 + h A⁻¹ (applied − bias)
  void CalcVStar() {
    for (int i = 0; i < n_; ++i) v_star_[i] = settings_.h * (applied_[i] - bias_[i]);
    solvers::SolveLower(n_, L_.data(), n_, v_star_.data());
    solvers::SolveLowerTransposed(n_, L_.data(), n_, v_star_.data());
    for (int i = 0; i < n_; ++i) v_star_[i] += v0_[i];
  }

  const JointTree& tree_;
  const std::vector<JointForceLaw>& laws_;
  const std::vector<JointStop>& stops_;
  bool turns_freely_;
  TreeKinematics kinematics_;  // positions are those of the step's start
  mutable TreeKinematics at_rest_;
  int n_;
  StepSettings settings_;
  std::span<const double> q0_, v0_;  // of the state, which outlives the step until it is committed
  std::vector<double> A_, L_, applied_, bias_, v_star_;
  mutable std::vector<double> v_mid_, jacobian_;
  mutable std::vector<double> offset_ = std::vector<double>(n_);
  bool participates_ = false;
  bool is_placed_ = false;  // kinematics_ are already those of the step's start
};

class JointTreeBlock final : public DynamicsBlock {
 public:
  explicit JointTreeBlock(JointTreeParameters parameters)
      : parameters_(std::move(parameters)),
        tree_(*parameters_.tree),
        kinematics_([this] { return TreeKinematics(tree_); }) {
    stops_ = FindStops(tree_);
    laws_ = FindLaws(tree_);
    for (const Link& link : tree_.links()) {
      turns_freely_ = turns_freely_ || link.joint.type == JointType::kBall ||
                      link.joint.type == JointType::kFree;
    }
  }

  int num_positions() const override { return tree_.num_positions(); }
  int num_velocities() const override { return tree_.num_velocities(); }
  void SetInitialState(std::span<double> q, std::span<double> v) const override {
    std::copy(parameters_.q.begin(), parameters_.q.end(), q.begin());
    std::copy(parameters_.v.begin(), parameters_.v.end(), v.begin());
  }
  std::unique_ptr<BlockStep> NewStep() const override {
    return std::make_unique<JointTreeStep>(tree_, laws_, stops_, turns_freely_);
  }

  int num_frames() const override { return tree_.num_links(); }
  void CalcFrames(std::span<const double> q, std::span<const double> v,
                  std::span<FrameMotion> frames) const override {
    CopyFrames(At(q, v), frames.first(tree_.num_links()));
  }
  void CalcReactions(std::span<const double> q, std::span<const double> v,
                     std::span<const double> vdot, const Vector3d& gravity,
                     std::span<const BlockForce> forces,
                     std::span<double> reactions) const override {
    TreeKinematics kinematics(tree_);
    tree_.CalcPositions(q, &kinematics);
    tree_.CalcVelocities(v, &kinematics);
    std::vector<LinkWrench> wrenches;
    for (const BlockForce& force : forces)
      wrenches.push_back({force.frame, force.p_W, force.torque_W, force.force_W});
    tree_.CalcReactions(&kinematics, gravity, vdot, wrenches, reactions);
  }
  double mass() const override { return tree_.mass(); }
  Vector3d CalcCenterOfMass(std::span<const double> q) const override {
    TreeKinematics& kinematics = kinematics_.local();
    tree_.CalcPositions(q, &kinematics);
    return tree_.CalcCenterOfMass(kinematics);
  }
  Eigen::Matrix<double, 6, 1> CalcMomentum(std::span<const double> q,
                                           std::span<const double> v) const override {
    return tree_.CalcMomentum(At(q, v));
  }
  double CalcKineticEnergy(std::span<const double> q, std::span<const double> v) const override {
    return tree_.CalcKineticEnergy(At(q, v), v);
  }
  double CalcPotentialEnergy(std::span<const double> q, const Vector3d& gravity) const override {
    TreeKinematics& kinematics = kinematics_.local();
    tree_.CalcPositions(q, &kinematics);
    return tree_.CalcPotentialEnergy(kinematics, gravity);
  }
  double gravity_scale(int frame) const override { return tree_.links()[frame].gravity_scale; }
  double CalcElasticEnergy(std::span<const double> q) const override {
    return CalcSpringEnergy(tree_, laws_, q);
  }

 private:
  const TreeKinematics& At(std::span<const double> q, std::span<const double> v) const {
    TreeKinematics& kinematics = kinematics_.local();
    tree_.CalcPositions(q, &kinematics);
    tree_.CalcVelocities(v, &kinematics);
    return kinematics;
  }

  JointTreeParameters parameters_;
  const JointTree& tree_;
  std::vector<JointForceLaw> laws_;  // of each velocity
  std::vector<JointStop> stops_;
  bool turns_freely_ = false;
  // room to compute in, one a thread: what it held before changes no result
  mutable tbb::enumerable_thread_specific<TreeKinematics> kinematics_;
};

}  // namespace

std::shared_ptr<const DynamicsBlock> MakeJointTreeBlock(JointTreeParameters parameters) {
  return std::make_shared<JointTreeBlock>(std::move(parameters));
}

}  // namespace pliant::physics
