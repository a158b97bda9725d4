#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

struct CheckpointArguments {
  std::string world;
  std::string file;
  std::string id;  // of a checkpoint that the server keeps
};

int ShowCheckpoint(Session* session, const v1::Checkpoint& checkpoint) {
  if (session->json()) {
    PrintJson(checkpoint);
  } else {
    PrintLine(absl::StrFormat("%-40s step %-8d t %.3f s  %d bytes%s", checkpoint.name(),
                              checkpoint.step(), checkpoint.time(), checkpoint.size(),
                              checkpoint.automatic() ? "  automatic" : ""));
  }
  return kDone;
}

int ShowFile(Session* session, const std::string& file, const std::string& bytes) {
  if (session->json()) {
    PrintLine(nlohmann::json{{"file", file}, {"size", bytes.size()}}.dump());
  } else {
    PrintLine(absl::StrFormat("%s: %d bytes", file, bytes.size()));
  }
  return kDone;
}

// Saves the state to a file, or on the server under a name.
int Checkpoint(Session* session, const CheckpointArguments& arguments) {
  const World world = session->world(arguments.world);
  if (!arguments.id.empty())
    return ShowCheckpoint(session, session->Value(world.SaveCheckpoint(arguments.id)));
  std::string hash;
  const std::string state = session->Value(world.SaveState(&hash));
  WriteFile(arguments.file, state);
  if (session->json()) {
    PrintLine(nlohmann::json{{"file", arguments.file}, {"state_hash", hash}}.dump());
  } else {
    PrintLine(absl::StrFormat("%s: %d bytes, state %s", arguments.file, state.size(), hash));
  }
  return kDone;
}

int ListCheckpoints(Session* session, const CheckpointArguments& arguments) {
  const auto list = session->Value(session->world(arguments.world).ListCheckpoints());
  if (list.empty() && !session->json()) PrintLine("no checkpoints");
  for (const v1::Checkpoint& checkpoint : list) ShowCheckpoint(session, checkpoint);
  return kDone;
}

int FetchCheckpoint(Session* session, const CheckpointArguments& arguments) {
  const std::string state =
      session->Value(session->world(arguments.world).FetchCheckpoint(arguments.id));
  WriteFile(arguments.file, state);
  return ShowFile(session, arguments.file, state);
}

int DeleteCheckpoint(Session* session, const CheckpointArguments& arguments) {
  const World world = session->world(arguments.world);
  session->Check(world.DeleteCheckpoint(arguments.id));
  PrintLine(session->json() ? "{}" : world.name() + "/checkpoints/" + arguments.id + " deleted");
  return kDone;
}

int Restore(Session* session, const CheckpointArguments& arguments) {
  const World world = session->world(arguments.world);
  const v1::World restored =
      session->Value(arguments.id.empty() ? world.RestoreState(ReadFile(arguments.file))
                                          : world.RestoreCheckpoint(arguments.id));
  if (session->json()) {
    PrintJson(restored);
  } else {
    PrintLine(absl::StrFormat("%s  step %d  t %.3f s  state %s", restored.name(), restored.step(),
                              restored.time(), restored.state_hash()));
  }
  return kDone;
}

}  // namespace

void AddCheckpointCommands(CLI::App* world, Session* session, Action* action) {
  const auto arguments = std::make_shared<CheckpointArguments>();
  const auto add = [=](const std::string& name, const std::string& help, auto command) {
    CLI::App* app = world->add_subcommand(name, help);
    app->callback([=] { *action = [=] { return command(session, *arguments); }; });
    app->add_option("world", arguments->world, "Name of the world, with or without worlds/")
        ->required();
    return app;
  };
  CLI::App* checkpoint =
      add("checkpoint", "Save the state to a file, or on the server under a name", Checkpoint);
  CLI::Option_group* to = checkpoint->add_option_group("to");
  to->add_option("file", arguments->file, "File to write");
  to->add_option("--name", arguments->id,
                 "Name under which the server keeps it, if the world is durable: a-z, 0-9 and -");
  to->require_option(1);
  add("checkpoints", "List the checkpoints of a durable world", ListCheckpoints);
  CLI::App* fetch =
      add("fetch-checkpoint", "Copy a checkpoint that the server keeps to a file", FetchCheckpoint);
  fetch->add_option("name", arguments->id, "Name of the checkpoint")->required();
  fetch->add_option("file", arguments->file, "File to write")->required();
  CLI::App* forget =
      add("delete-checkpoint", "Delete a checkpoint that the server keeps", DeleteCheckpoint);
  forget->add_option("name", arguments->id, "Name of the checkpoint")->required();
  CLI::App* restore = add("restore", "Load a state saved from the same scene", Restore);
  CLI::Option_group* from = restore->add_option_group("from");
  from->add_option("file", arguments->file, "File to read");
  from->add_option("--name", arguments->id, "Name of a checkpoint that the server keeps");
  from->require_option(1);
}

}  // namespace pliant::clients
