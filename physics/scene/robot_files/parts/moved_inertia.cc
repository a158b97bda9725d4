#include "physics/scene/robot_files/parts/moved_inertia.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "physics/scene/robot_files/parts/link_checks.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Matrix6d = Eigen::Matrix<double, 6, 6>;
using Columns = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6>;

constexpr double kSlack = 1e-13;  // relative; rounding in a zero inertia
// a ball for links without shapes
constexpr double kSmallMass = 1e-3;    // [kg]
constexpr double kSmallRadius = 0.01;  // [m]

// Inertia of links about a point, for angular and linear velocities in W.
struct SpatialInertia {
  Vector3d point = Vector3d::Zero();
  Matrix6d matrix = Matrix6d::Zero();

  void MoveTo(const Vector3d& to) {
    Matrix6d velocities = Matrix6d::Identity();  // at `point` by those at `to`
    velocities.bottomLeftCorner<3, 3>() = -CrossMatrix(point - to);
    matrix = (velocities.transpose() * matrix * velocities).eval();
    point = to;
  }
  void Add(SpatialInertia other) {
    other.MoveTo(point);
    matrix += other.matrix;
  }
};

SpatialInertia InertiaOf(const RobotLink& link, const RigidTransform& X_WB, const Vector3d& point) {
  const Matrix3d arm = CrossMatrix(X_WB * link.p_BoBcm - point);
  SpatialInertia inertia{point};
  inertia.matrix << X_WB.R * link.inertia * X_WB.R.transpose() - link.mass * arm * arm,
      link.mass * arm, -link.mass * arm, link.mass * Matrix3d::Identity();
  return inertia;
}

// Directions of motion of a joint at its own point, in W; none for joints of other types, which
// are then taken to be locked.
Columns CalcMotions(const Joint& joint, const Matrix3d& R_WM) {
  const Vector3d axis = R_WM * joint.axis;
  Columns motions;
  switch (joint.type) {
    case JointType::kRevolute:
    case JointType::kScrew:
      motions.resize(6, 1);
      motions << axis, joint.pitch / (2 * kPi) * axis;
      if (joint.type == JointType::kRevolute) motions.bottomRows<3>().setZero();
      return motions;
    case JointType::kPrismatic:
      motions.resize(6, 1);
      motions << Vector3d::Zero(), axis;
      return motions;
    case JointType::kUniversal:
      motions.resize(6, 2);
      motions << axis, R_WM * joint.axis2, Eigen::Matrix<double, 3, 2>::Zero();
      return motions;
    case JointType::kPlanar:
      motions.setZero(6, 3);
      motions.bottomLeftCorner<3, 2>() = FrameFromNormal(axis).leftCols<2>();
      motions.topRightCorner<3, 1>() = axis;
      return motions;
    case JointType::kBall:
      motions = Columns::Identity(6, 3);
      return motions;
    case JointType::kFree:
      motions = Columns::Identity(6, 6);
      return motions;
    default:
      motions.resize(6, 0);
      return motions;
  }
}

double CalcRotorInertia(const Joint& joint) {
  return joint.rotor_inertia * joint.gear_ratio * joint.gear_ratio;
}

// Inertia of a joint's motions, rotor included.
Eigen::MatrixXd CalcOfMotions(const Columns& motions, const Matrix6d& inertia, const Joint& joint) {
  Eigen::MatrixXd of_motions = motions.transpose() * inertia * motions;
  of_motions.diagonal().array() += CalcRotorInertia(joint);
  return of_motions;
}

// Whether some motion of a joint moves only a vanishing part of the inertia that it carries.
// `locked` is that inertia.
bool IsSingular(const Columns& motions, const Eigen::MatrixXd& of_motions, const Matrix6d& locked,
                const Joint& joint) {
  if (motions.cols() == 0) return false;
  // angular and linear motions have different units
  const double angular = locked.topLeftCorner<3, 3>().trace(), mass = locked(5, 5);
  Eigen::VectorXd scale(motions.cols());
  for (Eigen::Index i = 0; i < scale.size(); ++i) {
    const double whole = angular * motions.col(i).head<3>().squaredNorm() +
                         mass * motions.col(i).tail<3>().squaredNorm() + CalcRotorInertia(joint);
    if (!(whole > 0)) return true;
    scale[i] = 1 / std::sqrt(whole);
  }
  const Eigen::MatrixXd scaled = scale.asDiagonal() * of_motions * scale.asDiagonal();
  return !(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(scaled, Eigen::EigenvaluesOnly)
               .eigenvalues()[0] > kSlack);
}

std::string TitleOf(const RobotLink& link) {
  return absl::StrCat("link \"", link.name, "\"");
}

// Gives a link inertia: with a mass, that of its shapes if they enclose a volume; else that of a
// small ball. Returns a sentence about it.
std::string GiveInertia(double density, RobotLink* link) {
  if (link->mass > 0 && TakeInertiaFromShapes(density, link))
    return "The inertia of its shapes is used";
  if (!(link->mass > 0)) {
    link->mass = kSmallMass;
    link->p_BoBcm = Vector3d::Zero();
  }
  link->inertia = 0.4 * link->mass * kSmallRadius * kSmallRadius * Matrix3d::Identity();
  return absl::StrCat("It is taken to be a ball of ", link->mass, " kg with a radius of ",
                      kSmallRadius, " m");
}

// Whether a link is the root of a robot that the file attaches to nothing.
bool HangsOnNothing(const RobotLink& link) {
  return link.parent < 0 && link.joint.name.empty();
}

std::vector<double> CalcSubtreeMasses(const std::vector<RobotLink>& links) {
  std::vector<double> masses(links.size(), 0);
  for (std::size_t i = links.size(); i-- > 0;) {
    masses[i] += links[i].mass;
    if (links[i].parent >= 0) masses[links[i].parent] += masses[i];
  }
  return masses;
}

}  // namespace

void CompleteMovedInertia(double density, const std::vector<bool>& moving, RobotDraft* draft,
                          RobotLog* log) {
  std::vector<RobotLink>& links = draft->robot.links;
  const std::vector<RigidTransform> X_WB = CalcLinkPoses(links);
  const std::string mend = ". Give it an <inertial> element";
  std::vector<std::string> mended(links.size());

  // If no link that a joint moves has mass, each of these links gets the mass of its shapes.
  const std::vector<double> given = CalcSubtreeMasses(links);
  std::vector<bool> weightless(links.size(), false);
  for (std::size_t i = 0; i < links.size(); ++i) {
    RobotLink& link = links[i];
    if (given[i] > 0 || HangsOnNothing(link) || !moving[i]) continue;
    weightless[i] =
        link.joint.type != JointType::kFixed || (link.parent >= 0 && weightless[link.parent]);
    if (weightless[i] && TakeInertiaFromShapes(density, &link)) {
      mended[i] = absl::StrCat(TitleOf(link), ": moves, but has no mass. ", link.mass,
                               " kg is computed from its shapes", mend);
    }
  }

  // The inertia of each link with all links that it carries, about the point of its own joint: with
  // the joints of the carried links locked, and with them free (the articulated-body inertia,
  // Featherstone 2008, §7.2).
  std::vector<SpatialInertia> locked(links.size()), free(links.size());
  for (std::size_t i = 0; i < links.size(); ++i)
    locked[i].point = free[i].point = (X_WB[i] * links[i].joint.X_BM).p;
  for (std::size_t i = links.size(); i-- > 0;) {
    RobotLink& link = links[i];
    const Joint& joint = link.joint;
    const SpatialInertia carried_locked = locked[i], carried_free = free[i];
    const auto add_own = [&] {
      const SpatialInertia own = InertiaOf(link, X_WB[i], locked[i].point);
      locked[i] = carried_locked;
      free[i] = carried_free;
      locked[i].Add(own);
      free[i].Add(own);
    };
    add_own();
    if (!moving[i]) continue;  // nor does its parent move
    const Columns motions = CalcMotions(joint, X_WB[i].R * joint.X_BM.R);
    Eigen::MatrixXd of_motions = CalcOfMotions(motions, free[i].matrix, joint);
    if (IsSingular(motions, of_motions, locked[i].matrix, joint)) {
      const bool has_mass = locked[i].matrix(5, 5) > 0;
      if (HangsOnNothing(link)) {
        mended[i] = absl::StrCat(TitleOf(link),
                                 has_mass ? " lacks inertia about some axis, like a point or a line"
                                          : " and all links attached to it have no mass",
                                 ": it needs a FIXED base", mend);
      } else {
        mended[i] = absl::StrCat(
            TitleOf(link), ": moves with ",
            joint.name.empty() ? "a joint" : absl::StrCat("joint \"", joint.name, "\""),
            has_mass ? ", alone or with joints of links attached to it, without moving any mass"
                     : ", but neither it nor any link attached to it has mass",
            ". ", GiveInertia(density, &link), mend);
        add_own();
        of_motions = CalcOfMotions(motions, free[i].matrix, joint);
      }
    }
    if (link.parent < 0) continue;
    if (motions.cols() > 0) {
      const Eigen::MatrixXd forces = free[i].matrix * motions;
      free[i].matrix -= forces * of_motions.ldlt().solve(forces.transpose());
    }
    locked[link.parent].Add(locked[i]);
    free[link.parent].Add(free[i]);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (mended[i].empty()) continue;
    if (HangsOnNothing(links[i])) {
      log->Warning(draft->places[i], mended[i]);
    } else {
      log->Mended(draft->places[i], mended[i]);
    }
  }
}

}  // namespace pliant::physics
