#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "server/control/lease_table.h"

namespace pliant::server {

// A target of commands: a body that is not FIXED, a robot, or an actuator group of a robot.
struct Target {
  LeaseTable::Target lease;    // its number is its index among the targets
  int body = -1;               // Model::bodies; of a soft robot, the body with its activations
  int robot = -1;              // Model::robots
  std::vector<int> actuators;  // commanded through it, ascending
};

// The targets of a model. A robot and its groups share units, so that they exclude each other.
class Targets {
 public:
  explicit Targets(const physics::Model& model);

  const std::vector<Target>& all() const { return all_; }
  const Target& at(int number) const { return all_[number]; }

  // NOT_FOUND when nothing has this name, INVALID_ARGUMENT for a FIXED body or a link.
  absl::StatusOr<const Target*> Find(const std::string& name) const;

 private:
  void Add(Target target, std::string name);
  void AddRobot(int robot, const std::vector<int>& robot_of_body);

  const physics::Model& model_;
  std::vector<Target> all_;
  absl::flat_hash_map<std::string, int> by_name_;
  int num_units_ = 0;
};

}  // namespace pliant::server
