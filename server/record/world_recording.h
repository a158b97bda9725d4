#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/v1/record.pb.h"
#include "server/host/journal.h"
#include "server/host/timeline.h"
#include "server/record/file/mcap_writer.h"
#include "server/stream/frame_encoder.h"

namespace pliant::server {

// One recording of a running world. The stepping thread only queues entries; another thread encodes
// and writes them. Every step is recorded; frames are skipped when that thread cannot keep up.
class WorldRecording : public StateObserver {
 public:
  static constexpr std::size_t kMaxPending = 100'000;  // entries that are not written yet
  static constexpr std::size_t kMaxPendingFrames = 16;

  struct Options {
    std::string id;
    std::string world;  // worlds/{world_id}
    std::string owner;  // of the world
    std::map<std::string, std::string> labels;
    std::string path;
    v1::RecordingStart start;  // without the state
    // Files of the scene that the recording keeps: present paths, by their paths in the scene.
    std::map<std::string, std::string> files{};
    std::optional<FrameChoice> frames;
    std::shared_ptr<const FrameLayout> layout{};  // of the model, shared with its streams
    double rate = 0;                              // of frames, per simulated second
    std::int64_t max_bytes = 0;
  };

  // Makes the file. `wake` makes the thread call Write soon.
  static absl::StatusOr<std::shared_ptr<WorldRecording>> Create(Options options, Timeline* timeline,
                                                                std::function<void()> wake);

  void OnStart(const std::shared_ptr<const physics::Snapshot>& now) override;
  absl::Status OnStep(const physics::Inputs& inputs,
                      const std::shared_ptr<const physics::Snapshot>& after) override;
  void OnReset(const std::shared_ptr<const physics::Snapshot>& now) override;
  void OnRestore(const std::shared_ptr<const physics::Snapshot>& now) override;
  void OnEnd() override { End("the world ended", nullptr); }

  // Ends the recording, for a reason or on request (empty). `done` is called when the file is
  // finished.
  void End(const std::string& reason, std::function<void()> done);

  // Writes what is pending. Returns false when the recording has ended and the file is closed.
  bool Write();

  v1::Recording Describe() const;
  const std::string& world() const { return options_.world; }

 private:
  // A change of the world, and the state after it where that is needed.
  struct Entry {
    enum class Kind { kStart, kSteps, kReset, kRestore, kEnd } kind = Kind::kSteps;
    v1::RecordedSteps steps{};
    std::string reason{};
    std::shared_ptr<const physics::Snapshot> snapshot{};  // steps: a frame or a hash is due
    bool has_frame = false;
  };

  WorldRecording(Options options, Timeline* timeline, std::function<void()> wake,
                 McapWriter writer);

  void Note(Entry entry, const std::shared_ptr<const physics::Snapshot>& now);
  bool IsFrameDue(double time);
  absl::Status WriteEntry(const Entry& entry);
  absl::Status WriteEvent(const physics::State& state, v1::RecordingEvent event);
  absl::Status WriteMessage(std::uint16_t channel, double time,
                            const google::protobuf::MessageLite& message);
  absl::Status WriteState(const physics::Snapshot& snapshot, bool with_frame);

  const Options options_;
  Timeline* const timeline_;
  const std::function<void()> wake_;
  const SteadyTime begin_;

  mutable std::mutex mutex_;
  std::vector<Entry> pending_;
  std::size_t pending_frames_ = 0;
  double next_frame_ = 0;  // [s]
  SteadyTime next_hash_;
  std::shared_ptr<const physics::Snapshot> now_;
  bool ended_ = false;  // further changes are ignored
  std::vector<std::function<void()>> done_;
  bool closed_ = false, complete_ = false;
  std::string end_reason_;
  std::int64_t size_ = 0;

  // used by Write only
  std::mutex write_mutex_;
  std::optional<McapWriter> writer_;
  std::uint16_t inputs_, states_, events_, frames_;
  SteadyTime last_flush_;
};

// Sets the fields of a recording that are in the metadata of its file.
void ReadRecordingMetadata(const std::map<std::string, std::string>& metadata,
                           v1::Recording* recording);

}  // namespace pliant::server
