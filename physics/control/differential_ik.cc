#include <algorithm>
#include <cmath>

#include "physics/control/controllers.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Matrix6d = Eigen::Matrix<double, 6, 6>;
using Vector6d = Eigen::Matrix<double, 6, 1>;

// singular values below kDampedRange · damping are damped
constexpr double kDampedRange = 2.5;

using Axis = DifferentialIkMemory::Axis;

struct Decomposition {
  Matrix6d vectors = Matrix6d::Identity();  // columns
  Vector6d values;
};

// Eigenvalues and eigenvectors of a symmetric matrix by Jacobi rotations in a fixed order. Eigen's
// solver rounds differently at another level of optimisation.
Decomposition Decompose(Matrix6d A) {
  constexpr int kMaxSweeps = 30;
  Decomposition result;
  Matrix6d& V = result.vectors;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    double off = 0, on = 0;
    for (int i = 0; i < 6; ++i) {
      on += A(i, i) * A(i, i);
      for (int j = 0; j < i; ++j) off += A(i, j) * A(i, j);
    }
    if (off <= 1e-32 * on) break;
    for (int p = 0; p < 5; ++p) {
      for (int q = p + 1; q < 6; ++q) {
        if (A(p, q) == 0) continue;
        const double theta = (A(q, q) - A(p, p)) / (2 * A(p, q));
        const double t =
            (theta < 0 ? -1.0 : 1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < 6; ++k) {
          const double x = A(k, p), y = A(k, q);
          A(k, p) = c * x - s * y;
          A(k, q) = s * x + c * y;
        }
        for (int k = 0; k < 6; ++k) {
          const double x = A(p, k), y = A(q, k);
          A(p, k) = c * x - s * y;
          A(q, k) = s * x + c * y;
        }
        for (int k = 0; k < 6; ++k) {
          const double x = V(k, p), y = V(k, q);
          V(k, p) = c * x - s * y;
          V(k, q) = s * x + c * y;
        }
      }
    }
  }
  result.values = A.diagonal();
  return result;
}

// Inverse of J Jᵀ over the axes that are not held at a limit, damped in nearly singular directions.
Matrix6d InvertDamped(const std::vector<Axis>& axes, double damping) {
  Matrix6d JJt = Matrix6d::Zero();
  for (const Axis& axis : axes) {
    if (!axis.is_held) JJt += axis.J * axis.J.transpose();
  }
  const Decomposition eigen = Decompose(JJt);
  Matrix6d inverse = Matrix6d::Zero();
  const double range = kDampedRange * damping;
  for (int i = 0; i < 6; ++i) {
    const double square = std::max(eigen.values[i], 0.0);
    const double missing = std::max(0.0, 1 - square / (range * range));
    const Vector6d u = eigen.vectors.col(i);
    inverse += u * u.transpose() / (square + damping * damping * missing);
  }
  return inverse;
}

// Finds the joint rates that give the link the twist, as far as the axes' limits allow.
void SolveRates(const Vector6d& twist, double damping, std::vector<Axis>* axes) {
  for (std::size_t round = 0; round <= axes->size(); ++round) {
    Vector6d rest = twist;
    for (const Axis& axis : *axes) {
      if (axis.is_held) rest -= axis.rate * axis.J;
    }
    const Matrix6d inverse = InvertDamped(*axes, damping);
    // the task comes first; posture rates act only where they do not disturb it
    Vector6d disturbance = Vector6d::Zero();
    for (const Axis& axis : *axes) {
      if (!axis.is_held) disturbance += axis.posture_rate * axis.J;
    }
    const Vector6d force = inverse * (rest - disturbance);
    bool is_new = false;
    for (Axis& axis : *axes) {
      if (axis.is_held) continue;
      axis.rate = axis.J.dot(force) + axis.posture_rate;
    }
    // hold the joint that exceeds its limits most at the limit; the others make up for it
    Axis* worst = nullptr;
    double excess = 1e-12;
    for (Axis& axis : *axes) {
      if (axis.is_held) continue;
      const double over = std::max(axis.rate - axis.fastest, axis.slowest - axis.rate);
      if (over <= excess) continue;
      excess = over;
      worst = &axis;
    }
    if (worst != nullptr) {
      worst->is_held = is_new = true;
      worst->rate = std::clamp(worst->rate, worst->slowest, worst->fastest);
    }
    if (!is_new) return;
  }
}

// Twist that turns and moves the link towards a pose.
Vector6d TwistTowards(const RigidTransform& X_WB, const RigidTransform& target, double gain) {
  Eigen::Quaterniond turn(Matrix3d(target.R * X_WB.R.transpose()));
  turn.coeffs() /= std::sqrt(turn.squaredNorm());
  Vector6d twist;
  twist << gain * VectorFromRotation(turn), gain * (target.p - X_WB.p);
  return twist;
}

class DifferentialIk {
 public:
  DifferentialIk(const Model& model, const State& state, const BodyMotions& motions,
                 const Controller& controller, int first_rate, const JointStep& step,
                 std::span<const double> gains, DifferentialIkMemory* memory)
      : model_(model),
        state_(state),
        motions_(motions),
        controller_(controller),
        first_rate_(first_rate),
        step_(step),
        gains_(gains),
        axes_(memory->axes),
        angular_(memory->angular),
        linear_(memory->linear) {}

  void Run(const Vector6d& twist, bool is_commanded, double h, std::vector<double>* controls) {
    MakeAxes(h, is_commanded, *controls);
    // slow the whole motion down to the velocity limits, so that the link stays on its path
    SolveRates(twist, controller_.damping, &axes_);
    double scale = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const double limit = JointOf(i).velocity_limit;
      if (std::abs(axes_[i].rate) > limit) scale = std::min(scale, limit / std::abs(axes_[i].rate));
    }
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const RobotJoint& joint = JointOf(i);
      const Axis& axis = axes_[i];
      const double change = joint.acceleration_limit * h;
      double rate = std::clamp(scale * axis.rate, axis.previous - change, axis.previous + change);
      // the target must not run away from a joint that contact blocks
      const Gains gains = GainsOf(model_, gains_, controller_.actuators[i]);
      const double q = model_.Positions(state_, joint.block)[joint.position];
      const double slack = gains.effort_limit / gains.stiffness;
      double target = std::clamp(axis.target + h * rate, std::min(q - slack, axis.target),
                                 std::max(q + slack, axis.target));
      target = std::clamp(target, std::min(joint.lower, axis.target),
                          std::max(joint.upper, axis.target));
      (*controls)[controller_.actuators[i]] = target;
      (*controls)[first_rate_ + i] = (target - axis.target) / h;
    }
  }

 private:
  const RobotJoint& JointOf(std::size_t i) const {
    return model_.joint_of(model_.actuators[controller_.actuators[i]]);
  }

  void MakeAxes(double h, bool is_commanded, const std::vector<double>& controls) {
    const Body& body = model_.bodies[controller_.body];
    Attachment origin;
    origin.block = body.block;
    origin.frame = body.frame;
    origin.p_W = motions_[controller_.body].X_WB.p;
    angular_.Clear();
    linear_.Clear();
    step_.AppendJointRows(origin, &angular_, &linear_);
    axes_.assign(controller_.actuators.size(), Axis());
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const RobotJoint& joint = JointOf(i);
      Axis& axis = axes_[i];
      axis.J << Column(angular_, joint.velocity), Column(linear_, joint.velocity);
      axis.target = controls[controller_.actuators[i]];
      axis.previous = controls[first_rate_ + i];
      if (is_commanded)
        axis.posture_rate = controller_.posture_gain * (controller_.posture[i] - axis.target);
      // fastest rates from which the joint can stop before its limits
      const auto stop_within = [&](double room) {
        const double a = joint.acceleration_limit;
        room = std::max(room, 0.0);
        return std::isfinite(a) ? std::min(std::sqrt(2 * a * room), room / h) : room / h;
      };
      axis.fastest = stop_within(joint.upper - axis.target);
      axis.slowest = -stop_within(axis.target - joint.lower);
    }
  }

  static Vector3d Column(const BlockRows& rows, int velocity) {
    const double* J = rows.only_matrix() + 3 * velocity;
    return {J[0], J[1], J[2]};
  }

  const Model& model_;
  const State& state_;
  const BodyMotions& motions_;
  const Controller& controller_;
  int first_rate_;
  const JointStep& step_;
  std::span<const double> gains_;
  std::vector<Axis>& axes_;
  BlockRows &angular_, &linear_;
};

}  // namespace

void RunDifferentialIk(const Model& model, const Inputs& inputs, const State& state,
                       const BodyMotions& motions, double h,
                       std::span<const std::unique_ptr<BlockStep>> steps,
                       std::span<const double> gains, DifferentialIkMemory* memory,
                       std::vector<double>* controls) {
  int first_rate = static_cast<int>(model.actuators.size());
  for (int c = 0; c < static_cast<int>(model.controllers.size()); ++c) {
    const Controller& controller = model.controllers[c];
    if (controller.kind != Controller::Kind::kDifferentialIk) continue;
    const int count = static_cast<int>(controller.actuators.size());
    Vector6d twist = Vector6d::Zero();
    bool is_commanded = false;
    for (const Inputs::TwistTarget& target : inputs.twists) {
      if (target.controller != c) continue;
      twist << target.angular_W, target.linear_W;
      is_commanded = !twist.isZero(0);
    }
    for (const Inputs::LinkPoseTarget& target : inputs.link_poses) {
      if (target.controller != c) continue;
      twist = TwistTowards(motions[controller.body].X_WB, target.X_WL, controller.position_gain);
      is_commanded = true;
    }
    // without a command, a controller brakes as fast as its limits allow and then leaves its
    // targets alone
    const bool is_moving =
        std::any_of(controls->begin() + first_rate, controls->begin() + first_rate + count,
                    [](double rate) { return rate != 0; });
    const int block = model.bodies[controller.body].block;
    JointStep* joints = block == kWorldBlock ? nullptr : steps[block]->abilities().joints;
    if ((is_commanded || is_moving) && joints != nullptr) {
      DifferentialIk(model, state, motions, controller, first_rate, *joints, gains, memory)
          .Run(twist, is_commanded, h, controls);
    }
    first_rate += count;
  }
}

}  // namespace pliant::physics
