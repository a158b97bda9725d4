#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

namespace fs = std::filesystem;

// Arguments of the `world` commands, kept alive by their callbacks.
struct Arguments {
  std::string world;
  std::vector<std::string> files;
  std::string shipped;
  std::string id;
  std::string mode;
  std::vector<std::string> labels;  // KEY=VALUE
  double factor = 1;
  double idle_timeout = 0;
  bool durable = false;
  int steps = 1;
};

std::string DescribeClock(const v1::Clock& clock) {
  if (clock.has_free_run()) return "free run";
  if (clock.has_stepping()) return "stepping";
  if (!clock.has_real_time()) return "paused";
  return absl::StrFormat("real time x %g", clock.real_time().factor());
}

void PrintWorld(const v1::World& world) {
  if (world.has_creation()) {
    return PrintLine(absl::StrFormat("%-24s being created by %s: %.0f %% after %.0f s",
                                     world.name(), world.owner(), 100 * world.creation().progress(),
                                     world.creation().elapsed()));
  }
  std::string line = absl::StrFormat("%-24s %-20s %-10s %-16s step %-8d t %.3f s", world.name(),
                                     world.scene_name(), world.method(),
                                     DescribeClock(world.clock()), world.step(), world.time());
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : world.labels()) labels[key] = value;
  for (const auto& [key, value] : labels) line += "  " + key + "=" + value;
  if (world.stopped()) line += "  STOPPED";
  if (world.has_fault()) {
    line += absl::StrFormat("  FAULT at step %d: %s", world.fault().step(), world.fault().reason());
  }
  PrintLine(line);
}

int Show(Session* session, const v1::World& world) {
  if (session->json()) {
    PrintJson(world);
  } else {
    PrintWorld(world);
  }
  return kDone;
}

template <typename Map>
void ReadLabels(const std::vector<std::string>& labels, Map* map) {
  for (const std::string& label : labels) {
    const std::size_t sign = label.find('=');
    if (sign == std::string::npos || sign == 0)
      throw CommandError(kWrongUsage,
                         "--label " + label + ": expected KEY=VALUE, as in --label run=7");
    (*map)[label.substr(0, sign)] = label.substr(sign + 1);
  }
}

// Shows which of the files of a scene is being sent, on a terminal.
class Sending {
 public:
  ~Sending() { Clear(); }
  UploadProgress progress() {
    return [this](std::size_t number, std::size_t count, const std::string& file) {
      if (isatty(STDERR_FILENO) == 0) return;
      is_shown_ = true;
      std::fprintf(stderr, "\r\033[Ksending file %zu of %zu: %s", number + 1, count, file.c_str());
    };
  }

 private:
  void Clear() const {
    if (is_shown_) std::fprintf(stderr, "\r\033[K");
  }
  bool is_shown_ = false;
};

// The folder that contains all files, and the whole packages of files that are in packages.
fs::path FindFolder(const std::vector<std::string>& files) {
  fs::path common;
  std::error_code error;
  for (const std::string& file : files) {
    fs::path folder = fs::absolute(file).lexically_normal().parent_path();
    for (fs::path at = folder; at != at.root_path(); at = at.parent_path()) {
      if (fs::exists(at / "package.xml", error)) folder = at;
    }
    if (common.empty()) common = folder;
    while (folder.lexically_relative(common).string().starts_with(".."))
      common = common.parent_path();
  }
  return common;
}

// Requests a world of robots and meshes. Returns their folder.
std::string Import(const std::vector<std::string>& files, v1::ImportedFiles* imported) {
  const fs::path folder = FindFolder(files);
  for (const std::string& file : files) {
    ReadFile(file);  // report an unreadable file before anything is sent
    imported->add_files(fs::absolute(file).lexically_normal().lexically_relative(folder).string());
  }
  return folder.string();
}

int Create(Session* session, const Arguments& arguments) {
  v1::CreateWorldRequest request;
  request.set_world_id(arguments.id);
  request.set_durable(arguments.durable);
  request.set_idle_timeout(arguments.idle_timeout);
  ReadLabels(arguments.labels, request.mutable_labels());
  std::string folder;
  if (!arguments.shipped.empty()) {
    request.set_shipped_scene(arguments.shipped);
  } else if (arguments.files.size() > 1 || IsRobotOrMesh(arguments.files[0])) {
    folder = Import(arguments.files, request.mutable_imported());
  } else {
    const std::string& file = arguments.files[0];
    request.set_scene_yaml(ReadFile(file));
    request.set_file_name(file);
    folder = fs::path(file).parent_path().string();
    if (folder.empty()) folder = ".";
  }
  absl::StatusOr<World> world = absl::UnknownError("");
  {
    Sending sending;
    world = session->client().CreateWorld(std::move(request), folder, sending.progress());
  }
  // report an invalid scene like `pliantd check`: one error per line, and the same exit status
  if (absl::IsInvalidArgument(world.status()) && !ListFieldViolations(world.status()).empty())
    throw CommandError(kInvalidScene, std::string(world.status().message()));
  session->Check(world.status());
  for (const std::string& warning : world->warnings())
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  return Show(session, session->Value(world->Get()));
}

int ListScenes(Session* session) {
  const v1::ServerInfo info = session->Call(v1::GetServerRequest());
  if (session->json()) {
    PrintJson(info);
    return kDone;
  }
  for (const std::string& name : info.shipped_scenes()) PrintLine(name);
  return kDone;
}

int List(Session* session, const Arguments& arguments) {
  v1::ListWorldsRequest request;
  ReadLabels(arguments.labels, request.mutable_labels());
  v1::ListWorldsResponse all;
  for (v1::World& world : session->Value(session->client().ListWorlds(std::move(request))))
    *all.add_worlds() = std::move(world);
  if (session->json()) {
    PrintJson(all);
    return kDone;
  }
  for (const v1::World& world : all.worlds()) PrintWorld(world);
  if (all.worlds().empty()) PrintLine("no worlds; `pliant world create SCENE` creates one");
  return kDone;
}

int Describe(Session* session, const Arguments& arguments) {
  const DescriptionPtr described = session->Value(session->world(arguments.world).Describe());
  const v1::WorldDescription& description = described->message();
  if (session->json()) {
    PrintJson(description);
    return kDone;
  }
  PrintLine(absl::StrFormat("%s  scene %s  model %s  time step %g s", description.name(),
                            description.scene_name(), description.model_hash(),
                            description.time_step()));
  for (const v1::RigidDescription& body : description.rigid_bodies()) {
    const std::string motion =
        v1::RigidBody::Motion_Name(body.motion()).substr(sizeof("MOTION_") - 1);
    PrintLine(absl::StrFormat("  rigid       %-20s %-10s %d shapes", body.name(), motion,
                              body.shapes_size()));
  }
  for (const v1::DeformableDescription& body : description.deformables()) {
    if (body.has_points()) {
      PrintLine(absl::StrFormat("  particles   %-20s %d, %g kg/m3", body.name(),
                                body.points().count(), body.density()));
      continue;
    }
    PrintLine(
        absl::StrFormat("  deformable  %-20s %d vertices, %d tetrahedra, E %g Pa, nu %g, %g kg/m3",
                        body.name(), body.vertices(), body.tetrahedra(), body.youngs_modulus(),
                        body.poissons_ratio(), body.density()));
  }
  for (const v1::RobotDescription& robot : description.robots())
    PrintLine(absl::StrFormat("  robot       %-20s %d joints", robot.name(), robot.joints_size()));
  for (const std::string& probe : description.probes()) PrintLine("  probe       " + probe);
  return kDone;
}

int Step(Session* session, const Arguments& arguments) {
  const v1::StepWorldResponse stepped =
      session->Value(session->world(arguments.world).Step(arguments.steps));
  if (session->json()) {
    PrintJson(stepped);
  } else {
    PrintLine(absl::StrFormat("step %d  t %.6f s  state %s  contacts %d  iterations %d",
                              stepped.step(), stepped.time(), stepped.state_hash(),
                              stepped.report().contacts(), stepped.report().iterations()));
  }
  return kDone;
}

int SetClock(Session* session, const Arguments& arguments, const std::string& mode) {
  const World world = session->world(arguments.world);
  if (mode == "paused") return Show(session, session->Value(world.Pause()));
  if (mode == "free-run") return Show(session, session->Value(world.RunFreely()));
  return Show(session, session->Value(world.Run(arguments.factor)));
}

int Fork(Session* session, const Arguments& arguments) {
  const World fork = session->Value(session->world(arguments.world).Fork(arguments.id));
  return Show(session, session->Value(fork.Get()));
}

int Delete(Session* session, const Arguments& arguments) {
  const World world = session->world(arguments.world);
  session->Check(world.Delete());
  PrintLine(session->json() ? "{}" : world.name() + " deleted");
  return kDone;
}

}  // namespace

void AddWorldCommands(CLI::App* pliant, Session* session, Action* action) {
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

  CLI::App* create = add("create", "Create a paused world from a scene, or of robots and meshes",
                         [session](const Arguments& a) { return Create(session, a); });
  CLI::Option_group* source = create->add_option_group("scene");
  source->add_option("files", arguments->files,
                     "Scene file (YAML), or robots and meshes; the files below its folder that it "
                     "names are sent, too");
  source->add_option("--shipped", arguments->shipped,
                     "Name of a scene that comes with the server, see `pliant world scenes`");
  source->require_option(1);
  create->add_option("--id", arguments->id,
                     "Name of the new world: a-z, 0-9 and - (default: chosen by the server)");
  create->add_flag("--durable", arguments->durable, "Keep the world when the server ends");
  create
      ->add_option("--idle-timeout", arguments->idle_timeout,
                   "Delete the world after this time without use [s] (default: never)")
      ->check(CLI::PositiveNumber);
  add("scenes", "List the scenes that come with the server",
      [session](const Arguments&) { return ListScenes(session); });
  CLI::App* list =
      add("list", "List all worlds", [session](const Arguments& a) { return List(session, a); });
  create->add_option("--label", arguments->labels, "KEY=VALUE; may be repeated");
  list->add_option("--label", arguments->labels,
                   "Only worlds with this KEY=VALUE; may be repeated");
  add_on_world("get", "Show the state of one world", [session](const Arguments& a) {
    return Show(session, session->Value(session->world(a.world).Get()));
  });
  add_on_world("describe", "Show what stays constant: bodies, robots, materials, probes",
               [session](const Arguments& a) { return Describe(session, a); });
  CLI::App* step = add_on_world("step", "Advance a paused world",
                                [session](const Arguments& a) { return Step(session, a); });
  step->add_option("steps,--steps", arguments->steps, "Number of steps (default 1)")
      ->check(CLI::PositiveNumber);
  const auto run = [session](const Arguments& a) { return SetClock(session, a, "real-time"); };
  add_on_world("pause", "Stop the clock",
               [session](const Arguments& a) { return SetClock(session, a, "paused"); });
  add_on_world("run", "Run in real time", run);
  add_on_world("resume", "The old name of `run`", [run](const Arguments& a) {
    std::fprintf(stderr,
                 "pliant: `world resume` is called `world run` now; "
                 "`pliant resume` lifts a stop\n");
    return run(a);
  })->group("");
  CLI::App* speed = add_on_world("speed", "Run in real time, slowed down or sped up", run);
  speed->add_option("factor", arguments->factor, "Simulated seconds per second")
      ->required()
      ->check(CLI::PositiveNumber);
  CLI::App* clock = add_on_world("clock", "Set the clock", [session](const Arguments& a) {
    return SetClock(session, a, a.mode);
  });
  clock->add_option("mode", arguments->mode, "paused, real-time or free-run")
      ->required()
      ->check(CLI::IsMember({"paused", "real-time", "free-run"}));
  clock->add_option("--factor", arguments->factor, "Simulated seconds per second, in real time")
      ->check(CLI::PositiveNumber);
  add_on_world("reset", "Go back to the initial state", [session](const Arguments& a) {
    return Show(session, session->Value(session->world(a.world).Reset()));
  });
  AddProbeCommand(world, session, action);
  AddCheckpointCommands(world, session, action);
  CLI::App* fork = add_on_world("fork", "Copy a world in its current state",
                                [session](const Arguments& a) { return Fork(session, a); });
  fork->add_option("--id", arguments->id, "Name of the new world (default: chosen by the server)");
  add_on_world("delete", "Delete a world",
               [session](const Arguments& a) { return Delete(session, a); });
}

}  // namespace pliant::clients
