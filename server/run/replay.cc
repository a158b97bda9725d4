#include "server/run/replay.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <nlohmann/json.hpp>

#include "physics/scene/scene.h"
#include "server/files/files.h"
#include "server/record/file/replay.h"
#include "server/record/file/unpacked_files.h"
#include "server/run/exit_status.h"
#include "server/run/recording/field_series.h"
#include "server/run/recording/probe_recorder.h"

namespace pliant::server {
namespace {

physics::SceneResult Lacking(std::string what) {
  physics::SceneResult result;
  result.messages.emplace_back();
  result.messages.back().message = std::move(what);
  return result;
}

// Paths of the scene that the recording lacks, with their hashes.
std::vector<std::string> ListMissing(const v1::CreateWorldRequest& source,
                                     const RecordedFiles& files) {
  std::vector<std::string> missing;
  for (const auto& [name, sha256] : source.files()) {
    if (!files.contains(name))
      missing.push_back(absl::StrCat("\"", name, "\" (SHA-256 ", sha256, ")"));
  }
  std::ranges::sort(missing);
  return missing;
}

// Loads the scene of a recording. `options` have the folder of its files, if there are any.
physics::SceneResult LoadRecordedScene(const ReplayArguments& arguments,
                                       const v1::CreateWorldRequest& source,
                                       const physics::SceneOptions& options) {
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
      return Lacking(absl::StrCat("the recording is of the shipped scene \"",
                                  source.shipped_scene(), "\"; give --scenes-dir or --scene"));
    default:
      return Lacking("the recording is of a scene file; give it with --scene");
  }
}

absl::StatusOr<physics::SceneResult> LoadRecordedScene(const ReplayArguments& arguments,
                                                       const v1::CreateWorldRequest& source,
                                                       const RecordedFiles& files) {
  if (!arguments.scene.empty()) return physics::LoadSceneFile(arguments.scene);
  physics::SceneOptions options;
  if (source.files().empty()) {
    options.allow_files = false;  // a recording is data from elsewhere
    return LoadRecordedScene(arguments, source, options);
  }
  if (const std::vector<std::string> missing = ListMissing(source, files); !missing.empty()) {
    return Lacking(absl::StrCat("the recording lacks ", absl::StrJoin(missing, ", "),
                                ", which its scene names; give the scene with --scene, beside its "
                                "files"));
  }
  const auto unpacked =
      UnpackedFiles::Unpack(files, std::filesystem::temp_directory_path().string());
  if (!unpacked.ok()) return unpacked.status();
  options.jail = (*unpacked)->folder();
  return LoadRecordedScene(arguments, source, options);
}

// Replays with `options`, to which this adds the scene.
absl::StatusOr<v1::ReplayResponse> ReplayFile(const ReplayArguments& arguments,
                                              ReplayOptions options, std::ostream& err) {
  options.load =
      [&](const v1::RecordingStart& start,
          const RecordedFiles& files) -> absl::StatusOr<std::shared_ptr<const physics::Model>> {
    const auto scene = LoadRecordedScene(arguments, start.source(), files);
    if (!scene.ok()) return scene.status();
    for (const physics::SceneMessage& message : scene->messages) err << Format(message) << '\n';
    if (!scene->ok()) return absl::InvalidArgumentError("its scene cannot be built");
    return scene->model;
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

// Prints how a replay ended. Returns the exit status.
int Conclude(const ReplayArguments& arguments, const v1::ReplayResponse& replay,
             std::ostream& err) {
  if (!replay.is_complete()) err << arguments.file << ": cut off; replayed up to there\n";
  if (!replay.has_mismatch()) return kDone;
  err << arguments.file << ": the state of step " << replay.mismatch().step() << " is "
      << replay.mismatch().replayed() << ", not " << replay.mismatch().recorded()
      << " as recorded. Use the build that recorded it.\n";
  return kRunFault;
}

// Output of a run over the states since the start, a reset or a restore.
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
