#include "server/run/dynamics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <nlohmann/json.hpp>

#include "physics/dynamics/model.h"
#include "physics/rigid/joint_tree.h"
#include "physics/rigid/tree_kinematics.h"
#include "physics/scene/scene.h"
#include "server/run/exit_status.h"
#include "server/run/recording/files.h"

namespace pliant::server {
namespace {

using Json = nlohmann::ordered_json;
using physics::JointType;

// A joint that moves: where its numbers are among all of the robot's.
struct Coordinates {
  std::string name;
  JointType type;
  int position, velocity;
};

// The trees of a robot one after another, as one vector of positions and one of velocities.
class RobotTrees {
 public:
  RobotTrees(const physics::Model& model, const physics::Robot& robot)
      : model_(model), robot_(robot), initial_(physics::MakeInitialState(model)) {
    std::set<std::string> names;
    for (const physics::RobotJoint& joint : robot.joints) names.insert(joint.name);
    for (const physics::Robot::Tree& member : robot.trees) {
      const physics::JointTree& tree = *member.tree;
      starts_.push_back({num_positions_, num_velocities_});
      kinematics_.emplace_back(tree);
      for (int link = 0; link < tree.num_links(); ++link) {
        const physics::Link& given = tree.links()[link];
        if (physics::CountVelocities(given.joint.type) == 0) continue;
        joints_.push_back(
            {given.joint.name.empty() ? NameBase(given.name, names) : given.joint.name,
             given.joint.type, num_positions_ + tree.position_start(link),
             num_velocities_ + tree.velocity_start(link)});
      }
      num_positions_ += tree.num_positions();
      num_velocities_ += tree.num_velocities();
    }
  }

  const physics::Robot& robot() const { return robot_; }
  const std::vector<Coordinates>& joints() const { return joints_; }
  int num_velocities() const { return num_velocities_; }

  std::vector<double> InitialPositions() const {
    std::vector<double> q;
    for (const physics::Robot::Tree& tree : robot_.trees) {
      const std::span<const double> part = model_.Positions(initial_, tree.block);
      q.insert(q.end(), part.begin(), part.end());
    }
    return q;
  }
  std::vector<double> InitialVelocities() const {
    std::vector<double> v;
    for (const physics::Robot::Tree& tree : robot_.trees) {
      const std::span<const double> part = model_.Velocities(initial_, tree.block);
      v.insert(v.end(), part.begin(), part.end());
    }
    return v;
  }

  struct Motion {
    std::vector<double> q, v, tau;
    std::optional<std::vector<double>> a;
  };
  absl::StatusOr<Json> Describe(const Motion& motion) {
    const int n = num_velocities_;
    std::vector<std::vector<double>> M(n, std::vector<double>(n));
    std::vector<double> bias(n), acceleration(n), effort(n), block;
    for (std::size_t t = 0; t < robot_.trees.size(); ++t) {
      const physics::JointTree& tree = *robot_.trees[t].tree;
      physics::TreeKinematics& kinematics = kinematics_[t];
      const int m = tree.num_velocities();
      const auto part = [&, start = starts_[t].second](auto& x) {
        return std::span(x).subspan(start, m);
      };
      tree.CalcPositions(std::span(motion.q).subspan(starts_[t].first, tree.num_positions()),
                         &kinematics);
      tree.CalcVelocities(part(motion.v), &kinematics);
      block.resize(std::size_t(m) * m);
      tree.CalcMassMatrix(kinematics, block);
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < m; ++j)
          M[starts_[t].second + i][starts_[t].second + j] = block[std::size_t(j) * m + i];
      }
      tree.CalcBias(kinematics, model_.gravity, part(bias));
      tree.CalcForwardDynamics(&kinematics, model_.gravity, part(motion.tau), part(acceleration));
      if (motion.a.has_value())
        tree.CalcInverseDynamics(&kinematics, model_.gravity, part(*motion.a), part(effort));
    }

    if (const int stuck = FindMassless(M); stuck >= 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "its mass matrix is singular: a motion of ", NameVelocities()[stuck].get<std::string>(),
          " and the joints before it moves nothing that has inertia. Give every "
          "moving link mass and inertia"));
    }
    Json result = {{"robot", robot_.name},
                   {"joints", NameVelocities()},
                   {"mass_matrix", M},
                   {"bias", bias},
                   {"acceleration", acceleration}};
    if (motion.a.has_value()) result["effort"] = effort;
    DescribeLinks(&result);
    return result;
  }

 private:
  // A free base without a joint of its own in the file.
  static std::string NameBase(std::string name, const std::set<std::string>& taken) {
    while (taken.contains(name)) name += "_base";
    return name;
  }

  // The first velocity that takes no inertia along, the ones before it left free; −1: none.
  static int FindMassless(const std::vector<std::vector<double>>& M) {
    const int n = static_cast<int>(M.size());
    std::vector<std::vector<double>> L(n, std::vector<double>(n));
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) {
        double sum = M[i][j];
        for (int k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
        if (i == j && !(sum > 1e-13 * M[i][i])) return i;
        L[i][j] = i == j ? std::sqrt(sum) : sum / L[j][j];
      }
    }
    return -1;
  }

  Json NameVelocities() const {
    Json names = Json::array();
    for (const Coordinates& joint : joints_) {
      const int count = physics::CountVelocities(joint.type);
      for (int k = 0; k < count; ++k)
        names.push_back(count == 1 ? joint.name : absl::StrCat(joint.name, "[", k, "]"));
    }
    return names;
  }

  void DescribeLinks(Json* result) const {
    Json poses = Json::object(), jacobians = Json::object();
    std::vector<double> J;
    for (const int index : robot_.bodies) {
      const physics::Body& body = model_.bodies[index];
      const std::string name = body.name.substr(robot_.name.size() + 1);
      physics::RigidTransform X_WB = body.X_WB;
      std::vector<std::vector<double>> rows(6, std::vector<double>(num_velocities_));
      for (std::size_t t = 0; t < robot_.trees.size(); ++t) {
        if (body.block != robot_.trees[t].block) continue;
        const physics::JointTree& tree = *robot_.trees[t].tree;
        X_WB = kinematics_[t].link_pose(body.frame);
        J.resize(6 * std::size_t(tree.num_velocities()));
        tree.CalcJacobian(kinematics_[t], body.frame, X_WB.p, J);
        for (int j = 0; j < tree.num_velocities(); ++j) {
          for (int r = 0; r < 6; ++r) rows[r][starts_[t].second + j] = J[6 * std::size_t(j) + r];
        }
      }
      const Eigen::Quaterniond q(X_WB.R);
      poses[name] = {X_WB.p.x(), X_WB.p.y(), X_WB.p.z(), q.w(), q.x(), q.y(), q.z()};
      jacobians[name] = rows;
    }
    (*result)["link_poses"] = std::move(poses);
    (*result)["jacobians"] = std::move(jacobians);
  }

  const physics::Model& model_;
  const physics::Robot& robot_;
  const physics::State initial_;
  std::vector<Coordinates> joints_;
  std::vector<std::pair<int, int>> starts_;  // of each tree's positions and velocities
  std::vector<physics::TreeKinematics> kinematics_;
  int num_positions_ = 0, num_velocities_ = 0;
};

// ---- the states ------------------------------------------------------------------------------------------------------

absl::Status Mistake(const std::string& path, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", text));
}

// Numbers of a joint: one, or a list of `count`.
absl::Status ReadNumbers(const std::string& path, const Json& given, int count, double* values) {
  const bool listed = given.is_array();
  const std::string expected =
      count == 1 ? "expected a number" : absl::StrCat("expected a list of ", count, " numbers");
  if ((listed ? static_cast<int>(given.size()) : 1) != count || (!listed && count != 1))
    return Mistake(path, expected);
  for (int k = 0; k < count; ++k) {
    const Json& value = listed ? given[k] : given;
    if (!value.is_number() || !std::isfinite(value.get<double>())) return Mistake(path, expected);
    values[k] = value.get<double>();
  }
  return absl::OkStatus();
}

absl::Status ReadJoints(const std::string& path, const Json& given, const RobotTrees& trees,
                        bool positions, std::vector<double>* values) {
  if (!given.is_object()) return Mistake(path, "expected an object of joint names and values");
  for (const auto& [name, value] : given.items()) {
    const std::string at = absl::StrCat(path, ".", name);
    const auto joint = std::find_if(trees.joints().begin(), trees.joints().end(),
                                    [&](const Coordinates& c) { return c.name == name; });
    if (joint == trees.joints().end()) {
      return Mistake(
          at, absl::StrCat(
                  "no joint of ", trees.robot().name, " that moves is called so; expected one of ",
                  absl::StrJoin(trees.joints(), ", ", [](std::string* out, const Coordinates& c) {
                    out->append(c.name);
                  })));
    }
    double* first = values->data() + (positions ? joint->position : joint->velocity);
    const int count = positions ? CountPositions(joint->type) : CountVelocities(joint->type);
    if (absl::Status status = ReadNumbers(at, value, count, first); !status.ok()) return status;
    if (positions && (joint->type == JointType::kBall || joint->type == JointType::kFree)) {
      Eigen::Map<Eigen::Vector4d> quaternion(first);
      if (!(quaternion.norm() > 1e-6)) return Mistake(at, "its quaternion is zero");
      quaternion /= quaternion.norm();
    }
  }
  return absl::OkStatus();
}

absl::Status ReadMotion(const std::string& path, const Json& state, const RobotTrees& trees,
                        RobotTrees::Motion* motion) {
  motion->q = trees.InitialPositions();
  motion->v = trees.InitialVelocities();
  motion->tau.assign(trees.num_velocities(), 0.0);
  for (const auto& [key, value] : state.items()) {
    const std::string at = absl::StrCat(path, ".", key);
    absl::Status status;
    if (key == "q") {
      status = ReadJoints(at, value, trees, true, &motion->q);
    } else if (key == "v") {
      status = ReadJoints(at, value, trees, false, &motion->v);
    } else if (key == "tau") {
      status = ReadJoints(at, value, trees, false, &motion->tau);
    } else if (key == "a") {
      motion->a.emplace(trees.num_velocities(), 0.0);
      status = ReadJoints(at, value, trees, false, &*motion->a);
    } else if (key != "robot") {
      status = Mistake(at, "unknown; expected robot, q, v, tau or a");
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<const physics::Robot*> FindRobot(const std::string& path, const Json& state,
                                                const physics::Model& model) {
  const std::vector<physics::Robot>& robots = model.robots;
  if (!state.is_object()) return Mistake(path, "expected an object {robot, q, v, tau, a}");
  if (!state.contains("robot") && robots.size() == 1) return &robots.front();
  const std::string names = absl::StrJoin(
      robots, ", ", [](std::string* out, const physics::Robot& r) { out->append(r.name); });
  const std::string at = absl::StrCat(path, ".robot");
  if (robots.empty()) return Mistake(at, "the scene has no robots");
  if (!state.contains("robot") || !state["robot"].is_string())
    return Mistake(at, absl::StrCat("expected a robot's name: ", names));
  const std::string name = state["robot"];
  for (const physics::Robot& robot : robots) {
    if (robot.name == name) return &robot;
  }
  return Mistake(at, absl::StrCat("the scene has no robot ", name, "; expected one of ", names));
}

absl::StatusOr<Json> DescribeStates(const physics::Model& model, const std::string& text) {
  Json states;
  try {
    states = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (!states.is_array()) return absl::InvalidArgumentError("expected a list of states");

  std::map<const physics::Robot*, RobotTrees> trees;
  Json results = Json::array();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::string path = absl::StrCat("[", i, "]");
    const absl::StatusOr<const physics::Robot*> robot = FindRobot(path, states[i], model);
    if (!robot.ok()) return robot.status();
    RobotTrees& found = trees.try_emplace(*robot, model, **robot).first->second;
    RobotTrees::Motion motion;
    if (absl::Status status = ReadMotion(path, states[i], found, &motion); !status.ok())
      return status;
    absl::StatusOr<Json> result = found.Describe(motion);
    if (!result.ok()) {
      return absl::Status(result.status().code(), absl::StrCat(path, ": robot ", (*robot)->name,
                                                               ": ", result.status().message()));
    }
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace

int CalcDynamics(const DynamicsOptions& options, std::ostream& out, std::ostream& err) {
  const physics::SceneResult scene = LoadScene(options);
  for (const physics::SceneMessage& message : scene.messages) err << Format(message) << '\n';
  if (!scene.ok()) return kInvalidScene;

  const absl::StatusOr<std::string> text = ReadWholeFile(options.states);
  if (!text.ok()) {
    err << "pliantd dynamics: " << text.status().message() << '\n';
    return kEnvironment;
  }
  const absl::StatusOr<Json> results = DescribeStates(*scene.model, *text);
  if (!results.ok()) {
    err << options.states << ": " << results.status().message() << '\n';
    return absl::IsFailedPrecondition(results.status()) ? kRunFault : kWrongUsage;
  }

  // names in files may hold any bytes: replace what is not UTF-8
  const std::string written = results->dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (options.json == "-") {
    out << written << std::flush;
  } else if (absl::Status status = WriteWholeFile(options.json, written); !status.ok()) {
    err << "pliantd dynamics: " << status.message() << '\n';
    return kEnvironment;
  }
  return kDone;
}

}  // namespace pliant::server
