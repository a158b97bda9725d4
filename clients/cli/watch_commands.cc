#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "CLI/CLI.hpp"

#include "clients/cli/commands.h"

namespace pliant::clients {
namespace {

struct WatchArguments {
  std::string world;
  double rate = 4;
  int count = 0;
};

// Names of a world's bodies by their numbers in frames.
std::vector<std::string> NameBodies(const v1::WorldDescription& description) {
  std::vector<std::string> names;
  for (const auto& body : description.rigid_bodies()) names.push_back(body.name());
  for (const auto& body : description.deformables()) names.push_back(body.name());
  return names;
}

std::string DescribeFrame(const v1::Frame& frame, const std::vector<std::string>& names) {
  char line[256];
  double largest = 0;
  std::string body;
  const v1::ForceFrame& forces = frame.forces();
  for (int i = 0; i < forces.bodies_size() && 3 * i + 2 < forces.forces_size(); ++i) {
    const double size =
        std::hypot(forces.forces(3 * i), forces.forces(3 * i + 1), forces.forces(3 * i + 2));
    if (size > largest && forces.bodies(i) < names.size()) {
      largest = size;
      body = names[forces.bodies(i)];
    }
  }
  const v1::StepReport& report = frame.report();
  const char* clock = frame.clock().has_paused() ? "paused" : "running";
  std::snprintf(line, sizeof line,
                "t %9.3f s  step %-8lld %-7s  %.2f x real time  step %6.2f ms  contacts %-4d",
                frame.time(), static_cast<long long>(frame.step()), clock, report.real_time_rate(),
                1000 * report.step_seconds(), report.contacts());
  std::string text = line;
  if (!body.empty()) {
    std::snprintf(line, sizeof line, "  %.3g N on %.40s", largest, body.c_str());
    text += line;
  }
  if (frame.stopped()) text += "  STOPPED";
  if (frame.has_fault()) text += "  FAULT: " + frame.fault().reason();
  return text;
}

// Returns the frame as JSON without surface positions.
std::string FrameJson(v1::Frame frame) {
  for (v1::DeformableFrame& deformable : *frame.mutable_deformables()) deformable.clear_positions();
  return ToJson(frame);
}

int Watch(Client* client, const WatchArguments& arguments) {
  v1::DescribeWorldRequest describe;
  describe.set_name(WorldName(arguments.world));
  const std::vector<std::string> names = NameBodies(
      client->Call(client->worlds(), &v1::WorldService::Stub::DescribeWorld, describe, true));
  grpc::ClientContext context;
  client->Prepare(&context, true);
  const auto stream = client->streams().Subscribe(&context);
  v1::SubscribeRequest request;
  request.mutable_subscription()->set_world(WorldName(arguments.world));
  request.mutable_subscription()->set_rate(arguments.rate);
  stream->Write(request);

  // on a terminal one line is updated in place, elsewhere each frame gets its own line
  const bool live = isatty(STDOUT_FILENO) != 0 && !client->json();
  int seen = 0;
  v1::SubscribeResponse response;
  std::string end;
  while (stream->Read(&response)) {
    if (response.has_notice()) end = response.notice().reason();
    if (!response.has_frame()) continue;
    v1::SubscribeRequest ack;
    ack.mutable_ack()->set_frame(response.frame().frame());
    stream->Write(ack);
    if (client->json()) {
      std::cout << FrameJson(response.frame()) << std::endl;
    } else if (live) {
      std::cout << "\r\033[K" << DescribeFrame(response.frame(), names) << std::flush;
    } else {
      std::cout << DescribeFrame(response.frame(), names) << std::endl;
    }
    if (arguments.count > 0 && ++seen >= arguments.count) {
      context.TryCancel();
      stream->Finish();
      if (live) std::cout << '\n';
      return kDone;
    }
  }
  if (live) std::cout << '\n';
  const grpc::Status status = stream->Finish();
  if (!end.empty()) throw CommandError(kRefused, end);
  client->Check(status);
  return kDone;
}

}  // namespace

void AddWatchCommands(CLI::App* pliant, Client* client, Action* action) {
  const auto arguments = std::make_shared<WatchArguments>();
  CLI::App* watch =
      pliant->add_subcommand("watch", "Follow a world: time, rate, contacts, the largest force");
  watch->add_option("world", arguments->world, "Name of the world")->required();
  watch->add_option("--rate", arguments->rate, "Maximum number of lines per second (default 4)")
      ->check(CLI::Range(0.1, 1000.0));
  watch->add_option("--count", arguments->count, "Stop after this many lines (default: never)")
      ->check(CLI::NonNegativeNumber);
  watch->callback([=] { *action = [=] { return Watch(client, *arguments); }; });

  CLI::App* health = pliant->add_subcommand("health", "Show whether the server is ready");
  health->callback([=] {
    *action = [=] {
      const std::string status = client->CheckHealth();
      std::cout << (client->json() ? "{\"status\":\"" + status + "\"}" : status) << '\n';
      return status == "SERVING" ? kDone : kRefused;
    };
  });
}

}  // namespace pliant::clients
