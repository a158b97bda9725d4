#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "physics/bodies/body_kind.h"
#include "physics/dynamics/model.h"
#include "physics/fem/fem_block.h"
#include "physics/mpm/filling/fill.h"
#include "physics/mpm/filling/solid.h"
#include "physics/mpm/particle_block.h"
#include "physics/rigid/joint_tree.h"
#include "physics/rigid/rigid_body_block.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/scene.h"
#include "physics/scene/text/scene_log.h"

namespace google::protobuf {
template <typename T>
class RepeatedField;
}

namespace pliant::v1 {
class Body;
class Constraint;
class CustomBody;
class DeformableBody;
class DifferentialIk;
class DriveLimits;
class GamepadControl;
class Gripper;
class Material;
class Method;
class Pair;
class ParticleBody;
class ParticleFill;
class ParticleMaterial;
class Pose;
class Region;
class RigidBody;
class Robot;
class Scene;
class Shape;
class SurfaceMesh;
class Target;
class Teleoperation;
class Velocity;
class Visual;
class VolumeConstraint;
class VolumeMesh;
class Within;
}  // namespace pliant::v1

namespace pliant::physics {

struct RobotDescription;

// Robot and joint in the model, by their name robot/joint.
using JointIndex = absl::flat_hash_map<std::string, std::pair<int, int>>;

// Finds a joint of one velocity; false, and an error, when there is none.
bool FindJoint(const JointIndex& joints, const Model& model, const std::string& name,
               const std::string& path, SceneLog* log, int* robot, int* joint);

// Finds the volume constraint called `name`; false, and an error, when there is none.
bool FindVolumeConstraint(const Model& model, const std::string& name, const std::string& path,
                          SceneLog* log, int* constraint);

// Checks the gauge pressure of a volume at rest; false, and an error, for a gas at vacuum.
bool CheckGaugePressure(const std::string& path, double gauge, const VolumeLaw& law, SceneLog* log);

// Checks a scene and builds its Model. Errors go to the log; meshes are built only while there are
// none.
class SceneCompiler {
 public:
  // `folder` is where relative paths of files start.
  SceneCompiler(const v1::Scene& scene, const SceneOptions& options, std::string folder,
                SceneLog* log);
  ~SceneCompiler();

  // Null when the log holds an error.
  std::shared_ptr<const Model> Compile();

 private:
  // A body of particles before it is placed.
  struct ParticleDraft {
    ParticleBody body;                   // without positions
    std::shared_ptr<const Solid> solid;  // null when it was refused
    FillOptions options;
    ParticleFill fill;
  };

  // A body of the scene before it is placed; a template is placed several times.
  struct BodyDraft {
    Body body;
    bool is_deformable = false;
    RigidBodyParameters rigid;
    FemParameters fem;
    const BodyKind* kind = nullptr;  // of a custom body, described by `custom`
    BodyDescription custom;
    std::optional<ParticleDraft> particles;
    // deformable: vertex by its number in the mesh file; −1: dropped; empty: the same
    std::vector<int> vertex_of_file;
    // deformable: vertices attached to a body or link, given by its name
    struct HeldVertex {
      int vertex;
      std::string to, path;
    };
    std::vector<HeldVertex> held;
    std::map<std::string, std::vector<int>> regions;  // deformable: tetrahedra, by name
    std::vector<Actuator> activations;                // deformable: as FemParameters'
  };

  // A body of the model: its draft, name and pose.
  struct Placement {
    int draft;  // index in the scene's bodies
    std::string name;
    RigidTransform X_WB;
  };

  // A robot of the scene before it is placed.
  struct RobotDraft {
    std::shared_ptr<const RobotDescription> description;  // null when its file was refused
    RigidTransform X_WR;
    std::vector<double> position, velocity;  // of each link's joint, of those with one velocity
    std::vector<int> followers;              // links whose joints a coupler leads
    std::vector<BodyDraft> deformables;      // of its file
    std::vector<int> holders;                // link that each of them is pinned to; −1: none
  };
  struct RobotPlacement {
    int draft;  // index in the scene's robots
    std::string name;
    RigidTransform X_WR;
  };

  // A deformable body of a robot's file in the model.
  struct RobotSoftBody {
    int body;
    int robot, number;  // in robots_, and among its deformables
  };

  // world: compile_world.cc
  void CompileWorld();
  void CompileMethod(const v1::Method& method);
  void CompileSubsteps();
  void CompileContact();
  void CompileGroups();
  void CheckMethod();
  void CheckContactParameters();
  void CompilePairs();
  bool CheckFrictionCurve(const v1::Pair& given, const std::string& path);

  // bodies: compile_bodies.cc
  void CompileBodies();
  void CheckBodyNames();
  void PlaceBodies();
  void PlaceRigidBodies();
  void AddInstances(int instance);
  void BuildBlocks();

  // robots: compile_robots.cc
  void CompileRobots();
  void ReadRobot(const v1::Robot& given, const std::string& path, RobotDraft* draft);
  void ReadJointValues(const v1::Robot& given, const std::string& path, RobotDraft* draft);
  void BuildRobots();
  void BuildRobot(const RobotPlacement& placement);
  bool CheckFreeBase(const RobotDescription& robot, const std::vector<int>& members,
                     const RobotPlacement& placement);
  std::vector<Link> MakeLinks(const RobotDescription& robot, const std::vector<int>& members,
                              bool base_is_free, const RigidTransform& X_WR) const;
  void CompileFileConstraints(const RobotPlacement& placement, const RobotDescription& description);

  // deformable bodies of robot files: compile_robot_deformables.cc
  void DraftRobotDeformables(const std::string& path, RobotDraft* draft);
  void PlaceRobotDeformables(const RobotPlacement& placement);

  // contact filters and friction of robots: compile_robot_contacts.cc
  void FilterRobotContacts(const RobotPlacement& placement, const RobotDescription& description);
  void FilterByContactMasks();
  void SetDeformableFriction();

  // Disable contact between bodies joined by a weld or a ball that touch at the start, and between
  // links of one tree that start inside each other. Remove them from `depths` of overlap, by bodies
  // [m]: compile_robot_contacts.cc
  void SeparateJoinedBodies(std::map<std::pair<int, int>, double>* depths);
  void SeparateLinks(std::map<std::pair<int, int>, double>* depths);
  // warns of bodies that start inside each other, and refuses too many contacts: compiler.cc
  void CheckOverlaps();
  // Returns false, after an error, once the progress callback has cancelled the build.
  bool ShouldContinue(double share);
  bool ShouldContinue() { return ShouldContinue(share_); }  // within a part
  std::string PathOfBody(int body) const;

  // drives and constraints: compile_drives.cc
  void CompileDrives();
  void AddActivations(int body, const BodyDraft& draft);
  std::vector<int> MatchJoints(int robot, const std::string& pattern, const std::string& path);
  void CompileActuators(int robot, const v1::Robot& given, const std::string& path);
  int AddActuator(int robot, int joint, Actuator drive);
  int FindDrive(int robot, int joint) const;
  void CompileControllers(int robot, const v1::Robot& given, const std::string& path);
  bool ReadDifferentialIk(const v1::DifferentialIk& given, const std::string& path,
                          Controller* controller);
  bool ReadGripper(const v1::Gripper& given, const std::string& path, Controller* controller);
  void ReadDriveLimits(const v1::DriveLimits& given, const std::string& path, DriveLimits* limits);
  void CompileTeleoperation(int robot, const v1::Teleoperation& given, const std::string& path);
  void CompileActuatorGroups(int robot, const v1::Teleoperation& given, const std::string& path);
  void CompileGamepad(int robot, const v1::Teleoperation& given, const std::string& path);
  bool ReadGamepadControl(int robot, const v1::GamepadControl& given, const std::string& path,
                          Teleoperation::GamepadControl* control);
  void CompileConstraints();
  bool ReadConstraint(const v1::Constraint& given, const std::string& path, Constraint* constraint);
  bool ResolveHeld(const std::string& name, const std::string& path, int* body,
                   RigidTransform* X_WB);
  // A joint of one velocity by its name, robot/joint; false, and an error, when there is none.
  bool ResolveJoint(const std::string& name, const std::string& path, int* robot, int* joint);

  struct MeshFile {
    std::string bytes;
    CompanionFiles companions;  // files that it names; part of the model's hash
  };

  // rigid: compile_rigid.cc
  void DraftRigidBody(const v1::RigidBody& rigid, const std::string& path, BodyDraft* draft);
  void ReadMass(const v1::RigidBody& rigid, const std::string& path, bool shapes_ok,
                BodyDraft* draft);
  std::optional<Shape> ReadShape(const v1::Shape& shape, const std::string& path);
  std::optional<Geometry> ReadSurfaceMesh(const v1::SurfaceMesh& mesh, const std::string& path);

  // deformable: compile_deformable.cc
  void DraftDeformableBody(const v1::DeformableBody& body, const std::string& path,
                           BodyDraft* draft);
  void DraftCustomBody(const v1::CustomBody& body, const std::string& path, BodyDraft* draft);
  const Material* ReadMaterialModel(const v1::Material& material, const v1::Material* defaults,
                                    const std::string& path);
  std::optional<FemMaterial> ReadMaterial(const v1::Material& material,
                                          const v1::Material* defaults, const std::string& path);
  std::optional<TetrahedralMesh> ReadVolumeMesh(const v1::VolumeMesh& mesh, const std::string& path,
                                                std::vector<int>* vertex_of_file);
  // The mesh of a file: its own tetrahedra, or those that fill its surface.
  std::optional<TetrahedralMesh> ReadVolumeFile(const v1::VolumeMesh& mesh,
                                                const std::string& path);
  // Warns of a body that is so large, or so small, that its file may have another unit.
  void WarnOfUnits(double size, double scale, const std::string& path);
  std::optional<TetrahedralMesh> MeshSurfaceOf(const v1::VolumeMesh& mesh, const MeshFile& file,
                                               const std::string& path);
  std::optional<TetrahedralMesh> CheckMesh(TetrahedralMesh mesh, bool repair,
                                           const std::string& path,
                                           std::vector<int>* vertex_of_file);

  // particles: compile_particles.cc
  void CompileGrid();
  void CheckParticleMethod();
  void DraftParticles(const v1::ParticleBody& body, const std::string& path, BodyDraft* draft);
  const ParticleMaterial* ReadParticleModel(const v1::ParticleMaterial& material,
                                            const std::string& path);
  bool ReadParticleMaterial(const v1::ParticleMaterial& material, const std::string& path,
                            BodyDraft* draft);
  bool ReadSpacing(const v1::ParticleBody& body, const std::string& path, ParticleDraft* draft);
  std::shared_ptr<const Solid> ReadFill(const v1::ParticleFill& fill, const std::string& path);
  std::shared_ptr<const Solid> ReadFillFile(const v1::ParticleFill& fill, const std::string& path);
  void PlaceParticles(int placement);
  void BuildParticleBlock();
  void CheckParticles();
  void CheckParticleMotion(int placement);
  void CheckParticleNeighbors(const std::vector<int>& placements);

  // regions, activations, attachments and closed volumes: compile_body_parts.cc
  void ReadRegions(const v1::DeformableBody& body, const std::string& path, BodyDraft* draft);
  void ReadActivations(const v1::DeformableBody& body, const std::string& path, BodyDraft* draft);
  void ReadAttachments(const v1::DeformableBody& body, const std::string& path, BodyDraft* draft);
  int ResolveHolder(const std::string& name, const std::string& path);
  void DraftVolumes();
  bool DraftVolume(const v1::VolumeConstraint& given, const std::string& path, int* body,
                   VolumeParameters* volume);
  bool ReadVolumeSurface(const v1::VolumeConstraint& given, const std::string& path, int body,
                         VolumeParameters* volume);
  bool ReadVolumeLaw(const v1::VolumeConstraint& given, const std::string& path,
                     VolumeParameters* volume);
  void HoldVertices();
  void HoldVertex(int soft, int vertex, int holder);

  // script and probes: compile_signals.cc
  void CompileScript();
  // Checks the pressures that a script sets in a volume.
  bool CheckPressures(const Script& script, const std::string& path);
  // Warns when a script moves a body so far within a step that it may end inside others.
  void WarnOfJumps(const Script& script, const std::string& path);
  bool ReadTarget(const v1::Target& target, const std::string& path, Script* script);
  bool ReadJointTarget(const v1::Target& target, const std::string& path, Script* script);
  bool ReadPoint(const google::protobuf::RepeatedField<double>& numbers, const std::string& path,
                 int body, bool allowed, bool* has_point, Eigen::Vector3d* p_BP);
  void CompileProbes();

  // files: scene_files.cc
  // A mesh file named in the scene; nullopt when it must not, or cannot, be read.
  std::optional<MeshFile> ReadMeshFile(const std::string& file, const std::string& path);
  // Path of a file named in the scene; nullopt when it must not be read.
  std::optional<std::string> FindFile(const std::string& file, const std::string& path);
  // As above, but returns the error instead of logging it.
  absl::StatusOr<std::string> LocateFile(const std::string& file) const;
  // Reads a surface that is drawn: its parts in the body frame; none, after an error, if it cannot
  // be read.
  std::vector<VisualShape> ReadVisual(const v1::Visual& given, const std::string& path);
  void EmbedVisual(const v1::Visual& given, const std::string& path, Body* body);
  // Leaves out images beyond what viewers can hold, with a warning.
  void LimitImages();

  // Index of the body called `name`; −1, and an error at `path`, when there is none, or only a
  // template.
  int ResolveBody(const std::string& name, const std::string& path);
  // Whether a body of the model has vertices instead of one frame.
  bool IsDeformable(int body) const;
  // All bodies denoted by the name of a body, template or group; empty, and an error, when there is
  // none.
  std::vector<int> ResolveBodies(const std::string& name, const std::string& path);
  // Number of a vertex of a deformable body; −1, and an error, when it has no such vertex.
  int ResolveVertex(int body, int vertex, const std::string& path);
  int ResolveDraftVertex(const BodyDraft& draft, int vertex, const std::string& path);
  std::string NoSuchBody(const std::string& name) const;
  bool ReadVelocity(const v1::Velocity& velocity, const std::string& path, Eigen::Vector3d* linear,
                    Eigen::Vector3d* angular);

  const v1::Scene& scene_;
  const SceneOptions& options_;
  std::string folder_;
  SceneLog& log_;
  std::shared_ptr<Model> model_;

  std::vector<RobotDraft> robots_;                         // one a robot of the scene
  std::vector<RobotPlacement> robot_placements_;           // one a robot of the model
  absl::flat_hash_map<std::string, int> robot_templates_;  // in the scene's robots
  JointIndex joint_index_;
  std::vector<std::pair<int, int>> robot_filters_;         // bodies that do not touch each other
  std::set<std::pair<int, int>> enabled_pairs_;            // those for which the scene says so
  std::vector<RobotSoftBody> robot_deformables_;           // in the model
  std::map<std::pair<int, int>, double> robot_frictions_;  // of pairs, from robot files
  std::vector<BodyDraft> drafts_;                          // one a body of the scene
  FemRestShapes rest_shapes_;
  std::vector<Placement> placements_;                     // one a body of the model
  std::map<int, std::vector<VolumeParameters>> volumes_;  // by body of the model
  // body and its volume, by the path of their constraint
  std::map<std::string, std::pair<int, int>> volume_of_constraint_;
  absl::flat_hash_map<std::string, int> body_index_;           // in the model
  absl::flat_hash_map<std::string, int> templates_;            // in the scene's bodies
  absl::flat_hash_map<std::string, std::vector<int>> copies_;  // of a template, in the model
  absl::flat_hash_map<std::string, std::vector<int>> groups_;
  std::string mesh_hashes_;      // of files that affect the motion, in the order of reading
  std::string looks_hashes_;     // of files that only affect the looks
  std::int64_t tetrahedra_ = 0;  // of meshes that were read
  double share_ = 0;             // last reported
  double body_share_ = 0;        // of one body being read
  bool is_cancelled_ = false;
  // True if all of a kind were built. Otherwise its names are not reported as unknown.
  bool has_robots_ = false, has_drives_ = false, has_constraints_ = false;
  std::int64_t placed_tetrahedra_ = 0;  // of the model's bodies
  std::optional<GridOptions> grid_;     // when the scene has a valid one
  std::int64_t particles_ = 0;          // with their surface points, of the scene's bodies
  int particle_block_ = kWorldBlock;
  int particle_nodes_ = 0;                     // of that block
  std::vector<ParticleBody> particle_bodies_;  // of the model
};

}  // namespace pliant::physics
