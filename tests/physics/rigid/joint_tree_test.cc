#include "physics/rigid/joint_tree.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include <Eigen/Dense>

#include "physics/rigid/compound_joint.h"
#include "physics/rigid/tree_kinematics.h"
#include "physics/spatial/trig.h"
#include "tests/counted_allocations.h"
#include "tests/physics/rigid/random_tree.h"
#include "tests/physics/rigid/sample_trees.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

const Vector3d kGravity(0.3, -0.5, -9.81);

// A tree at a state, with its quantities as Eigen matrices.
struct Case {
  explicit Case(std::vector<Link> links, RandomTrees* random)
      : tree(std::move(links)),
        kinematics(tree),
        q(random->Positions(tree)),
        v(random->Numbers(n())) {
    Update();
  }
  Case(const JointTree& other, std::vector<double> positions, std::vector<double> velocities)
      : tree(other), kinematics(tree), q(std::move(positions)), v(std::move(velocities)) {
    Update();
  }

  int n() const { return tree.num_velocities(); }
  void Update() {
    tree.CalcPositions(q, &kinematics);
    tree.CalcVelocities(v, &kinematics);
  }
  // This case after moving by h along `mean`, at the velocity `later`.
  Case After(double h, const VectorXd& mean, const VectorXd& later) const {
    std::vector<double> moved = q;
    tree.IntegratePositions({mean.data(), static_cast<std::size_t>(n())}, h, moved);
    return Case(tree, moved, {later.data(), later.data() + n()});
  }

  VectorXd velocity() const { return Eigen::Map<const VectorXd>(v.data(), n()); }
  MatrixXd MassMatrix() const {
    MatrixXd M(n(), n());
    tree.CalcMassMatrix(kinematics, {M.data(), static_cast<std::size_t>(n() * n())});
    return M;
  }
  VectorXd InverseDynamics(const Vector3d& gravity, const VectorXd& vdot) {
    VectorXd tau(n());
    tree.CalcInverseDynamics(&kinematics, gravity,
                             {vdot.data(), static_cast<std::size_t>(vdot.size())},
                             {tau.data(), static_cast<std::size_t>(n())});
    return tau;
  }
  VectorXd ForwardDynamics(const Vector3d& gravity, const VectorXd& tau) {
    VectorXd vdot(n());
    tree.CalcForwardDynamics(&kinematics, gravity, {tau.data(), static_cast<std::size_t>(n())},
                             {vdot.data(), static_cast<std::size_t>(n())});
    return vdot;
  }
  MatrixXd Jacobian(int link, const Vector3d& p_W) const {
    MatrixXd J(6, n());
    tree.CalcJacobian(kinematics, link, p_W, {J.data(), static_cast<std::size_t>(6 * n())});
    return J;
  }
  double Energy(const Vector3d& gravity) const {
    return tree.CalcKineticEnergy(kinematics, v) -
           tree.mass() * gravity.dot(tree.CalcCenterOfMass(kinematics));
  }

  JointTree tree;
  TreeKinematics kinematics;
  std::vector<double> q, v;
};

VectorXd RandomVector(RandomTrees* random, int n) {
  const std::vector<double> x = random->Numbers(n);
  return Eigen::Map<const VectorXd>(x.data(), n);
}

// Calls `check` for trees of up to 40 joints of every type, on every kind of base.
void ForEachTree(const std::function<void(Case&, RandomTrees&)>& check) {
  for (int seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrees random(seed);
    Case example(random.Links(1 + seed / 2, static_cast<JointType>(seed % CountJointTypes())),
                 &random);
    if (example.n() > 0) check(example, random);
  }
}

TEST(JointTree, MassMatrixIsWhatInverseDynamicsFeels) {
  ForEachTree([](Case& c, RandomTrees&) {
    const MatrixXd M = c.MassMatrix();
    const VectorXd bias = c.InverseDynamics(kGravity, VectorXd());
    EXPECT_EQ(M, M.transpose());
    for (int d = 0; d < c.n(); ++d) {
      const VectorXd column = c.InverseDynamics(kGravity, VectorXd::Unit(c.n(), d)) - bias;
      EXPECT_LE((column - M.col(d)).norm(), 1e-13 * (M.norm() + bias.norm()));
    }
  });
}

TEST(JointTree, MassMatrixGivesTheKineticEnergy) {
  ForEachTree([](Case& c, RandomTrees&) {
    const double energy = 0.5 * c.velocity().dot(c.MassMatrix() * c.velocity());
    EXPECT_NEAR(c.tree.CalcKineticEnergy(c.kinematics, c.v), energy, 1e-13 * energy * c.n());
  });
}

// The energy is computed from differences of link poses, without any motion axes.
TEST(JointTree, KineticEnergyIsThatOfTheMovingLinks) {
  ForEachTree([](Case& c, RandomTrees&) {
    const double h = 1e-5;
    const Case before = c.After(-h, c.velocity(), c.velocity());
    const Case after = c.After(h, c.velocity(), c.velocity());
    double energy = 0;
    for (int i = 0; i < c.tree.num_links(); ++i) {
      const Link& link = c.tree.links()[i];
      const RigidTransform X0 = before.kinematics.link_pose(i);
      const RigidTransform X1 = after.kinematics.link_pose(i);
      const Vector3d v = (X1 * link.p_BoBcm - X0 * link.p_BoBcm) / (2 * h);
      const Vector3d w_B =
          VectorFromRotation(Eigen::Quaterniond(Matrix3d(X0.R.transpose() * X1.R))) / (2 * h);
      energy += 0.5 * (link.mass * v.squaredNorm() + w_B.dot(link.inertia * w_B));
      for (int k = 0; k < CountVelocities(link.joint.type); ++k) {
        energy += 0.5 * link.joint.rotor_inertia *
                  std::pow(link.joint.gear_ratio * c.v[c.tree.velocity_start(i) + k], 2);
      }
    }
    // third derivatives grow with the cube of the speeds, which reach 10 rad/s at the tips
    EXPECT_NEAR(c.tree.CalcKineticEnergy(c.kinematics, c.v), energy, 1e-6 * energy);
  });
}

TEST(JointTree, ForwardDynamicsUndoInverseDynamics) {
  ForEachTree([](Case& c, RandomTrees& random) {
    const VectorXd vdot = RandomVector(&random, c.n());
    const VectorXd back = c.ForwardDynamics(kGravity, c.InverseDynamics(kGravity, vdot));
    EXPECT_LE((back - vdot).norm(), 1e-10 * vdot.norm());
  });
}

TEST(JointTree, JacobiansAreTheDerivativesOfPoses) {
  ForEachTree([](Case& c, RandomTrees& random) {
    const int link = random.Below(c.tree.num_links());
    const Vector3d p_B = random.Vector();
    const MatrixXd J = c.Jacobian(link, c.kinematics.link_pose(link) * p_B);
    const double h = 1e-5;
    for (int d = 0; d < c.n(); ++d) {
      const VectorXd unit = VectorXd::Unit(c.n(), d);
      const RigidTransform X0 = c.After(-h, unit, unit).kinematics.link_pose(link);
      const RigidTransform X1 = c.After(h, unit, unit).kinematics.link_pose(link);
      const Vector3d v = (X1 * p_B - X0 * p_B) / (2 * h);
      const Vector3d w = X0.R *
                         VectorFromRotation(Eigen::Quaterniond(Matrix3d(X0.R.transpose() * X1.R))) /
                         (2 * h);
      // rounding 1e-16 · 20 m / h, truncation h² · 20 m
      EXPECT_LE((J.col(d).head<3>() - w).norm(), 1e-8) << d;
      EXPECT_LE((J.col(d).tail<3>() - v).norm(), 1e-8) << d;
    }
  });
}

TEST(JointTree, JacobiansGiveVelocitiesAndEfforts) {
  ForEachTree([](Case& c, RandomTrees& random) {
    for (int link = 0; link < c.tree.num_links(); ++link) {
      const Vector3d p = random.Vector(3), torque = random.Vector(), force = random.Vector();
      const MatrixXd J = c.Jacobian(link, p);
      const VectorXd Jv = J * c.velocity();
      EXPECT_LE((Jv.head<3>() - c.kinematics.angular_velocity(link)).norm(), 1e-12 * c.n());
      EXPECT_LE((Jv.tail<3>() - c.kinematics.CalcPointVelocity(link, p)).norm(), 1e-12 * c.n());

      MatrixXd J_point(3, c.n());
      c.tree.CalcPointJacobian(c.kinematics, link, p,
                               {J_point.data(), static_cast<std::size_t>(3 * c.n())});
      EXPECT_EQ(J_point, J.bottomRows(3));

      VectorXd tau = VectorXd::Zero(c.n());
      c.tree.AddWrench(c.kinematics, link, p, torque, force,
                       {tau.data(), static_cast<std::size_t>(c.n())});
      EXPECT_LE(
          (tau - J.topRows(3).transpose() * torque - J.bottomRows(3).transpose() * force).norm(),
          1e-12 * (1 + tau.norm()));
    }
  });
}

TEST(JointTree, FreeMotionKeepsItsEnergy) {
  ForEachTree([](Case& c, RandomTrees&) {
    const VectorXd vdot = c.ForwardDynamics(kGravity, VectorXd::Zero(c.n()));
    // dE/dt by central differences on the path q ⊕ (h v + ½ h² v̇): the error is O(h²) times a
    // power of order |M v̇| |v|, and grows with the square of the rates
    const double h = 1e-5 / (1 + vdot.cwiseAbs().maxCoeff() / 100);
    double change = 0;
    for (const double s : {-h, h}) {
      const VectorXd mean = c.velocity() + s / 2 * vdot;
      change += (s > 0 ? 1 : -1) * c.After(s, mean, c.velocity() + s * vdot).Energy(kGravity);
    }
    const double power = (c.MassMatrix() * vdot).norm() * c.velocity().norm();
    EXPECT_NEAR(change / (2 * h), 0, 1e-5 * power);
  });
}

TEST(JointTree, FreeTreeMovesItsMomentumByItsWeight) {
  for (int seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrees random(seed);
    std::vector<Link> links = random.Links(1 + seed, JointType::kFree);
    for (int i = 1; i < static_cast<int>(links.size()); ++i)
      links[i].parent = std::max(links[i].parent, 0);
    // a rotor on an axis of the root would react against the world
    links[0].joint.rotor_inertia = 0;
    Case c(links, &random);
    const VectorXd vdot = c.ForwardDynamics(kGravity, VectorXd::Zero(c.n()));
    const double h = 1e-5 / (1 + vdot.cwiseAbs().maxCoeff() / 100);
    const Case before = c.After(-h, c.velocity() - h / 2 * vdot, c.velocity() - h * vdot);
    const Case after = c.After(h, c.velocity() + h / 2 * vdot, c.velocity() + h * vdot);
    const VectorXd momentum = c.tree.CalcMomentum(c.kinematics);
    const VectorXd rate =
        (after.tree.CalcMomentum(after.kinematics) - before.tree.CalcMomentum(before.kinematics)) /
        (2 * h);
    const Vector3d center = c.tree.CalcCenterOfMass(c.kinematics);
    const Vector3d weight = c.tree.mass() * kGravity;
    const double size = weight.norm() * (1 + center.norm());
    EXPECT_LE((rate.head<3>() - weight).norm(), 1e-5 * size);
    EXPECT_LE((rate.tail<3>() - center.cross(weight)).norm(), 1e-5 * size);
    const Vector3d drift = (after.tree.CalcCenterOfMass(after.kinematics) -
                            before.tree.CalcCenterOfMass(before.kinematics)) /
                           (2 * h);
    EXPECT_LE((c.tree.mass() * drift - momentum.head<3>()).norm(), 1e-6 * size);
  }
}

// Links have random gravity scales between −1 and 2.
TEST(JointTree, WeightsAreTheSlopeOfThePotentialEnergy) {
  for (int seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrees random(seed);
    std::vector<Link> links = random.Links(1 + seed / 2, static_cast<JointType>(seed % 8));
    for (Link& link : links) {
      if (random.Below(2) == 0) link.gravity_scale = random.Uniform(-1, 2);
    }
    Case c(links, &random);
    if (c.n() == 0) continue;
    const Case still(c.tree, c.q, std::vector<double>(c.n()));
    VectorXd weight(c.n());
    c.tree.CalcBias(still.kinematics, kGravity, {weight.data(), std::size_t(c.n())});
    const double h = 1e-5, size = c.tree.mass() * kGravity.norm();
    for (int d = 0; d < c.n(); ++d) {
      const VectorXd along = VectorXd::Unit(c.n(), d);
      const Case before = c.After(-h, along, along), after = c.After(h, along, along);
      const double slope = (after.tree.CalcPotentialEnergy(after.kinematics, kGravity) -
                            before.tree.CalcPotentialEnergy(before.kinematics, kGravity)) /
                           (2 * h);
      // central differences: h² times the energy's third derivative, plus its rounding over h
      EXPECT_NEAR(weight[d], slope, 1e-8 * size * c.tree.num_links());
    }
  }
}

TEST(Reactions, OfWhatHasNoWeightAreNone) {
  std::vector<Link> links = MakeArm()->links();
  for (Link& link : links) link.gravity_scale = 0;
  const JointTree tree(links);
  TreeKinematics kinematics(tree);
  const std::vector<double> q = {0.1, 1, -0.3, 0.7, 0.2, -1, 0}, zero(7);
  tree.CalcPositions(q, &kinematics);
  tree.CalcVelocities(zero, &kinematics);
  std::vector<double> reactions(6 * 7, 1.0), bias(7, 1.0);
  tree.CalcReactions(&kinematics, kGravity, {}, {}, reactions);
  tree.CalcBias(kinematics, kGravity, bias);
  for (const double r : reactions) EXPECT_EQ(r, 0);
  // the weight is added and subtracted again, up to rounding: 14 kg · g · 1.4 m
  for (const double b : bias) EXPECT_NEAR(b, 0, 1e-13 * 200);
}

TEST(JointTree, DifferenceUndoesIntegration) {
  ForEachTree([](Case& c, RandomTrees& random) {
    const VectorXd v = RandomVector(&random, c.n());
    const Case later = c.After(0.7, v, v);
    VectorXd difference(c.n());
    c.tree.CalcDifference(c.q, later.q, {difference.data(), static_cast<std::size_t>(c.n())});
    EXPECT_LE((difference - 0.7 * v).norm(), 1e-14 * c.n());
    for (int i = 0; i < c.tree.num_links(); ++i) {
      const JointType type = c.tree.links()[i].joint.type;
      if (type != JointType::kBall && type != JointType::kFree) continue;
      const double* q = later.q.data() + c.tree.position_start(i);
      EXPECT_NEAR(Eigen::Vector4d(q).norm(), 1, 4e-16);
    }
  });
}

// ---- joints

RigidTransform PoseOf(JointType type, const std::vector<double>& q, const Joint& like = {}) {
  Link link;
  link.joint = like;
  link.joint.type = type;
  link.mass = 1;
  link.inertia.setIdentity();
  const JointTree tree({link});
  TreeKinematics kinematics(tree);
  tree.CalcPositions(q, &kinematics);
  return kinematics.link_pose(0);
}

void ExpectNear(const RigidTransform& a, const RigidTransform& b, double tolerance) {
  EXPECT_LE((a.R - b.R).norm(), tolerance);
  EXPECT_LE((a.p - b.p).norm(), tolerance);
}

RigidTransform Turn(const Vector3d& axis, double angle) {
  return {Eigen::AngleAxisd(angle, axis).toRotationMatrix(), Vector3d::Zero()};
}
RigidTransform Shift(const Vector3d& p) {
  return {Matrix3d::Identity(), p};
}

TEST(Joints, MoveAsTheirNamesSay) {
  RandomTrees random(7);
  for (int trial = 0; trial < 50; ++trial) {
    Joint joint = random.MakeLink(0, -1, JointType::kFixed).joint;
    const Vector3d a = joint.axis, b = joint.axis2;
    const std::vector<double> q = random.Numbers(3, 3);
    const auto expect = [&](JointType type, const std::vector<double>& positions,
                            const RigidTransform& X_FM) {
      ExpectNear(PoseOf(type, positions, joint), joint.X_PF * X_FM * joint.X_BM.Inverse(), 1e-14);
    };
    expect(JointType::kFixed, {}, {});
    expect(JointType::kRevolute, {q[0]}, Turn(a, q[0]));
    expect(JointType::kPrismatic, {q[0]}, Shift(q[0] * a));
    expect(JointType::kScrew, {q[0]}, Shift(joint.pitch * q[0] / (2 * kPi) * a) * Turn(a, q[0]));
    expect(JointType::kUniversal, {q[0], q[1]}, Turn(a, q[0]) * Turn(b, q[1]));
    const Matrix3d across = FrameFromNormal(a);
    expect(JointType::kPlanar, {q[0], q[1], q[2]},
           Shift(across.leftCols<2>() * Eigen::Vector2d(q[0], q[1])) * Turn(a, q[2]));
    const Eigen::Quaterniond r(random.Rotation());
    expect(JointType::kBall, {r.w(), r.x(), r.y(), r.z()},
           {r.toRotationMatrix(), Vector3d::Zero()});
    expect(JointType::kFree, {r.w(), r.x(), r.y(), r.z(), q[0], q[1], q[2]},
           {r.toRotationMatrix(), Vector3d(q[0], q[1], q[2])});
  }
}

class EveryCompoundJoint : public testing::TestWithParam<int> {};

TEST_P(EveryCompoundJoint, GoesWhereItsMotionsLead) {
  const CompoundJoint& compound = *AllCompoundJoints()[GetParam()];
  RandomTrees random(9);
  Link link = random.MakeLink(0, -1, TypeOfCompound(GetParam()));
  link.joint.X_PF = link.joint.X_BM = {};
  const std::vector<JointMotion> motions = compound.Motions(link.joint);
  ASSERT_GE(motions.size(), 2u);
  ASSERT_EQ(static_cast<int>(motions.size()), compound.num_motions());
  const std::vector<double> q = random.Numbers(compound.num_motions());
  RigidTransform expected;
  for (std::size_t k = 0; k < motions.size(); ++k) {
    const auto& [kind, axis] = motions[k];
    EXPECT_NEAR(axis.norm(), 1, 1e-12);
    expected =
        expected * (kind == JointMotion::Kind::kTurn ? Turn(axis, q[k]) : Shift(q[k] * axis));
  }
  const JointTree tree({link});
  TreeKinematics kinematics(tree);
  tree.CalcPositions(q, &kinematics);
  ExpectNear(kinematics.link_pose(0), expected, 1e-14);
}

TEST_P(EveryCompoundJoint, IsFoundByItsName) {
  const CompoundJoint* compound = AllCompoundJoints()[GetParam()];
  JointType type;
  EXPECT_EQ(FindCompoundJoint(compound->name(), &type), compound);
  EXPECT_EQ(type, TypeOfCompound(GetParam()));
  EXPECT_EQ(FindCompoundJoint(type), compound);
  EXPECT_LT(static_cast<int>(type), CountJointTypes());
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryCompoundJoint,
                         testing::Range(0, static_cast<int>(AllCompoundJoints().size())),
                         [](const auto& info) {
                           return std::string(AllCompoundJoints()[info.param]->name());
                         });

TEST(Joints, PlanarOnesAboutZMoveAlongXAndY) {
  ExpectNear(PoseOf(JointType::kPlanar, {1, 2, 0}), Shift({1, 2, 0}), 0);
}

TEST(Joints, CountTheirCoordinates) {
  int positions = 0, velocities = 0;
  for (int type = 0; type < 8; ++type) {
    positions += CountPositions(static_cast<JointType>(type));
    velocities += CountVelocities(static_cast<JointType>(type));
  }
  EXPECT_EQ(positions, 0 + 1 + 1 + 1 + 2 + 3 + 4 + 7);
  EXPECT_EQ(velocities, 0 + 1 + 1 + 1 + 2 + 3 + 3 + 6);
}

// A joint of several axes and the equivalent chain of massless links have equal dynamics.
TEST(Joints, OfSeveralAxesEqualChainsOfSimpleOnes) {
  RandomTrees random(11);
  for (int trial = 0; trial < 20; ++trial) {
    const Link base = random.MakeLink(0, -1, JointType::kRevolute);
    Link last = random.MakeLink(1, 0, JointType::kUniversal);
    last.joint.rotor_inertia = 0;
    const auto chain = [&](const std::vector<std::pair<JointType, Vector3d>>& joints) {
      std::vector<Link> links{base};
      for (std::size_t k = 0; k < joints.size(); ++k) {
        Link link = last;
        link.parent = static_cast<int>(k);
        link.joint.type = joints[k].first;
        link.joint.axis = joints[k].second;
        if (k > 0) link.joint.X_PF = {};
        if (k + 1 < joints.size()) {
          link.joint.X_BM = {};
          link.mass = 0;
          link.inertia.setZero();
        }
        links.push_back(link);
      }
      return links;
    };
    const auto compare = [&](JointType type,
                             const std::vector<std::pair<JointType, Vector3d>>& joints) {
      Link one = last;
      one.joint.type = type;
      Case a({base, one}, &random);
      Case b(JointTree(chain(joints)), a.q, a.v);
      EXPECT_LE((a.MassMatrix() - b.MassMatrix()).norm(), 1e-14 * a.MassMatrix().norm());
      const VectorXd zero = VectorXd::Zero(a.n());
      const VectorXd tau = a.InverseDynamics(kGravity, zero);
      EXPECT_LE((tau - b.InverseDynamics(kGravity, zero)).norm(), 1e-13 * tau.norm());
      ExpectNear(a.kinematics.link_pose(1), b.kinematics.link_pose(static_cast<int>(joints.size())),
                 1e-14);
    };
    const Vector3d x = last.joint.axis, y = last.joint.axis2;
    compare(JointType::kUniversal, {{JointType::kRevolute, x}, {JointType::kRevolute, y}});
    const Matrix3d across = FrameFromNormal(x);
    compare(JointType::kPlanar, {{JointType::kPrismatic, across.col(0)},
                                 {JointType::kPrismatic, across.col(1)},
                                 {JointType::kRevolute, x}});
  }
}

TEST(JointTree, FixedLinksAreOneBody) {
  for (int seed = 0; seed < 20; ++seed) {
    RandomTrees random(seed);
    std::vector<Link> links = random.Links(8, JointType::kRevolute);
    Link& whole = links[3];
    // split link 3 in two parts with the same centre and the same total mass and inertia
    std::vector<Link> halves = links;
    Link part;
    part.parent = 3;
    part.joint.type = JointType::kFixed;
    part.joint.X_PF = random.Pose();
    part.joint.X_BM = random.Pose();
    const RigidTransform X_BC = part.joint.X_PF * part.joint.X_BM.Inverse();
    part.mass = 0.3 * whole.mass;
    part.p_BoBcm = X_BC.Inverse() * whole.p_BoBcm;
    part.inertia = 0.2 * X_BC.R.transpose() * whole.inertia * X_BC.R;
    halves[3].mass *= 0.7;
    halves[3].inertia *= 0.8;
    halves.push_back(part);
    Case a(links, &random);
    Case b(JointTree(halves), a.q, a.v);
    EXPECT_LE((a.MassMatrix() - b.MassMatrix()).norm(), 1e-14 * a.MassMatrix().norm());
    ExpectNear(b.kinematics.link_pose(8), a.kinematics.link_pose(3) * X_BC, 1e-14);
    EXPECT_LE(
        (a.tree.CalcCenterOfMass(a.kinematics) - b.tree.CalcCenterOfMass(b.kinematics)).norm(),
        1e-14);
  }
}

// ---- reactions

TEST(Reactions, BalanceEveryLinkByItself) {
  ForEachTree([](Case& c, RandomTrees& random) {
    const VectorXd vdot = RandomVector(&random, c.n());
    const int count = c.tree.num_links();
    std::vector<LinkWrench> wrenches;
    for (int k = 0; k < 3; ++k)
      wrenches.push_back(
          {random.Below(count), random.Vector(2), random.Vector(5), random.Vector(5)});
    std::vector<double> reactions(6 * count);
    c.tree.CalcReactions(&c.kinematics, kGravity, {vdot.data(), static_cast<std::size_t>(c.n())},
                         wrenches, reactions);

    // momenta of the individual links, before and after
    const double h = 1e-5;
    const Case before = c.After(-h, c.velocity() - h / 2 * vdot, c.velocity() - h * vdot);
    const Case after = c.After(h, c.velocity() + h / 2 * vdot, c.velocity() + h * vdot);
    const auto momentum = [](const Case& at, int i) {
      const Link& link = at.tree.links()[i];
      const RigidTransform X = at.kinematics.link_pose(i);
      const Vector3d center = X * link.p_BoBcm;
      const Vector3d linear = link.mass * at.kinematics.CalcPointVelocity(i, center);
      Eigen::Matrix<double, 6, 1> sum;
      sum << center.cross(linear) +
                 X.R * link.inertia * X.R.transpose() * at.kinematics.angular_velocity(i),
          linear;
      return sum;
    };
    for (int i = 0; i < count; ++i) {
      const Link& link = c.tree.links()[i];
      Eigen::Matrix<double, 6, 1> sum = (momentum(before, i) - momentum(after, i)) / (2 * h);
      double size = 1 + sum.norm();
      const auto add = [&](double sign, const Vector3d& p, const Vector3d& torque,
                           const Vector3d& force) {
        sum.head<3>() += sign * (torque + p.cross(force));
        sum.tail<3>() += sign * force;
        size += torque.norm() + force.norm() * (1 + p.norm());
      };
      const auto add_reaction = [&](double sign, int of) {
        const Eigen::Map<const Eigen::Matrix<double, 6, 1>> r(reactions.data() + 6 * of);
        add(sign, c.kinematics.link_pose(of) * c.tree.links()[of].joint.X_BM.p, r.head<3>(),
            r.tail<3>());
      };
      add(1, c.kinematics.link_pose(i) * link.p_BoBcm, Vector3d::Zero(), link.mass * kGravity);
      for (const LinkWrench& w : wrenches) {
        if (w.link == i) add(1, w.p_W, w.torque_W, w.force_W);
      }
      add_reaction(1, i);
      for (int child = i + 1; child < count; ++child) {
        if (c.tree.links()[child].parent == i) add_reaction(-1, child);
      }
      EXPECT_LE(sum.norm(), 1e-6 * size) << "link " << i;
    }
  });
}

TEST(Reactions, WorkOnTheAxesAsEffortsDo) {
  ForEachTree([](Case& c, RandomTrees& random) {
    const VectorXd vdot = RandomVector(&random, c.n());
    std::vector<double> reactions(6 * c.tree.num_links());
    c.tree.CalcReactions(&c.kinematics, kGravity, {vdot.data(), static_cast<std::size_t>(c.n())},
                         {}, reactions);
    const VectorXd tau = c.InverseDynamics(kGravity, vdot);
    for (int d = 0; d < c.n(); ++d) {
      const int link = c.tree.link_of_velocity(d);
      const Joint& joint = c.tree.links()[link].joint;
      const Eigen::Map<const Eigen::Matrix<double, 6, 1>> r(reactions.data() + 6 * link);
      const MatrixXd J = c.Jacobian(link, c.kinematics.link_pose(link) * joint.X_BM.p);
      const double rotor = joint.rotor_inertia * joint.gear_ratio * joint.gear_ratio * vdot[d];
      EXPECT_NEAR(J.col(d).dot(r), tau[d] - rotor, 1e-11 * (1 + tau.norm()));
    }
  });
}

// ---- precision, memory, determinism

// A chain of `count` rods of 0.1 m.
std::vector<Link> MakeChain(int count) {
  std::vector<Link> links;
  for (int i = 0; i < count; ++i) {
    Link link;
    link.parent = i - 1;
    link.joint.type = JointType::kRevolute;
    link.joint.X_PF = {Matrix3d::Identity(), {0.1, 0, 0}};
    link.joint.axis = i % 2 == 0 ? Vector3d::UnitY() : Vector3d::UnitZ();
    link.mass = 0.1;
    link.p_BoBcm = {0.05, 0, 0};
    link.inertia = Vector3d(1e-5, 8.5e-5, 8.5e-5).asDiagonal();
    links.push_back(link);
  }
  return links;
}

// Accelerations cannot be accurate to 1e-10 here: the condition number grows as n⁴, and efforts of
// 1e6 N·m are rounded. Instead, v̇ must belong to efforts that differ from the given ones by
// rounding only.
TEST(JointTree, ChainOfAThousandLinksMovesByItsEfforts) {
  for (const double bend : {0.0, 0.01, 0.5}) {
    SCOPED_TRACE(bend);
    RandomTrees random(3);
    Case c(MakeChain(1000), &random);
    for (double& q : c.q) q = bend * random.Uniform(-1, 1);
    for (double& v : c.v) v *= 0.01;
    c.Update();
    const VectorXd tau = RandomVector(&random, c.n());
    const VectorXd vdot = c.ForwardDynamics(kGravity, tau);
    const VectorXd back = c.InverseDynamics(kGravity, vdot);
    const VectorXd scale = c.MassMatrix().cwiseAbs() * vdot.cwiseAbs();
    EXPECT_LE(((back - tau).array() / scale.array()).abs().maxCoeff(), 1e-14);
  }
}

// Expressed about the root, the tip's inertia would lose (100 m / 0.1 m)² in precision; about the
// tip it loses 100 m / 0.1 m.
TEST(JointTree, TipOfALongChainIsAsExactAsByItself) {
  RandomTrees random(4);
  Case chain(MakeChain(1000), &random), tip(MakeChain(10), &random);
  for (double& q : chain.q) q = random.Uniform(-0.1, 0.1);
  chain.Update();
  tip.q.assign(chain.q.end() - 10, chain.q.end());
  tip.Update();
  const MatrixXd M = tip.MassMatrix();
  const Eigen::ArrayXd scale = M.diagonal().array().sqrt();
  const MatrixXd difference = chain.MassMatrix().bottomRightCorner<10, 10>() - M;
  EXPECT_LE(
      (difference.array().abs() / (scale.matrix() * scale.matrix().transpose()).array()).maxCoeff(),
      1e-12);
}

TEST(JointTree, FarFromTheOriginNoDigitIsLost) {
  for (int type = 0; type < 8; ++type) {
    SCOPED_TRACE(type);
    RandomTrees random(type);
    std::vector<Link> links = random.Links(12, static_cast<JointType>(type));
    for (int i = 1; i < static_cast<int>(links.size()); ++i)
      links[i].parent = std::max(links[i].parent, 0);
    Case near(links, &random);
    links[0].joint.X_PF.p += Vector3d(1e6, -2e6, 3e5);
    Case far(JointTree(links), near.q, near.v);
    // the base position is rounded to 1e-10 m, but poses relative to the base are not
    EXPECT_LE((near.MassMatrix() - far.MassMatrix()).norm(), 1e-14 * near.MassMatrix().norm());
    const VectorXd zero = VectorXd::Zero(near.n());
    const VectorXd tau = near.InverseDynamics(kGravity, zero);
    EXPECT_LE((tau - far.InverseDynamics(kGravity, zero)).norm(), 1e-13 * tau.norm());
  }
}

TEST(JointTree, NothingAllocatesOnceItsKinematicsAreMade) {
  RandomTrees random(5);
  Case c(random.Links(40, JointType::kFree), &random);
  const std::size_t n = c.n();
  std::vector<double> M(n * n), tau(n), vdot(n), J(6 * n), J_point(3 * n), reactions(6 * 40),
      q = c.q;
  const std::vector<LinkWrench> wrenches(3);
  const std::int64_t before = CountAllocations();
  ASSERT_GT(before, 0);
  c.tree.CalcPositions(c.q, &c.kinematics);
  c.tree.CalcVelocities(c.v, &c.kinematics);
  c.tree.CalcMassMatrix(c.kinematics, M);
  c.tree.CalcBias(c.kinematics, kGravity, tau);
  c.tree.CalcForwardDynamics(&c.kinematics, kGravity, tau, vdot);
  c.tree.CalcInverseDynamics(&c.kinematics, kGravity, vdot, tau);
  c.tree.CalcReactions(&c.kinematics, kGravity, vdot, wrenches, reactions);
  c.tree.CalcJacobian(c.kinematics, 39, Vector3d::Zero(), J);
  c.tree.CalcPointJacobian(c.kinematics, 39, Vector3d::Zero(), J_point);
  c.tree.AddWrench(c.kinematics, 39, Vector3d::Zero(), Vector3d::UnitX(), Vector3d::UnitY(), tau);
  c.tree.CalcMomentum(c.kinematics);
  c.tree.CalcKineticEnergy(c.kinematics, c.v);
  c.tree.CalcCenterOfMass(c.kinematics);
  c.tree.IntegratePositions(c.v, 0.01, q);
  c.tree.CalcDifference(c.q, q, tau);
  EXPECT_EQ(CountAllocations() - before, 0);
}

TEST(JointTree, ResultsDoNotDependOnWhatWasComputedBefore) {
  RandomTrees random(9);
  const std::vector<Link> links = random.Links(30, JointType::kFree);
  Case used(links, &random);
  const std::vector<double> q = used.q, v = used.v;
  const VectorXd first = used.ForwardDynamics(kGravity, VectorXd::Ones(used.n()));
  used.q = random.Positions(used.tree);
  used.v = random.Numbers(used.n());
  used.Update();
  used.InverseDynamics(kGravity, used.velocity());
  used.q = q;
  used.v = v;
  used.Update();
  EXPECT_EQ(used.ForwardDynamics(kGravity, VectorXd::Ones(used.n())), first);
}

TEST(JointTree, VelocitiesKnowTheirParents) {
  Link base, universal, finger, thumb;
  base.joint.type = JointType::kFree;
  universal.parent = 0;
  universal.joint.type = JointType::kUniversal;
  finger.parent = thumb.parent = 1;
  finger.joint.type = thumb.joint.type = JointType::kPrismatic;
  Link tip;
  tip.parent = 2;
  const JointTree tree({base, universal, finger, tip, thumb});
  const int expected[] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 7};
  for (int d = 0; d < 10; ++d) EXPECT_EQ(tree.parent_velocity(d), expected[d]) << d;
  EXPECT_EQ(tree.last_velocity(3), 8);
  EXPECT_EQ(tree.link_of_velocity(9), 4);
}

}  // namespace
}  // namespace pliant::physics
