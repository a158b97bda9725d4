#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

#include "clients/cli/commands.h"

namespace pliant::clients {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kReached = 1e-9;
constexpr std::chrono::milliseconds kPatience{1500};  // wait for targets that make no progress

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

Found FindRobot(Client* client, const RobotArguments& arguments) {
  v1::DescribeWorldRequest request;
  request.set_name(WorldName(arguments.world));
  const v1::WorldDescription world =
      client->Call(client->worlds(), &v1::WorldService::Stub::DescribeWorld, request, true);
  int first = 0;
  std::string names;
  for (const v1::RobotDescription& robot : world.robots()) {
    if (robot.name() == arguments.robot) return {robot, first};
    first += robot.joints_size();
    names += (names.empty() ? "" : ", ") + robot.name();
  }
  throw CommandError(kRefused, request.name() + " has no robot \"" + arguments.robot +
                                   "\"; it has " + (names.empty() ? "none" : names));
}

// Stream of frames of a world.
class Frames {
 public:
  Frames(Client* client, const std::string& world) : client_(client) {
    client->Prepare(&context_, true);
    stream_ = client->streams().Subscribe(&context_);
    v1::SubscribeRequest subscribe;
    subscribe.mutable_subscription()->set_world(world);
    subscribe.mutable_subscription()->set_rate(20);
    stream_->Write(subscribe);
  }
  ~Frames() { context_.TryCancel(); }

  v1::Frame Read() {
    v1::SubscribeResponse response;
    while (stream_->Read(&response)) {
      if (!response.has_frame()) continue;
      v1::SubscribeRequest ack;
      ack.mutable_ack()->set_frame(response.frame().frame());
      stream_->Write(ack);
      return response.frame();
    }
    client_->Check(stream_->Finish());
    throw CommandError(kRefused, "the server ended the stream");
  }

 private:
  Client* const client_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SubscribeRequest, v1::SubscribeResponse>> stream_;
};

std::string WithUnit(double value, bool is_prismatic) {
  if (std::isinf(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", is_prismatic ? value : value * 180 / M_PI,
                is_prismatic ? "m" : "deg");
  return text;
}

int ShowRobot(Client* client, const RobotArguments& arguments) {
  const auto [robot, first] = FindRobot(client, arguments);
  const v1::Frame frame = Frames(client, WorldName(arguments.world)).Read();
  if (client->json()) {
    std::cout << ToJson(robot) << '\n' << ToJson(frame.joints()) << '\n';
    return kDone;
  }
  std::printf("%-28s %12s %12s %12s %12s %10s\n", "joint", "position", "target", "lower", "upper",
              "effort");
  for (int i = 0; i < robot.joints_size(); ++i) {
    const v1::JointDescription& joint = robot.joints(i);
    constexpr double kFree = std::numeric_limits<double>::infinity();
    const bool held = joint.drive() == v1::JointDescription::DRIVE_POSITION;
    std::printf(
        "%-28s %12s %12s %12s %12s %10.3f\n", joint.name().c_str(),
        WithUnit(frame.joints().positions(first + i), joint.is_prismatic()).c_str(),
        WithUnit(held ? frame.joints().targets(first + i) : kFree, joint.is_prismatic()).c_str(),
        WithUnit(joint.has_lower() ? joint.lower() : kFree, joint.is_prismatic()).c_str(),
        WithUnit(joint.has_upper() ? joint.upper() : kFree, joint.is_prismatic()).c_str(),
        std::round(1000 * frame.joints().efforts(first + i)) / 1000 + 0.0);
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
double CalcDistance(const Found& found, const v1::JointTargets& wanted, const v1::Frame& frame) {
  double most = 0;
  for (int i = 0; i < wanted.joints_size(); ++i) {
    for (int j = 0; j < found.robot.joints_size(); ++j) {
      const v1::JointDescription& joint = found.robot.joints(j);
      if (joint.name() != wanted.joints(i)) continue;
      double goal = wanted.values(i);
      if (joint.drive() == v1::JointDescription::DRIVE_POSITION) {
        if (joint.has_lower()) goal = std::max(goal, joint.lower());
        if (joint.has_upper()) goal = std::min(goal, joint.upper());
      }
      most = std::max(most, std::abs(frame.joints().targets(found.first_joint + j) - goal));
    }
  }
  return most;
}

// A lease that is released on destruction.
class HeldLease {
 public:
  HeldLease(Client* client, const std::string& world, const std::string& target) : client_(client) {
    v1::AcquireLeaseRequest request;
    request.set_world(world);
    request.set_target(target);
    request.set_client("pliant");
    lease_ = client->Call(client->control(), &v1::ControlService::Stub::AcquireLease, request);
  }
  ~HeldLease() {
    v1::ReleaseLeaseRequest request;
    request.set_world(lease_.world());
    request.set_lease_id(lease_.lease_id());
    grpc::ClientContext context;
    client_->Prepare(&context, false);
    google::protobuf::Empty empty;
    client_->control().ReleaseLease(&context, request, &empty);  // it may have been taken over
  }

  const std::string& id() const { return lease_.lease_id(); }

 private:
  Client* const client_;
  v1::Lease lease_;
};

// Repeats the targets until the joints' targets have reached them. The lease lapses without
// commands, and the robot stops.
int SetRobot(Client* client, const RobotArguments& arguments) {
  v1::JointTargets wanted;
  for (const std::string& target : arguments.targets) ReadTarget(target, &wanted);
  const Found found = FindRobot(client, arguments);
  CheckTargets(found.robot, arguments, wanted);
  const std::string world = WorldName(arguments.world);
  Frames frames(client, world);
  v1::Frame frame = frames.Read();
  if (frame.clock().has_paused())
    throw CommandError(kRefused, world + " is paused; let it run first: pliant world clock " +
                                     arguments.world + " real-time");

  const HeldLease lease(client, world, arguments.robot);
  grpc::ClientContext context;
  client->Prepare(&context, true);
  const auto stream = client->control().Command(&context);
  v1::CommandRequest command;
  command.set_world(world);
  command.set_lease_id(lease.id());
  *command.mutable_joint_targets() = wanted;

  double closest = std::numeric_limits<double>::infinity();
  Clock::time_point closer_at = Clock::now();
  std::optional<std::string> problem;
  for (std::uint64_t sequence = 1; !problem; ++sequence) {
    command.set_sequence(sequence);
    v1::CommandResponse response;
    bool open = stream->Write(command);
    while (open && response.refused().empty() && response.sequence() < sequence)
      open = stream->Read(&response);
    if (!open) problem = "the server ended the stream";
    if (!response.refused().empty()) problem = response.refused();
    if (problem) break;
    frame = frames.Read();
    const double distance = CalcDistance(found, wanted, frame);
    if (distance <= kReached) break;
    if (distance < closest) {
      closest = distance;
      closer_at = Clock::now();
    }
    if (frame.clock().has_paused()) problem = world + " was paused before the targets arrived";
    if (Clock::now() - closer_at > kPatience) problem = "the targets stopped before they arrived";
  }
  stream->WritesDone();
  context.TryCancel();
  if (problem) throw CommandError(kRefused, *problem);
  if (client->json()) {
    std::cout << ToJson(frame.joints()) << '\n';
  } else {
    std::cout << arguments.robot << ": " << wanted.joints_size()
              << (wanted.joints_size() == 1 ? " joint target reached\n"
                                            : " joint targets reached\n");
  }
  return kDone;
}

}  // namespace

void AddRobotCommands(CLI::App* pliant, Client* client, Action* action) {
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
  show->callback([=] { *action = [=] { return ShowRobot(client, *arguments); }; });
  set->callback([=] { *action = [=] { return SetRobot(client, *arguments); }; });
}

}  // namespace pliant::clients
