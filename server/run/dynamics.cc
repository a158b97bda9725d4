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
#include "physics/scene/scene.h"
#include "server/files/files.h"
#include "server/run/exit_status.h"

namespace pliant::server {
namespace {

using Json = nlohmann::ordered_json;
using physics::ArticulationJoint;

// Dynamics of a robot, with the positions and velocities of its parts joined to one vector each.
class RobotDynamics {
 public:
  RobotDynamics(const physics::Model& model, const physics::Robot& robot)
      : model_(model), robot_(robot), initial_(physics::MakeInitialState(model)) {
    std::set<std::string> names;
    for (const physics::RobotJoint& joint : robot.joints) names.insert(joint.name);
    for (const auto& [block, articulation] : robot.parts) {
      starts_.push_back({num_positions_, num_velocities_});
      for (ArticulationJoint& joint : articulation->DescribeJoints()) {
        if (joint.name.empty()) joint.name = NameBase(joint.link, names);
        joint.position += num_positions_;
        joint.velocity += num_velocities_;
        joints_.push_back(std::move(joint));
      }
      num_positions_ += articulation->num_positions();
      num_velocities_ += articulation->num_velocities();
    }
  }

  const physics::Robot& robot() const { return robot_; }
  // Movable joints, with their offsets in the robot's positions and velocities.
  const std::vector<ArticulationJoint>& joints() const { return joints_; }
  int num_velocities() const { return num_velocities_; }

  std::vector<double> InitialPositions() const {
    std::vector<double> q;
    for (const physics::Robot::Part& of_robot : robot_.parts) {
      const std::span<const double> part = model_.Positions(initial_, of_robot.block);
      q.insert(q.end(), part.begin(), part.end());
    }
    return q;
  }
  std::vector<double> InitialVelocities() const {
    std::vector<double> v;
    for (const physics::Robot::Part& of_robot : robot_.parts) {
      const std::span<const double> part = model_.Velocities(initial_, of_robot.block);
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
    for (std::size_t t = 0; t < robot_.parts.size(); ++t) {
      const physics::Articulation& of_part = *robot_.parts[t].articulation;
      const int m = of_part.num_velocities();
      const auto part = [&, start = starts_[t].second](auto& x) {
        return std::span(x).subspan(start, m);
      };
      const std::span<const double> q = PositionsOf(t, motion.q), v = part(motion.v);
      block.resize(std::size_t(m) * m);
      of_part.CalcMassMatrix(q, block);
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < m; ++j)
          M[starts_[t].second + i][starts_[t].second + j] = block[std::size_t(j) * m + i];
      }
      of_part.CalcBias(q, v, model_.gravity, part(bias));
      of_part.CalcForwardDynamics(q, v, part(motion.tau), model_.gravity, part(acceleration));
      if (motion.a.has_value())
        of_part.CalcInverseDynamics(q, v, part(*motion.a), model_.gravity, part(effort));
    }

    if (const int stuck = FindMassless(M); stuck >= 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "its mass matrix is singular: some motion of ",
          NameVelocities()[stuck].get<std::string>(),
          " and the joints before it moves no inertia. Give every moving link mass and inertia"));
    }
    Json result = {{"robot", robot_.name},
                   {"joints", NameVelocities()},
                   {"mass_matrix", M},
                   {"bias", bias},
                   {"acceleration", acceleration}};
    if (motion.a.has_value()) result["effort"] = effort;
    DescribeLinks(motion.q, &result);
    return result;
  }

 private:
  // Name for a free base that has no joint in the file.
  static std::string NameBase(std::string name, const std::set<std::string>& taken) {
    while (taken.contains(name)) name += "_base";
    return name;
  }

  // First velocity without inertia while those before it are free, or −1.
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
    for (const ArticulationJoint& joint : joints_) {
      const int count = joint.num_velocities;
      for (int k = 0; k < count; ++k)
        names.push_back(count == 1 ? joint.name : absl::StrCat(joint.name, "[", k, "]"));
    }
    return names;
  }

  std::span<const double> PositionsOf(std::size_t part, const std::vector<double>& q) const {
    return std::span(q).subspan(starts_[part].first,
                                robot_.parts[part].articulation->num_positions());
  }

  void DescribeLinks(const std::vector<double>& q, Json* result) const {
    Json poses = Json::object(), jacobians = Json::object();
    std::vector<double> J;
    std::vector<std::vector<physics::RigidTransform>> links(robot_.parts.size());
    for (std::size_t t = 0; t < links.size(); ++t) {
      links[t].resize(robot_.parts[t].articulation->num_links());
      robot_.parts[t].articulation->CalcLinkPoses(PositionsOf(t, q), links[t]);
    }
    for (const int index : robot_.bodies) {
      const physics::Body& body = model_.bodies[index];
      const std::string name = body.name.substr(robot_.name.size() + 1);
      physics::RigidTransform X_WB = body.X_WB;
      std::vector<std::vector<double>> rows(6, std::vector<double>(num_velocities_));
      for (std::size_t t = 0; t < robot_.parts.size(); ++t) {
        if (body.block != robot_.parts[t].block) continue;
        const physics::Articulation& part = *robot_.parts[t].articulation;
        X_WB = links[t][body.frame];
        J.resize(6 * std::size_t(part.num_velocities()));
        part.CalcJacobian(PositionsOf(t, q), body.frame, J);
        for (int j = 0; j < part.num_velocities(); ++j) {
          for (int r = 0; r < 6; ++r) rows[r][starts_[t].second + j] = J[6 * std::size_t(j) + r];
        }
      }
      const Eigen::Quaterniond turn(X_WB.R);
      poses[name] = {X_WB.p.x(), X_WB.p.y(), X_WB.p.z(), turn.w(), turn.x(), turn.y(), turn.z()};
      jacobians[name] = rows;
    }
    (*result)["link_poses"] = std::move(poses);
    (*result)["jacobians"] = std::move(jacobians);
  }

  const physics::Model& model_;
  const physics::Robot& robot_;
  const physics::State initial_;
  std::vector<ArticulationJoint> joints_;
  std::vector<std::pair<int, int>> starts_;  // of each part's positions and velocities
  int num_positions_ = 0, num_velocities_ = 0;
};

absl::Status Mistake(const std::string& path, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", text));
}

// Reads the numbers of a joint: one, or a list of `count`.
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

absl::Status ReadJoints(const std::string& path, const Json& given, const RobotDynamics& dynamics,
                        bool positions, std::vector<double>* values) {
  if (!given.is_object()) return Mistake(path, "expected an object of joint names and values");
  for (const auto& [name, value] : given.items()) {
    const std::string at = absl::StrCat(path, ".", name);
    const auto joint = std::find_if(dynamics.joints().begin(), dynamics.joints().end(),
                                    [&](const ArticulationJoint& j) { return j.name == name; });
    if (joint == dynamics.joints().end()) {
      const auto append = [](std::string* out, const ArticulationJoint& j) { out->append(j.name); };
      return Mistake(at, absl::StrCat("no joint of ", dynamics.robot().name,
                                      " that moves has this name; expected one of ",
                                      absl::StrJoin(dynamics.joints(), ", ", append)));
    }
    double* first = values->data() + (positions ? joint->position : joint->velocity);
    const int count = positions ? joint->num_positions : joint->num_velocities;
    if (absl::Status status = ReadNumbers(at, value, count, first); !status.ok()) return status;
    if (positions && joint->starts_with_quaternion) {
      Eigen::Map<Eigen::Vector4d> quaternion(first);
      if (!(quaternion.norm() > 1e-6)) return Mistake(at, "its quaternion is zero");
      quaternion /= quaternion.norm();
    }
  }
  return absl::OkStatus();
}

absl::Status ReadMotion(const std::string& path, const Json& state, const RobotDynamics& dynamics,
                        RobotDynamics::Motion* motion) {
  motion->q = dynamics.InitialPositions();
  motion->v = dynamics.InitialVelocities();
  motion->tau.assign(dynamics.num_velocities(), 0.0);
  for (const auto& [key, value] : state.items()) {
    const std::string at = absl::StrCat(path, ".", key);
    absl::Status status;
    if (key == "q") {
      status = ReadJoints(at, value, dynamics, true, &motion->q);
    } else if (key == "v") {
      status = ReadJoints(at, value, dynamics, false, &motion->v);
    } else if (key == "tau") {
      status = ReadJoints(at, value, dynamics, false, &motion->tau);
    } else if (key == "a") {
      motion->a.emplace(dynamics.num_velocities(), 0.0);
      status = ReadJoints(at, value, dynamics, false, &*motion->a);
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

  std::map<const physics::Robot*, RobotDynamics> known;
  Json results = Json::array();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::string path = absl::StrCat("[", i, "]");
    const absl::StatusOr<const physics::Robot*> robot = FindRobot(path, states[i], model);
    if (!robot.ok()) return robot.status();
    RobotDynamics& found = known.try_emplace(*robot, model, **robot).first->second;
    RobotDynamics::Motion motion;
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

  // names in files may contain any bytes: replace those that are not UTF-8
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
