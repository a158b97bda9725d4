// Robots: their files and poses, and the blocks, bodies and joints made from them.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/rigid/joint_tree_block.h"
#include "physics/rigid/maximal_tree_block.h"
#include "physics/rigid/tree_articulation.h"
#include "physics/rigid/tree_kinematics.h"
#include "physics/scene/compiler.h"
#include "physics/scene/robot_files/robot_description.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "physics/spatial/pose_numbers.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

bool IsLooseRoot(const RobotLink& link) {
  return link.parent < 0 && link.joint.type == JointType::kFree && link.joint.name.empty();
}

// Links of each tree of a robot's file, parents first, as indices in the description.
std::vector<std::vector<int>> FindTrees(const RobotDescription& robot) {
  std::vector<std::vector<int>> trees;
  std::vector<int> tree_of(robot.links.size());
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    const int parent = robot.links[i].parent;
    if (parent < 0) trees.emplace_back();
    tree_of[i] = parent < 0 ? static_cast<int>(trees.size()) - 1 : tree_of[parent];
    trees[tree_of[i]].push_back(static_cast<int>(i));
  }
  return trees;
}

// Initial position of a joint if the scene gives none: the file's (mostly zero), or the limit
// nearest to it.
double InitialPosition(const RobotLink& link) {
  return std::clamp(link.initial_position, link.joint.lower, link.joint.upper);
}

// A robot's joint, without its block and body.
RobotJoint MakeRobotJoint(const Joint& joint, int position, int velocity) {
  RobotJoint made;
  made.name = joint.name;
  made.kind = CountVelocities(joint.type) > 1       ? RobotJoint::Kind::kCompound
              : joint.type == JointType::kPrismatic ? RobotJoint::Kind::kPrismatic
                                                    : RobotJoint::Kind::kRevolute;
  made.position = position;
  made.num_positions = CountPositions(joint.type);
  made.velocity = made.channel = velocity;
  made.num_velocities = CountVelocities(joint.type);
  made.lower = joint.lower;
  made.upper = joint.upper;
  made.velocity_limit = joint.velocity_limit;
  made.acceleration_limit = joint.acceleration_limit;
  made.effort_limit = joint.effort_limit;
  return made;
}

void AddShapes(const RobotLink& link, Body* body) {
  for (const RobotShape& shape : link.collisions) body->shapes.push_back(shape.shape);
  for (const RobotShape& shape : link.visuals) {
    VisualShape& visual = body->visuals.emplace_back();
    visual.shape = shape.shape;
    if (shape.color.has_value()) visual.color = *shape.color;
    visual.appearance = shape.appearance;
  }
}

}  // namespace

void SceneCompiler::CompileRobots() {
  robots_.resize(scene_.robots_size());
  absl::flat_hash_map<std::string, int> first;
  for (int i = 0; i < scene_.robots_size(); ++i) {
    const v1::Robot& given = scene_.robots(i);
    const std::string path = absl::StrCat("robots[", i, "]");
    if (CheckName(path + ".name", given.name(), &log_)) {
      if (given.name() == "world" || body_index_.contains(given.name()) ||
          templates_.contains(given.name()) || !first.try_emplace(given.name(), i).second) {
        log_.Error(path + ".name",
                   absl::StrCat(Quoted(given.name()),
                                " is already used as a name; expected a unique one"));
      }
    }
    ReadPose(path + ".pose", given.pose(), &log_, &robots_[i].X_WR);
    ReadRobot(given, path, &robots_[i]);
    if (given.template_()) {
      robot_templates_.try_emplace(given.name(), i);
    } else {
      robot_placements_.push_back({i, given.name(), robots_[i].X_WR});
    }
  }
}

void SceneCompiler::ReadRobot(const v1::Robot& given, const std::string& path, RobotDraft* draft) {
  const std::optional<std::string> place = FindFile(given.file(), path + ".file");
  if (!place.has_value()) return;
  RobotFileOptions options;
  options.jail = options_.jail;
  options.recompute_inertia = given.recompute_inertia();
  options.free_base = given.base() == v1::Robot::BASE_FREE;
  options.fixed_base = !options.free_base;
  options.strict = given.strict();
  RobotFileResult result = ReadRobotFile(*place, options);
  for (const RobotFileMessage& message : result.messages) {
    const std::string text = absl::StrCat(
        message.file, message.line > 0 ? absl::StrCat(":", message.line) : "", ": ", message.text);
    if (message.error) {
      log_.Error(path + ".file", text);
    } else {
      log_.Warning(path + ".file", text);
    }
  }
  if (!result.robot.has_value()) return;
  absl::StrAppend(&mesh_hashes_, result.files_hash, ";");
  absl::StrAppend(&looks_hashes_, result.looks_hash, ";");
  draft->description = std::make_shared<const RobotDescription>(*std::move(result.robot));
  DraftRobotDeformables(path, draft);
  ReadJointValues(given, path, draft);
}

// Reads initial positions and velocities by joint name.
void SceneCompiler::ReadJointValues(const v1::Robot& given, const std::string& path,
                                    RobotDraft* draft) {
  const RobotDescription& robot = *draft->description;
  draft->position.assign(robot.links.size(), 0.0);
  draft->velocity.assign(robot.links.size(), 0.0);
  std::vector<std::string> names;
  absl::flat_hash_map<std::string, int> link_of;
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    const Joint& joint = robot.links[i].joint;
    if (CountVelocities(joint.type) != 1) continue;
    draft->position[i] = InitialPosition(robot.links[i]);
    names.push_back(joint.name);
    link_of[joint.name] = static_cast<int>(i);
  }
  const auto read = [&](const auto& values, const char* field, std::vector<double>* numbers) {
    // maps are unordered: sort the names, so that errors come in a fixed order
    std::vector<std::string> keys;
    for (const auto& [name, value] : values) keys.push_back(name);
    std::sort(keys.begin(), keys.end());
    for (const std::string& name : keys) {
      const auto found = link_of.find(name);
      const std::string at = absl::StrCat(path, ".", field);
      if (found == link_of.end()) {
        log_.Error(at, absl::StrCat("no joint with one degree of freedom is called ", Quoted(name),
                                    DidYouMean(name, names)));
        continue;
      }
      (*numbers)[found->second] = values.at(name);
    }
  };
  read(given.joint_positions(), "joint_positions", &draft->position);
  read(given.joint_velocities(), "joint_velocities", &draft->velocity);
  // a coupled joint starts where its coupler puts it, unless the scene gives a value
  for (const RobotCoupler& coupler : robot.couplers) {
    if (coupler.terms.empty() || coupler.terms[0].second == 0) continue;
    const auto [follower, factor] = coupler.terms[0];
    const auto follow = [&, follower = follower, factor = factor](double offset,
                                                                  std::vector<double>* numbers) {
      for (std::size_t k = 1; k < coupler.terms.size(); ++k)
        offset -= coupler.terms[k].second * (*numbers)[coupler.terms[k].first];
      (*numbers)[follower] = offset / factor;
    };
    const std::string& name = robot.links[follower].joint.name;
    if (!given.joint_positions().contains(name)) {
      follow(coupler.offset, &draft->position);
      // the limits of coupled joints may contradict each other in the file
      const Joint& joint = robot.links[follower].joint;
      double& position = draft->position[follower];
      if (joint.lower <= joint.upper) position = std::clamp(position, joint.lower, joint.upper);
    }
    if (!given.joint_velocities().contains(name)) follow(0, &draft->velocity);
    draft->followers.push_back(follower);
  }
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    const Joint& joint = robot.links[i].joint;
    if (CountVelocities(joint.type) != 1) continue;
    if (draft->position[i] >= joint.lower && draft->position[i] <= joint.upper) continue;
    log_.Error(path + ".joint_positions",
               absl::StrCat(NumberText(draft->position[i]), " for ", Quoted(joint.name),
                            " is beyond its limits; expected ", NumberText(joint.lower), " to ",
                            NumberText(joint.upper)));
  }
}

// Links of the tree: the root is placed in the world, and fixed or free as in the scene.
std::vector<Link> SceneCompiler::MakeLinks(const RobotDescription& robot,
                                           const std::vector<int>& members, bool base_is_free,
                                           const RigidTransform& X_WR) const {
  std::vector<Link> links;
  std::vector<int> index(robot.links.size(), -1);
  for (const int i : members) {
    const RobotLink& given = robot.links[i];
    index[i] = static_cast<int>(links.size());
    Link link;
    link.name = given.name;
    link.parent = given.parent < 0 ? -1 : index[given.parent];
    link.joint = given.joint;
    link.mass = given.mass;
    link.p_BoBcm = given.p_BoBcm;
    link.inertia = given.inertia;
    link.gravity_scale = given.gravity_scale;
    if (given.parent < 0) {
      if (IsLooseRoot(given) && !base_is_free) link.joint.type = JointType::kFixed;
      // the positions of a free root are its pose in the world
      link.joint.X_PF =
          link.joint.type == JointType::kFree ? RigidTransform{} : X_WR * given.joint.X_PF;
    }
    links.push_back(std::move(link));
  }
  return links;
}

void SceneCompiler::BuildRobots() {
  if (log_.failed()) return;
  std::size_t links = model_->bodies.size();
  for (const RobotPlacement& placement : robot_placements_)
    links += robots_[placement.draft].description->links.size() +
             robots_[placement.draft].deformables.size();
  if (static_cast<std::int64_t>(links) > options_.limits.max_bodies) {
    log_.Error("robots", absl::StrCat("would make ", links, " bodies; expected at most ",
                                      options_.limits.max_bodies));
    return;
  }
  for (const RobotPlacement& placement : robot_placements_) {
    BuildRobot(placement);
    if (log_.failed()) return;
  }
  FilterByContactMasks();
  SetDeformableFriction();
  has_robots_ = !log_.failed();
}

// Checks that a free base has mass; without it, it could spin without inertia.
bool SceneCompiler::CheckFreeBase(const RobotDescription& robot, const std::vector<int>& members,
                                  const RobotPlacement& placement) {
  double mass = 0;
  std::vector<char> is_base(robot.links.size(), 0);
  for (const int i : members) {
    const RobotLink& link = robot.links[i];
    is_base[i] = link.parent < 0 || (is_base[link.parent] && link.joint.type == JointType::kFixed);
    if (is_base[i]) mass += link.mass;
  }
  if (mass > 0 || !IsLooseRoot(robot.links[members[0]])) return true;
  log_.Error(
      absl::StrCat("robots[", placement.draft, "].base"),
      absl::StrCat("FREE needs a root link with a mass, and ", Quoted(robot.links[members[0]].name),
                   " has none. Give it an inertia in the robot's file, or make the base "
                   "FIXED"));
  return false;
}

void SceneCompiler::BuildRobot(const RobotPlacement& placement) {
  const RobotDraft& draft = robots_[placement.draft];
  const RobotDescription& description = *draft.description;
  const v1::Robot& given = scene_.robots(placement.draft);
  const bool base_is_free = given.base() == v1::Robot::BASE_FREE;
  Robot robot;
  robot.name = placement.name;
  const int first_body = static_cast<int>(model_->bodies.size());
  for (std::size_t i = 0; i < description.links.size(); ++i) {
    robot.bodies.push_back(first_body + static_cast<int>(i));
    body_index_[absl::StrCat(robot.name, "/", description.links[i].name)] = robot.bodies.back();
    model_->bodies.emplace_back();
  }

  for (const std::vector<int>& links : FindTrees(description)) {
    if (base_is_free && !CheckFreeBase(description, links, placement)) return;
    auto tree = std::make_shared<const JointTree>(
        MakeLinks(description, links, base_is_free, placement.X_WR));
    if (const std::string why = model_->method.is_maximal() ? CheckMaximalTree(*tree) : "";
        !why.empty()) {
      log_.Error("method.nonsmooth.coordinates",
                 absl::StrCat("MAXIMAL does not support robot ", Quoted(robot.name), ": ", why));
      return;
    }
    JointTreeParameters parameters{tree, std::vector<double>(tree->num_positions()),
                                   std::vector<double>(tree->num_velocities())};
    tree->SetZero(parameters.q);
    const int block =
        tree->num_velocities() > 0 ? static_cast<int>(model_->blocks.size()) : kWorldBlock;
    for (int k = 0; k < tree->num_links(); ++k) {
      const Joint& joint = tree->links()[k].joint;
      const int link = links[k];
      const int position = tree->position_start(k), velocity = tree->velocity_start(k);
      if (CountVelocities(joint.type) == 1) {
        parameters.q[position] = draft.position[link];
        parameters.v[velocity] = draft.velocity[link];
      }
      if (joint.type == JointType::kFree && tree->links()[k].parent < 0) {
        const RigidTransform X_WM = placement.X_WR * description.links[link].joint.X_PF;
        WritePose(UnitQuaternion(X_WM.R), X_WM.p, std::span(parameters.q).subspan(position));
      }
      if (CountVelocities(joint.type) == 0 || joint.name.empty()) continue;
      RobotJoint moving = MakeRobotJoint(joint, position, velocity);
      moving.block = block;
      moving.body = robot.bodies[link];
      joint_index_[absl::StrCat(robot.name, "/", joint.name)] = {
          static_cast<int>(model_->robots.size()), static_cast<int>(robot.joints.size())};
      robot.joints.push_back(std::move(moving));
    }

    // links are bodies; those that no velocity moves are fixed to the world
    TreeKinematics kinematics(*tree);
    tree->CalcPositions(parameters.q, &kinematics);
    for (int k = 0; k < tree->num_links(); ++k) {
      const RobotLink& link = description.links[links[k]];
      Body& body = model_->bodies[robot.bodies[links[k]]];
      body.name = absl::StrCat(robot.name, "/", link.name);
      const bool moves = tree->last_velocity(k) >= 0;
      body.block = moves ? block : kWorldBlock;
      body.frame = k;
      body.motion = moves ? Motion::kFree : Motion::kFixed;
      body.X_WB = kinematics.link_pose(k);
      body.p_BoBcm = link.p_BoBcm;
      body.mass = moves ? link.mass : 0;
      body.inertia = link.inertia;
      AddShapes(link, &body);
    }
    if (block == kWorldBlock) continue;
    robot.parts.push_back({block, std::make_shared<TreeArticulation>(tree)});
    model_->blocks.push_back(model_->method.is_maximal()
                                 ? MakeMaximalTreeBlock(std::move(parameters))
                                 : MakeJointTreeBlock(std::move(parameters)));
  }
  model_->robots.push_back(std::move(robot));
  PlaceRobotDeformables(placement);
  FilterRobotContacts(placement, description);
  CompileFileConstraints(placement, description);
}

// Adds the couplers and loops of the robot's file.
void SceneCompiler::CompileFileConstraints(const RobotPlacement& placement,
                                           const RobotDescription& description) {
  const Robot& robot = model_->robots.back();
  const int index = static_cast<int>(model_->robots.size()) - 1;
  const auto joint_of = [&](int link) {
    const auto found =
        joint_index_.find(absl::StrCat(robot.name, "/", description.links[link].joint.name));
    return found == joint_index_.end() ? -1 : found->second.second;
  };
  for (const RobotCoupler& coupler : description.couplers) {
    Constraint constraint;
    constraint.name = absl::StrCat(placement.name, "/", coupler.name);
    constraint.kind = Constraint::Kind::kCoupler;
    constraint.offset = coupler.offset;
    bool ok = true;
    for (const auto& [link, factor] : coupler.terms) {
      const int joint = joint_of(link);
      ok = ok && joint >= 0;
      constraint.joints.push_back({index, joint, factor});
    }
    if (ok) model_->constraints.push_back(std::move(constraint));
  }
  for (const RobotLoop& loop : description.loops) {
    Constraint constraint;
    constraint.name = absl::StrCat(placement.name, "/", loop.name);
    constraint.kind =
        loop.kind == RobotLoop::Kind::kWeld ? Constraint::Kind::kWeld : Constraint::Kind::kBall;
    constraint.body_a = loop.link_a < 0 ? -1 : robot.bodies[loop.link_a];
    constraint.body_b = loop.link_b < 0 ? -1 : robot.bodies[loop.link_b];
    constraint.X_AF = loop.link_a < 0 ? placement.X_WR * loop.X_AF : loop.X_AF;
    constraint.X_BG = loop.link_b < 0 ? placement.X_WR * loop.X_BF : loop.X_BF;
    model_->constraints.push_back(std::move(constraint));
  }
}

}  // namespace pliant::physics
