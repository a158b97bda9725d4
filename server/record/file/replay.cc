#include "server/record/file/replay.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/record/file/mcap_reader.h"
#include "server/record/file/topics.h"
#include "server/store/inputs_message.h"

namespace pliant::server {
namespace {

class Replayer {
 public:
  explicit Replayer(const ReplayOptions& options) : options_(options) {}

  absl::Status Take(const McapMessage& message) {
    if (response_.has_mismatch()) return absl::OkStatus();
    if (message.topic == kEventsTopic) return TakeMessage<v1::RecordingEvent>(message.data);
    if (message.topic == kInputsTopic) return TakeMessage<v1::RecordedSteps>(message.data);
    if (message.topic == kStatesTopic) return TakeMessage<v1::RecordedState>(message.data);
    return absl::OkStatus();
  }

  void Take(const McapAttachment& attachment) {
    if (!world_) files_[std::string(attachment.name)] = attachment.contents;
  }

  absl::Status End() {
    return world_ && options_.on_end ? options_.on_end(*world_) : absl::OkStatus();
  }

  bool has_started() const { return world_.has_value(); }
  v1::ReplayResponse& response() { return response_; }

 private:
  template <typename Message>
  absl::Status TakeMessage(std::string_view bytes) {
    Message message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return absl::DataLossError(
          absl::StrCat("a ", Message::descriptor()->name(), " cannot be read"));
    return Apply(message);
  }

  absl::Status Apply(const v1::RecordingEvent& event) {
    if (event.has_end() || event.event_case() == v1::RecordingEvent::EVENT_NOT_SET ||
        world_.has_value() == event.has_start())
      return absl::OkStatus();
    absl::Status status = End();
    if (event.has_start()) {
      status.Update(Start(event.start()));
    } else if (event.has_restored()) {
      status.Update(world_->Restore(event.restored()));
    } else {
      world_->Reset();
    }
    if (!status.ok() || !options_.on_begin) return status;
    return options_.on_begin(*world_);
  }

  absl::Status Start(const v1::RecordingStart& start) {
    absl::StatusOr<std::shared_ptr<const physics::Model>> model = options_.load(start, files_);
    files_.clear();
    if (!model.ok()) return model.status();
    if ((*model)->hash != start.model_hash()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the scene leads to another model (", (*model)->hash,
                       ") than the one that was recorded (", start.model_hash(),
                       "); use the scene and the build (", start.version(), ") of the recording"));
    }
    world_.emplace(*std::move(model));
    return world_->Restore(start.state());
  }

  absl::Status Apply(const v1::RecordedSteps& steps) {
    if (!world_) return absl::OkStatus();
    const absl::StatusOr<physics::Inputs> inputs = ReadInputs(steps.inputs());
    if (!inputs.ok()) return inputs.status();
    for (std::int64_t i = 0; i < steps.count(); ++i) {
      absl::Status status = world_->Step(*inputs);
      if (!status.ok()) return absl::DataLossError(std::string(status.message()));
      response_.set_steps(response_.steps() + 1);
      if (options_.on_step) status = options_.on_step(*world_);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Apply(const v1::RecordedState& recorded) {
    if (!world_) return absl::OkStatus();
    response_.set_compared(response_.compared() + 1);
    const std::string replayed = physics::HashState(world_->state());
    if (replayed == recorded.state_hash()) return absl::OkStatus();
    v1::StateMismatch* mismatch = response_.mutable_mismatch();
    mismatch->set_step(recorded.step());
    mismatch->set_recorded(recorded.state_hash());
    mismatch->set_replayed(replayed);
    return absl::OkStatus();
  }

  const ReplayOptions& options_;
  RecordedFiles files_;
  std::optional<physics::World> world_;
  v1::ReplayResponse response_;
};

}  // namespace

absl::StatusOr<v1::ReplayResponse> ReplayRecording(const std::string& path,
                                                   const ReplayOptions& options) {
  Replayer replayer(options);
  const absl::StatusOr<McapEnd> end = ReadMcap(
      path, [&](const McapMessage& message) { return replayer.Take(message); },
      [&](const McapAttachment& attachment) { replayer.Take(attachment); });
  if (!end.ok()) return end.status();
  if (!end->damage.empty()) return absl::DataLossError(absl::StrCat(path, ": ", end->damage));
  if (!replayer.has_started()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": it has no start; it was cut off too early, or Pliant did not "
                     "record it"));
  }
  if (absl::Status status = replayer.End(); !status.ok()) return status;
  replayer.response().set_is_complete(end->is_complete);
  return replayer.response();
}

}  // namespace pliant::server
