#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/appearance.h"
#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"
#include "physics/rigid/joint_tree.h"
#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// Contents of a robot file of any format: the links of one or more joint trees, and what is
// attached to them. Checked: a returned description can always be built.

// A shape on a link. Meshes are read and scaled.
//
// A collision mesh on a link that can move becomes its convex hull, or several convex pieces:
// consecutive shapes, numbered by `piece`. On a link fixed to the world it is a SurfaceMesh if it
// is closed. A visual mesh is a SurfaceMesh without bvh, closed or not.
struct RobotShape {
  std::string name;
  Shape shape;            // X_BS in the link's frame
  std::string mesh_file;  // as resolved; empty for a primitive
  int piece = 0;
  // The exact closed surface approximated by the hull or the pieces, in the frame of `shape`, for
  // contact with soft bodies. Set on piece 0.
  std::optional<SurfaceMesh> surface;
  std::optional<Eigen::Vector4d> color;          // red, green, blue, alpha in 0 … 1
  std::shared_ptr<const Appearance> appearance;  // of a visual mesh with textures or vertex colours
  // collision filters (MJCF): may touch another when (type & other.affinity) or (other.type &
  // affinity)
  int contact_type = 1, contact_affinity = 1;
};

struct RobotLink {
  std::string name;
  int line = 0;
  int parent = -1;  // −1: the world
  // To the parent; X_PF of a root is in the robot file's world. A root that is attached to nothing,
  // whose base the scene chooses, has a kFree joint with an empty name, X_PF the link's pose in the
  // file and X_BM the identity.
  Joint joint;
  double initial_position = 0;  // of a joint of one velocity (MJCF's ref) [rad] or [m]
  bool has_inertia = true;      // false: the file gives none
  double mass = 0;              // [kg]
  Eigen::Vector3d p_BoBcm = Eigen::Vector3d::Zero();  // [m]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  // about Bcm, in B's axes [kg·m²]
  double gravity_scale = 1;  // factor on its weight: SDF gravity, 1 − gravcomp of MJCF
  std::vector<RobotShape> collisions;
  std::vector<RobotShape> visuals;
};

// A named frame fixed on a link (SDF frames, MJCF sites).
struct RobotFrame {
  std::string name;
  int link = -1;  // −1: the world
  RigidTransform X_BF;
};

// Σ factor_i q_i = offset over joints of one velocity: mimics, gears, joint equalities, fixed
// tendons.
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

//   kTorque    effort on the joint = gear · control
//   kPosition  effort = stiffness · (control / gear − q) − damping · v
//   kVelocity  effort = damping · (control / gear − v)
struct RobotActuator {
  enum class Kind { kTorque, kPosition, kVelocity };
  std::string name;
  Kind kind = Kind::kTorque;
  int link = -1;  // link whose joint it drives
  double gear = 1;
  double stiffness = 0;  // on the joint [N·m/rad] or [N/m]
  double damping = 0;    // on the joint [N·m·s/rad] or [N·s/m]
  double effort_limit = std::numeric_limits<double>::infinity();  // on the joint
};

// A deformable body that the file asks for (MJCF flexcomp, drake:deformable_properties). Exactly
// one of `mesh`, `primitive` and a grid (count > 0).
struct RobotDeformable {
  std::string name;
  int line = 0;
  RigidTransform X_WB;    // in the robot file's world
  std::string mesh_file;  // source of `mesh`; empty when it is given in the robot file
  std::shared_ptr<const TetrahedralMesh> mesh;  // read and scaled [m]
  std::optional<Geometry> primitive;  // to be meshed with edges of `edge_length` [m]; 0: not given
  double edge_length = 0;
  std::array<int, 3> count{};  // grid points a side, centred at Bo
  Eigen::Vector3d spacing = Eigen::Vector3d::Zero();
  std::string material_model;  // "", "linear", "corotated", "linear_corotated", "neohookean"
  double youngs_modulus = 1e5, poissons_ratio = 0.3, density = 1000;
  double damping_alpha = 0, damping_beta = 0.01;
  double friction = -1;
  bool self_contact = false;
  int contact_type = 1, contact_affinity = 1;
  // Vertices held by a link (−1: the world): of `mesh`, or of the grid, numbered with z fastest,
  // then y.
  int pinned_to = -1;
  std::vector<int> pinned;
};

// A named configuration (MJCF keyframes): the positions of each link's joint.
struct RobotKeyframe {
  std::string name;
  std::vector<std::vector<double>> positions;
};

struct RobotDescription {
  std::string name;
  std::string format;            // "URDF", "SDF", "MJCF"
  std::vector<RobotLink> links;  // parents first
  std::vector<RobotFrame> frames;
  std::vector<RobotCoupler> couplers;
  std::vector<RobotLoop> loops;
  std::vector<RobotActuator> actuators;
  std::vector<RobotDeformable> deformables;
  std::vector<RobotKeyframe> keyframes;
  std::vector<std::pair<int, int>> excluded_contacts;  // pairs of links
};

struct RobotFileMessage {
  std::string file;
  int line = 0;      // 0: the whole file
  std::string text;  // names the element, what is wrong or was assumed, and the remedy
  bool error = true;
};

struct RobotFileOptions {
  // Folder in which files named by package://, model:// and relative paths must lie, links
  // resolved; empty: any.
  std::string jail = "";
  // Folders in which packages are looked for by name, beside the parents of the robot's own folder.
  std::vector<std::string> package_paths = {};
  // False: only the robot's own text is read.
  bool allow_files = true;
  // Roots attached to nothing will be fixed to the world: their meshes keep their triangles and
  // their inertia does not matter.
  bool fixed_base = false;
  // Take inertia from the collision shapes where the file's is missing or not physical, at
  // `default_density` unless the file gives a mass.
  bool recompute_inertia = false;
  double default_density = 1000;  // [kg/m³]
  // MJCF: bodies of the world without a joint become free roots if they have joints below them, or
  // if there is only one.
  bool free_base = false;
  bool expanded_by_xacro = false;  // lines are those of its output
  // Defects that would be repaired with a warning are errors.
  bool strict = false;
};

struct RobotFileResult {
  std::optional<RobotDescription> robot;  // absent when a message is an error
  std::vector<RobotFileMessage> messages;
  // Hashes of the bytes of all files that were read, in their order: of those that affect the
  // motion, and of those that only affect the looks.
  std::string files_hash, looks_hash;
};

// Reads URDF, SDF 1.7–1.11 or MJCF; the content decides which. A file with xacro elements is
// expanded by the program `xacro`, where it is installed and files may be read from anywhere. All
// references to links and their joints are indices into `links`.
//
// errors    unreadable or malformed XML, entities, nesting beyond 256; no links, or more than
//           100 000; cyclic or (URDF) disconnected link graphs, missing parents, duplicate names
//           that something refers to; axes that are zero; no mass on a link that moves; missing
//           meshes of collisions, meshes without a volume
// warnings  what is not supported and was left out, once for each with a count; what was assumed:
//           axes that are not unit (those of MJCF may have any length), visual meshes that are
//           open or cut, limits that are missing; a mesh that seems to be in millimetres; defects
//           that were repaired: inertia that no body can have, or without mass, shapes of size
//           zero, lower > upper, commas and too many numbers in a list, unknown shapes, a zero byte
//           after the end, missing visual meshes
RobotFileResult ReadRobotFile(const std::string& path, const RobotFileOptions& options = {});

// As ReadRobotFile, from text in memory; `path` names it in messages, and relative paths start in
// its folder.
RobotFileResult ReadRobotText(std::string_view text, const std::string& path,
                              const RobotFileOptions& options = {});

}  // namespace pliant::physics
