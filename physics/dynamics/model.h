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
#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"

namespace pliant::physics {

enum class Motion { kFixed, kKinematic, kFree };

// A shape that is seen but touches nothing.
struct VisualShape {
  Shape shape;
  Eigen::Vector4d color{0.7, 0.7, 0.7, 1};  // red, green, blue, alpha in 0 … 1
};

// Nodes of a block that touch by themselves, each as a ball.
struct TouchingPoints {
  std::vector<int> nodes;
  std::vector<double> radii;  // of each [m]; 0: the node itself touches
};

// A named thing of the scene: what it moves with, and what of it can touch: shapes, a surface or
// points.
struct Body {
  std::string name;
  int block = kWorldBlock;  // index in Model::blocks; kWorldBlock: fixed at `X_WB`
  int frame = 0;            // frame of the block that moves it, of a body that is rigid
  int part = 0;             // which body of its block it is, of one that has nodes (see NodeSet)
  Motion motion = Motion::kFree;
  RigidTransform X_WB;  // pose of a fixed body; initial pose otherwise
  Eigen::Vector3d p_BoBcm =
      Eigen::Vector3d::Zero();  // centre of mass in the body's frame, when rigid
  double mass = 0;              // [kg]; of a rigid body that is not prescribed
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  // about Bcm, in B [kg·m²]

  std::vector<Shape> shapes;         // rigid: in the body's frame
  std::vector<VisualShape> visuals;  // what viewers show in place of the shapes, when there are any
  BoundarySurface surface;           // of a deformable body: over the nodes of its block
  TouchingPoints points;             // in place of a surface: nodes of its block
  TetrahedralMesh mesh;              // of a deformable body: at rest, in the body's frame
  bool self_contact = false;

  // described to viewers; 0 where it has no meaning
  double youngs_modulus = 0, poissons_ratio = 0, density = 0;
};

// Friction and stiffness of every pair of bodies: the world's, overridden by shapes, overridden by
// pairs.
struct ContactParameters {
  double friction = 0.5;
  double stiffness = std::numeric_limits<double>::infinity();  // [N/m]
  double relaxation_time = -1;                                 // [s]; negative: the time step
  double margin = 0.002;                                       // [m]
  bool anchored = true;  // sticking contacts remember their tangential impulse and do not creep
  // What contacts of deformable bodies stand for: one a vertex, exact where surfaces are made of
  // triangles, and one for what enters between them; or one for each polygon in which triangles
  // meet what they touch, at its centroid.
  enum class Patches { kVertices, kPolygons };
  Patches patches = Patches::kVertices;
  // Of each edge of a triangle that polygons lie on: pressure varies over a triangle as it does
  // over divisions² ones.
  int patch_divisions = 1;
  static constexpr int kMaxPatchDivisions = 8;
  struct Pair {
    int body_a, body_b;                    // body_a ≤ body_b
    double friction = -1, stiffness = -1;  // negative: not given
    bool enabled = true;
  };
  std::vector<Pair> pairs;  // ascending (body_a, body_b), one an entry
};

// A joint of a robot that moves, or an activation of a soft one: a region of a body that an
// actuator puts under an internal stress. An activation has no positions and no velocities.
struct RobotJoint {
  enum class Kind {
    kRevolute,   // also a screw
    kPrismatic,  // also any other that slides alone
    kCompound,   // several velocities
    kActivation,
  };
  std::string name;
  Kind kind = Kind::kRevolute;
  int block = kWorldBlock;
  int position = 0, num_positions = 0;  // in the block
  int velocity = 0, num_velocities = 0;
  int channel = 0;  // of the block: what an effort on the joint acts on (BlockInputs::efforts)
  int body = -1;    // Model::bodies: the child link; the body of an activation
  double lower = -std::numeric_limits<double>::infinity();  // [rad], [m]; of joints of one velocity
  double upper = std::numeric_limits<double>::infinity();
  double velocity_limit = std::numeric_limits<double>::infinity();
  double acceleration_limit = std::numeric_limits<double>::infinity();
  double effort_limit = std::numeric_limits<double>::infinity();
};

// What actuators drive together: a robot of the scene, whose links are bodies called robot/link, or
// a soft one, a body with activations, which gives it its name and is no link.
struct Robot {
  // Links that one block moves, for kinematics and dynamics outside the step.
  struct Part {
    int block;
    std::shared_ptr<const Articulation> articulation;
  };
  std::string name;
  std::vector<int> bodies;  // links, in the order of its file
  std::vector<RobotJoint> joints;
  std::vector<Part> parts;
};

// Drives a joint of one velocity or an activation: by an effort, or, of a joint, by a spring or a
// damper towards a position or a velocity.
struct Actuator {
  enum class Kind { kEffort, kPosition, kVelocity };
  std::string name;  // robot/joint
  int robot = 0, joint = 0;
  Kind kind = Kind::kEffort;
  double stiffness = 0;                                           // [N·m/rad], [N/m]
  double damping = 0;                                             // [N·m·s/rad], [N·s/m]
  double effort_limit = std::numeric_limits<double>::infinity();  // [N·m], [N]; of a stress [Pa]
  bool gravity_compensation = false;
  double initial_target = 0;
};

// Turns what an operator asks for into targets of actuators, inside the step.
struct Controller {
  enum class Kind { kDifferentialIk, kGripper };
  std::string name;  // robot/controller
  int robot = 0;
  Kind kind = Kind::kDifferentialIk;
  int body = -1;                // the link that differential IK moves
  std::vector<int> actuators;   // that it sets: position actuators, from the base to the link
  double damping = 0.02;        // of the inverse near singularities [m], [rad]
  double posture_gain = 0.5;    // towards `posture` where the task leaves freedom [1/s]
  double position_gain = 5;     // towards a pose target [1/s]
  std::vector<double> posture;  // of each actuator's joint
};

// Holds two frames, joints or points together.
struct Constraint {
  enum class Kind { kBall, kWeld, kDistance, kCoupler, kJointSpring };
  struct JointTerm {
    int robot, joint;
    double factor;
  };
  std::string name;
  Kind kind = Kind::kWeld;
  int body_a = -1, body_b = -1;  // −1: the world
  RigidTransform X_AF, X_BG;     // frames on A and B that are held together
  int node_b = -1;    // a ball's: the node of the deformable body B that is held; X_BG is not read
  double length = 0;  // [m] between Fo and Go
  std::vector<JointTerm> joints;  // Σ factor q = offset
  double offset = 0;
  double stiffness = std::numeric_limits<double>::infinity();
  double damping = 0;
};

// A scripted input: linear between times, sampled at the end of the step.
struct Script {
  // an activation's is kActuator
  enum class Kind { kPose, kForce, kTorque, kActuator, kJointForce, kTwist, kGripper };
  Kind kind = Kind::kPose;
  int body = -1;
  int robot = -1, joint = -1;  // joint force
  int index = -1;              // actuator or controller
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
    kJoint
  };
  enum class JointQuantity { kPosition, kVelocity, kEffort };
  enum class Energy { kTotal, kKinetic, kElastic, kPotential };
  enum class Reduce { kMin, kMax, kMean };
  std::string name;
  Kind kind = Kind::kPosition;
  double rate = 0;             // [Hz]; 0: every step
  int body = -1;               // −1: the whole world
  int other = -1;              // second body; −1: all
  int robot = -1, joint = -1;  // of a joint, or of its reaction
  int constraint = -1;         // of a constraint's reaction
  JointQuantity quantity = JointQuantity::kPosition;
  int node = -1;
  bool has_point = false;
  Eigen::Vector3d p_BP = Eigen::Vector3d::Zero();
  Energy energy = Energy::kTotal;
  FieldMeasure measure = FieldMeasure::kVonMisesStrain;
  Reduce reduce = Reduce::kMax;
};

// All that does not change while a world runs. Built once by scene/, fully validated, shared
// between threads and worlds.
struct Model {
  std::string name;
  Eigen::Vector3d gravity{0, 0, -9.81};  // [m/s²]
  double time_step = 0.01;               // [s]
  MethodOptions method;
  ContactParameters contact;
  // Islands at rest sleep until something acts on them. Off where contacts are not anchored: what
  // creeps never rests.
  bool sleeping = true;
  std::vector<std::shared_ptr<const DynamicsBlock>> blocks;
  std::vector<Body> bodies;
  std::vector<Robot> robots;
  std::vector<Actuator> actuators;
  std::vector<Controller> controllers;
  std::vector<Constraint> constraints;
  std::vector<Script> script;
  std::vector<Probe> probes;
  std::string hash;  // 32 hexadecimal digits over all that a result depends on

  // Offsets of each block's positions and velocities in State, one entry more than blocks, and what
  // each block can do. Filled by Finish().
  std::vector<int> position_offsets{0};
  std::vector<int> velocity_offsets{0};
  std::vector<BlockAbilities> abilities;
  void Finish();

  // A block's part of a State.
  BlockState StateOf(const State& state, int block) const;
  MutableBlockState StateOf(State* state, int block) const;

  // What moves a body can do; nothing for a body that is fixed in the world.
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

// Pose of a rigid body now; the pose it had at the start for a deformable one.
RigidTransform CalcBodyPose(const Model& model, const State& state, int body);
// The same with its velocities; a caller that asks for many keeps a BodyMotions.
FrameMotion CalcBodyMotion(const Model& model, const State& state, int body);

// Index of a body by name; −1 when there is none.
int FindBody(const Model& model, std::string_view name);
// Index of an actuator or controller by its name (robot/joint, robot/controller); −1 when there is
// none.
int FindActuator(const Model& model, std::string_view name);
int FindController(const Model& model, std::string_view name);

}  // namespace pliant::physics
