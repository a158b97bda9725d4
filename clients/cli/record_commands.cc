#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"

#include "clients/cli/commands.h"

namespace pliant::clients {
namespace {

using Stub = v1::RecordService::Stub;

struct RecordArguments {
  std::string recording;  // with or without recordings/
  std::string world;
  std::string file;
  double rate = 0;
  bool decimated = false;
};

std::string RecordingName(const std::string& recording) {
  return recording.starts_with("recordings/") ? recording : "recordings/" + recording;
}

int ShowRecording(Client* client, const v1::Recording& recording) {
  if (client->json()) {
    std::cout << ToJson(recording) << '\n';
    return kDone;
  }
  std::string state = v1::Recording::State_Name(recording.state());
  state.erase(0, sizeof("STATE_") - 1);
  std::printf("%-28s %-24s %-10s %lld bytes", recording.name().c_str(), recording.world().c_str(),
              state.c_str(), static_cast<long long>(recording.size()));
  if (!recording.end_reason().empty()) std::printf("  %s", recording.end_reason().c_str());
  std::printf("\n");
  return kDone;
}

int StartRecording(Client* client, const RecordArguments& arguments) {
  v1::StartRecordingRequest request;
  request.set_world(WorldName(arguments.world));
  request.set_recording_id(arguments.recording);
  if (arguments.rate > 0) request.mutable_frames()->set_rate(arguments.rate);
  if (arguments.decimated) request.mutable_frames()->set_tier(v1::TIER_DECIMATED);
  return ShowRecording(client, client->Call(client->records(), &Stub::StartRecording, request));
}

int StopRecording(Client* client, const RecordArguments& arguments) {
  v1::StopRecordingRequest request;
  request.set_name(RecordingName(arguments.recording));
  return ShowRecording(client, client->Call(client->records(), &Stub::StopRecording, request));
}

int ListRecordings(Client* client, const RecordArguments& arguments) {
  v1::ListRecordingsRequest request;
  if (!arguments.world.empty()) request.set_world(WorldName(arguments.world));
  const auto response = client->Call(client->records(), &Stub::ListRecordings, request);
  if (response.recordings().empty() && !client->json()) std::printf("no recordings\n");
  for (const v1::Recording& recording : response.recordings()) ShowRecording(client, recording);
  return kDone;
}

int FetchRecording(Client* client, const RecordArguments& arguments) {
  std::ofstream file(arguments.file, std::ios::binary);
  v1::FetchRecordingRequest request;
  request.set_name(RecordingName(arguments.recording));
  std::int64_t size = -1;
  while (size != request.offset()) {
    const auto chunk = client->Call(client->records(), &Stub::FetchRecording, request);
    // a recording that is still written ends for us where it ended at first
    if (size < 0) size = chunk.size();
    const auto count =
        std::min(static_cast<std::int64_t>(chunk.data().size()), size - request.offset());
    file.write(chunk.data().data(), count);
    request.set_offset(request.offset() + count);
    if (!file || (count == 0 && size != request.offset()))
      throw CommandError(kUnreachable, arguments.file + ": cannot be written completely");
  }
  file.close();
  if (!file) throw CommandError(kUnreachable, arguments.file + ": cannot be written");
  std::cout << (client->json() ? "{}" : arguments.file + ": " + std::to_string(size) + " bytes")
            << '\n';
  return kDone;
}

int DeleteRecording(Client* client, const RecordArguments& arguments) {
  v1::DeleteRecordingRequest request;
  request.set_name(RecordingName(arguments.recording));
  client->Call(client->records(), &Stub::DeleteRecording, request);
  std::cout << (client->json() ? "{}" : request.name() + ": deleted") << '\n';
  return kDone;
}

int ReplayRecording(Client* client, const RecordArguments& arguments) {
  v1::ReplayRequest request;
  request.set_name(RecordingName(arguments.recording));
  const auto replay = client->Call(client->records(), &Stub::Replay, request, true);
  if (client->json()) {
    std::cout << ToJson(replay) << '\n';
  } else if (replay.has_mismatch()) {
    std::printf("%s: the state of step %lld differs\n", request.name().c_str(),
                static_cast<long long>(replay.mismatch().step()));
  } else {
    std::printf("%s: %lld steps replayed; all %lld recorded states are equal\n",
                request.name().c_str(), static_cast<long long>(replay.steps()),
                static_cast<long long>(replay.compared()));
  }
  return replay.has_mismatch() ? kRefused : kDone;
}

}  // namespace

void AddRecordCommands(CLI::App* pliant, Client* client, Action* action) {
  CLI::App* record = pliant->add_subcommand("record", "Record worlds into MCAP files");
  record->require_subcommand(1);
  const auto arguments = std::make_shared<RecordArguments>();
  const auto add = [=](const std::string& name, const std::string& help, auto command) {
    CLI::App* app = record->add_subcommand(name, help);
    app->callback([=] { *action = [=] { return command(client, *arguments); }; });
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
  CLI::App* fetch = add_on_recording("fetch", "Copy the file of a recording", FetchRecording);
  fetch->add_option("file", arguments->file, "File to write")->required();
  add_on_recording("replay", "Step a recording again on the server, and compare its states",
                   ReplayRecording);
  add_on_recording("delete", "Delete a recording", DeleteRecording);
}

}  // namespace pliant::clients
