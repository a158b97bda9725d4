#include "server/run/replay.h"

#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

#include "physics/scene/scene.h"
#include "server/files/files.h"
#include "server/record/file/replay.h"
#include "server/run/exit_status.h"
#include "server/run/recording/field_series.h"
#include "server/run/recording/probe_recorder.h"

namespace pliant::server {
namespace {

physics::SceneResult LoadRecordedScene(const ReplayArguments& arguments,
                                       const v1::RecordingStart& start) {
  if (!arguments.scene.empty()) return physics::LoadSceneFile(arguments.scene);
  const v1::CreateWorldRequest& source = start.source();
  physics::SceneOptions options;
  options.allow_files = false;  // a recording is data from elsewhere
  switch (source.source_case()) {
    case v1::CreateWorldRequest::kScene:
      return physics::LoadScene(source.scene(), "scene", options);
    case v1::CreateWorldRequest::kSceneYaml:
      return physics::LoadSceneYaml(source.scene_yaml(), "scene.yaml", options);
    case v1::CreateWorldRequest::kShippedScene:
      if (!arguments.scenes_dir.empty() && source.shipped_scene().find('/') == std::string::npos) {
        return physics::LoadSceneFile(
            absl::StrCat(arguments.scenes_dir, "/", source.shipped_scene(), ".yaml"));
      }
      break;
    default:
      break;
  }
  physics::SceneResult missing;
  missing.messages.emplace_back();
  missing.messages.back().error = true;
  missing.messages.back().message =
      source.has_shipped_scene()
          ? absl::StrCat("the recording is of the shipped scene \"", source.shipped_scene(),
                         "\"; give --scenes-dir or --scene")
          : "the recording is of a scene file; give it with --scene";
  return missing;
}

// Replays with `options`, which lack the scene.
absl::StatusOr<v1::ReplayResponse> ReplayFile(const ReplayArguments& arguments,
                                              ReplayOptions options, std::ostream& err) {
  options.load = [&](const v1::RecordingStart& start)
      -> absl::StatusOr<std::shared_ptr<const physics::Model>> {
    const physics::SceneResult scene = LoadRecordedScene(arguments, start);
    for (const physics::SceneMessage& message : scene.messages) err << Format(message) << '\n';
    if (!scene.ok()) return absl::InvalidArgumentError("its scene cannot be built");
    return scene.model;
  };
  return ReplayRecording(arguments.file, options);
}

int StatusOfFailure(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDataLoss:
      return kRunFault;
    case absl::StatusCode::kInvalidArgument:
      return kInvalidScene;
    default:
      return kEnvironment;
  }
}

// Tells how a replay ended. Returns the exit status.
int Conclude(const ReplayArguments& arguments, const v1::ReplayResponse& replay,
             std::ostream& err) {
  if (!replay.is_complete()) err << arguments.file << ": cut off; replayed up to there\n";
  if (!replay.has_mismatch()) return kDone;
  err << arguments.file << ": the state of step " << replay.mismatch().step() << " is "
      << replay.mismatch().replayed() << ", not " << replay.mismatch().recorded()
      << " as recorded. Use the build that recorded it.\n";
  return kRunFault;
}

// What a run would have written of the states since the start, a reset or a restore.
struct Episode {
  Episode(const physics::World& world, const std::string& folder, double fields_rate)
      : probes(world), csv(folder + "/probes.csv") {
    if (fields_rate >= 0) fields.emplace(world, folder, fields_rate);
  }

  absl::Status Record() { return fields ? fields->Record() : absl::OkStatus(); }
  absl::Status Finish() {
    absl::Status status = WriteWholeFile(csv, probes.ToCsv());
    if (fields) status.Update(fields->Finish());
    return status;
  }

  ProbeRecorder probes;
  std::optional<FieldSeries> fields;
  std::string csv;
};

}  // namespace

int Replay(const ReplayArguments& arguments, std::ostream& out, std::ostream& err) {
  const absl::StatusOr<v1::ReplayResponse> replay = ReplayFile(arguments, {}, err);
  if (!replay.ok()) {
    err << "pliantd replay: " << replay.status().message() << '\n';
    return StatusOfFailure(replay.status());
  }
  nlohmann::ordered_json report;
  report["steps"] = replay->steps();
  report["compared"] = replay->compared();
  report["equal"] = !replay->has_mismatch();
  report["complete"] = replay->is_complete();
  const std::string text = report.dump(2) + "\n";
  if (arguments.json == "-") {
    out << text << std::flush;
  } else if (!arguments.json.empty()) {
    if (absl::Status status = WriteWholeFile(arguments.json, text); !status.ok()) {
      err << "pliantd replay: " << status.message() << '\n';
      return kEnvironment;
    }
  } else if (!replay->has_mismatch()) {
    out << replay->steps() << " steps replayed; all " << replay->compared()
        << " recorded states are equal\n";
  }
  return Conclude(arguments, *replay, err);
}

int Export(const ReplayArguments& arguments, std::ostream& out, std::ostream& err) {
  std::optional<Episode> episode;
  int episodes = 0;
  ReplayOptions options;
  options.on_begin = [&](const physics::World& world) -> absl::Status {
    const std::string folder =
        ++episodes == 1 ? arguments.out_folder : absl::StrCat(arguments.out_folder, "/", episodes);
    if (absl::Status status = MakeFolder(arguments.fields_rate >= 0 ? folder + "/fields" : folder);
        !status.ok())
      return status;
    episode.emplace(world, folder, arguments.fields_rate);
    return episode->Record();
  };
  options.on_step = [&](const physics::World&) {
    episode->probes.Record();
    return episode->Record();
  };
  options.on_end = [&](const physics::World&) { return episode->Finish(); };
  const absl::StatusOr<v1::ReplayResponse> replay = ReplayFile(arguments, options, err);
  if (!replay.ok()) {
    err << "pliantd export: " << replay.status().message() << '\n';
    return StatusOfFailure(replay.status());
  }
  out << arguments.out_folder << ": " << replay->steps() << " steps\n";
  return Conclude(arguments, *replay, err);
}

}  // namespace pliant::server
