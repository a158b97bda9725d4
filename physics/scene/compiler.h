#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "physics/fem/fem_block.h"
#include "physics/rigid/rigid_body_block.h"
#include "physics/scene/scene.h"
#include "physics/scene/text/scene_log.h"

namespace google::protobuf {
template <typename T>
class RepeatedField;
}

namespace pliant::v1 {
class Body;
class DeformableBody;
class Material;
class Method;
class Pose;
class Probe;
class Region;
class RigidBody;
class Scene;
class Shape;
class SurfaceMesh;
class Target;
class Velocity;
class VolumeMesh;
class Within;
}  // namespace pliant::v1

namespace pliant::physics {

// Checks a scene and builds its Model. All that is wrong goes to the log; meshes are built only while nothing is.
class SceneCompiler {
 public:
  // `folder` is where relative paths of files start.
  SceneCompiler(const v1::Scene& scene, const SceneOptions& options, std::string folder,
                SceneLog* log);
  ~SceneCompiler();

  // Null when the log holds an error.
  std::shared_ptr<const Model> Compile();

 private:
  // What one body of the scene is made of, before it is placed: a template is placed several times.
  struct BodyDraft {
    Body body;
    RigidBodyParameters rigid;
    FemParameters fem;
    std::vector<int>
        vertex_of_file;  // deformable: vertex by its number in the mesh file; −1: dropped; empty: the same
  };

  // A body of the model: which draft, under which name, where.
  struct Placement {
    int draft;  // index in the scene's bodies
    std::string name;
    RigidTransform X_WB;
  };

  // world: compile_world.cc
  void CompileWorld();
  void CompileMethod(const v1::Method& method);
  void CompileContact();
  void CompileGroups();
  void CompilePairs();
  void RefuseWhatIsNotThere();

  // bodies: compile_bodies.cc
  void CompileBodies();
  void CheckBodyNames();
  void PlaceBodies();
  void AddInstances(int instance);
  void BuildBlocks();

  // rigid: compile_rigid.cc
  void DraftRigidBody(const v1::RigidBody& rigid, const std::string& path, BodyDraft* draft);
  void ReadMass(const v1::RigidBody& rigid, const std::string& path, BodyDraft* draft);
  std::optional<Shape> ReadShape(const v1::Shape& shape, const std::string& path);
  std::optional<Geometry> ReadSurfaceMesh(const v1::SurfaceMesh& mesh, const std::string& path);

  // deformable: compile_deformable.cc
  void DraftDeformableBody(const v1::DeformableBody& body, const std::string& path,
                           BodyDraft* draft);
  std::optional<FemMaterial> ReadMaterial(const v1::Material& material,
                                          const v1::Material* defaults, const std::string& path);
  std::optional<TetrahedralMesh> ReadVolumeMesh(const v1::VolumeMesh& mesh, const std::string& path,
                                                std::vector<int>* vertex_of_file);
  std::optional<TetrahedralMesh> CheckMesh(TetrahedralMesh mesh, bool repair,
                                           const std::string& path,
                                           std::vector<int>* vertex_of_file);
  void ReadRegions(const v1::DeformableBody& body, const std::string& path, BodyDraft* draft);
  void ReadAttachments(const v1::DeformableBody& body, const std::string& path, BodyDraft* draft);

  // script and probes: compile_signals.cc
  void CompileScript();
  bool ReadTarget(const v1::Target& target, const std::string& path, Script* script);
  bool ReadPoint(const google::protobuf::RepeatedField<double>& numbers, const std::string& path,
                 int body, bool allowed, bool* has_point, Eigen::Vector3d* p_BP);
  void CompileProbes();
  bool ReadProbe(const v1::Probe& given, const std::string& path, Probe* probe);
  bool IsRigid(int body, const std::string& path);

  // files: scene_files.cc
  // Bytes of a mesh file that the scene names; nothing when it may not, or cannot, be read.
  std::optional<std::string> ReadMeshFile(const std::string& file, const std::string& path);

  // Index of the body called `name`; −1, and an error at `path`, when there is none, or only a template.
  int ResolveBody(const std::string& name, const std::string& path);
  // All bodies that a name of a body, template or group stands for; empty, and an error, when there is none.
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

  std::vector<BodyDraft> drafts_;                              // one a body of the scene
  std::vector<Placement> placements_;                          // one a body of the model
  absl::flat_hash_map<std::string, int> body_index_;           // in the model
  absl::flat_hash_map<std::string, int> templates_;            // in the scene's bodies
  absl::flat_hash_map<std::string, std::vector<int>> copies_;  // of a template, in the model
  absl::flat_hash_map<std::string, std::vector<int>> groups_;
  std::string mesh_hashes_;  // of all files read, in the order they were
  std::int64_t tetrahedra_ = 0;
};

}  // namespace pliant::physics
