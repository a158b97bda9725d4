#include "pliant/subscription.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "clients/cpp/connection.h"
#include "clients/cpp/wire.h"
#include "pliant/client.h"

namespace pliant {
namespace {

constexpr char kSubscribe[] = "/pliant.v1.StreamService/Subscribe";

// True if the connection broke or the server restarts.
bool MayComeBack(const absl::Status& status) {
  return absl::IsUnavailable(status) ||
         (absl::IsUnknown(status) && status.message().find("tream removed") != std::string::npos);
}

}  // namespace

// The thread of a subscription, and the state that it shares with callers.
class Subscription::Worker {
 public:
  Worker(std::shared_ptr<Client> client, v1::Subscription request, Callback on_frame,
         DescriptionPtr description)
      : client_(std::move(client)),
        world_(request.world()),
        on_frame_(std::move(on_frame)),
        request_(std::move(request)),
        decoder_(std::make_unique<FrameDecoder>(std::move(description))),
        thread_([this] { Run(); }) {}

  ~Worker() {
    Cancel();
    thread_.join();
  }

  bool TakeLatest(Frame* frame) {
    const std::lock_guard lock(mutex_);
    return Take(frame);
  }

  absl::Status WaitForFrame(Frame* frame, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return decoded_ > taken_ || has_ended_; });
    if (Take(frame)) return absl::OkStatus();
    if (has_ended_) return status_;
    return absl::DeadlineExceededError(
        absl::StrCat("no frame of ", world_, " came in ", timeout.count(), " ms"));
  }

  void Change(v1::Subscription request) {
    request.set_world(world_);
    const std::lock_guard writing(write_mutex_);
    {
      const std::lock_guard lock(mutex_);
      request_ = request;
      ++changes_;
    }
    // a stream that opens later begins with this request
    if (stream_ != nullptr) Write(stream_, request);
  }

  void Cancel() {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    if (context_ != nullptr) context_->get()->TryCancel();
    changed_.notify_all();
  }

  absl::Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  absl::Status Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_ended_; });
    return status_;
  }

  DescriptionPtr description() const {
    const std::lock_guard lock(mutex_);
    return decoder_->shared_description();
  }

  int reconnects() const {
    const std::lock_guard lock(mutex_);
    return reconnects_;
  }

 private:
  static void Write(Connection::ByteStream* stream, const v1::Subscription& request) {
    v1::SubscribeRequest message;
    *message.mutable_subscription() = request;
    stream->Write(ToBuffer(message));
  }

  bool Take(Frame* frame) {
    if (decoded_ == taken_) return false;
    *frame = decoder_->frame();
    taken_ = decoded_;
    return true;
  }

  void Run() {
    const std::chrono::milliseconds longest = client_->options().max_backoff;
    std::chrono::milliseconds pause = longest / 10;
    absl::Status status;
    while (true) {
      const std::uint64_t before = decoded_;
      status = RunStream();
      if (decoded_ != before) pause = longest / 10;
      std::unique_lock lock(mutex_);
      if (is_cancelled_) status = absl::CancelledError("the subscription was cancelled");
      if (!is_stale_ && !MayComeBack(status)) break;
      if (is_cancelled_) break;
      ++reconnects_;
      changed_.wait_for(lock, pause, [&] { return is_cancelled_; });
      pause = std::min(2 * pause, longest);
    }
    const std::lock_guard lock(mutex_);
    status_ = status;
    has_ended_ = true;
    changed_.notify_all();
  }

  // Runs one stream to its end and returns the reason.
  absl::Status RunStream() {
    Connection::Context context(client_->connection().get());
    context->set_wait_for_ready(true);
    v1::Subscription request;
    int changes = 0;
    {
      const std::lock_guard lock(mutex_);
      if (is_cancelled_) return absl::CancelledError();
      context_ = &context;
      request = request_;
      changes = changes_;
    }
    const auto stream = client_->connection()->Open(kSubscribe, &context);
    Write(stream.get(), request);  // waits for the server
    {
      const std::lock_guard writing(write_mutex_);
      const std::lock_guard lock(mutex_);
      stream_ = stream.get();
      if (changes != changes_) Write(stream_, request_);
    }
    absl::Status status = ReadFrames(stream.get());
    {
      const std::lock_guard writing(write_mutex_);
      stream_ = nullptr;
    }
    if (!status.ok()) context->TryCancel();
    const absl::Status end = client_->connection()->Translate(stream->Finish());
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
    if (!status.ok()) return status;
    return end.ok() ? absl::UnavailableError("the server ended the stream") : end;
  }

  // Reads frames until the stream ends (OK) or has to be ended (error).
  absl::Status ReadFrames(Connection::ByteStream* stream) {
    bool is_first = true;
    grpc::ByteBuffer buffer;
    while (stream->Read(&buffer)) {
      CopyBytes(buffer, &bytes_);
      WireReader response(bytes_);
      while (response.Next()) {
        if (response.field() != v1::SubscribeResponse::kFrameFieldNumber) continue;
        absl::Status status = is_first ? Recheck() : absl::OkStatus();
        is_first = false;
        if (status.ok()) status = TakeFrame(response.bytes());
        if (!status.ok()) return status;
        Acknowledge(stream);
      }
    }
    return absl::OkStatus();
  }

  // Fetches the description again if the world may have another model.
  absl::Status Recheck() {
    if (!std::exchange(is_stale_, false) && reconnects() == 0) return absl::OkStatus();
    const World world(client_, world_);
    const absl::StatusOr<v1::World> present = world.Get();
    if (!present.ok()) return present.status();
    const bool is_same = present->model_hash() == decoder_->description().model_hash();
    if (is_same && !was_mismatched_) return absl::OkStatus();
    absl::StatusOr<DescriptionPtr> description = world.Describe();
    if (!description.ok()) return description.status();
    const std::lock_guard lock(mutex_);
    decoder_ = std::make_unique<FrameDecoder>(*std::move(description));
    return absl::OkStatus();
  }

  absl::Status TakeFrame(std::string_view frame) {
    {
      const std::lock_guard lock(mutex_);
      const absl::Status status = decoder_->Decode(frame);
      if (absl::IsFailedPrecondition(status) && !std::exchange(was_mismatched_, true))
        is_stale_ = true;  // a new stream begins with a keyframe
      if (!status.ok()) return status;
      was_mismatched_ = false;
      ++decoded_;
      changed_.notify_all();
    }
    if (!on_frame_) return absl::OkStatus();
    try {
      on_frame_(decoder_->frame(), decoder_->description());
    } catch (const std::exception& error) {
      return absl::InternalError(
          absl::StrCat("the callback of the subscription threw: ", error.what()));
    } catch (...) {
      return absl::InternalError("the callback of the subscription threw");
    }
    return absl::OkStatus();
  }

  void Acknowledge(Connection::ByteStream* stream) {
    v1::SubscribeRequest ack;
    ack.mutable_ack()->set_frame(decoder_->frame().id);
    const std::lock_guard writing(write_mutex_);
    stream->Write(ToBuffer(ack));
  }

  const std::shared_ptr<Client> client_;
  const std::string world_;
  const Callback on_frame_;
  std::string bytes_;  // of the last response

  std::mutex write_mutex_;  // taken before mutex_
  Connection::ByteStream* stream_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  v1::Subscription request_;
  int changes_ = 0;                         // of request_
  std::unique_ptr<FrameDecoder> decoder_;   // changed by the thread only
  std::uint64_t decoded_ = 0, taken_ = 0;   // frames
  Connection::Context* context_ = nullptr;  // of the stream
  bool is_cancelled_ = false, has_ended_ = false;
  bool was_mismatched_ = false;  // the last frame did not match the description
  bool is_stale_ = false;        // the description must be fetched again
  absl::Status status_;
  int reconnects_ = 0;

  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<Subscription>> Subscription::Open(std::shared_ptr<Client> client,
                                                                 v1::Subscription request,
                                                                 Callback on_frame) {
  absl::StatusOr<DescriptionPtr> description = World(client, request.world()).Describe();
  if (!description.ok()) return description.status();
  return std::unique_ptr<Subscription>(new Subscription(std::make_unique<Worker>(
      std::move(client), std::move(request), std::move(on_frame), *std::move(description))));
}

Subscription::Subscription(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
Subscription::~Subscription() = default;

bool Subscription::TakeLatest(Frame* frame) {
  return worker_->TakeLatest(frame);
}

absl::Status Subscription::WaitForFrame(Frame* frame, std::chrono::milliseconds timeout) {
  return worker_->WaitForFrame(frame, timeout);
}

void Subscription::Change(v1::Subscription request) {
  worker_->Change(std::move(request));
}

void Subscription::Cancel() {
  worker_->Cancel();
}

absl::Status Subscription::status() const {
  return worker_->status();
}

absl::Status Subscription::Wait() {
  return worker_->Wait();
}

DescriptionPtr Subscription::description() const {
  return worker_->description();
}

int Subscription::reconnects() const {
  return worker_->reconnects();
}

}  // namespace pliant
