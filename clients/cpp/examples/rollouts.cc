// Rollouts in lockstep: forks a world, steps all copies together with different commands, and
// prints where the body ends in each. rollouts HOST:PORT WORLD BODY COPIES STEPS

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "pliant/client.h"

namespace {

absl::Status Run(char** argv) {
  const std::string body = argv[3];
  const int copies = std::atoi(argv[4]), steps = std::atoi(argv[5]);
  const auto client = pliant::Client::Connect({.address = argv[1]});
  if (!client.ok()) return client.status();
  const pliant::World world = (*client)->GetWorld(argv[2]);

  // each copy pushes the body with another force
  std::vector<pliant::World> forks;
  pliant::v1::StepWorldsRequest request;
  for (int i = 0; i < copies; ++i) {
    const auto fork = world.Fork();
    if (!fork.ok()) return fork.status();
    forks.push_back(*fork);
    pliant::v1::StepWorldRequest* step = request.add_requests();
    step->set_name(fork->name());
    pliant::v1::TargetCommand* command = step->add_commands();
    command->set_target(body);
    for (const double force : {1.0 + i, 0.0, 0.0}) command->mutable_wrench()->add_force(force);
    step->mutable_frame()->add_bodies(body);
  }

  pliant::Lockstep lockstep(*client);
  pliant::v1::StepWorldsResponse response;
  for (int step = 0; step < steps; ++step) {
    auto stepped = lockstep.Step(request);
    if (!stepped.ok()) return stepped.status();
    response = *std::move(stepped);
    for (const auto& result : response.results()) {
      if (result.has_status()) return pliant::ReadStatus(result.status());
    }
  }
  const auto description = world.Describe();
  if (!description.ok()) return description.status();
  const auto index = (*description)->FindRigid(body);
  if (!index.ok()) return index.status();
  for (int i = 0; i < copies; ++i) {
    pliant::FrameDecoder decoder(*description);
    const absl::Status decoded = decoder.Decode(response.results(i).response().frame());
    if (!decoded.ok()) return decoded;
    std::printf("force %d N: x %.4f m, state %s\n", 1 + i, decoder.frame().rigid[*index].p_WB().x(),
                response.results(i).response().state_hash().c_str());
  }
  for (const pliant::World& fork : forks) {
    if (absl::Status status = fork.Delete(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: rollouts HOST:PORT WORLD BODY COPIES STEPS\n";
    return 2;
  }
  const absl::Status status = Run(argv);
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
