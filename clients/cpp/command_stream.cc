#include "pliant/command_stream.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "clients/cpp/command_check.h"
#include "clients/cpp/connection.h"
#include "pliant/client.h"

namespace pliant {
namespace {

constexpr char kCommand[] = "/pliant.v1.ControlService/Command";
constexpr std::size_t kMaxSamples = 1024;  // of latencies

double Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

class CommandStream::Worker {
 public:
  Worker(std::unique_ptr<Lease> lease, Feedback on_feedback)
      : lease_(std::move(lease)),
        connection_(lease_->client()->connection()),
        on_feedback_(std::move(on_feedback)),
        context_(connection_.get()),
        stream_(connection_->Open(kCommand, &context_)) {
    template_.set_world(lease_->world());
    template_.set_lease_id(lease_->id());
    lease_->OnLost([this](const absl::Status& reason) { End(reason); });
    thread_ = std::thread([this] { Read(); });
  }

  ~Worker() {
    Close().IgnoreError();
    thread_.join();
    lease_.reset();  // its thread calls this object
  }

  absl::Status Send(v1::CommandRequest command) {
    absl::Status valid = CheckCommand(command);
    if (!valid.ok()) return valid;
    command.set_world(template_.world());
    command.set_lease_id(template_.lease_id());
    // one command at a time, in the order of their sequence numbers
    const std::lock_guard writing(write_mutex_);
    {
      const std::lock_guard lock(mutex_);
      if (!status_.ok()) return status_;
      command.set_sequence(++sequence_);
    }
    command.set_client_time(Now());
    if (stream_->Write(ToBuffer(command))) {
      lease_->NoteCommand();
      return absl::OkStatus();
    }
    // the reading thread finds the reason
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(1), [&] { return !status_.ok(); });
    return status_.ok() ? absl::UnavailableError("the server has ended the stream of commands")
                        : status_;
  }

  absl::Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  absl::Status WaitForAnswer(std::uint64_t sequence, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return answered_ >= sequence || !status_.ok(); });
    if (answered_ >= sequence) return absl::OkStatus();
    if (!status_.ok()) return status_;
    return absl::DeadlineExceededError(
        absl::StrCat("command ", sequence, " was not answered in ", timeout.count(), " ms"));
  }

  std::uint64_t last_sequence() const {
    const std::lock_guard lock(mutex_);
    return sequence_;
  }

  v1::CommandResponse last_response() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

  Latency latency() const {
    const std::lock_guard lock(mutex_);
    Latency latency;
    latency.answers = answers_;
    latency.to_step = to_step_;
    const auto count = std::min<std::size_t>(answers_, kMaxSamples);
    if (count == 0) return latency;
    std::vector<double> sorted(samples_.begin(), samples_.begin() + static_cast<long>(count));
    std::ranges::sort(sorted);
    latency.median = sorted[count / 2];
    latency.p99 = sorted[std::min(count - 1, count * 99 / 100)];
    latency.max = sorted.back();
    return latency;
  }

  const Lease& lease() const { return *lease_; }

  absl::Status Close() {
    End(absl::CancelledError("the stream of commands was closed"));
    return lease_->Release();
  }

 private:
  // Keeps the first reason.
  void End(const absl::Status& reason) {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    status_ = reason;
    context_->TryCancel();
    changed_.notify_all();
  }

  void Read() {
    grpc::ByteBuffer buffer;
    std::string bytes;
    v1::CommandResponse response;
    while (stream_->Read(&buffer)) {
      CopyBytes(buffer, &bytes);
      if (!response.ParseFromString(bytes)) break;
      Note(response);
      if (!Give(response)) return;
      // a command that was refused may be the first sign that the lease is gone
      if (!response.refused().empty()) lease_->Check();
    }
    const absl::Status end = connection_->Translate(stream_->Finish());
    const absl::Status reason = absl::UnavailableError(
        absl::StrCat("the stream of commands to \"", lease_->target(),
                     "\" was broken; nothing is sent again. Acquire a new lease to go on. (",
                     end.ok() ? "the server ended it" : std::string(end.message()), ")"));
    // the server ends the lease with its stream, but Close releases it itself
    if (status().ok()) lease_->Lose(reason);
    End(reason);
  }

  // Calls the callback. False if it threw, which ends the stream.
  bool Give(const v1::CommandResponse& response) {
    if (!on_feedback_) return true;
    std::string what = "an exception that is not a std::exception";
    try {
      on_feedback_(response);
      return true;
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {
    }
    const absl::Status reason =
        absl::InternalError(absl::StrCat("the callback of the stream of commands threw ", what));
    lease_->Release().IgnoreError();
    End(reason);
    stream_->Finish();
    return false;
  }

  void Note(const v1::CommandResponse& response) {
    const double now = Now();
    const std::lock_guard lock(mutex_);
    last_ = response;
    if (response.applied_step() > 0) to_step_ = response.latency();
    // the first response to a command is its answer
    if (response.sequence() > answered_) {
      samples_[answers_++ % kMaxSamples] = now - response.client_time();
    }
    answered_ = std::max<std::uint64_t>(answered_, response.sequence());
    changed_.notify_all();
  }

  std::unique_ptr<Lease> lease_;
  const std::shared_ptr<Connection> connection_;
  const Feedback on_feedback_;
  v1::CommandRequest template_;
  Connection::Context context_;
  const std::unique_ptr<Connection::ByteStream> stream_;

  std::mutex write_mutex_;  // taken before mutex_
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status status_;
  std::uint64_t sequence_ = 0, answered_ = 0;
  v1::CommandResponse last_;
  std::array<double, kMaxSamples> samples_{};
  std::int64_t answers_ = 0;
  double to_step_ = 0;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<CommandStream>> CommandStream::Open(std::unique_ptr<Lease> lease,
                                                                   Feedback on_feedback) {
  absl::Status status = lease->status();
  if (!status.ok()) return status;
  return std::unique_ptr<CommandStream>(
      new CommandStream(std::make_unique<Worker>(std::move(lease), std::move(on_feedback))));
}

CommandStream::CommandStream(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
CommandStream::~CommandStream() = default;

absl::Status CommandStream::Send(v1::CommandRequest command) {
  return worker_->Send(std::move(command));
}

absl::Status CommandStream::SendJointTargets(const std::vector<std::string>& joints,
                                             const std::vector<double>& values) {
  v1::CommandRequest command;
  command.mutable_joint_targets()->mutable_joints()->Add(joints.begin(), joints.end());
  command.mutable_joint_targets()->mutable_values()->Add(values.begin(), values.end());
  return Send(std::move(command));
}

absl::Status CommandStream::SendGamepad(const v1::Gamepad& gamepad) {
  v1::CommandRequest command;
  *command.mutable_gamepad() = gamepad;
  return Send(std::move(command));
}

absl::Status CommandStream::status() const {
  return worker_->status();
}

absl::Status CommandStream::WaitForAnswer(std::uint64_t sequence,
                                          std::chrono::milliseconds timeout) {
  return worker_->WaitForAnswer(sequence, timeout);
}

std::uint64_t CommandStream::last_sequence() const {
  return worker_->last_sequence();
}

v1::CommandResponse CommandStream::last_response() const {
  return worker_->last_response();
}

Latency CommandStream::latency() const {
  return worker_->latency();
}

const Lease& CommandStream::lease() const {
  return worker_->lease();
}

absl::Status CommandStream::Close() {
  return worker_->Close();
}

}  // namespace pliant
