#include "server/record/world_recording.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

#include "pliant/v1/stream.pb.h"
#include "server/files/files.h"
#include "server/record/file/topics.h"
#include "server/store/inputs_message.h"

namespace pliant::server {
namespace {

const std::string kLabelPrefix = "label/";

constexpr std::chrono::seconds kFlushInterval{1};
constexpr std::chrono::seconds kHashInterval{1};

absl::Status AttachFiles(const std::map<std::string, std::string>& files, McapWriter* writer) {
  for (const auto& [name, path] : files) {
    const absl::StatusOr<std::string> contents = ReadWholeFile(path);
    if (!contents.ok()) return contents.status();
    if (absl::Status status = writer->Attach(name, *contents); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<WorldRecording>> WorldRecording::Create(Options options,
                                                                       Timeline* timeline,
                                                                       std::function<void()> wake) {
  std::map<std::string, std::string> metadata = {{"world", options.world},
                                                 {"model_hash", options.start.model_hash()},
                                                 {"version", options.start.version()},
                                                 {"owner", options.owner}};
  for (const auto& [key, value] : options.labels) metadata[kLabelPrefix + key] = value;
  absl::StatusOr<McapWriter> writer = McapWriter::Create(options.path, metadata);
  if (!writer.ok()) return writer.status();
  if (absl::Status status = AttachFiles(options.files, &*writer); !status.ok()) {
    std::remove(options.path.c_str());
    return status;
  }
  return std::shared_ptr<WorldRecording>(
      new WorldRecording(std::move(options), timeline, std::move(wake), *std::move(writer)));
}

WorldRecording::WorldRecording(Options options, Timeline* timeline, std::function<void()> wake,
                               McapWriter writer)
    : options_(std::move(options)),
      timeline_(timeline),
      wake_(std::move(wake)),
      begin_(timeline->Now()),
      next_hash_(begin_ + kHashInterval),
      size_(writer.size()),
      writer_(std::move(writer)),
      inputs_(writer_->AddChannel(kInputsTopic, *v1::RecordedSteps::descriptor())),
      states_(writer_->AddChannel(kStatesTopic, *v1::RecordedState::descriptor())),
      events_(writer_->AddChannel(kEventsTopic, *v1::RecordingEvent::descriptor())),
      frames_(options_.frames ? writer_->AddChannel(kFramesTopic, *v1::Frame::descriptor()) : 0),
      last_flush_(begin_) {}

void WorldRecording::OnStart(const std::shared_ptr<const physics::Snapshot>& now) {
  next_frame_ = now->state.time;
  Entry entry{.kind = Entry::Kind::kStart, .snapshot = now};
  entry.has_frame = IsFrameDue(now->state.time);
  Note(std::move(entry), now);
}

absl::Status WorldRecording::OnStep(const physics::Inputs& inputs,
                                    const std::shared_ptr<const physics::Snapshot>& after) {
  Entry entry;
  const bool is_empty = IsEmpty(inputs);
  if (!is_empty) *entry.steps.mutable_inputs() = WriteInputs(inputs);
  entry.has_frame = IsFrameDue(after->state.time);
  const SteadyTime time = timeline_->Now();
  if (entry.has_frame || time >= next_hash_) {
    entry.snapshot = after;
    next_hash_ = time + kHashInterval;
  }
  entry.steps.set_step(after->state.step);
  entry.steps.set_time(after->state.time);
  entry.steps.set_count(1);
  {
    // consecutive pending steps without inputs are one entry
    std::lock_guard lock(mutex_);
    Entry* last = pending_.empty() ? nullptr : &pending_.back();
    if (!ended_ && last != nullptr && last->kind == Entry::Kind::kSteps && is_empty &&
        !last->steps.has_inputs() && last->snapshot == nullptr && entry.snapshot == nullptr) {
      entry.steps.set_count(last->steps.count() + 1);
      last->steps = std::move(entry.steps);
      now_ = after;
      return absl::OkStatus();
    }
  }
  Note(std::move(entry), after);
  return absl::OkStatus();
}

void WorldRecording::OnReset(const std::shared_ptr<const physics::Snapshot>& now) {
  next_frame_ = now->state.time;
  Note({.kind = Entry::Kind::kReset, .snapshot = now, .has_frame = IsFrameDue(now->state.time)},
       now);
}

void WorldRecording::OnRestore(const std::shared_ptr<const physics::Snapshot>& now) {
  next_frame_ = now->state.time;
  Note({.kind = Entry::Kind::kRestore, .snapshot = now, .has_frame = IsFrameDue(now->state.time)},
       now);
}

// Frames are due at multiples of their period in simulated time, or at the first step after.
bool WorldRecording::IsFrameDue(double time) {
  if (!options_.frames) return false;
  const double slack = 1e-9 * std::max(1.0, time);
  if (time < next_frame_ - slack) return false;
  const double period = 1 / options_.rate;
  next_frame_ = std::max(next_frame_ + period, time + slack);
  std::lock_guard lock(mutex_);
  return pending_frames_ < kMaxPendingFrames;
}

void WorldRecording::Note(Entry entry, const std::shared_ptr<const physics::Snapshot>& now) {
  bool is_behind = false, is_urgent = entry.snapshot != nullptr;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    now_ = now;
    pending_frames_ += entry.has_frame ? 1 : 0;
    pending_.push_back(std::move(entry));
    is_behind = pending_.size() >= kMaxPending;
    is_urgent = is_urgent || pending_.size() >= kMaxPending / 2;
  }
  if (is_behind) return End("the disk could not keep up with the world", nullptr);
  if (is_urgent) wake_();
}

void WorldRecording::End(const std::string& reason, std::function<void()> done) {
  bool is_closed = false;
  {
    std::lock_guard lock(mutex_);
    is_closed = closed_;
    if (!is_closed && done) done_.push_back(done);
    if (!std::exchange(ended_, true)) {
      end_reason_ = reason;
      pending_.push_back({.kind = Entry::Kind::kEnd, .reason = reason, .snapshot = now_});
    }
  }
  if (is_closed) {
    if (done) done();
    return;
  }
  wake_();
}

bool WorldRecording::Write() {
  std::lock_guard turn(write_mutex_);
  if (!writer_) return false;
  std::vector<Entry> entries;
  {
    std::lock_guard lock(mutex_);
    entries.swap(pending_);
    pending_frames_ = 0;
  }
  absl::Status status;
  bool is_last = false;
  for (const Entry& entry : entries) {
    if (status.ok()) status = WriteEntry(entry);
    is_last = is_last || entry.kind == Entry::Kind::kEnd;
  }
  if (status.ok() && is_last) status = writer_->Finish();
  if (const SteadyTime time = timeline_->Now();
      status.ok() && !is_last && time - last_flush_ >= kFlushInterval) {
    last_flush_ = time;
    status = writer_->Flush();
  }
  const std::int64_t size = writer_->size();
  if (status.ok() && !is_last && options_.max_bytes > 0 && size >= options_.max_bytes)
    End(absl::StrCat("the file has reached its limit of ", options_.max_bytes, " bytes"), nullptr);

  std::vector<std::function<void()>> done;
  {
    std::lock_guard lock(mutex_);
    size_ = size;
    if (!is_last && status.ok()) return true;
    // after an error the file is readable up to its last chunk
    if (!status.ok()) end_reason_ = std::string(status.message());
    complete_ = status.ok();
    ended_ = closed_ = true;
    pending_.clear();
    done.swap(done_);
  }
  writer_.reset();
  if (!status.ok())
    spdlog::error("event=recording_failed recording={} reason=\"{}\"", options_.id,
                  status.ToString());
  for (const auto& call : done) call();
  return false;
}

absl::Status WorldRecording::WriteEntry(const Entry& entry) {
  v1::RecordingEvent event;
  switch (entry.kind) {
    case Entry::Kind::kSteps: {
      absl::Status status = WriteMessage(inputs_, entry.steps.time(), entry.steps);
      if (status.ok() && entry.snapshot != nullptr)
        status = WriteState(*entry.snapshot, entry.has_frame);
      return status;
    }
    case Entry::Kind::kStart:
      *event.mutable_start() = options_.start;
      event.mutable_start()->set_state(
          physics::SerializeState(entry.snapshot->state, entry.snapshot->model->hash));
      break;
    case Entry::Kind::kReset:
      event.set_reset(true);
      break;
    case Entry::Kind::kRestore:
      event.set_restored(
          physics::SerializeState(entry.snapshot->state, entry.snapshot->model->hash));
      break;
    case Entry::Kind::kEnd:
      event.mutable_end()->set_reason(entry.reason);
      break;
  }
  if (entry.snapshot == nullptr) return absl::OkStatus();  // it ended before its start
  const physics::State& state = entry.snapshot->state;
  event.set_step(state.step);
  event.set_time(state.time);
  // the state at the end precedes the end event; other states follow their events
  absl::Status status;
  if (entry.kind == Entry::Kind::kEnd) status = WriteState(*entry.snapshot, false);
  if (status.ok()) status = WriteMessage(events_, state.time, event);
  if (status.ok() && entry.kind != Entry::Kind::kEnd)
    status = WriteState(*entry.snapshot, entry.has_frame);
  return status;
}

absl::Status WorldRecording::WriteState(const physics::Snapshot& snapshot, bool with_frame) {
  v1::RecordedState state;
  state.set_step(snapshot.state.step);
  state.set_time(snapshot.state.time);
  state.set_state_hash(physics::HashState(snapshot.state));
  absl::Status status = WriteMessage(states_, snapshot.state.time, state);
  if (!status.ok() || !with_frame) return status;
  auto published = std::make_shared<Published>();
  // shared, but owned by the caller: the encoder does not keep it
  published->snapshot =
      std::shared_ptr<const physics::Snapshot>(std::shared_ptr<void>(), &snapshot);
  v1::Frame frame;
  frame.ParseFromString(*EncodeFrame(published, *options_.frames, options_.layout));
  frame.set_keyframe(true);
  return WriteMessage(frames_, snapshot.state.time, frame);
}

absl::Status WorldRecording::WriteMessage(std::uint16_t channel, double time,
                                          const google::protobuf::MessageLite& message) {
  const auto since =
      std::chrono::duration_cast<std::chrono::nanoseconds>(timeline_->Now() - begin_);
  return writer_->Write(channel, static_cast<std::uint64_t>(since.count()),
                        static_cast<std::uint64_t>(std::max(0.0, time) * 1e9),
                        message.SerializeAsString());
}

void ReadRecordingMetadata(const std::map<std::string, std::string>& metadata,
                           v1::Recording* recording) {
  for (const auto& [key, value] : metadata) {
    if (key == "world") recording->set_world(value);
    if (key == "model_hash") recording->set_model_hash(value);
    if (key == "owner") recording->set_owner(value);
    if (key.starts_with(kLabelPrefix))
      (*recording->mutable_labels())[key.substr(kLabelPrefix.size())] = value;
  }
}

v1::Recording WorldRecording::Describe() const {
  v1::Recording recording;
  recording.set_name("recordings/" + options_.id);
  recording.set_world(options_.world);
  recording.set_model_hash(options_.start.model_hash());
  recording.set_owner(options_.owner);
  recording.mutable_labels()->insert(options_.labels.begin(), options_.labels.end());
  std::lock_guard lock(mutex_);
  recording.set_state(!closed_    ? v1::Recording::STATE_ACTIVE
                      : complete_ ? v1::Recording::STATE_COMPLETE
                                  : v1::Recording::STATE_CUT_OFF);
  recording.set_size(size_);
  recording.set_end_reason(end_reason_);
  return recording;
}

}  // namespace pliant::server
