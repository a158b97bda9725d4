#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "clients/cli/commands.h"
#include "clients/cli/output.h"

namespace pliant::clients {
namespace {

struct RecordArguments {
  std::string recording;  // with or without recordings/
  std::string world;
  std::string file;
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
  record->footer(
      "`pliantd export FILE --out DIR` writes the probes (CSV) and fields (VTU) of the file.");
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
      "fetch",
      "Copy the file of a recording; goes on where an interrupted copy stopped (FILE.part)",
      FetchRecording);
  fetch->add_option("file", arguments->file, "File to write")->required();
  add_on_recording("replay", "Step a recording again on the server, and compare its states",
                   ReplayRecording);
  add_on_recording("delete", "Delete a recording", DeleteRecording);
}

}  // namespace pliant::clients
