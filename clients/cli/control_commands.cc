#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

struct LeaseArguments {
  std::string world;
  std::string target;
  bool takeover = false;
  int priority = 0;
  double duration = 0;  // [s]; 0: until Ctrl-C
};

int Say(Session* session, const std::string& text) {
  PrintLine(session->json() ? "{}" : text);
  return kDone;
}

// Holds a lease, so that nobody else drives the target, until it is interrupted or loses it.
int HoldLease(Session* session, const LeaseArguments& arguments) {
  const World world = session->world(arguments.world);
  const auto lease = session->Value(world.Acquire(
      arguments.target, {.takeover = arguments.takeover, .priority = arguments.priority}));
  if (session->json()) {
    PrintLine(nlohmann::json{
        {"world", lease->world()}, {"target", lease->target()}, {"lease_id", lease->id()}}
                  .dump());
  } else {
    PrintLine(
        absl::StrFormat("%s: \"%s\" is held; Ctrl-C releases it", lease->world(), lease->target()));
  }
  const auto begun = std::chrono::steady_clock::now();
  while (!Interrupted() && lease->status().ok()) {
    const std::chrono::duration<double> held = std::chrono::steady_clock::now() - begun;
    if (arguments.duration > 0 && held.count() >= arguments.duration) return kDone;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  session->Check(Interrupted() ? absl::CancelledError("") : lease->status());
  return kDone;
}

// Lists the client that commands each target, from a frame.
int ListLeases(Session* session, const LeaseArguments& arguments) {
  const World world = session->world(arguments.world);
  v1::Subscription request;
  request.set_rate(10);
  const auto subscription = session->Value(world.Subscribe(request));
  Frame frame;
  session->Check(subscription->WaitForFrame(&frame, session->client().options().timeout));
  if (frame.command_count == 0 && !session->json()) PrintLine("nobody commands this world");
  for (int i = 0; i < frame.command_count; ++i) {
    const v1::CommandEcho& echo = frame.commands[i];
    if (session->json()) {
      PrintJson(echo);
    } else {
      PrintLine(absl::StrFormat("%-24s %-24s priority %-3d last command in step %d", echo.target(),
                                echo.client(), echo.priority(), echo.applied_step()));
    }
  }
  return kDone;
}

}  // namespace

void AddControlCommands(CLI::App* pliant, Session* session, Action* action) {
  const auto world = std::make_shared<std::string>();
  CLI::App* stop =
      pliant->add_subcommand("stop", "Stop all commanded motion in a world, until `pliant resume`");
  stop->add_option("world", *world, "Name of the world")->required();
  stop->callback([=] {
    *action = [=] {
      const World stopped = session->world(*world);
      session->Check(stopped.Stop());
      return Say(session,
                 stopped.name() + ": commanded motion is stopped; the clock keeps running");
    };
  });
  CLI::App* resume =
      pliant->add_subcommand("resume", "Allow commanded motion again after `pliant stop`");
  resume->add_option("world", *world, "Name of the world")->required();
  resume->callback([=] {
    *action = [=] {
      const World resumed = session->world(*world);
      session->Check(resumed.Resume());
      return Say(session, resumed.name() + ": commands are accepted again");
    };
  });

  CLI::App* lease = pliant->add_subcommand("lease", "Hold the right to command a target");
  lease->require_subcommand(1);
  const auto arguments = std::make_shared<LeaseArguments>();
  CLI::App* hold = lease->add_subcommand(
      "hold", "Hold a target, so that nobody else commands it, until Ctrl-C releases it");
  CLI::App* list = lease->add_subcommand("list", "Show who commands which target");
  for (CLI::App* command : {hold, list})
    command->add_option("world", arguments->world, "Name of the world")->required();
  hold->add_option("target", arguments->target, "A body, a robot, or robot/group")->required();
  hold->add_flag("--takeover", arguments->takeover,
                 "Take it from another client, unless that has a higher priority");
  hold->add_option("--priority", arguments->priority, "0 to 100; above 50 for admins (default 0)")
      ->check(CLI::Range(0, 100));
  hold->add_option("--for", arguments->duration, "Release it after this time [s]")
      ->check(CLI::PositiveNumber);
  hold->callback([=] { *action = [=] { return HoldLease(session, *arguments); }; });
  list->callback([=] { *action = [=] { return ListLeases(session, *arguments); }; });
}

}  // namespace pliant::clients
