#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "absl/status/statusor.h"

#include "physics/geometry/shape.h"
#include "physics/rigid/joint_tree.h"
#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// What a robot file says, whatever its format: the links of one or more joint trees, and what hangs on them. Checked: a
// description that was returned can be built.

// A shape on a link. Meshes are read and scaled.
struct RobotShape {
  std::string name;
  Shape shape;           // X_BS in the link's frame
  std::string mesh_file;  // as resolved; empty for a primitive
  std::optional<Eigen::Vector4d> color;  // red, green, blue, alpha in 0 … 1
  // collision filters (MJCF): touches another when (type & other.affinity) or (other.type & affinity)
  int contact_type = 1, contact_affinity = 1;
};

struct RobotLink {
  std::string name;
  int line = 0;
  int parent = -1;  // −1: the world, see `on_world`
  Joint joint;      // to the parent. A root that hangs on nothing: kFree with an empty name
  bool has_inertia = true;
  double mass = 0;                                    // [kg]
  Eigen::Vector3d p_BoBcm = Eigen::Vector3d::Zero();  // [m]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  // about Bcm, in B's axes [kg·m²]
  bool gravity = true;
  std::vector<RobotShape> collisions;
  std::vector<RobotShape> visuals;
};

// A named frame fixed on a link (SDF frames, MJCF sites, links welded without mass keep theirs).
struct RobotFrame {
  std::string name;
  int link = -1;  // −1: the world
  RigidTransform X_BF;
};

// Σ ratio_i q_i = offset over joints of one velocity: mimics, gears, joint equalities, fixed tendons.
struct RobotCoupler {
  std::string name;
  std::vector<std::pair<int, double>> terms;  // link whose joint it is, factor
  double offset = 0;
};

// Loop closures (MJCF connect, weld).
struct RobotLoop {
  enum class Kind { kBall, kWeld };
  std::string name;
  Kind kind = Kind::kBall;
  int link_a = -1, link_b = -1;  // −1: the world
  RigidTransform X_AF, X_BF;     // frames that coincide
};

struct RobotActuator {
  enum class Kind { kTorque, kPosition, kVelocity };
  std::string name;
  Kind kind = Kind::kTorque;
  int link = -1;          // whose joint it drives
  double gear = 1;        // effort on the joint = gear · control (torque kind)
  double stiffness = 0;   // [N·m/rad] or [N/m]
  double damping = 0;
  double effort_limit = std::numeric_limits<double>::infinity();  // on the joint
};

// A deformable body that the file asks for (MJCF flexcomp, drake:deformable_properties): a volume mesh file or a grid.
struct RobotDeformable {
  std::string name;
  int line = 0;
  RigidTransform X_WB;          // in the robot file's world
  std::string mesh_file;        // empty: a grid
  double scale = 1;
  std::array<int, 3> count{};   // grid points a side
  Eigen::Vector3d spacing = Eigen::Vector3d::Zero();
  double youngs_modulus = 1e5, poissons_ratio = 0.3, density = 1000;
  double damping_alpha = 0, damping_beta = 0.01;
  double friction = -1;
};

struct RobotDescription {
  std::string name;
  std::string format;  // "URDF", "SDF", "MJCF"
  std::vector<RobotLink> links;  // parents first
  std::vector<RobotFrame> frames;
  std::vector<RobotCoupler> couplers;
  std::vector<RobotLoop> loops;
  std::vector<RobotActuator> actuators;
  std::vector<RobotDeformable> deformables;
  std::vector<std::pair<int, int>> excluded_contacts;  // pairs of links
};

struct RobotFileMessage {
  std::string file;
  int line = 0;  // 0: the whole file
  std::string text;  // names the element, what is wrong or was assumed, and the mend
  bool error = true;
};

struct RobotFileOptions {
  // Folder that package://, model:// and relative paths may lead into, links resolved; empty: any.
  std::string jail;
  // Folders in which packages are looked for by name, beside the parents of the robot's own folder.
  std::vector<std::string> package_paths;
  bool recompute_inertia = false;  // take inertia from the collision shapes where the file's is not physical or missing
  double default_density = 1000;   // [kg/m³], for that
};

struct RobotFileResult {
  std::optional<RobotDescription> robot;  // absent when a message is an error
  std::vector<RobotFileMessage> messages;
};

// Reads URDF, SDF 1.7–1.11 or MJCF; the content decides which. Joints refer to links by index into `links`.
//
// Errors: unreadable or malformed XML, entities, nesting beyond 256, no links, cyclic or disconnected link graphs,
// missing parents, duplicate names, lower > upper, axes that are zero (one that is not unit is normalised with a
// warning), inertia that is not physical on a moving link, missing meshes of collisions (a missing visual is a warning),
// meshes that no volume can be had of, more than 100 000 links.
// Warnings: what is not supported and was left out, each once with a count; a mesh that seems to be in millimetres.
RobotFileResult ReadRobotFile(const std::string& path, const RobotFileOptions& options = {});

}  // namespace pliant::physics
