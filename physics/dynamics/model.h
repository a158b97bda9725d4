#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/options.h"
#include "physics/dynamics/state.h"
#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"

namespace pliant::physics {

enum class Motion { kFixed, kKinematic, kFree };

// A named thing of the scene: what it moves with and what of it can touch.
struct Body {
  std::string name;
  int block = kWorldBlock;  // index in Model::blocks; kWorldBlock: fixed at `X_WB`
  int frame = 0;            // frame of the block; unused for a deformable body
  bool deformable = false;
  Motion motion = Motion::kFree;
  RigidTransform X_WB;  // pose of a fixed body; initial pose otherwise
  Eigen::Vector3d p_BoBcm =
      Eigen::Vector3d::Zero();  // centre of mass in the body's frame, when rigid

  std::vector<Shape> shapes;  // rigid: in the body's frame
  BoundarySurface surface;    // deformable: over the nodes of its block
  TetrahedralMesh mesh;       // deformable: at rest, in the body's frame
  bool self_contact = false;

  // described to viewers; 0 where it has no meaning
  double youngs_modulus = 0, poissons_ratio = 0, density = 0;
};

// Friction and stiffness of every pair of bodies: the world's, overridden by shapes, overridden by pairs.
struct ContactParameters {
  double friction = 0.5;
  double stiffness = std::numeric_limits<double>::infinity();  // [N/m]
  double relaxation_time = -1;                                 // [s]; negative: the time step
  double margin = 0.002;                                       // [m]
  struct Pair {
    int body_a, body_b;                    // body_a ≤ body_b
    double friction = -1, stiffness = -1;  // negative: not given
    bool enabled = true;
  };
  std::vector<Pair> pairs;  // ascending (body_a, body_b), one an entry
};

// A scripted input: linear between times, sampled at the end of the step.
struct Script {
  enum class Kind { kPose, kForce, kTorque };
  Kind kind = Kind::kPose;
  int body = -1;
  int node = -1;
  bool has_point = false;
  Eigen::Vector3d p_BP = Eigen::Vector3d::Zero();
  std::vector<double> times;                // [s], not decreasing
  std::vector<std::vector<double>> values;  // pose: 3 or 7 numbers; force, torque: 3
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
    kContactPoints
  };
  enum class Energy { kTotal, kKinetic, kElastic, kPotential };
  enum class Reduce { kMin, kMax, kMean };
  std::string name;
  Kind kind = Kind::kPosition;
  double rate = 0;  // [Hz]; 0: every step
  int body = -1;    // −1: the whole world
  int other = -1;   // second body; −1: all
  int node = -1;
  bool has_point = false;
  Eigen::Vector3d p_BP = Eigen::Vector3d::Zero();
  Energy energy = Energy::kTotal;
  FieldMeasure measure = FieldMeasure::kVonMisesStrain;
  Reduce reduce = Reduce::kMax;
};

// All that does not change while a world runs. Built once by scene/, fully validated, shared between threads and worlds.
struct Model {
  std::string name;
  Eigen::Vector3d gravity{0, 0, -9.81};  // [m/s²]
  double time_step = 0.01;               // [s]
  MethodOptions method;
  ContactParameters contact;
  std::vector<std::shared_ptr<const DynamicsBlock>> blocks;
  std::vector<Body> bodies;
  std::vector<Script> script;
  std::vector<Probe> probes;
  std::string hash;  // 32 hexadecimal digits over all that a result depends on

  // Where each block's positions and velocities start in State; one entry more than blocks. Filled by Finish().
  std::vector<int> position_offsets{0};
  std::vector<int> velocity_offsets{0};
  void Finish();

  std::span<const double> Positions(const State& state, int block) const;
  std::span<double> Positions(State* state, int block) const;
  std::span<const double> Velocities(const State& state, int block) const;
  std::span<double> Velocities(State* state, int block) const;
};

State MakeInitialState(const Model& model);

// Pose of a rigid body now; the pose it had at the start for a deformable one.
RigidTransform CalcBodyPose(const Model& model, const State& state, int body);

// Index of a body by name; −1 when there is none.
int FindBody(const Model& model, std::string_view name);

}  // namespace pliant::physics
