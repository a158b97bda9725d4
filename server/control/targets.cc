#include "server/control/targets.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/host/text.h"

namespace pliant::server {
namespace {

constexpr std::size_t kMaxTargetsListed = 40;

// Robot that a body belongs to, −1 for each other body.
std::vector<int> FindRobotsOfBodies(const physics::Model& model) {
  std::vector<int> robots(model.bodies.size(), -1);
  for (int r = 0; r < static_cast<int>(model.robots.size()); ++r) {
    for (const int link : model.robots[r].bodies) robots[link] = r;
    for (const physics::RobotJoint& joint : model.robots[r].joints)
      if (joint.kind == physics::RobotJoint::Kind::kActivation) robots[joint.body] = r;
  }
  return robots;
}

}  // namespace

Targets::Targets(const physics::Model& model) : model_(model) {
  const std::vector<int> robot_of_body = FindRobotsOfBodies(model);
  const auto add_bodies = [&](bool kinematic) {
    for (int b = 0; b < static_cast<int>(model.bodies.size()); ++b) {
      const physics::Motion motion = model.bodies[b].motion;
      if (robot_of_body[b] >= 0 || motion == physics::Motion::kFixed ||
          (motion == physics::Motion::kKinematic) != kinematic)
        continue;
      Target target;
      target.body = b;
      target.lease.units = {num_units_++};
      Add(std::move(target), model.bodies[b].name);
    }
  };
  // in the order in which errors list them
  add_bodies(true);
  for (int r = 0; r < static_cast<int>(model.robots.size()); ++r) AddRobot(r, robot_of_body);
  add_bodies(false);
}

void Targets::AddRobot(int robot, const std::vector<int>& robot_of_body) {
  const physics::Robot& model = model_.robots[robot];
  Target whole;
  whole.robot = robot;
  if (model.bodies.empty()) {
    const auto body = std::ranges::find(robot_of_body, robot);
    if (body != robot_of_body.end()) whole.body = static_cast<int>(body - robot_of_body.begin());
  }
  for (int i = 0; i < static_cast<int>(model_.actuators.size()); ++i)
    if (model_.actuators[i].robot == robot) whole.actuators.push_back(i);

  // one unit for each group, and one for the rest
  const int first = num_units_;
  num_units_ += 1 + static_cast<int>(model.teleop.groups.size());
  whole.lease.units.resize(num_units_ - first);
  std::iota(whole.lease.units.begin(), whole.lease.units.end(), first);
  Add(std::move(whole), model.name);
  for (std::size_t g = 0; g < model.teleop.groups.size(); ++g) {
    Target group;
    group.robot = robot;
    group.actuators = model.teleop.groups[g].actuators;
    group.lease.units = {first + 1 + static_cast<int>(g)};
    Add(std::move(group), absl::StrCat(model.name, "/", model.teleop.groups[g].name));
  }
}

void Targets::Add(Target target, std::string name) {
  target.lease.number = static_cast<int>(all_.size());
  target.lease.name = std::move(name);
  by_name_.try_emplace(target.lease.name, target.lease.number);
  all_.push_back(std::move(target));
}

absl::StatusOr<const Target*> Targets::Find(const std::string& wanted) const {
  if (const auto found = by_name_.find(wanted); found != by_name_.end())
    return &all_[found->second];
  std::vector<std::string> names;
  for (const Target& target : all_) names.push_back(target.lease.name);
  const std::size_t count = names.size();
  if (count > kMaxTargetsListed) names.resize(kMaxTargetsListed);
  const std::string choice =
      names.empty()
          ? "; this world has only FIXED bodies"
          : absl::StrCat(
                "; expected one of: ", absl::StrJoin(names, ", "),
                count > names.size() ? absl::StrCat(" and ", count - names.size(), " more") : "");
  const std::string name = absl::StrCat("\"", Shorten(wanted, 80), "\"");
  const int body = physics::FindBody(model_, wanted);
  if (body < 0)
    return absl::NotFoundError(absl::StrCat("target: there is no body or robot ", name, choice));
  return absl::InvalidArgumentError(
      absl::StrCat("target: ", name,
                   model_.bodies[body].motion == physics::Motion::kFixed
                       ? " is FIXED and accepts no commands"
                       : " is a part of a robot and is driven with it",
                   choice));
}

}  // namespace pliant::server
