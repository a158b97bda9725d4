#include "physics/rigid/joint_tree_block.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <tbb/enumerable_thread_specific.h>

#include "physics/rigid/joint_laws.h"
#include "physics/rigid/tree_kinematics.h"
#include "solvers/linalg/dense.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Fixed-point iterations for the velocity-product forces at mid-step; each reduces the error by
// O(h).
constexpr int kMidpointRounds = 3;

void CopyFrames(const TreeKinematics& kinematics, std::span<FrameMotion> frames) {
  for (int link = 0; link < static_cast<int>(frames.size()); ++link) {
    const RigidTransform X_WB = kinematics.link_pose(link);
    frames[link] = {X_WB, kinematics.angular_velocity(link),
                    kinematics.CalcPointVelocity(link, X_WB.p)};
  }
}

// Bounds the speed of points of a tree by a sum over the joint velocities, each acting alone.
class SpeedBound {
 public:
  explicit SpeedBound(const JointTree& tree);
  // As FrameSet::CalcSpeedBound.
  double At(const BlockState& state, double r) const {
    double slid = 0;
    for (const int i : slides_) slid += std::abs(state.q[i]);
    double sum = 0;
    for (std::size_t i = 0; i < reaches_.size(); ++i) {
      if (state.v[i] == 0) continue;  // avoids 0 · ∞
      sum += std::abs(state.v[i]) * (rotates_[i] ? reaches_[i] + slid + r : 1);
    }
    return sum;
  }

 private:
  // Whether each velocity is an angular one.
  std::vector<char> rotates_;
  // Largest distance from the joint of an angular velocity to the frames that it moves, with all
  // prismatic joints at 0 [m]; ∞: unknown.
  std::vector<double> reaches_;
  std::vector<int> slides_;  // positions of prismatic joints with a rotating ancestor
};

SpeedBound::SpeedBound(const JointTree& tree) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  rotates_.assign(tree.num_velocities(), false);
  reaches_.assign(tree.num_velocities(), 0);
  const auto only_slides = [&tree](int k) {
    const std::vector<Link>& links = tree.links();
    while (k >= 0 && (links[k].joint.type == JointType::kPrismatic ||
                      links[k].joint.type == JointType::kFixed)) {
      k = links[k].parent;
    }
    return k < 0;
  };
  // from each link's Bo to the frames of its descendants
  std::vector<double> beyond(tree.num_links());
  for (int k = tree.num_links() - 1; k >= 0; --k) {
    const Link& link = tree.links()[k];
    const JointType type = link.joint.type;
    const double reach = beyond[k] + std::sqrt(link.joint.X_BM.p.squaredNorm());
    const bool follows_slides = only_slides(link.parent);
    const bool turns_in_place =
        type == JointType::kRevolute || type == JointType::kUniversal || type == JointType::kBall;
    // translates before it rotates, and no ancestor rotates
    const bool turns_last =
        follows_slides && (type == JointType::kFree || type == JointType::kPlanar);
    if (type == JointType::kPrismatic) {
      if (!follows_slides) slides_.push_back(tree.position_start(k));
    } else {
      for (int i = 0; i < CountVelocities(type); ++i) {
        const bool translates = turns_last && (type == JointType::kFree ? i >= 3 : i < 2);
        rotates_[tree.velocity_start(k) + i] = !translates;
        reaches_[tree.velocity_start(k) + i] = turns_in_place || turns_last ? reach : kUnknown;
      }
    }
    if (link.parent < 0) continue;
    const bool is_bounded =
        turns_in_place || type == JointType::kPrismatic || type == JointType::kFixed;
    const double from_parent =
        is_bounded ? std::sqrt(link.joint.X_PF.p.squaredNorm()) + reach : kUnknown;
    beyond[link.parent] = std::max(beyond[link.parent], from_parent);
  }
}

class JointTreeStep final : public BlockStep, public FrameStep, public JointStep {
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
    space_ = VelocitySpace::MakeUniform(1, n_);
    A_.resize(std::size_t(n_) * n_);
    L_.resize(A_.size());
    jacobian_.resize(6 * std::size_t(n_));
    for (auto* x : {&applied_, &bias_, &v_star_, &v_mid_}) x->resize(n_);
  }

  StepAbilities abilities() override { return {.frames = this, .joints = this}; }
  std::span<const double> start_velocities() const override { return v0_; }

  bool CalcFrames(const BlockState& state, std::span<FrameMotion> frames) override {
    tree_.CalcPositions(state.q, &kinematics_);
    tree_.CalcVelocities(state.v, &kinematics_);
    CopyFrames(kinematics_, frames);
    is_placed_ = true;
    return true;
  }

  absl::Status Pose(const Stage& stage, const BlockState& base,
                    const BlockInputs& inputs) override {
    const std::span<const double> q0 = base.q, v0 = base.v;
    stage_ = stage;
    gravity_ = inputs.gravity;
    const double h = stage.h, impulse = stage.impulse_scale();
    q0_ = q0;
    v0_ = v0;
    if (!is_placed_) {
      tree_.CalcPositions(q0, &kinematics_);
      tree_.CalcVelocities(v0, &kinematics_);
    }
    is_placed_ = false;
    tree_.CalcMassMatrix(kinematics_, A_);

    // external forces, and the joints' own springs and dampers at v = v0
    std::fill(applied_.begin(), applied_.end(), 0.0);
    for (const BlockForce& force : inputs.forces) {
      tree_.AddWrench(kinematics_, force.frame, force.p_W, force.torque_W, force.force_W, applied_);
    }
    for (const ChannelEffort& on : inputs.efforts) applied_[on.channel] += on.effort;
    input_.clear();
    if (!inputs.forces.empty() || !inputs.efforts.empty())
      input_.assign(applied_.begin(), applied_.end());
    for (int i = 0; i < n_; ++i) {
      const auto [k, d] = laws_[i];
      if (d > 0) applied_[i] -= d * stage.force_rate.sum() * v0[i];
      if (k > 0) {
        const int link = tree_.link_of_velocity(i);
        const double error = CalcSpringError(tree_, link, i - tree_.velocity_start(link), q0);
        applied_[i] -= k * (error + h * stage.force_move.sum() * v0[i]);
      }
      A_[std::size_t(i) * n_ + i] +=
          impulse * (stage.force_rate.trial * d + h * stage.force_move.trial * k);
    }

    std::copy(A_.begin(), A_.end(), L_.begin());
    if (solvers::FactorCholesky(n_, L_.data(), n_) >= 0)
      return absl::InternalError("its mass matrix is not positive definite");
    tree_.CalcBias(kinematics_, inputs.gravity, bias_);
    CalcVStar();
    if (turns_freely_) {
      for (int k = 0; k < kMidpointRounds; ++k) {
        for (int i = 0; i < n_; ++i) v_mid_[i] = 0.5 * (v0[i] + v_star_[i]);
        tree_.CalcVelocities(v_mid_, &kinematics_);
        tree_.CalcBias(kinematics_, inputs.gravity, bias_);
        CalcVStar();
      }
    }
    for (const double v : v_star_) {
      if (!std::isfinite(v)) return absl::InternalError("its free motion is not finite");
    }
    return absl::OkStatus();
  }

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
  std::span<const double> dense_factor() const override { return L_; }
  void Complete(std::span<const double> v_p, std::span<double> v) const override {
    std::copy(v_p.begin(), v_p.end(), v.begin());
  }
  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    solvers::MultiplySymmetric(n_, A_.data(), n_, x.data(), y.data());
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override {
    for (int i = 0; i < n_; ++i) diagonal[i] = A_[std::size_t(i) * n_ + i];
  }
  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) override {
    for (int i = 0; i < n_; ++i) offset_[i] = v[i] - v_star_[i];
    MultiplyTangent(offset_, residual);
  }

  double CalcInputWork(std::span<const double> v) override {
    double sum = 0;
    for (std::size_t i = 0; i < input_.size(); ++i) sum += input_[i] * (v0_[i] + v[i]);
    return 0.5 * stage_.impulse_scale() * sum;
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
  void AppendJointRows(const Attachment& attachment, BlockRows* angular,
                       BlockRows* linear) const override {
    AppendAngularRows(attachment, angular);
    AppendRows(attachment, linear);
  }

  void AppendConstraints(int block, ConstraintSet* constraints) const override {
    AppendStops(block, stops_, stage_.h, q0_, v0_, v_star_, constraints);
  }

  void CalcGravityCompensation(std::span<double> force) const override {
    std::fill(v_mid_.begin(), v_mid_.end(), 0.0);
    tree_.CalcPositions(q0_, &at_rest_);
    tree_.CalcVelocities(v_mid_, &at_rest_);
    tree_.CalcBias(at_rest_, gravity_, force);
  }

  void Integrate(std::span<const double> v, MutableBlockState state) const override {
    for (int i = 0; i < n_; ++i) v_mid_[i] = stage_.move(state.v[i], v[i]);
    tree_.IntegratePositions(v_mid_, stage_.h, state.q);
    std::copy(v.begin(), v.end(), state.v.begin());
  }

 private:
  // v* = v0 + w h A⁻¹ (applied − bias), with the stage's weight w
  void CalcVStar() {
    const double impulse = stage_.impulse_scale();
    for (int i = 0; i < n_; ++i) v_star_[i] = impulse * (applied_[i] - bias_[i]);
    solvers::SolveLower(n_, L_.data(), n_, v_star_.data());
    solvers::SolveLowerTransposed(n_, L_.data(), n_, v_star_.data());
    for (int i = 0; i < n_; ++i) v_star_[i] += v0_[i];
  }

  const JointTree& tree_;
  const std::vector<JointForceLaw>& laws_;
  const std::vector<JointStop>& stops_;
  bool turns_freely_;
  TreeKinematics kinematics_;  // positions at the step's start
  mutable TreeKinematics at_rest_;
  int n_;
  Stage stage_;
  Vector3d gravity_ = Vector3d::Zero();
  std::span<const double> q0_, v0_;  // of the base state
  std::vector<double> A_, L_, applied_, bias_, v_star_;
  std::vector<double> input_;  // generalised forces of the inputs; empty: none
  mutable std::vector<double> v_mid_, jacobian_;
  mutable std::vector<double> offset_ = std::vector<double>(n_);
  bool participates_ = false;
  bool is_placed_ = false;  // kinematics_ already holds the step's start
};

// Equation of motion of a tree, from inverse dynamics. Its derivatives with respect to positions
// and velocities are central differences, with an error of about 1e-10 of the forces.
class JointTreeBalance final : public ForceBalance {
 public:
  JointTreeBalance(const JointTree& tree, const std::vector<JointForceLaw>& laws)
      : tree_(tree), laws_(laws), n_(tree.num_velocities()), at_(tree), moved_(tree) {
    for (auto* of : {&displacement_, &velocity_by_position_})
      of->assign(tree.num_links(), SpatialColumns::Zero(6, n_));
  }

  void Start(const BlockState& start, const BlockInputs& inputs, double) override {
    gravity_ = inputs.gravity;
    efforts_.assign(n_, 0.0);
    for (const ChannelEffort& on : inputs.efforts) efforts_[on.channel] += on.effort;
    tree_.CalcPositions(start.q, &at_);
    loads_.clear();
    for (const BlockForce& force : inputs.forces) {
      loads_.push_back({force.frame, at_.link_pose(force.frame).Inverse() * force.p_W,
                        force.torque_W, force.force_W});
    }
  }

  void Advance(std::span<const double> x, std::span<double> q) const override {
    tree_.IntegratePositions(x, 1, q);
  }
  void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                      std::span<double> x) const override {
    tree_.CalcDifference(q0, q1, x);
  }

  void Place(double, std::span<const double> x, std::span<double> q, std::span<double> v) override {
    q_.assign(q.begin(), q.end());
    v_.assign(v.begin(), v.end());
    x_.assign(x.begin(), x.end());
    tree_.CalcPositions(q_, &at_);
    tree_.CalcVelocities(v_, &at_);
  }
  void CalcFrames(std::span<FrameMotion> frames) const override { CopyFrames(at_, frames); }

  absl::Status CalcResidual(std::span<const double> a, const SpatialColumns& wrenches,
                            std::span<double> residual) override {
    CalcForces(&at_, q_, v_, a, wrenches, residual);
    for (const double r : residual)
      if (!std::isfinite(r)) return absl::InternalError("its motion is not finite");
    return absl::OkStatus();
  }

  void AddJacobian(double c, std::span<const double> a, const SpatialColumns& wrenches, int first,
                   solvers::BlockSum* jacobian) override {
    std::vector<double> M(std::size_t(n_) * n_);
    tree_.CalcMassMatrix(at_, M);
    jacobian->Add(first, first, n_, n_, M.data(), n_);
    if (c == 0) return;
    std::vector<double> q_hat(q_), q(q_), x(x_), v(v_), forces[2];
    for (double& xi : x) xi = -xi;
    tree_.IntegratePositions(x, 1, q_hat);
    std::vector<FrameMotion> frames[2];
    for (int s : {0, 1}) {
      forces[s].resize(n_);
      frames[s].resize(tree_.num_links());
    }
    std::vector<double> column(n_);
    for (int j = 0; j < n_; ++j) {
      for (const int s : {0, 1}) {
        const double change = s == 0 ? -kDifference : kDifference;
        x = x_;
        x[j] += change;
        q = q_hat;
        tree_.IntegratePositions(x, 1, q);
        tree_.CalcPositions(q, &moved_);
        tree_.CalcVelocities(v_, &moved_);
        CopyFrames(moved_, frames[s]);
        v = v_;
        v[j] += change / c;
        tree_.CalcVelocities(v, &moved_);
        CalcForces(&moved_, q, v, a, wrenches, forces[s]);
      }
      // c (∂r/∂v + c ∂r/∂x), since x changes by c times the change of v
      const double scale = c * c / (2 * kDifference);
      for (int i = 0; i < n_; ++i) column[i] = scale * (forces[1][i] - forces[0][i]);
      jacobian->Add(first, first + j, n_, 1, column.data(), n_);
      for (int k = 0; k < tree_.num_links(); ++k) {
        const FrameMotion &low = frames[0][k], &high = frames[1][k];
        const Eigen::Quaterniond turned(high.X_WB.R * low.X_WB.R.transpose());
        displacement_[k].col(j) << VectorFromRotation(turned), high.X_WB.p - low.X_WB.p;
        velocity_by_position_[k].col(j) << high.omega_W - low.omega_W, high.v_W - low.v_W;
        displacement_[k].col(j) /= 2 * kDifference;
        velocity_by_position_[k].col(j) /= 2 * kDifference;
      }
    }
  }

  void CalcFrameDerivatives(int frame, FrameDerivatives* derivatives) const override {
    derivatives->velocity.resize(6, n_);
    tree_.CalcJacobian(at_, frame, at_.link_pose(frame).p,
                       {derivatives->velocity.data(), 6 * std::size_t(n_)});
    derivatives->displacement = displacement_[frame];
    derivatives->velocity_by_position = velocity_by_position_[frame];
  }

 private:
  static constexpr double kDifference = 1e-5;  // of a position [rad], [m]

  void CalcForces(TreeKinematics* at, std::span<const double> q, std::span<const double> v,
                  std::span<const double> a, const SpatialColumns& wrenches,
                  std::span<double> residual) const {
    tree_.CalcInverseDynamics(at, gravity_, a, residual);
    std::vector<double> applied(efforts_);
    for (int i = 0; i < n_; ++i) {
      const auto [k, d] = laws_[i];
      if (d > 0) applied[i] -= d * v[i];
      if (k > 0) {
        const int link = tree_.link_of_velocity(i);
        applied[i] -= k * CalcSpringError(tree_, link, i - tree_.velocity_start(link), q);
      }
    }
    for (const LinkWrench& load : loads_) {
      tree_.AddWrench(*at, load.link, at->link_pose(load.link) * load.p_W, load.torque_W,
                      load.force_W, applied);
    }
    for (int k = 0; k < tree_.num_links(); ++k) {
      const Vector3d torque = wrenches.block<3, 1>(0, k), force = wrenches.block<3, 1>(3, k);
      if (!torque.isZero(0) || !force.isZero(0))
        tree_.AddWrench(*at, k, at->link_pose(k).p, torque, force, applied);
    }
    for (int i = 0; i < n_; ++i) residual[i] -= applied[i];
  }

  const JointTree& tree_;
  const std::vector<JointForceLaw>& laws_;
  int n_;
  TreeKinematics at_, moved_;
  Vector3d gravity_ = Vector3d::Zero();
  std::vector<double> efforts_, q_, v_, x_;
  std::vector<LinkWrench> loads_;  // p_W: in the link's frame
  std::vector<SpatialColumns> displacement_,
      velocity_by_position_;  // of each link, as in FrameDerivatives
};

class JointTreeBlock final : public DynamicsBlock,
                             public FrameSet,
                             public JointSet,
                             public EquationOfMotion {
 public:
  explicit JointTreeBlock(JointTreeParameters parameters)
      : parameters_(std::move(parameters)),
        tree_(*parameters_.tree),
        speed_bound_(tree_),
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
  void SetInitialState(MutableBlockState state) const override {
    std::copy(parameters_.q.begin(), parameters_.q.end(), state.q.begin());
    std::copy(parameters_.v.begin(), parameters_.v.end(), state.v.begin());
  }
  BlockAbilities abilities() const override {
    return {.frames = this, .joints = this, .equation = this};
  }
  std::unique_ptr<BlockStep> NewStep() const override {
    return std::make_unique<JointTreeStep>(tree_, laws_, stops_, turns_freely_);
  }
  std::unique_ptr<ForceBalance> NewForceBalance() const override {
    return std::make_unique<JointTreeBalance>(tree_, laws_);
  }
  std::unique_ptr<BlockStep> NewMassStep() const override { return NewStep(); }

  int num_frames() const override { return tree_.num_links(); }
  double CalcSpeedBound(const BlockState& state, double r) const override {
    return speed_bound_.At(state, r);
  }
  void CalcFrames(const BlockState& state, std::span<FrameMotion> frames) const override {
    CopyFrames(At(state), frames.first(tree_.num_links()));
  }
  void CalcReactions(const BlockState& state, std::span<const double> vdot, const Vector3d& gravity,
                     std::span<const BlockForce> forces,
                     std::span<double> reactions) const override {
    TreeKinematics kinematics(tree_);
    tree_.CalcPositions(state.q, &kinematics);
    tree_.CalcVelocities(state.v, &kinematics);
    std::vector<LinkWrench> wrenches;
    for (const BlockForce& force : forces)
      wrenches.push_back({force.frame, force.p_W, force.torque_W, force.force_W});
    tree_.CalcReactions(&kinematics, gravity, vdot, wrenches, reactions);
  }
  double mass(int) const override { return tree_.mass(); }
  Vector3d CalcCenterOfMass(const BlockState& state, int) const override {
    TreeKinematics& kinematics = kinematics_.local();
    tree_.CalcPositions(state.q, &kinematics);
    return tree_.CalcCenterOfMass(kinematics);
  }
  Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int) const override {
    return tree_.CalcMomentum(At(state));
  }
  Energies CalcEnergies(const BlockState& state, const Vector3d& gravity, int) const override {
    const TreeKinematics& kinematics = At(state);
    return {tree_.CalcKineticEnergy(kinematics, state.v), CalcSpringEnergy(tree_, laws_, state.q),
            tree_.CalcPotentialEnergy(kinematics, gravity)};
  }
  double gravity_scale(int frame) const override { return tree_.links()[frame].gravity_scale; }

 private:
  const TreeKinematics& At(const BlockState& state) const {
    TreeKinematics& kinematics = kinematics_.local();
    tree_.CalcPositions(state.q, &kinematics);
    tree_.CalcVelocities(state.v, &kinematics);
    return kinematics;
  }

  JointTreeParameters parameters_;
  const JointTree& tree_;
  std::vector<JointForceLaw> laws_;  // of each velocity
  std::vector<JointStop> stops_;
  bool turns_freely_ = false;
  SpeedBound speed_bound_;
  // per-thread scratch; its contents change no result
  mutable tbb::enumerable_thread_specific<TreeKinematics> kinematics_;
};

}  // namespace

std::shared_ptr<const DynamicsBlock> MakeJointTreeBlock(JointTreeParameters parameters) {
  return std::make_shared<JointTreeBlock>(std::move(parameters));
}

}  // namespace pliant::physics
