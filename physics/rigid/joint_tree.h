#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// Motion of a link relative to its parent: X_FM(q), with the joint's frame F on the parent and M on
// the child. ω and v are those of M in F.
//
//   type        positions                                   velocities
//   kFixed      -                                           -
//   kRevolute   angle about `axis` [rad]; continuous        its rate
//               when it has no limits
//   kPrismatic  distance along `axis` [m]                   its rate
//   kScrew      angle about `axis` [rad]; moves by          its rate
//               `pitch` [m] a turn along it
//   kUniversal  angle about `axis`, then about the          their rates
//               turned `axis2` [rad]
//   kPlanar     x, y across `axis` [m] (the first columns   their rates
//               of FrameFromNormal, x and y when the axis
//               is z), then the angle about it [rad]
//   kBall       quaternion w, x, y, z                       ω in M [rad/s]
//   kFree       quaternion, then the position of Mo in F    ω in M [rad/s], then v of Mo in F [m/s]
//
// Universal and planar joints are compound joints (physics/rigid/compound_joint.h), as are joints
// added by extensions, whose types start at kFirstAdded.
enum class JointType {
  kFixed,
  kRevolute,
  kPrismatic,
  kScrew,
  kUniversal,
  kPlanar,
  kBall,
  kFree,
  kFirstAdded
};
int CountJointTypes();  // including added ones
int CountPositions(JointType type);
int CountVelocities(JointType type);

struct Joint {
  std::string name;
  JointType type = JointType::kFixed;
  RigidTransform X_PF;                               // on the parent (on the world for the root)
  RigidTransform X_BM;                               // on the child
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();   // unit, in F
  Eigen::Vector3d axis2 = Eigen::Vector3d::UnitY();  // unit; universal joints only
  double pitch = 0;                                  // [m] a turn

  // For joints of one velocity. Other joints ignore the limits and use the rest for each velocity.
  double lower = -std::numeric_limits<double>::infinity();  // [rad] or [m]
  double upper = std::numeric_limits<double>::infinity();
  double velocity_limit = std::numeric_limits<double>::infinity();  // for controllers
  double acceleration_limit = std::numeric_limits<double>::infinity();
  double effort_limit = std::numeric_limits<double>::infinity();  // for actuators [N·m] or [N]
  double damping = 0;                                             // [N·m·s/rad] or [N·s/m]
  double friction_loss = 0;                                       // [N·m] or [N]
  double spring_stiffness =
      0;  // [N·m/rad] or [N/m]; a torsional one about the reference for ball joints
  double spring_rest = 0;    // [rad] or [m]
  double rotor_inertia = 0;  // [kg·m²], before the gear
  double gear_ratio = 1;     // joint-space inertia: rotor_inertia · gear_ratio²
};

struct Link {
  std::string name;
  int parent = -1;                                    // −1: the world
  Joint joint;                                        // to the parent
  double mass = 0;                                    // [kg]
  Eigen::Vector3d p_BoBcm = Eigen::Vector3d::Zero();  // [m]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  // about Bcm, in B's axes [kg·m²]
  double gravity_scale = 1;                           // 0 floats, below 0 rises
};

// External wrench on a link: a force at the point p_W, and a torque.
struct LinkWrench {
  int link = 0;
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();
  Eigen::Vector3d torque_W = Eigen::Vector3d::Zero();
  Eigen::Vector3d force_W = Eigen::Vector3d::Zero();
};

class TreeKinematics;

// A tree of links, or several side by side: kinematics and dynamics after Featherstone (composite
// rigid bodies, recursive Newton–Euler, articulated bodies), in world axes throughout, so that
// going from a link to its parent takes only a shift. Positions are relative to the first link's
// Mo, so a robot far from the world's origin loses no precision. Immutable. No Calc method
// allocates: results and scratch memory are in a TreeKinematics, made once for a tree.
class JointTree {
 public:
  // Parents come before their children: parent < own index. Masses ≥ 0.
  explicit JointTree(std::vector<Link> links);

  const std::vector<Link>& links() const { return links_; }
  int num_links() const { return static_cast<int>(links_.size()); }
  int num_positions() const { return num_positions_; }
  int num_velocities() const { return num_velocities_; }
  int position_start(int link) const { return position_start_[link]; }
  int velocity_start(int link) const { return velocity_start_[link]; }
  // Link whose joint moves with velocity `dof`.
  int link_of_velocity(int dof) const { return link_of_velocity_[dof]; }
  // The velocity before `dof` on the path to the root, −1 for the first: the sparsity of the mass
  // matrix.
  int parent_velocity(int dof) const { return parent_velocity_[dof]; }
  // The last velocity that moves a link, −1 for none. With parent_velocity it gives the nonzero
  // columns of the link's Jacobian.
  int last_velocity(int link) const { return last_velocity_[link]; }
  double mass() const { return mass_; }

  // Positions at zero: identity quaternions, zeros.
  void SetZero(std::span<double> q) const;

  // q ← q ⊕ h·v: quaternions turn by the exponential map and stay unit.
  void IntegratePositions(std::span<const double> v, double h, std::span<double> q) const;
  // v such that IntegratePositions(v, 1, q_from) = q_to, turning balls by at most π.
  void CalcDifference(std::span<const double> q_from, std::span<const double> q_to,
                      std::span<double> v) const;

  // Poses, motion axes and inertias at q; then velocities, momenta and velocity-product forces at
  // v.
  void CalcPositions(std::span<const double> q, TreeKinematics* kinematics) const;
  void CalcVelocities(std::span<const double> v, TreeKinematics* kinematics) const;

  // The mass matrix, column-major n × n, both triangles, rotor inertias included (composite rigid
  // bodies). Needs CalcPositions.
  void CalcMassMatrix(const TreeKinematics& kinematics, std::span<double> M) const;

  // τ = c(q, v) − τ_g, the efforts that keep v̇ zero. Joint damping, springs and friction are not
  // included. Needs CalcVelocities.
  void CalcBias(const TreeKinematics& kinematics, const Eigen::Vector3d& gravity,
                std::span<double> tau) const;

  // τ = M(q) v̇ + c(q, v) − τ_g (recursive Newton–Euler); v̇ empty: zero. Needs CalcVelocities.
  void CalcInverseDynamics(TreeKinematics* kinematics, const Eigen::Vector3d& gravity,
                           std::span<const double> vdot, std::span<double> tau) const;

  // v̇ from τ by articulated bodies, in O(n). Needs CalcVelocities.
  void CalcForwardDynamics(TreeKinematics* kinematics, const Eigen::Vector3d& gravity,
                           std::span<const double> tau, std::span<double> vdot) const;

  // Joint reactions on each link from its parent, fixed joints included, at accelerations v̇
  // (empty: zero) under gravity and `wrenches`: torque about Mo, then force, in W; six numbers a
  // link. The components along a joint's axes are its total effort minus the part that accelerates
  // its rotor. Needs CalcVelocities.
  void CalcReactions(TreeKinematics* kinematics, const Eigen::Vector3d& gravity,
                     std::span<const double> vdot, std::span<const LinkWrench> wrenches,
                     std::span<double> reactions) const;

  // 6 × n column-major: angular, then linear velocity in W of the point p_W that moves with `link`.
  // Needs CalcPositions.
  void CalcJacobian(const TreeKinematics& kinematics, int link, const Eigen::Vector3d& p_W,
                    std::span<double> J) const;
  // 3 × n column-major: the linear part alone.
  void CalcPointJacobian(const TreeKinematics& kinematics, int link, const Eigen::Vector3d& p_W,
                         std::span<double> J) const;
  // As CalcPointJacobian, but writes only the nonzero columns; J must be zero on entry.
  void FillPointJacobian(const TreeKinematics& kinematics, int link, const Eigen::Vector3d& p_W,
                         std::span<double> J) const;
  // tau += Jᵀ (torque about p_W, force at p_W) on a link.
  void AddWrench(const TreeKinematics& kinematics, int link, const Eigen::Vector3d& p_W,
                 const Eigen::Vector3d& torque_W, const Eigen::Vector3d& force_W,
                 std::span<double> tau) const;

  // Centre of mass of all links, including those fixed to the world. Needs CalcPositions.
  Eigen::Vector3d CalcCenterOfMass(const TreeKinematics& kinematics) const;
  // Need CalcVelocities. Momentum: linear, then angular about the world's origin. Kinetic energy
  // with rotor inertias.
  Eigen::Matrix<double, 6, 1> CalcMomentum(const TreeKinematics& kinematics) const;
  double CalcKineticEnergy(const TreeKinematics& kinematics, std::span<const double> v) const;
  // Gravitational potential energy, zero at the world's origin [J]. Needs CalcPositions.
  double CalcPotentialEnergy(const TreeKinematics& kinematics,
                             const Eigen::Vector3d& gravity) const;

 private:
  friend class TreeKinematics;

  // A body of the tree as computed. Links fixed to each other form one node, and a joint of several
  // axes is a chain of single-axis nodes, the inner ones without mass. A node's frame N has the
  // axis of its joint as one of its axes.
  enum class NodeType : std::uint8_t { kTurn, kSlide, kScrew, kBall, kFree };
  struct Node {
    NodeType type = NodeType::kTurn;
    int parent = -1;  // node; −1: the world
    int position = 0, velocity = 0;
    int axis = 2;       // column of R_WN
    double sign = 1;    // along it or against it
    double turn = 1;    // 0: slides
    double travel = 0;  // along the axis: 1 slides, others screws [m/rad]
    RigidTransform X_PF;
    double mass = 0;
    Eigen::Vector3d first_moment = Eigen::Vector3d::Zero();  // mass · p_NoNcm
    Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();       // about No, in N's axes
  };

  // Adds a node whose joint frame F is on `parent`, and returns the pose of M in the node's frame.
  RigidTransform AddNode(NodeType type, int parent, const RigidTransform& X_PF,
                         const Eigen::Vector3d& axis, int position, int velocity);
  void AddJoint(int link);
  void AddMass(int link);
  void AddRun(JointType type);
  void CalcLinkPoses(TreeKinematics* kinematics) const;
  static int CountAxes(NodeType type) {
    return type == NodeType::kFree ? 6 : type == NodeType::kBall ? 3 : 1;
  }
  // Corrects `tau` for the weight of links whose gravity_scale is not 1.
  void RemoveWeights(const TreeKinematics& kinematics, const Eigen::Vector3d& gravity,
                     std::span<double> tau) const;
  // Contribution of v̇ to the accelerations of the nodes.
  void CalcAccelerations(std::span<const double> vdot, TreeKinematics* kinematics) const;

  std::vector<Link> links_;
  std::vector<int> position_start_, velocity_start_, link_of_velocity_, parent_velocity_;
  std::vector<int> last_velocity_;
  int num_positions_ = 0, num_velocities_ = 0;
  double mass_ = 0;
  // A run of positions whose rates are their velocities, or the positions of one ball or free
  // joint.
  struct Run {
    int position, velocity, count;  // velocities
    bool turns;
  };
  std::vector<Run> runs_;
  std::vector<int> lightened_;  // moving links of a gravity_scale other than 1

  std::vector<int> turns_;            // nodes that turn about one axis
  std::vector<Node> nodes_;           // parents first
  std::vector<int> link_node_;        // −1: fixed to the world
  std::vector<RigidTransform> X_NL_;  // pose of each link in its node; in the world for node −1
  std::vector<std::uint8_t> is_node_frame_;  // X_NL is the identity
  int num_root_nodes_ = 0;                   // nodes of the first link's joint
  // Velocities run_start_[d] to d are consecutive on the path to the root.
  std::vector<int> run_start_;
  std::vector<double> reflected_inertia_;  // of each velocity's rotor
  Eigen::Vector3d static_moment_ =
      Eigen::Vector3d::Zero();  // Σ m p_WBcm, of links fixed to the world
};

}  // namespace pliant::physics
