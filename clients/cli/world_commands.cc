#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "nlohmann/json.hpp"

#include "clients/cli/commands.h"
#include "clients/cli/scene_files.h"

namespace pliant::clients {
namespace {

constexpr std::size_t kMaxStateInRequest = 3 << 20;  // a message has at most 4 MiB

// Arguments of the `world` commands, kept alive by their callbacks.
struct Arguments {
  std::string world;
  std::string file;
  std::string shipped;
  std::string id;
  std::string mode;
  double factor = 1;
  bool durable = false;
  std::string checkpoint;  // id of one that the server keeps
  int steps = 1;
};

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) throw CommandError(kUnreachable, path + ": cannot be written");
}

std::string DescribeClock(const v1::Clock& clock) {
  if (clock.has_free_run()) return "free run";
  if (!clock.has_real_time()) return "paused";
  std::ostringstream text;
  text << "real time x " << clock.real_time().factor();
  return text.str();
}

void PrintWorld(const v1::World& world) {
  if (world.has_creation()) {
    std::printf("%-24s being created by %s: %.0f %% after %.0f s\n", world.name().c_str(),
                world.owner().c_str(), 100 * world.creation().progress(),
                world.creation().elapsed());
    return;
  }
  std::printf("%-24s %-20s %-10s %-16s step %-8lld t %.3f s", world.name().c_str(),
              world.scene_name().c_str(), world.method().c_str(),
              DescribeClock(world.clock()).c_str(), static_cast<long long>(world.step()),
              world.time());
  if (world.stopped()) std::printf("  STOPPED");
  if (world.has_fault()) {
    std::printf("  FAULT at step %lld: %s", static_cast<long long>(world.fault().step()),
                world.fault().reason().c_str());
  }
  std::printf("\n");
}

int Show(Client* client, const v1::World& world) {
  if (client->json()) {
    std::cout << ToJson(world) << '\n';
  } else {
    PrintWorld(world);
  }
  return kDone;
}

// Sends the files that a scene names, unless the server has them.
void SendFiles(Client* client, const std::string& scene_file, v1::CreateWorldRequest* request) {
  const std::filesystem::path folder = std::filesystem::path(scene_file).parent_path();
  const std::vector<std::string> files = FindNamedFiles(request->scene_yaml(), folder);
  const bool shows_progress = isatty(STDERR_FILENO) != 0 && !files.empty();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (shows_progress) {
      std::fprintf(stderr, "\r\033[Ksending file %zu of %zu: %s", i + 1, files.size(),
                   files[i].c_str());
    }
    (*request->mutable_files())[files[i]] = Upload(client, ReadFile((folder / files[i]).string()));
  }
  if (shows_progress) std::fprintf(stderr, "\r\033[K");
}

int Create(Client* client, const Arguments& arguments) {
  v1::CreateWorldRequest request;
  request.set_world_id(arguments.id);
  request.set_durable(arguments.durable);
  if (arguments.shipped.empty()) {
    request.set_scene_yaml(ReadFile(arguments.file));
    request.set_file_name(arguments.file);
    SendFiles(client, arguments.file, &request);
  } else {
    request.set_shipped_scene(arguments.shipped);
  }
  grpc::ClientContext context;
  client->Prepare(&context, true);
  v1::World world;
  const grpc::Status status = client->worlds().CreateWorld(&context, request, &world);

  // report an invalid scene like `pliantd check`: one error per line, and the same exit status
  if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT &&
      !status.error_details().empty()) {
    throw CommandError(kInvalidScene, status.error_message());
  }
  client->Check(status);
  return Show(client, world);
}

int ListScenes(Client* client) {
  const auto info =
      client->Call(client->worlds(), &v1::WorldService::Stub::GetServer, v1::GetServerRequest());
  if (client->json()) {
    std::cout << ToJson(info) << '\n';
    return kDone;
  }
  for (const std::string& name : info.shipped_scenes()) std::printf("%s\n", name.c_str());
  return kDone;
}

int List(Client* client) {
  v1::ListWorldsRequest request;
  v1::ListWorldsResponse all;
  do {
    const auto page = client->Call(client->worlds(), &v1::WorldService::Stub::ListWorlds, request);
    all.MergeFrom(page);
    all.set_next_page_token(page.next_page_token());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  if (client->json()) {
    std::cout << ToJson(all) << '\n';
    return kDone;
  }
  for (const v1::World& world : all.worlds()) PrintWorld(world);
  if (all.worlds().empty()) std::printf("no worlds; `pliant world create SCENE` creates one\n");
  return kDone;
}

int Describe(Client* client, const Arguments& arguments) {
  v1::DescribeWorldRequest request;
  request.set_name(WorldName(arguments.world));
  const auto description =
      client->Call(client->worlds(), &v1::WorldService::Stub::DescribeWorld, request, true);
  if (client->json()) {
    std::cout << ToJson(description) << '\n';
    return kDone;
  }
  std::printf("%s  scene %s  model %s  time step %g s\n", description.name().c_str(),
              description.scene_name().c_str(), description.model_hash().c_str(),
              description.time_step());
  for (const v1::RigidDescription& body : description.rigid_bodies()) {
    const std::string motion =
        v1::RigidBody::Motion_Name(body.motion()).substr(sizeof("MOTION_") - 1);
    std::printf("  rigid       %-20s %-10s %d shapes\n", body.name().c_str(), motion.c_str(),
                body.shapes_size());
  }
  for (const v1::DeformableDescription& body : description.deformables()) {
    if (body.has_points()) {
      std::printf("  particles   %-20s %u, %g kg/m3\n", body.name().c_str(), body.points().count(),
                  body.density());
      continue;
    }
    std::printf("  deformable  %-20s %d vertices, %d tetrahedra, E %g Pa, nu %g, %g kg/m3\n",
                body.name().c_str(), body.vertices(), body.tetrahedra(), body.youngs_modulus(),
                body.poissons_ratio(), body.density());
  }
  return kDone;
}

int Step(Client* client, const Arguments& arguments) {
  v1::StepWorldRequest request;
  request.set_name(WorldName(arguments.world));
  request.set_steps(arguments.steps);
  const auto stepped =
      client->Call(client->worlds(), &v1::WorldService::Stub::StepWorld, request, true);
  if (client->json()) {
    std::cout << ToJson(stepped) << '\n';
  } else {
    std::printf("step %lld  t %.6f s  state %s  contacts %d  iterations %d\n",
                static_cast<long long>(stepped.step()), stepped.time(),
                stepped.state_hash().c_str(), stepped.report().contacts(),
                stepped.report().iterations());
  }
  return kDone;
}

int SetClock(Client* client, const Arguments& arguments, const std::string& mode) {
  v1::SetClockRequest request;
  request.set_name(WorldName(arguments.world));
  if (mode == "paused") request.mutable_paused();
  if (mode == "free-run") request.mutable_free_run();
  if (mode == "real-time") request.mutable_real_time()->set_factor(arguments.factor);
  return Show(client, client->Call(client->worlds(), &v1::WorldService::Stub::SetClock, request));
}

std::string CheckpointName(const Arguments& arguments) {
  return WorldName(arguments.world) + "/checkpoints/" + arguments.checkpoint;
}

int ShowCheckpoint(Client* client, const v1::Checkpoint& checkpoint) {
  if (client->json()) {
    std::cout << ToJson(checkpoint) << '\n';
  } else {
    std::printf("%-40s step %-8lld t %.3f s  %lld bytes%s\n", checkpoint.name().c_str(),
                static_cast<long long>(checkpoint.step()), checkpoint.time(),
                static_cast<long long>(checkpoint.size()),
                checkpoint.automatic() ? "  automatic" : "");
  }
  return kDone;
}

int ListCheckpoints(Client* client, const Arguments& arguments) {
  v1::ListCheckpointsRequest request;
  request.set_world(WorldName(arguments.world));
  const auto list =
      client->Call(client->worlds(), &v1::WorldService::Stub::ListCheckpoints, request);
  for (const v1::Checkpoint& checkpoint : list.checkpoints()) ShowCheckpoint(client, checkpoint);
  return kDone;
}

// The state of a checkpoint, or of a handle, in chunks.
std::string FetchState(Client* client, const std::string& name, const std::string& handle) {
  v1::FetchCheckpointRequest request;
  request.set_name(name);
  request.set_handle(handle);
  std::string state;
  while (true) {
    const auto chunk =
        client->Call(client->worlds(), &v1::WorldService::Stub::FetchCheckpoint, request, true);
    state += chunk.data();
    if (chunk.data().empty() || static_cast<std::int64_t>(state.size()) >= chunk.size())
      return state;
    request.set_handle(chunk.handle());
    request.set_offset(static_cast<std::int64_t>(state.size()));
  }
}

int Checkpoint(Client* client, const Arguments& arguments) {
  v1::CheckpointWorldRequest request;
  request.set_name(WorldName(arguments.world));
  request.set_checkpoint_id(arguments.checkpoint);
  request.set_in_chunks(arguments.checkpoint.empty());
  const auto checkpoint =
      client->Call(client->worlds(), &v1::WorldService::Stub::CheckpointWorld, request, true);
  if (checkpoint.has_checkpoint()) return ShowCheckpoint(client, checkpoint.checkpoint());
  const std::string state = checkpoint.handle().empty()
                                ? checkpoint.state()
                                : FetchState(client, "", checkpoint.handle());
  WriteFile(arguments.file, state);
  if (client->json()) {
    std::cout
        << nlohmann::json{{"file", arguments.file}, {"state_hash", checkpoint.state_hash()}}.dump()
        << '\n';
  } else {
    std::printf("%s: %zu bytes, state %s\n", arguments.file.c_str(), state.size(),
                checkpoint.state_hash().c_str());
  }
  return kDone;
}

// Copies a checkpoint that the server keeps to a file.
int FetchCheckpoint(Client* client, const Arguments& arguments) {
  const std::string state = FetchState(client, CheckpointName(arguments), "");
  WriteFile(arguments.file, state);
  if (client->json()) {
    std::cout << nlohmann::json{{"file", arguments.file}, {"size", state.size()}}.dump() << '\n';
  } else {
    std::printf("%s: %zu bytes\n", arguments.file.c_str(), state.size());
  }
  return kDone;
}

int DeleteCheckpoint(Client* client, const Arguments& arguments) {
  v1::DeleteCheckpointRequest request;
  request.set_name(CheckpointName(arguments));
  client->Call(client->worlds(), &v1::WorldService::Stub::DeleteCheckpoint, request);
  if (client->json()) {
    std::cout << "{}\n";
  } else {
    std::printf("%s deleted\n", request.name().c_str());
  }
  return kDone;
}

int Restore(Client* client, const Arguments& arguments) {
  v1::RestoreWorldRequest request;
  request.set_name(WorldName(arguments.world));
  if (!arguments.checkpoint.empty()) {
    request.set_checkpoint(CheckpointName(arguments));
  } else {
    std::string state = ReadFile(arguments.file);
    if (state.size() > kMaxStateInRequest) {
      request.set_sha256(Upload(client, state));
    } else {
      request.set_state(std::move(state));
    }
  }
  return Show(client,
              client->Call(client->worlds(), &v1::WorldService::Stub::RestoreWorld, request, true));
}

int Fork(Client* client, const Arguments& arguments) {
  v1::ForkWorldRequest request;
  request.set_name(WorldName(arguments.world));
  request.set_world_id(arguments.id);
  return Show(client,
              client->Call(client->worlds(), &v1::WorldService::Stub::ForkWorld, request, true));
}

int Delete(Client* client, const Arguments& arguments) {
  v1::DeleteWorldRequest request;
  request.set_name(WorldName(arguments.world));
  client->Call(client->worlds(), &v1::WorldService::Stub::DeleteWorld, request, true);
  if (client->json()) {
    std::cout << "{}\n";
  } else {
    std::printf("%s deleted\n", request.name().c_str());
  }
  return kDone;
}

}  // namespace

void AddWorldCommands(CLI::App* pliant, Client* client, Action* action) {
  CLI::App* world = pliant->add_subcommand("world", "Create, run, step, save and delete worlds");
  world->alias("worlds");
  world->require_subcommand(1);
  const auto arguments = std::make_shared<Arguments>();
  const auto add = [&](const std::string& name, const std::string& help, auto command) {
    CLI::App* app = world->add_subcommand(name, help);
    app->callback([=] { *action = [=] { return command(*arguments); }; });
    return app;
  };
  const auto add_on_world = [&](const std::string& name, const std::string& help, auto command) {
    CLI::App* app = add(name, help, command);
    app->add_option("world", arguments->world, "Name of the world, with or without worlds/")
        ->required();
    return app;
  };

  CLI::App* create = add("create", "Create a paused world from a scene file",
                         [client](const Arguments& a) { return Create(client, a); });
  CLI::Option_group* source = create->add_option_group("scene");
  source->add_option("file", arguments->file,
                     "Scene file (YAML); the files below its folder that it names are sent, too");
  source->add_option("--shipped", arguments->shipped,
                     "Name of a scene that comes with the server, see `pliant world scenes`");
  source->require_option(1);
  create->add_option("--id", arguments->id,
                     "Name of the new world: a-z, 0-9 and - (default: chosen by the server)");
  create->add_flag("--durable", arguments->durable, "Keep the world when the server ends");
  add("scenes", "List the scenes that come with the server",
      [client](const Arguments&) { return ListScenes(client); });
  add("list", "List all worlds", [client](const Arguments&) { return List(client); });
  add_on_world("get", "Show the state of one world", [client](const Arguments& a) {
    v1::GetWorldRequest request;
    request.set_name(WorldName(a.world));
    return Show(client, client->Call(client->worlds(), &v1::WorldService::Stub::GetWorld, request));
  });
  add_on_world("describe", "Show what stays constant: bodies, shapes, materials",
               [client](const Arguments& a) { return Describe(client, a); });
  CLI::App* step = add_on_world("step", "Advance a paused world",
                                [client](const Arguments& a) { return Step(client, a); });
  step->add_option("steps,--steps", arguments->steps, "Number of steps (default 1)")
      ->check(CLI::PositiveNumber);
  add_on_world("pause", "Pause",
               [client](const Arguments& a) { return SetClock(client, a, "paused"); });
  add_on_world("resume", "Run in real time",
               [client](const Arguments& a) { return SetClock(client, a, "real-time"); });
  CLI::App* speed =
      add_on_world("speed", "Run in real time, slowed down or sped up",
                   [client](const Arguments& a) { return SetClock(client, a, "real-time"); });
  speed->add_option("factor", arguments->factor, "Simulated seconds per second")
      ->required()
      ->check(CLI::PositiveNumber);
  CLI::App* clock = add_on_world("clock", "Set the clock", [client](const Arguments& a) {
    return SetClock(client, a, a.mode);
  });
  clock->add_option("mode", arguments->mode, "paused, real-time or free-run")
      ->required()
      ->check(CLI::IsMember({"paused", "real-time", "free-run"}));
  clock->add_option("--factor", arguments->factor, "Simulated seconds per second, in real time")
      ->check(CLI::PositiveNumber);
  add_on_world("reset", "Go back to the initial state", [client](const Arguments& a) {
    v1::ResetWorldRequest request;
    request.set_name(WorldName(a.world));
    return Show(client,
                client->Call(client->worlds(), &v1::WorldService::Stub::ResetWorld, request));
  });
  CLI::App* checkpoint =
      add_on_world("checkpoint", "Save the state to a file, or on the server under a name",
                   [client](const Arguments& a) { return Checkpoint(client, a); });
  CLI::Option_group* to = checkpoint->add_option_group("to");
  to->add_option("file", arguments->file, "File to write");
  to->add_option("--name", arguments->checkpoint,
                 "Name under which the server keeps it, if the world is durable: a-z, 0-9 and -");
  to->require_option(1);
  add_on_world("checkpoints", "List the checkpoints of a durable world",
               [client](const Arguments& a) { return ListCheckpoints(client, a); });
  CLI::App* fetch =
      add_on_world("fetch-checkpoint", "Copy a checkpoint that the server keeps to a file",
                   [client](const Arguments& a) { return FetchCheckpoint(client, a); });
  fetch->add_option("name", arguments->checkpoint, "Name of the checkpoint")->required();
  fetch->add_option("file", arguments->file, "File to write")->required();
  CLI::App* forget =
      add_on_world("delete-checkpoint", "Delete a checkpoint that the server keeps",
                   [client](const Arguments& a) { return DeleteCheckpoint(client, a); });
  forget->add_option("name", arguments->checkpoint, "Name of the checkpoint")->required();
  CLI::App* restore = add_on_world("restore", "Load a state saved from the same scene",
                                   [client](const Arguments& a) { return Restore(client, a); });
  CLI::Option_group* from = restore->add_option_group("from");
  from->add_option("file", arguments->file, "File to read");
  from->add_option("--name", arguments->checkpoint, "Name of a checkpoint that the server keeps");
  from->require_option(1);
  CLI::App* fork = add_on_world("fork", "Copy a world in its current state",
                                [client](const Arguments& a) { return Fork(client, a); });
  fork->add_option("--id", arguments->id, "Name of the new world (default: chosen by the server)");
  add_on_world("delete", "Delete a world",
               [client](const Arguments& a) { return Delete(client, a); });
}

}  // namespace pliant::clients
