#include "benchmarks/particles/explicit_scene.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include <yaml-cpp/yaml.h>

#include "physics/scene/scene.h"
#include "physics/world/body_motion.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Vector3d;
using physics::Body;
using physics::Model;

// Elements of a list for which keep(element) is true.
template <typename Keep>
YAML::Node Select(const YAML::Node& list, const Keep& keep) {
  YAML::Node kept(YAML::NodeType::Sequence);
  for (const YAML::Node& one : list)
    if (keep(one)) kept.push_back(one);
  return kept;
}

// The scene without its particles: no bodies and pairs of theirs, no grid and no probes. Files of
// robots are in `folder`.
std::string LeaveOutParticles(YAML::Node scene, const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const YAML::Node& body : scene["bodies"])
    if (body["particles"]) names.insert(body["name"].as<std::string>());
  scene["bodies"] =
      Select(scene["bodies"], [](const YAML::Node& body) { return !body["particles"]; });
  if (scene["pairs"]) {
    scene["pairs"] = Select(scene["pairs"], [&](const YAML::Node& pair) {
      for (const YAML::Node& name : pair["bodies"])
        if (names.contains(name.as<std::string>())) return false;
      return true;
    });
  }
  for (YAML::Node robot : scene["robots"])
    robot["file"] = (folder / robot["file"].as<std::string>()).string();
  scene.remove("grid");
  scene.remove("probes");
  return YAML::Dump(scene);
}

absl::Status Explain(const physics::SceneResult& result) {
  return absl::InvalidArgumentError(result.messages.empty() ? "the scene does not load"
                                                            : Format(result.messages.front()));
}

}  // namespace

absl::StatusOr<ExplicitScene> ExplicitScene::Load(const std::string& path,
                                                  std::vector<std::string> overrides, int substeps,
                                                  Exchange exchange) {
  physics::SceneOptions options;
  options.overrides = std::move(overrides);
  options.overrides.push_back("sleeping=false");
  const physics::SceneResult whole = physics::LoadSceneFile(path, options);
  if (!whole.ok()) return Explain(whole);

  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const YAML::Node scene = YAML::Load(text.str());
  const double time_step = whole.model->time_step;
  if (exchange == Exchange::kSubstep)
    options.overrides.push_back(absl::StrCat("time_step=", time_step / substeps));
  const physics::SceneResult rigid = physics::LoadSceneYaml(
      LeaveOutParticles(YAML::Clone(scene), std::filesystem::path(path).parent_path()), path,
      options);
  if (!rigid.ok()) return Explain(rigid);
  return ExplicitScene(rigid.model,
                       ExplicitParticles(*whole.model, scene["grid"]["cell_size"].as<double>()),
                       time_step, substeps, exchange);
}

ExplicitScene::ExplicitScene(std::shared_ptr<const Model> rigid, ExplicitParticles particles,
                             double time_step, int substeps, Exchange exchange)
    : world_(std::make_unique<physics::World>(std::move(rigid))),
      particles_(std::move(particles)),
      time_step_(time_step),
      substeps_(substeps),
      exchange_(exchange),
      motions_(world_->model()) {
  for (const Body& body : world_->model().bodies) {
    Obstacle& obstacle = obstacles_.emplace_back();
    obstacle.shapes = body.shapes;
    obstacle.friction = world_->model().contact.friction;
  }
}

// Poses of the bodies `elapsed` seconds after the state of the world, at its velocities.
void ExplicitScene::PlaceObstacles(double elapsed) {
  motions_.Update(world_->state());
  for (std::size_t b = 0; b < obstacles_.size(); ++b) {
    const Body& body = world_->model().bodies[b];
    physics::FrameMotion motion = motions_[static_cast<int>(b)];
    motion.X_WB.p += elapsed * motion.v_W;
    obstacles_[b].center = motion.X_WB * body.p_BoBcm;
    obstacles_[b].motion = motion;
  }
}

absl::Status ExplicitScene::Step() {
  const Model& model = world_->model();
  const double dt = time_step_ / substeps_;
  impulses_.clear();
  std::vector<ObstacleImpulse> open(obstacles_.size());
  for (int n = 0; n < substeps_; ++n) {
    PlaceObstacles(exchange_ == Exchange::kStep ? n * dt : 0);
    if (!particles_.Step(dt, obstacles_)) {
      return absl::InternalError(
          absl::StrCat("the particles blow up in the step that starts at ", time(), " s"));
    }
    const std::span<const ObstacleImpulse> impulses = particles_.impulses();
    impulses_.emplace_back(impulses.begin(), impulses.end());
    for (std::size_t b = 0; b < open.size(); ++b) {
      open[b].linear += impulses[b].linear;
      open[b].angular += impulses[b].angular;
    }
    if (exchange_ == Exchange::kStep && n + 1 < substeps_) continue;

    physics::Inputs inputs;
    for (std::size_t b = 0; b < open.size(); ++b) {
      if (model.bodies[b].motion != physics::Motion::kFree) continue;
      physics::Inputs::AppliedForce& force = inputs.forces.emplace_back();
      force.body = static_cast<int>(b);
      force.force_W = open[b].linear / model.time_step;
      force.torque_W = open[b].angular / model.time_step;
      open[b] = {};
    }
    if (const absl::Status status = world_->Step(inputs); !status.ok()) return status;
  }
  return absl::OkStatus();
}

int ExplicitScene::FindBody(const std::string& name) const {
  for (std::size_t b = 0; b < obstacles_.size(); ++b)
    if (world_->model().bodies[b].name == name) return static_cast<int>(b);
  return -1;
}

std::vector<Vector3d> ExplicitScene::CalcSubstepForcesOn(const std::string& body) const {
  const int b = FindBody(body);
  std::vector<Vector3d> forces;
  for (const auto& impulses : impulses_)
    forces.push_back(impulses[b].linear * substeps_ / time_step_);
  return forces;
}

Vector3d ExplicitScene::CalcForceOn(const std::string& body) const {
  Vector3d sum = Vector3d::Zero();
  for (const Vector3d& force : CalcSubstepForcesOn(body)) sum += force;
  return sum / substeps_;
}

}  // namespace pliant::benchmarks
