// Deformable bodies in robot files: flexcomp of MJCF, drake:deformable_properties of SDF.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/geometry/meshing/grid_mesh.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/scene/compiler.h"
#include "physics/scene/robot_files/robot_description.h"
#include "physics/scene/text/scalar_text.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Mesh of a grid of `count` points, numbered as in robot files: z fastest, then y.
absl::StatusOr<TetrahedralMesh> MeshPointGrid(const std::array<int, 3>& count,
                                              const Vector3d& spacing) {
  const std::array<int, 3> cells = {count[0] - 1, count[1] - 1, count[2] - 1};
  absl::StatusOr<TetrahedralMesh> grid =
      MeshGrid(spacing.cwiseProduct(Vector3d(cells[0], cells[1], cells[2])), cells);
  if (!grid.ok()) return grid;
  std::vector<int> number(grid->vertices.size());
  std::vector<Vector3d> vertices(grid->vertices.size());
  int from = 0;
  for (int k = 0; k < count[2]; ++k) {
    for (int j = 0; j < count[1]; ++j) {
      for (int i = 0; i < count[0]; ++i, ++from) {
        number[from] = (i * count[1] + j) * count[2] + k;
        vertices[number[from]] = grid->vertices[from];
      }
    }
  }
  grid->vertices = std::move(vertices);
  for (std::array<int, 4>& tetrahedron : grid->tetrahedra) {
    for (int& vertex : tetrahedron) vertex = number[vertex];
  }
  return grid;
}

// Mesh of a solid primitive with the edge length of its file, or a fifth of its shortest side.
absl::StatusOr<TetrahedralMesh> MeshPrimitive(const Geometry& geometry, double edge_length) {
  const auto edge = [&](double shortest_side) {
    return edge_length > 0 ? edge_length : shortest_side / 5;
  };
  if (const Box* box = std::get_if<Box>(&geometry)) {
    const Vector3d size = 2 * box->half_size;
    return MeshBox(size, edge(size.minCoeff()));
  }
  if (const Sphere* sphere = std::get_if<Sphere>(&geometry))
    return MeshSphere(sphere->radius, edge(2 * sphere->radius));
  if (const Cylinder* c = std::get_if<Cylinder>(&geometry))
    return MeshCylinder(c->radius, c->length, edge(std::min(2 * c->radius, c->length)));
  if (const Capsule* c = std::get_if<Capsule>(&geometry))
    return MeshCapsule(c->radius, c->length, edge(2 * c->radius));
  if (const Ellipsoid* ellipsoid = std::get_if<Ellipsoid>(&geometry)) {
    // mesh a ball of the largest radius, then scale its axes
    const double radius = ellipsoid->radii.maxCoeff();
    absl::StatusOr<TetrahedralMesh> mesh =
        MeshSphere(radius, edge(2 * ellipsoid->radii.minCoeff()));
    if (mesh.ok()) {
      for (Vector3d& p : mesh->vertices) p = p.cwiseProduct(ellipsoid->radii / radius);
    }
    return mesh;
  }
  return absl::InvalidArgumentError("has a shape that cannot be meshed");
}

absl::StatusOr<TetrahedralMesh> MeshOf(const RobotDeformable& given) {
  if (given.mesh != nullptr) return *given.mesh;
  if (given.primitive.has_value()) return MeshPrimitive(*given.primitive, given.edge_length);
  return MeshPointGrid(given.count, given.spacing);
}

// Pose of a link with its robot's joints at zero, as in the robot's file.
RigidTransform CalcFilePose(const Model& model, const Robot& robot, int link) {
  const Body& body = model.bodies[link];
  for (const auto& [block, articulation] : robot.parts) {
    if (block != body.block) continue;
    std::vector<double> q(articulation->num_positions()), v(articulation->num_velocities());
    model.blocks[block]->SetInitialState({q, v});
    for (const RobotJoint& joint : robot.joints)
      if (joint.block == block && joint.num_velocities == 1) q[joint.position] = 0;
    std::vector<RigidTransform> poses(articulation->num_links());
    articulation->CalcLinkPoses(q, poses);
    return poses[body.frame];
  }
  return body.X_WB;
}

}  // namespace

void SceneCompiler::DraftRobotDeformables(const std::string& path, RobotDraft* draft) {
  const RobotDescription& robot = *draft->description;
  if (robot.deformables.empty()) return;
  for (const RobotDeformable& given : robot.deformables) {
    BodyDraft& made = draft->deformables.emplace_back();
    const std::string what = absl::StrCat("the deformable body ", Quoted(given.name));
    draft->holders.push_back(given.pinned.empty() ? -1 : given.pinned_to);
    if (log_.failed()) return;
    absl::StatusOr<TetrahedralMesh> mesh = MeshOf(given);
    if (!mesh.ok()) {
      log_.Error(path + ".file", absl::StrCat(what, ": ", std::string(mesh.status().message())));
      continue;
    }
    std::optional<TetrahedralMesh> sound =
        CheckMesh(*std::move(mesh), false, path + ".file", &made.vertex_of_file);
    if (!sound.has_value()) continue;

    FemMaterial material;
    material.material = FindMaterial("LINEAR_COROTATIONAL");
    for (const auto& [name, model] : {std::pair{"linear", "LINEAR"},
                                      {"corotated", "COROTATIONAL"},
                                      {"neohookean", "NEO_HOOKEAN"}}) {
      if (given.material_model == name) material.material = FindMaterial(model);
    }
    material.parameters = {given.youngs_modulus, given.poissons_ratio};
    material.density = given.density;
    made.fem.mesh = *std::move(sound);
    made.fem.materials.push_back(material);
    made.fem.rayleigh_alpha = given.damping_alpha;
    made.fem.rayleigh_beta = given.damping_beta;
    for (const int vertex : given.pinned) {
      if (given.pinned_to < 0) {
        made.fem.prescribed.push_back({vertex, -1, {}});
      } else {
        made.held.push_back({vertex, "", ""});
      }
    }
    if (given.pinned.size() == made.fem.mesh.vertices.size()) {
      log_.Error(
          path + ".file",
          absl::StrCat(what, " is pinned by every vertex, so nothing can deform. Pin fewer"));
    }
    Body& body = made.body;
    body.name = given.name;
    made.is_deformable = true;
    body.self_contact = given.self_contact;
    body.X_WB = given.X_WB;
    body.mesh = made.fem.mesh;
    body.surface = ExtractBoundary(made.fem.mesh);
    body.youngs_modulus = given.youngs_modulus;
    body.poissons_ratio = given.poissons_ratio;
    body.density = material.density;
  }
}

void SceneCompiler::PlaceRobotDeformables(const RobotPlacement& placement) {
  const RobotDraft& draft = robots_[placement.draft];
  for (std::size_t i = 0; i < draft.deformables.size(); ++i) {
    const BodyDraft& made = draft.deformables[i];
    if (made.fem.mesh.tetrahedra.empty()) continue;
    const std::string path = absl::StrCat("robots[", placement.draft, "].file");
    placed_tetrahedra_ += static_cast<std::int64_t>(made.fem.mesh.tetrahedra.size());
    if (placed_tetrahedra_ > options_.limits.max_tetrahedra) {
      log_.Error(path, absl::StrCat("brings the scene to ", placed_tetrahedra_,
                                    " tetrahedra; expected at most ",
                                    options_.limits.max_tetrahedra, ". Use fewer copies"));
      return;
    }
    const int index = static_cast<int>(model_->bodies.size());
    Body body = made.body;
    body.name = absl::StrCat(placement.name, "/", made.body.name);
    if (!body_index_.try_emplace(body.name, index).second) {
      log_.Error(path, absl::StrCat("the deformable body ", Quoted(made.body.name),
                                    " has the name of a link; expected a unique name"));
      return;
    }
    body.X_WB = placement.X_WR * made.body.X_WB;
    const Robot& robot = model_->robots.back();
    const int holder = draft.holders[i] < 0 ? -1 : robot.bodies[draft.holders[i]];
    if (holder >= 0) {
      const RigidTransform X_WF = CalcFilePose(*model_, robot, holder);
      body.X_WB = model_->bodies[holder].X_WB * X_WF.Inverse() * body.X_WB;
    }
    body.block = static_cast<int>(model_->blocks.size());
    FemParameters fem = made.fem;
    fem.X_WB = body.X_WB;
    model_->blocks.push_back(MakeFemBlock(std::move(fem), &rest_shapes_));
    model_->bodies.push_back(std::move(body));
    robot_deformables_.push_back({index, placement.draft, static_cast<int>(i)});
    // the body overlaps its holder
    if (holder >= 0) robot_filters_.emplace_back(std::minmax(holder, index));
    for (const BodyDraft::HeldVertex& held : made.held) HoldVertex(index, held.vertex, holder);
  }
}

}  // namespace pliant::physics
