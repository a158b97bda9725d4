#include <iostream>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"

#include "clients/cli/commands.h"

namespace pliant::clients {
namespace {

int Say(Client* client, const std::string& text) {
  std::cout << (client->json() ? "{}" : text) << '\n';
  return kDone;
}

}  // namespace

void AddControlCommands(CLI::App* pliant, Client* client, Action* action) {
  const auto world = std::make_shared<std::string>();
  CLI::App* stop =
      pliant->add_subcommand("stop", "Stop all commanded motion in a world, until `pliant resume`");
  stop->add_option("world", *world, "Name of the world")->required();
  stop->callback([=] {
    *action = [=] {
      v1::StopWorldRequest request;
      request.set_world(WorldName(*world));
      client->Call(client->control(), &v1::ControlService::Stub::StopWorld, request);
      return Say(client,
                 request.world() + ": commanded motion is stopped; the clock keeps running");
    };
  });
  CLI::App* resume =
      pliant->add_subcommand("resume", "Allow commanded motion again after `pliant stop`");
  resume->add_option("world", *world, "Name of the world")->required();
  resume->callback([=] {
    *action = [=] {
      v1::ResumeWorldRequest request;
      request.set_world(WorldName(*world));
      client->Call(client->control(), &v1::ControlService::Stub::ResumeWorld, request);
      return Say(client, request.world() + ": commands are accepted again");
    };
  });
}

}  // namespace pliant::clients
