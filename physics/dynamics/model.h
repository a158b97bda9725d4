#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physics/dynamics/abilities/articulation.h"
#include "physics/dynamics/block.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/options.h"
#include "physics/dynamics/state.h"
#include "physics/geometry/appearance.h"
#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"

namespace pliant::physics {

enum class Motion { kFixed, kKinematic, kFree };

// A shape that is drawn but does not collide.
struct VisualShape {
  Shape shape;
  Eigen::Vector4d color{0.7, 0.7, 0.7, 1};                 // red, green, blue, alpha in 0 … 1
  std::shared_ptr<const Appearance> appearance = nullptr;  // of a mesh; null: the colour alone
};

// Nodes of a block that collide individually, each as a ball.
struct TouchingPoints {
  std::vector<int> nodes;
  std::vector<double> radii;  // of each [m]; 0: a point
  // Whether contacts see how deep a surface has entered a ball before it reaches the centre. If
  // not, they only keep it from entering any farther.
  bool sees_depth = true;
};

// Limits on commands of clients: on the motion of a KINEMATIC body or of a robot's links, and on
// forces on freely moving bodies. Limits of joints apply where the robot's file gives none.
struct DriveLimits {
  double speed = 1;               // [m/s]
  double spin = 6;                // [rad/s]
  double acceleration = 10;       // [m/s²]
  double spin_acceleration = 60;  // [rad/s²]
  double joint_speed = 0.5;       // [m/s]
  double joint_spin = 3;          // [rad/s]
  double joint_ramp = 0.1;        // time to reach that speed from rest [s]
  // corners of the box within which the driven origin stays, in W [m]
  Eigen::Vector3d lower = Eigen::Vector3d::Constant(-std::numeric_limits<double>::infinity());
  Eigen::Vector3d upper = Eigen::Vector3d::Constant(std::numeric_limits<double>::infinity());
  double force = -1;   // of a spring or a wrench [N]; negative: 20 times the body's weight
  double torque = -1;  // [N·m]; negative: 0.1 m times that force
};

// A named body of the scene: the block and frame or nodes that it moves with, and its collision
// geometry: shapes, a surface or points.
struct Body {
  std::string name;
  int block = kWorldBlock;  // index in Model::blocks; kWorldBlock: fixed at `X_WB`
  int frame = 0;            // frame of the block, for a rigid body
  int part = 0;             // number of the body in its block, for a body with nodes (see NodeSet)
  Motion motion = Motion::kFree;
  RigidTransform X_WB;  // pose of a fixed body; initial pose otherwise
  Eigen::Vector3d p_BoBcm =
      Eigen::Vector3d::Zero();  // centre of mass in the body's frame, when rigid
  double mass = 0;              // [kg]; rigid bodies that are not prescribed
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  // about Bcm, in B [kg·m²]

  std::vector<Shape> shapes;         // rigid: in the body's frame
  std::vector<VisualShape> visuals;  // if not empty, viewers draw these instead of the shapes
  BoundarySurface surface;           // deformable: over the nodes of its block
  EmbeddedSurface embedded;  // deformable: viewers draw its parts, or `surface` if it has none
  TouchingPoints points;     // instead of a surface: nodes of its block
  TetrahedralMesh mesh;      // deformable: at rest, in the body's frame
  bool self_contact = false;
  DriveLimits drive;

  // for viewers; 0 where not applicable
  double youngs_modulus = 0, poissons_ratio = 0, density = 0;
};

// Contact parameters: defaults of the world, overridden by shapes, overridden by pairs of bodies.
struct ContactParameters {
  double friction = 0.5;
  double stiffness = std::numeric_limits<double>::infinity();  // [N/m]
  double relaxation_time = -1;                                 // [s]; negative: the time step
  double margin = 0.002;                                       // [m]
  double recovery_speed = 0.1;          // maximum rate at which overlap is corrected [m/s]
  double restitution = 0;               // ratio of normal speeds after and before a collision
  double restitution_threshold = 0.05;  // no restitution up to this approach speed [m/s]
  bool anchored = true;  // sticking contacts remember their tangential impulse and do not creep
  // Contacts of deformable bodies: one per vertex, exact on triangulated surfaces, and one for a
  // feature that enters between vertices; or one per polygon in which a triangle overlaps the other
  // body, at its centroid; or as at vertices, where the vertices of one deformable body meet a
  // smooth surface through the triangles of another.
  enum class Patches { kVertices, kPolygons, kSmooth };
  Patches patches = Patches::kVertices;
  // Subdivisions of each triangle edge for polygons: pressure varies over a triangle as over
  // divisions² smaller ones.
  int patch_divisions = 1;
  static constexpr int kMaxPatchDivisions = 8;
  struct Pair {
    int body_a, body_b;                    // body_a ≤ body_b
    double friction = -1, stiffness = -1;  // negative: not given
    bool enabled = true;
    double restitution = -1;  // likewise
    // See ContactPoint; 0: not given.
    double static_friction = 0, stribeck_speed = 0, viscous_friction = 0;
  };
  std::vector<Pair> pairs;  // ascending (body_a, body_b), unique
};

// A movable joint of a robot, or an activation of a soft one: a region of a body that an actuator
// puts under an internal stress. An activation has no positions and no velocities.
struct RobotJoint {
  enum class Kind {
    kRevolute,   // also a screw
    kPrismatic,  // also any other joint with one translation only
    kCompound,   // several velocities
    kActivation,
  };
  std::string name;
  Kind kind = Kind::kRevolute;
  int block = kWorldBlock;
  int position = 0, num_positions = 0;  // in the block
  int velocity = 0, num_velocities = 0;
  int channel = 0;  // of the block, for an effort on the joint (BlockInputs::efforts)
  int body = -1;    // Model::bodies: the child link; the body of an activation
  double lower = -std::numeric_limits<double>::infinity();  // [rad], [m]; joints of one velocity
  double upper = std::numeric_limits<double>::infinity();
  double velocity_limit = std::numeric_limits<double>::infinity();
  double acceleration_limit = std::numeric_limits<double>::infinity();
  double effort_limit = std::numeric_limits<double>::infinity();
};

// Settings for the teleoperation of a robot by clients.
struct Teleoperation {
  // Behaviour of commanded rates and efforts when commands stop.
  enum class Fallback {
    kRamp,  // they return to zero
    kHold   // the joints hold their positions
  };
  // Actuators that one client may drive while others drive the rest of the robot.
  struct Group {
    std::string name;
    std::vector<int> actuators;  // ascending
  };
  // An axis or a button of a gamepad, which commands a twist of a controller's link, or a rate at
  // which the targets of position and velocity actuators change. Rates are those at full
  // deflection.
  struct GamepadControl {
    int axis = -1, button = -1;                           // one of the two; standard layout
    int controller = -1;                                  // differential IK; receives the twist
    Eigen::Vector3d angular_W = Eigen::Vector3d::Zero();  // [rad/s]
    Eigen::Vector3d linear_W = Eigen::Vector3d::Zero();   // [m/s]
    std::vector<int> actuators;
    double rate = 0;  // [rad/s], [m/s]
  };
  Fallback fallback = Fallback::kRamp;
  DriveLimits limits;  // of links
  std::vector<Group> groups;
  std::vector<GamepadControl> gamepad;
  double dead_zone = 0.1;  // deflection up to which a control counts as released
  int hold_button = -1;    // dead man's button: nothing moves unless it is pressed; −1: none
};

// A group of actuated joints: a robot of the scene, whose links are bodies called robot/link, or a
// soft robot, a body with activations. The latter gives the robot its name and is no link.
struct Robot {
  // Links of one block, for kinematics and dynamics outside the step.
  struct Part {
    int block;
    std::shared_ptr<const Articulation> articulation;
  };
  std::string name;
  std::vector<int> bodies;  // links, in the order of its file
  std::vector<RobotJoint> joints;
  std::vector<Part> parts;
  Teleoperation teleop;
};

// Drives a joint of one velocity or an activation: by an effort or, for a joint, by a spring or
// damper towards a position or velocity.
struct Actuator {
  enum class Kind { kEffort, kPosition, kVelocity };
  std::string name;  // robot/joint
  int robot = 0, joint = 0;
  Kind kind = Kind::kEffort;
  double stiffness = 0;                                           // [N·m/rad], [N/m]
  double damping = 0;                                             // [N·m·s/rad], [N·s/m]
  double effort_limit = std::numeric_limits<double>::infinity();  // [N·m], [N]; stress [Pa]
  bool gravity_compensation = false;
  double initial_target = 0;
  double max_stiffness = 0, max_damping = 0;  // largest gains that clients may set
};

// Turns operator commands into actuator targets, inside the step.
struct Controller {
  enum class Kind { kDifferentialIk, kGripper };
  std::string name;  // robot/controller
  int robot = 0;
  Kind kind = Kind::kDifferentialIk;
  int body = -1;                // the link that differential IK moves
  std::vector<int> actuators;   // set by the controller: position actuators, from base to link
  double damping = 0.02;        // of the inverse near singularities [m], [rad]
  double posture_gain = 0.5;    // towards `posture`, in the null space of the task [1/s]
  double position_gain = 5;     // towards a pose target [1/s]
  std::vector<double> posture;  // of each actuator's joint
};

// Couples two frames, joints or points, or relates the pressure in a volume of a body to the
// volume.
struct Constraint {
  enum class Kind { kBall, kWeld, kDistance, kCoupler, kJointSpring, kVolume };
  struct JointTerm {
    int robot, joint;
    double factor;
  };
  std::string name;
  Kind kind = Kind::kWeld;
  int body_a = -1, body_b = -1;   // −1: the world
  RigidTransform X_AF, X_BG;      // constrained frames on A and B
  int node_b = -1;                // ball on a deformable body B: its node; X_BG is unused
  double length = 0;              // [m] between Fo and Go
  std::vector<JointTerm> joints;  // Σ factor q = offset
  double offset = 0;
  int volume = -1;  // index in body A's block (VolumeSet), which computes its forces
  double stiffness = std::numeric_limits<double>::infinity();
  double damping = 0;
};

// A scripted input: linear between times, sampled at the end of the step.
struct Script {
  // activations use kActuator
  enum class Kind { kPose, kForce, kTorque, kActuator, kJointForce, kTwist, kGripper, kPressure };
  Kind kind = Kind::kPose;
  int body = -1;
  int robot = -1, joint = -1;  // joint force
  int index = -1;              // actuator, controller or constraint
  int node = -1;
  bool has_point = false;
  Eigen::Vector3d p_BP = Eigen::Vector3d::Zero();
  std::vector<double> times;  // [s], not decreasing
  std::vector<std::vector<double>>
      values;  // pose: 3 or 7 numbers; force, torque: 3; twist: 6; others: 1
};

// A named quantity sampled along a run.
struct Probe {
  enum class Kind {
    kPosition,
    kVelocity,
    kOrientation,
    kAngularVelocity,
    kContactForce,
    kWrench,
    kEnergy,
    kMomentum,
    kVolume,
    kField,
    kPenetration,
    kContactPoints,
    kReaction,
    kJoint,
    kExtent,
    kMassWithin,
    kPressure
  };
  enum class JointQuantity { kPosition, kVelocity, kEffort };
  enum class Energy { kTotal, kKinetic, kElastic, kPotential };
  enum class Reduce { kMin, kMax, kMean };
  std::string name;
  Kind kind = Kind::kPosition;
  double rate = 0;             // [Hz]; 0: every step
  int body = -1;               // −1: the whole world
  int other = -1;              // second body; −1: all
  int robot = -1, joint = -1;  // joint, also for its reaction
  int constraint = -1;         // constraint whose reaction or pressure is probed
  JointQuantity quantity = JointQuantity::kPosition;
  int node = -1;
  bool has_point = false;
  Eigen::Vector3d p_BP = Eigen::Vector3d::Zero();
  Energy energy = Energy::kTotal;
  FieldMeasure measure = FieldMeasure::kVonMisesStrain;
  Reduce reduce = Reduce::kMax;
  Eigen::Vector3d direction = Eigen::Vector3d::UnitX();  // of kExtent, of unit length, W
  double quantile = 1;                                   // of kExtent
  RigidTransform X_WF;  // of the box of kMassWithin, about its centre
  Eigen::Vector3d half_size = Eigen::Vector3d::Zero();  // of the box [m]
};

// The immutable part of a world. Built once by scene/, fully validated, shared between threads and
// worlds.
struct Model {
  std::string name;
  Eigen::Vector3d gravity{0, 0, -9.81};  // [m/s²]
  double time_step = 0.01;               // [s]
  // Maximum number of substeps into which a step is divided if it does not converge or gains
  // energy; 1: none.
  int max_substeps = 8;
  MethodOptions method;
  ContactParameters contact;
  // Islands at rest sleep until something acts on them. Requires anchored contacts: creeping bodies
  // never come to rest.
  bool sleeping = true;
  std::vector<std::shared_ptr<const DynamicsBlock>> blocks;
  std::vector<Body> bodies;
  std::vector<Robot> robots;
  std::vector<Actuator> actuators;
  std::vector<Controller> controllers;
  std::vector<Constraint> constraints;
  std::vector<Script> script;
  std::vector<Probe> probes;
  // 32 hexadecimal digits each: over everything that affects results, and over everything, names
  // and images included.
  std::string hash, content_hash;

  // Offsets of each block's positions and velocities in State, one entry more than blocks, and each
  // block's abilities. Filled by Finish().
  std::vector<int> position_offsets{0};
  std::vector<int> velocity_offsets{0};
  std::vector<BlockAbilities> abilities;
  void Finish();

  // A block's part of a State.
  BlockState StateOf(const State& state, int block) const;
  MutableBlockState StateOf(State* state, int block) const;

  // Abilities of the block that moves a body; none for a body fixed in the world.
  BlockAbilities abilities_of(const Body& body) const {
    return body.block == kWorldBlock ? BlockAbilities{} : abilities[body.block];
  }

  std::span<const double> Positions(const State& state, int block) const;
  std::span<double> Positions(State* state, int block) const;
  std::span<const double> Velocities(const State& state, int block) const;
  std::span<double> Velocities(State* state, int block) const;

  const RobotJoint& joint_of(const Actuator& actuator) const {
    return robots[actuator.robot].joints[actuator.joint];
  }
};

State MakeInitialState(const Model& model);

// Current pose of a rigid body; initial pose of a deformable one.
RigidTransform CalcBodyPose(const Model& model, const State& state, int body);
// Pose and velocity of a body, as CalcBodyPose. For many calls, keep a BodyMotions.
FrameMotion CalcBodyMotion(const Model& model, const State& state, int body);

// Number of points of a body whose elements are points (ElementSet::are_points): its particles,
// which are the first of its nodes. 0 for any other body.
int CountPoints(const Model& model, const Body& body);

// Index of a body by name; −1 when there is none.
int FindBody(const Model& model, std::string_view name);
// Index of an actuator or controller by its name (robot/joint, robot/controller); −1 when there is
// none.
int FindActuator(const Model& model, std::string_view name);
int FindController(const Model& model, std::string_view name);

}  // namespace pliant::physics
