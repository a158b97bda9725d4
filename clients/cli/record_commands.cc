#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include <sys/wait.h>

#include "clients/cli/commands.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

namespace fs = std::filesystem;

struct RecordArguments {
  std::string recording;  // with or without recordings/
  std::string world;
  std::string file;
  std::string folder, scene, fields_rate;  // of an export
  double rate = 0;
  bool decimated = false;
};

int ShowRecording(Session* session, const v1::Recording& recording) {
  if (session->json()) {
    PrintJson(recording);
    return kDone;
  }
  std::string state = v1::Recording::State_Name(recording.state());
  state.erase(0, sizeof("STATE_") - 1);
  PrintLine(absl::StrFormat("%-28s %-24s %-10s %d bytes%s%s", recording.name(), recording.world(),
                            state, recording.size(), recording.end_reason().empty() ? "" : "  ",
                            recording.end_reason()));
  return kDone;
}

int StartRecording(Session* session, const RecordArguments& arguments) {
  v1::StartRecordingRequest request;
  request.set_recording_id(arguments.recording);
  if (arguments.rate > 0) request.mutable_frames()->set_rate(arguments.rate);
  if (arguments.decimated) request.mutable_frames()->set_tier(v1::TIER_DECIMATED);
  return ShowRecording(session,
                       session->Value(session->world(arguments.world).StartRecording(request)));
}

int StopRecording(Session* session, const RecordArguments& arguments) {
  v1::StopRecordingRequest request;
  request.set_name(RecordingName(arguments.recording));
  return ShowRecording(session, session->Call(request));
}

int ListRecordings(Session* session, const RecordArguments& arguments) {
  v1::ListRecordingsRequest request;
  if (!arguments.world.empty()) request.set_world(WorldName(arguments.world));
  const v1::ListRecordingsResponse response = session->Call(request);
  if (response.recordings().empty() && !session->json()) PrintLine("no recordings");
  for (const v1::Recording& recording : response.recordings()) ShowRecording(session, recording);
  return kDone;
}

int FetchRecording(Session* session, const RecordArguments& arguments) {
  const std::int64_t size =
      session->Value(session->client().FetchRecording(arguments.recording, arguments.file));
  if (session->json()) {
    PrintLine(nlohmann::json{{"file", arguments.file}, {"size", size}}.dump());
  } else {
    PrintLine(absl::StrFormat("%s: %d bytes", arguments.file, size));
  }
  return kDone;
}

// Starts `pliantd` from this program's folder, or else from PATH. -1 if there is none.
pid_t StartPliantd(std::vector<std::string> arguments, bool is_quiet) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, pipe;
  sigemptyset(&none);
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);  // this program's threads block signals
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (is_quiet) posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  arguments.insert(arguments.begin(), "pliantd");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / "pliantd";
  pid_t pid = -1;
  const bool has_started =
      posix_spawn(&pid, beside.c_str(), &files, &attributes, argv.data(), environ) == 0 ||
      posix_spawnp(&pid, "pliantd", &files, &attributes, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return has_started ? pid : -1;
}

// Waits for a process and returns its exit status. Ends it when this program is interrupted.
int WaitForProcess(pid_t pid) {
  int status = 0;
  bool has_ended_it = false;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (Interrupted() && !std::exchange(has_ended_it, true)) kill(pid, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (Interrupted()) throw CommandError(kInterrupted, "");
  return WIFEXITED(status) ? WEXITSTATUS(status) : kRefused;
}

// Replays a recording on this machine, and writes its probes and fields.
int ExportRecording(Session* session, const RecordArguments& arguments) {
  std::error_code error;
  fs::create_directories(arguments.folder, error);
  const std::string id = RecordingName(arguments.recording).substr(sizeof("recordings"));
  const std::string file = (fs::path(arguments.folder) / (id + ".mcap")).string();
  session->Value(session->client().FetchRecording(arguments.recording, file));
  std::vector<std::string> command{"export", file, "--out", arguments.folder};
  if (!arguments.scene.empty()) command.insert(command.end(), {"--scene", arguments.scene});
  if (!arguments.fields_rate.empty())
    command.insert(command.end(), {"--fields-rate", arguments.fields_rate});
  const pid_t pid = StartPliantd(command, session->json());
  if (pid < 0) {
    throw CommandError(kUnreachable,
                       "pliantd, which exports recordings, is neither beside pliant nor in PATH. "
                       "The recording is in " +
                           file + "; where pliantd is: pliantd export " + id + ".mcap --out DIR");
  }
  const int status = WaitForProcess(pid);
  if (status != kDone) throw CommandError(status, "");  // it has printed the reason
  if (session->json()) {
    PrintLine(nlohmann::json{{"folder", arguments.folder}, {"file", file}}.dump());
  } else {
    PrintLine(arguments.folder + ": probes and fields of recordings/" + id);
  }
  return kDone;
}

int DeleteRecording(Session* session, const RecordArguments& arguments) {
  v1::DeleteRecordingRequest request;
  request.set_name(RecordingName(arguments.recording));
  session->Call(request);
  PrintLine(session->json() ? "{}" : request.name() + ": deleted");
  return kDone;
}

int ReplayRecording(Session* session, const RecordArguments& arguments) {
  v1::ReplayRequest request;
  request.set_name(RecordingName(arguments.recording));
  const v1::ReplayResponse replay = session->Call(request);
  if (session->json()) {
    PrintJson(replay);
  } else if (replay.has_mismatch()) {
    PrintLine(absl::StrFormat("%s: the state of step %d differs", request.name(),
                              replay.mismatch().step()));
  } else {
    PrintLine(absl::StrFormat("%s: %d steps replayed; all %d recorded states are equal",
                              request.name(), replay.steps(), replay.compared()));
  }
  return replay.has_mismatch() ? kRefused : kDone;
}

}  // namespace

void AddRecordCommands(CLI::App* pliant, Session* session, Action* action) {
  CLI::App* record = pliant->add_subcommand("record", "Record worlds into MCAP files");
  record->require_subcommand(1);
  const auto arguments = std::make_shared<RecordArguments>();
  const auto add = [=](const std::string& name, const std::string& help, auto command) {
    CLI::App* app = record->add_subcommand(name, help);
    app->callback([=] { *action = [=] { return command(session, *arguments); }; });
    return app;
  };
  const auto add_on_recording = [=](const std::string& name, const std::string& help,
                                    auto command) {
    CLI::App* app = add(name, help, command);
    app->add_option("recording", arguments->recording,
                    "Name of the recording, with or without recordings/")
        ->required();
    return app;
  };
  CLI::App* start = add("start", "Begin to record a world", StartRecording);
  start->add_option("world", arguments->world, "Name of the world")->required();
  start->add_option("--id", arguments->recording,
                    "Name of the recording: a-z, 0-9 and - (default: chosen by the server)");
  CLI::Option* rate = start
                          ->add_option("--rate", arguments->rate,
                                       "Frames per simulated second (default: none are recorded)")
                          ->check(CLI::PositiveNumber);
  start
      ->add_flag("--decimated", arguments->decimated,
                 "Record about a quarter of the vertices of deformable surfaces")
      ->needs(rate);
  add_on_recording("stop", "End a recording", StopRecording);
  CLI::App* list = add("list", "List recordings", ListRecordings);
  list->add_option("world", arguments->world, "Only those of this world");
  CLI::App* fetch = add_on_recording(
      "fetch", "Copy the file of a recording; resumes an interrupted copy (FILE.part)",
      FetchRecording);
  fetch->add_option("file", arguments->file, "File to write")->required();
  add_on_recording("replay", "Step a recording again on the server, and compare its states",
                   ReplayRecording);
  CLI::App* write = add_on_recording(
      "export", "Write probes (CSV) and fields (VTU, PVD) of a recording; uses pliantd",
      ExportRecording);
  write->add_option("--out", arguments->folder, "Folder to write into")->required();
  write->add_option("--scene", arguments->scene,
                    "Scene file, for a world that came from a file of the server");
  write
      ->add_option("--fields-rate", arguments->fields_rate,
                   "Frames of fields per simulated second (default 50); 0: every step, -1: none")
      ->check(CLI::Range(-1.0, 1e9));
  add_on_recording("delete", "Delete a recording", DeleteRecording);
}

}  // namespace pliant::clients
