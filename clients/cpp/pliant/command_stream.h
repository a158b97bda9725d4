#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/lease.h"
#include "pliant/v1/control.pb.h"

namespace pliant {

// Measured over the last 1024 answers [s].
struct Latency {
  std::int64_t answers = 0;  // in all
  double median = 0;
  double p99 = 0;
  double max = 0;
  double to_step =
      0;  // of the last feedback: from receipt by the server to the step that applied it
};

// Sends commands to the target of one lease, and receives the answers.
//
// A heartbeat renews the lease between commands, so a target that holds its position keeps it;
// motion (twists, rates, forces) ends 100 ms after the last command, whatever the heartbeat does.
// The stream ends when the lease is lost or the connection breaks, with the reason; then no command
// is sent again, and the target ramps to rest. To continue, acquire a new lease.
//
// Thread-safe; sequence numbers follow the order of the calls of Send.
class CommandStream {
 public:
  // Called with each answer and each feedback, on a thread of this stream. It may block: the server
  // conflates feedback.
  using Feedback = std::function<void(const v1::CommandResponse&)>;

  // Takes the lease and releases it at the end.
  static absl::StatusOr<std::unique_ptr<CommandStream>> Open(std::unique_ptr<Lease> lease,
                                                             Feedback on_feedback = nullptr);
  ~CommandStream();  // ends the stream and releases the lease
  CommandStream(const CommandStream&) = delete;

  // Sends a command: world, lease, sequence and time are filled in. `epoch` and `frame_seen` are
  // the caller's, see CommandRequest. INVALID_ARGUMENT, naming the index, for a number that is not
  // finite; the reason when the stream has ended.
  absl::Status Send(v1::CommandRequest command);
  // The most common commands.
  absl::Status SendJointTargets(const std::vector<std::string>& joints,
                                const std::vector<double>& values);
  absl::Status SendGamepad(const v1::Gamepad& gamepad);

  // OK while the stream is open, then the reason why it ended.
  absl::Status status() const;
  // Waits until a command with this sequence number or a later one is answered; DEADLINE_EXCEEDED
  // on time-out.
  absl::Status WaitForAnswer(std::uint64_t sequence, std::chrono::milliseconds timeout);
  std::uint64_t last_sequence() const;
  // The last answer or feedback.
  v1::CommandResponse last_response() const;
  Latency latency() const;
  const Lease& lease() const;

  // Ends the stream and releases the lease. The target ramps to rest.
  absl::Status Close();

 private:
  class Worker;
  explicit CommandStream(std::unique_ptr<Worker> worker);
  const std::unique_ptr<Worker> worker_;
};

}  // namespace pliant
