#include "server/control/read_pull.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

#include "physics/spatial/trig.h"
#include "server/host/text.h"

namespace pliant::server {
namespace {

using Eigen::Vector3d;
using physics::Inputs;

constexpr double kMaxWeights = 20;       // default limit on forces, in weights of the body
constexpr double kGravity = 9.81;        // [m/s²]
constexpr double kLeverArm = 0.1;        // of the default limit on torques [m]
constexpr double kSpringFrequency = 4;   // of a body on the default spring [Hz]
constexpr double kMaxSpringGain = 1e12;  // [N/m], [N·s/m]
constexpr double kMasslessBodyMass = 1;  // [kg], for limits where a body has no mass of its own

// A point of a body that a command pulls.
struct PulledPoint {
  int body = -1;
  int node = -1;
  bool is_deformable = false;
  bool has_point = false;
  Vector3d p_BP = Vector3d::Zero();
};

template <typename Command>
absl::StatusOr<int> FindPulledBody(const physics::Model& model, const Target& target,
                                   const Command& command, const std::string& field) {
  if (target.robot < 0 || (target.body >= 0 && command.link().empty())) {
    if (command.link().empty()) return target.body;
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".link: \"", target.lease.name, "\" is a body and has no links"));
  }
  const physics::Robot& robot = model.robots[target.robot];
  const int body = physics::FindBody(model, absl::StrCat(robot.name, "/", command.link()));
  if (std::ranges::count(robot.bodies, body) > 0) return body;
  return absl::InvalidArgumentError(absl::StrCat(field, ".link: robot \"", robot.name,
                                                 "\" has no link \"", Shorten(command.link(), 80),
                                                 "\"; expected the link to pull"));
}

template <typename Command>
absl::StatusOr<PulledPoint> ReadPoint(const physics::Model& model, const Target& target,
                                      const Command& command, const std::string& field) {
  const absl::StatusOr<int> body = FindPulledBody(model, target, command, field);
  if (!body.ok()) return body.status();
  const physics::Body& pulled = model.bodies[*body];
  const std::string name = absl::StrCat("\"", pulled.name, "\"");
  if (pulled.motion == physics::Motion::kKinematic || pulled.block == physics::kWorldBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", name, " does not move freely, so nothing can pull it"));
  }
  PulledPoint point;
  point.body = *body;
  const physics::NodeSet* nodes = model.abilities_of(pulled).nodes;
  point.is_deformable = nodes != nullptr;
  const absl::Status status =
      ReadCommandVector((field + ".point").c_str(), command.point(), false, &point.p_BP);
  if (!status.ok()) return status;
  point.has_point = !command.point().empty();
  if (!point.is_deformable) {
    if (command.has_vertex())
      return absl::InvalidArgumentError(
          absl::StrCat(field, ".vertex: ", name, " is rigid; give a point instead"));
    if (!point.has_point) point.p_BP = pulled.p_BoBcm;
    return point;
  }
  if (point.has_point) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".point: ", name, " is deformable; give a vertex instead"));
  }
  if (!command.has_vertex()) return point;
  const physics::IndexRange range = nodes->nodes_of(pulled.part);
  if (command.vertex() < 0 || command.vertex() >= range.count) {
    return absl::InvalidArgumentError(absl::StrCat(field, ".vertex: ", command.vertex(),
                                                   " is not in ", name, "; expected 0 to ",
                                                   range.count - 1));
  }
  point.node = command.vertex();
  return point;
}

struct PullLimits {
  double mass, force, torque;
};

PullLimits FindLimits(const physics::Model& model, const Target& target, int body, double mass) {
  const DriveLimits& limits = target.robot >= 0 && target.body < 0
                                  ? model.robots[target.robot].teleop.limits
                                  : model.bodies[body].drive;
  PullLimits found{mass > 0 ? mass : kMasslessBodyMass, limits.force, limits.torque};
  if (found.force < 0) found.force = kMaxWeights * kGravity * found.mass;
  if (found.torque < 0) found.torque = kLeverArm * found.force;
  return found;
}

absl::StatusOr<Pull> MakeWrench(const PulledPoint& point, const PullLimits& limits,
                                const v1::Wrench& wrench) {
  Inputs::AppliedForce force{.body = point.body, .node = point.node};
  force.at_center_of_mass = point.is_deformable || !point.has_point;
  if (!force.at_center_of_mass) force.p_BP = point.p_BP;
  absl::Status status = ReadCommandVector("wrench.force", wrench.force(), false, &force.force_W);
  if (status.ok())
    status = ReadCommandVector("wrench.torque", wrench.torque(), false, &force.torque_W);
  if (!status.ok()) return status;
  if (point.is_deformable && !force.torque_W.isZero(0)) {
    return absl::InvalidArgumentError(
        "wrench.torque: the body is deformable; expected forces on its vertices instead");
  }
  force.force_W = ClampLength(force.force_W, limits.force);
  force.torque_W = ClampLength(force.torque_W, limits.torque);
  return force;
}

absl::StatusOr<Pull> MakeSpring(const PulledPoint& point, const PullLimits& limits,
                                const v1::Spring& given) {
  Inputs::PointSpring spring{.body = point.body, .node = point.node, .p_BP = point.p_BP};
  if (point.is_deformable && point.node < 0) {
    return absl::InvalidArgumentError(
        "spring.vertex: missing; the body is deformable, so expected the vertex to pull");
  }
  const absl::Status status =
      ReadCommandVector("spring.anchor", given.anchor(), true, &spring.p_WA);
  if (!status.ok()) return status;
  const double rate = 2 * physics::kPi * kSpringFrequency;
  spring.stiffness = given.has_stiffness() ? given.stiffness() : limits.mass * rate * rate;
  spring.damping =
      given.has_damping() ? given.damping() : 2 * std::sqrt(limits.mass * spring.stiffness);
  spring.force_limit = given.has_max_force() ? given.max_force() : limits.force;
  // written so that NaN is refused
  const auto is_gain = [](double x) { return x >= 0 && x <= kMaxSpringGain; };
  if (!is_gain(spring.stiffness) || !is_gain(spring.damping) || !(spring.force_limit > 0) ||
      spring.stiffness + spring.damping == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("spring: stiffness ", spring.stiffness, ", damping ", spring.damping,
                     ", max_force ", spring.force_limit, " are not allowed; expected 0 to ",
                     kMaxSpringGain, ", not both 0, and a force above 0"));
  }
  spring.force_limit = std::min(spring.force_limit, limits.force);
  return spring;
}

}  // namespace

absl::Status ReadCommandVector(const char* field,
                               const google::protobuf::RepeatedField<double>& numbers,
                               bool required, Vector3d* vector) {
  vector->setZero();
  if (numbers.empty() && !required) return absl::OkStatus();
  if (numbers.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", numbers.size(), " numbers; expected 3"));
  }
  for (int i = 0; i < 3; ++i) {
    if (!std::isfinite(numbers[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": ", numbers[i], " is not a finite number"));
    }
    (*vector)[i] = numbers[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<Pull> ReadPull(const physics::Model& model, const Target& target,
                              const std::vector<double>& masses,
                              const v1::CommandRequest& command) {
  const absl::StatusOr<PulledPoint> point =
      command.has_spring() ? ReadPoint(model, target, command.spring(), "spring")
                           : ReadPoint(model, target, command.wrench(), "wrench");
  if (!point.ok()) return point.status();
  const PullLimits limits = FindLimits(model, target, point->body, masses[point->body]);
  return command.has_spring() ? MakeSpring(*point, limits, command.spring())
                              : MakeWrench(*point, limits, command.wrench());
}

}  // namespace pliant::server
