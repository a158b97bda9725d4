// Names, copies of templates, and the order of bodies and blocks.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/compiler.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {

// Approximate share of meshing in the time to build a scene.
constexpr double kMeshingShare = 0.5;

void SceneCompiler::CompileBodies() {
  if (scene_.bodies_size() > options_.limits.max_bodies) {
    log_.Error("bodies", absl::StrCat(scene_.bodies_size(), " bodies are given; expected at most ",
                                      options_.limits.max_bodies));
    return;
  }
  CheckBodyNames();
  drafts_.resize(scene_.bodies_size());
  for (int i = 0; i < scene_.bodies_size(); ++i) {
    const v1::Body& body = scene_.bodies(i);
    const std::string path = absl::StrCat("bodies[", i, "]");
    drafts_[i].body.name = body.name();
    switch (body.kind_case()) {
      case v1::Body::kRigid:
        DraftRigidBody(body.rigid(), path + ".rigid", &drafts_[i]);
        break;
      case v1::Body::kDeformable:
        drafts_[i].is_deformable = true;
        ReadPose(path + ".deformable.pose", body.deformable().pose(), &log_, &drafts_[i].body.X_WB);
        break;
      case v1::Body::kCustom:
        drafts_[i].is_deformable = true;
        ReadPose(path + ".custom.pose", body.custom().pose(), &log_, &drafts_[i].body.X_WB);
        break;
      case v1::Body::kParticles:
        drafts_[i].is_deformable = true;
        ReadPose(path + ".particles.pose", body.particles().pose(), &log_, &drafts_[i].body.X_WB);
        break;
      case v1::Body::KIND_NOT_SET:
        log_.Error(path, "has no kind; expected `rigid`, `deformable` or `particles`");
        break;
    }
  }
  PlaceBodies();
  CompileRobots();
  for (int i = 0; i < scene_.instances_size(); ++i) AddInstances(i);
  PlaceRigidBodies();

  // deformable bodies come last: they may be attached to any of the others, and their meshes take
  // time
  for (int i = 0; i < scene_.bodies_size(); ++i) {
    if (!ShouldContinue(kMeshingShare * i / scene_.bodies_size())) return;
    body_share_ = kMeshingShare / scene_.bodies_size();
    const std::string path = absl::StrCat("bodies[", i, "]");
    if (scene_.bodies(i).has_deformable())
      DraftDeformableBody(scene_.bodies(i).deformable(), path + ".deformable", &drafts_[i]);
    if (scene_.bodies(i).has_custom())
      DraftCustomBody(scene_.bodies(i).custom(), path + ".custom", &drafts_[i]);
    if (scene_.bodies(i).has_particles())
      DraftParticles(scene_.bodies(i).particles(), path + ".particles", &drafts_[i]);
  }
  DraftVolumes();
  BuildBlocks();
  BuildRobots();
  HoldVertices();
  CheckParticles();
}

void SceneCompiler::CheckBodyNames() {
  absl::flat_hash_map<std::string, int> first;
  for (int i = 0; i < scene_.bodies_size(); ++i) {
    const std::string& name = scene_.bodies(i).name();
    const std::string path = absl::StrCat("bodies[", i, "].name");
    if (!CheckName(path, name, &log_)) continue;
    if (name == "world") {
      log_.Error(path, "\"world\" is reserved for the world itself; expected another name");
    } else if (const auto [earlier, fresh] = first.try_emplace(name, i); !fresh) {
      log_.Error(path, absl::StrCat(Quoted(name), " is also the name of bodies[", earlier->second,
                                    "]; expected a unique name"));
    }
  }
}

void SceneCompiler::PlaceBodies() {
  for (int i = 0; i < scene_.bodies_size(); ++i) {
    const v1::Body& body = scene_.bodies(i);
    if (body.template_()) {
      copies_[body.name()];
      templates_.try_emplace(body.name(), i);
    } else {
      body_index_.try_emplace(body.name(), static_cast<int>(placements_.size()));
      placements_.push_back({i, body.name(), drafts_[i].body.X_WB});
    }
  }
}

void SceneCompiler::PlaceRigidBodies() {
  for (const auto& placement : placements_) {
    Body body = drafts_[placement.draft].body;
    body.name = placement.name;
    body.X_WB = placement.X_WB;
    model_->bodies.push_back(std::move(body));
  }
}

void SceneCompiler::AddInstances(int instance) {
  const v1::Instance& given = scene_.instances(instance);
  const std::string path = absl::StrCat("instances[", instance, "]");
  if (given.of().empty()) {
    Missing(path + ".of", "the name of a template", &log_);
    return;
  }
  const auto robot = robot_templates_.find(given.of());
  const auto found = templates_.find(given.of());
  if (found == templates_.end() && robot == robot_templates_.end()) {
    if (log_.full()) return;
    std::vector<std::string> names;
    for (const auto& [name, draft] : templates_) names.push_back(name);
    for (const auto& [name, draft] : robot_templates_) names.push_back(name);
    std::sort(names.begin(), names.end());
    const bool body = body_index_.contains(given.of());
    log_.Error(path + ".of",
               body ? absl::StrCat(Quoted(given.of()),
                                   " is not a template. Give the body `template: true`")
                    : absl::StrCat("no template is called ", Quoted(given.of()),
                                   DidYouMean(given.of(), names)));
    return;
  }
  const bool is_robot = found == templates_.end();
  const int draft = is_robot ? robot->second : found->second;

  if (!given.has_count() && given.poses().empty()) {
    Missing(path + ".count", "a count or a list of poses", &log_);
    return;
  }
  const int count = given.has_count() ? given.count() : given.poses_size();
  if (count < 1) {
    log_.Error(path + ".count",
               absl::StrCat(count, " is not allowed; expected a whole number of 1 or more"));
    return;
  }
  if (!given.poses().empty() && given.poses_size() != count) {
    log_.Error(path + ".poses", absl::StrCat(given.poses_size(), " poses are given for a count of ",
                                             count, "; expected as many, or none"));
    return;
  }
  const std::int64_t total = static_cast<std::int64_t>(placements_.size()) + count;
  if (total > options_.limits.max_bodies) {
    log_.Error(path + (given.has_count() ? ".count" : ".poses"),
               absl::StrCat("would make ", total, " bodies; expected at most ",
                            options_.limits.max_bodies));
    return;
  }

  if (is_robot) {
    for (int k = 0; k < count; ++k) {
      RobotPlacement placement{draft, absl::StrCat(given.of(), "_", k), robots_[draft].X_WR};
      if (!given.poses().empty()) {
        ReadPose(absl::StrCat(path, ".poses[", k, "]"), given.poses(k), &log_, &placement.X_WR);
      }
      for (const RobotPlacement& other : robot_placements_) {
        if (other.name != placement.name) continue;
        log_.Error(path, absl::StrCat("would make a second robot called ", Quoted(placement.name),
                                      ". Rename the other, or give all copies in one entry"));
        return;
      }
      robot_placements_.push_back(std::move(placement));
    }
    return;
  }

  // copies of a template are numbered across all entries that copy it
  std::vector<int>& copies = copies_[given.of()];
  for (int k = 0; k < count; ++k) {
    Placement placement{draft, absl::StrCat(given.of(), "_", copies.size()),
                        drafts_[draft].body.X_WB};
    if (!given.poses().empty()) {
      ReadPose(absl::StrCat(path, ".poses[", k, "]"), given.poses(k), &log_, &placement.X_WB);
    }
    const int index = static_cast<int>(placements_.size());
    if (!body_index_.try_emplace(placement.name, index).second) {
      log_.Error(path, absl::StrCat("would make a second body called ", Quoted(placement.name),
                                    ". Rename the one in `bodies`"));
      return;
    }
    copies.push_back(index);
    placements_.push_back(std::move(placement));
  }
}

void SceneCompiler::BuildBlocks() {
  if (log_.failed()) return;
  std::int64_t placed_particles = 0;
  for (const Placement& placement : placements_) {
    const BodyDraft& draft = drafts_[placement.draft];
    placed_tetrahedra_ += static_cast<std::int64_t>(draft.body.mesh.tetrahedra.size());
    if (draft.particles.has_value())
      placed_particles += static_cast<std::int64_t>(draft.particles->fill.positions.size() +
                                                    draft.particles->fill.surface.size());
  }
  if (placed_tetrahedra_ > options_.limits.max_tetrahedra) {
    log_.Error(
        "instances",
        absl::StrCat("would make ", placed_tetrahedra_, " tetrahedra; expected at most ",
                     options_.limits.max_tetrahedra, ". Use fewer copies or a coarser mesh"));
    return;
  }
  if (placed_particles > options_.limits.max_particles) {
    log_.Error("instances",
               absl::StrCat("would make ", placed_particles,
                            " particles and points on their surfaces; expected at most ",
                            options_.limits.max_particles, ". Use fewer copies or particles"));
    return;
  }
  for (std::size_t i = 0; i < placements_.size(); ++i) {
    const BodyDraft& draft = drafts_[placements_[i].draft];
    Body& body = model_->bodies[i];
    if (!draft.is_deformable && body.motion == Motion::kFixed) continue;
    if (draft.particles.has_value()) {
      PlaceParticles(static_cast<int>(i));
      continue;
    }
    body.block = static_cast<int>(model_->blocks.size());
    if (draft.is_deformable) {
      if (!ShouldContinue()) return;
      // the draft was completed after the body was placed: keep its name and pose
      const std::string name = body.name;
      const RigidTransform X_WB = body.X_WB;
      body = draft.body;
      body.name = name;
      body.X_WB = X_WB;
      body.block = static_cast<int>(model_->blocks.size());
      if (draft.kind != nullptr) {
        BodyDescription custom = draft.custom;
        custom.X_WB = X_WB;
        model_->blocks.push_back(draft.kind->MakeBlock(std::move(custom)));
        continue;
      }
      FemParameters fem = draft.fem;
      fem.X_WB = X_WB;
      if (const auto of_body = volumes_.find(static_cast<int>(i)); of_body != volumes_.end())
        fem.volumes = of_body->second;
      model_->blocks.push_back(MakeFemBlock(std::move(fem), &rest_shapes_));
    } else if (body.motion == Motion::kKinematic) {
      model_->blocks.push_back(MakeKinematicBodyBlock(static_cast<int>(i), body.X_WB));
    } else {
      RigidBodyParameters rigid = draft.rigid;
      rigid.X_WB = body.X_WB;
      model_->blocks.push_back(MakeFreeBodyBlock(rigid));
    }
  }
  BuildParticleBlock();
}

std::string SceneCompiler::NoSuchBody(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [known, index] : body_index_) names.push_back(known);
  std::sort(names.begin(), names.end());
  return absl::StrCat("no body is called ", Quoted(name), DidYouMean(name, names));
}

int SceneCompiler::ResolveBody(const std::string& name, const std::string& path) {
  // no body is known when reading the bodies failed
  if (log_.full() || (model_->bodies.empty() && log_.failed())) return -1;
  if (name.empty()) {
    Missing(path, "the name of a body", &log_);
    return -1;
  }
  if (const auto found = body_index_.find(name); found != body_index_.end()) return found->second;
  // links are unknown if an error kept robots from being built
  if (log_.failed() && !has_robots_ && name.find('/') != std::string::npos) return -1;
  if (copies_.contains(name)) {
    log_.Error(path,
               absl::StrCat(Quoted(name), " is a template, not a body; expected a copy such as ",
                            name, "_0"));
  } else if (groups_.contains(name)) {
    log_.Error(path, absl::StrCat(Quoted(name), " is a group; expected one body"));
  } else {
    log_.Error(path, NoSuchBody(name));
  }
  return -1;
}

bool SceneCompiler::IsDeformable(int body) const {
  if (body < static_cast<int>(placements_.size()))
    return drafts_[placements_[body].draft].is_deformable;
  return std::any_of(robot_deformables_.begin(), robot_deformables_.end(),
                     [body](const RobotSoftBody& soft) { return soft.body == body; });
}

std::vector<int> SceneCompiler::ResolveBodies(const std::string& name, const std::string& path) {
  if (const auto group = groups_.find(name); group != groups_.end()) return group->second;
  if (const auto copies = copies_.find(name); copies != copies_.end()) {
    if (!copies->second.empty()) return copies->second;
    log_.Error(path,
               absl::StrCat(Quoted(name), " is a template without a copy. Add one to `instances`"));
    return {};
  }
  const int body = ResolveBody(name, path);
  return body < 0 ? std::vector<int>{} : std::vector<int>{body};
}

int SceneCompiler::ResolveVertex(int body, int vertex, const std::string& path) {
  for (const RobotSoftBody& soft : robot_deformables_) {
    if (soft.body == body)
      return ResolveDraftVertex(robots_[soft.robot].deformables[soft.number], vertex, path);
  }
  if (body >= static_cast<int>(placements_.size())) {
    log_.Error(path, absl::StrCat(Quoted(model_->bodies[body].name),
                                  " is a link and has no vertices. Name a `point` in its frame "
                                  "instead"));
    return -1;
  }
  return ResolveDraftVertex(drafts_[placements_[body].draft], vertex, path);
}

int SceneCompiler::ResolveDraftVertex(const BodyDraft& draft, int vertex, const std::string& path) {
  const std::string name = Quoted(draft.body.name);
  if (!draft.is_deformable) {
    log_.Error(
        path,
        absl::StrCat(name, " is rigid and has no vertices. Name a `point` in its frame instead"));
    return -1;
  }
  // without a mesh, an error has been reported already
  const int vertices =
      static_cast<int>(draft.particles.has_value() ? draft.particles->fill.positions.size()
                                                   : draft.body.mesh.vertices.size());
  if (vertices == 0) return -1;
  const int given =
      draft.vertex_of_file.empty() ? vertices : static_cast<int>(draft.vertex_of_file.size());
  if (vertex < 0 || vertex >= given) {
    log_.Error(path, absl::StrCat(vertex, " is not a ", draft.particles ? "particle" : "vertex",
                                  " of ", name, "; expected a number from 0 to ", given - 1));
    return -1;
  }
  if (draft.vertex_of_file.empty()) return vertex;
  if (draft.vertex_of_file[vertex] < 0) {
    log_.Error(path, absl::StrCat(vertex, " belongs to no tetrahedron of ", name,
                                  "; expected one that moves"));
  }
  return draft.vertex_of_file[vertex];
}

bool SceneCompiler::ReadVelocity(const v1::Velocity& velocity, const std::string& path,
                                 Eigen::Vector3d* linear, Eigen::Vector3d* angular) {
  constexpr double kMaxSpeed = 1e5;
  const bool ok =
      ReadVector(path + ".linear", velocity.linear(), "velocity in m/s", kMaxSpeed, &log_, linear);
  return ReadVector(path + ".angular", velocity.angular(), "velocity in rad/s", kMaxSpeed, &log_,
                    angular) &&
         ok;
}

}  // namespace pliant::physics
