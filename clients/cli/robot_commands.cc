#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kReached = 1e-9;
constexpr std::chrono::milliseconds kStagnationLimit{1500};  // without progress

struct RobotArguments {
  std::string world;
  std::string robot;
  std::vector<std::string> targets;
};

// A robot of a world, and the index of its first joint in frames.
struct Found {
  v1::RobotDescription robot;
  int first_joint = 0;
};

Found FindRobot(Session* session, const World& world, const std::string& name) {
  const DescriptionPtr description = session->Value(world.Describe());
  const int robot = session->Value(description->FindRobot(name));
  return {description->message().robots(robot), description->FirstJoint(robot)};
}

std::unique_ptr<Subscription> Subscribe(Session* session, const World& world) {
  v1::Subscription request;
  request.set_rate(20);
  return session->Value(world.Subscribe(request));
}

void ReadFrame(Session* session, Subscription* subscription, Frame* frame) {
  session->Check(subscription->WaitForFrame(frame, session->client().options().timeout));
}

std::string WithUnit(double value, bool is_prismatic) {
  if (std::isinf(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", is_prismatic ? value : value * 180 / M_PI,
                is_prismatic ? "m" : "deg");
  return text;
}

int ShowRobot(Session* session, const RobotArguments& arguments) {
  const World world = session->world(arguments.world);
  const auto [robot, first] = FindRobot(session, world, arguments.robot);
  Frame frame;
  ReadFrame(session, Subscribe(session, world).get(), &frame);
  if (session->json()) {
    PrintJson(robot);
    PrintJson(frame.joints);
    return kDone;
  }
  PrintLine(absl::StrFormat("%-28s %12s %12s %12s %12s %10s", "joint", "position", "target",
                            "lower", "upper", "effort"));
  for (int i = 0; i < robot.joints_size(); ++i) {
    const v1::JointDescription& joint = robot.joints(i);
    constexpr double kFree = std::numeric_limits<double>::infinity();
    const bool held = joint.drive() == v1::JointDescription::DRIVE_POSITION;
    PrintLine(absl::StrFormat(
        "%-28s %12s %12s %12s %12s %10.3f", joint.name(),
        WithUnit(frame.joints.positions(first + i), joint.is_prismatic()),
        WithUnit(held ? frame.joints.targets(first + i) : kFree, joint.is_prismatic()),
        WithUnit(joint.has_lower() ? joint.lower() : kFree, joint.is_prismatic()),
        WithUnit(joint.has_upper() ? joint.upper() : kFree, joint.is_prismatic()),
        std::round(1000 * frame.joints.efforts(first + i)) / 1000 + 0.0));
  }
  return kDone;
}

// Parses NAME=VALUE, with the value in rad or m unless followed by deg or mm. Throws CommandError.
void ReadTarget(const std::string& text, v1::JointTargets* targets) {
  const std::size_t sign = text.find('=');
  double value = 0;
  if (sign != std::string::npos && sign > 0) {
    const char *begin = text.data() + sign + 1, *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(begin, end, value);
    const std::string unit(rest, end);
    const double scale = unit == "deg" ? M_PI / 180 : unit == "mm" ? 1e-3 : 1;
    const bool known =
        unit.empty() || unit == "deg" || unit == "mm" || unit == "rad" || unit == "m";
    if (error == std::errc() && known) {
      targets->add_joints(text.substr(0, sign));
      targets->add_values(value * scale);
      return;
    }
  }
  throw CommandError(kWrongUsage,
                     "\"" + text +
                         "\" is not a target; expected JOINT=VALUE in rad or m, or with "
                         "a unit: elbow=30deg, lift=120mm");
}

// Throws CommandError for targets in the wrong unit or beyond joint limits, which the server would
// silently clamp.
void CheckTargets(const v1::RobotDescription& robot, const RobotArguments& arguments,
                  const v1::JointTargets& wanted) {
  for (int i = 0; i < wanted.joints_size(); ++i) {
    for (const v1::JointDescription& joint : robot.joints()) {
      if (joint.name() != wanted.joints(i)) continue;
      const std::string& text = arguments.targets[i];
      const bool is_length = text.ends_with("m"),
                 is_angle = text.ends_with("deg") || text.ends_with("rad");
      if (joint.is_prismatic() ? is_angle : is_length) {
        throw CommandError(kWrongUsage, "\"" + text + "\": " + joint.name() +
                                            (joint.is_prismatic() ? " slides; expected m or mm"
                                                                  : " turns; expected rad or deg"));
      }
      if (joint.drive() != v1::JointDescription::DRIVE_POSITION) continue;
      constexpr double kFree = std::numeric_limits<double>::infinity();
      const double lower = joint.has_lower() ? joint.lower() : -kFree;
      const double upper = joint.has_upper() ? joint.upper() : kFree;
      // allow for the rounding with which `show` prints the limits
      const double slack = 1e-3 * std::max(std::abs(wanted.values(i)), 1e-3);
      if (wanted.values(i) >= lower - slack && wanted.values(i) <= upper + slack) continue;
      throw CommandError(kWrongUsage, "\"" + text + "\" is beyond the limits of " + joint.name() +
                                          "; expected " + WithUnit(lower, joint.is_prismatic()) +
                                          " to " + WithUnit(upper, joint.is_prismatic()));
    }
  }
}

// Largest distance between the current targets and `wanted`, positions clamped to their limits.
double CalcDistance(const Found& found, const v1::JointTargets& wanted, const Frame& frame) {
  double largest = 0;
  for (int i = 0; i < wanted.joints_size(); ++i) {
    for (int j = 0; j < found.robot.joints_size(); ++j) {
      const v1::JointDescription& joint = found.robot.joints(j);
      if (joint.name() != wanted.joints(i)) continue;
      double goal = wanted.values(i);
      if (joint.drive() == v1::JointDescription::DRIVE_POSITION) {
        if (joint.has_lower()) goal = std::max(goal, joint.lower());
        if (joint.has_upper()) goal = std::min(goal, joint.upper());
      }
      largest = std::max(largest, std::abs(frame.joints.targets(found.first_joint + j) - goal));
    }
  }
  return largest;
}

// Repeats the targets until the joints' targets have reached them. The lease ends with the stream,
// and the robot stops.
int SetRobot(Session* session, const RobotArguments& arguments) {
  v1::JointTargets wanted;
  for (const std::string& target : arguments.targets) ReadTarget(target, &wanted);
  const World world = session->world(arguments.world);
  const Found found = FindRobot(session, world, arguments.robot);
  CheckTargets(found.robot, arguments, wanted);
  const auto frames = Subscribe(session, world);
  Frame frame;
  ReadFrame(session, frames.get(), &frame);
  if (frame.clock == ClockMode::kPaused)
    throw CommandError(kRefused, world.name() + " is paused; let it run first: pliant world run " +
                                     arguments.world);

  const auto stream = session->Value(world.Command(session->Value(world.Acquire(arguments.robot))));
  v1::CommandRequest command;
  *command.mutable_joint_targets() = wanted;
  double closest = std::numeric_limits<double>::infinity();
  Clock::time_point closer_at = Clock::now();
  std::optional<std::string> problem;
  while (!problem) {
    session->Check(stream->Send(command));
    session->Check(
        stream->WaitForAnswer(stream->last_sequence(), session->client().options().timeout));
    if (const std::string refused = stream->last_response().refused(); !refused.empty()) {
      problem = refused;
      break;
    }
    ReadFrame(session, frames.get(), &frame);
    const double distance = CalcDistance(found, wanted, frame);
    if (distance <= kReached) break;
    if (distance < closest) {
      closest = distance;
      closer_at = Clock::now();
    }
    if (frame.clock == ClockMode::kPaused)
      problem = world.name() + " was paused before the targets arrived";
    if (Clock::now() - closer_at > kStagnationLimit)
      problem = "the targets stopped before they arrived";
  }
  if (problem) throw CommandError(kRefused, *problem);
  if (session->json()) {
    PrintJson(frame.joints);
  } else {
    PrintLine(absl::StrFormat("%s: %d joint target%s reached", arguments.robot,
                              wanted.joints_size(), wanted.joints_size() == 1 ? "" : "s"));
  }
  return kDone;
}

}  // namespace

void AddRobotCommands(CLI::App* pliant, Session* session, Action* action) {
  CLI::App* robot = pliant->add_subcommand("robot", "Show robots, and move their joints");
  robot->require_subcommand(1);
  const auto arguments = std::make_shared<RobotArguments>();
  CLI::App* show = robot->add_subcommand("show", "Joints with their positions, targets and limits");
  CLI::App* set = robot->add_subcommand(
      "set",
      "Move joint targets to these values at the joints' own speed, and wait until they arrive");
  for (CLI::App* command : {show, set}) {
    command->add_option("world", arguments->world, "Name of the world")->required();
    command->add_option("robot", arguments->robot, "Name of the robot")->required();
  }
  set->add_option("target", arguments->targets,
                  "JOINT=VALUE in rad or m, or with a unit: elbow=30deg, lift=120mm")
      ->required();
  show->callback([=] { *action = [=] { return ShowRobot(session, *arguments); }; });
  set->callback([=] { *action = [=] { return SetRobot(session, *arguments); }; });
}

}  // namespace pliant::clients
