#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "server/host/clock.h"
#include "server/host/published.h"
#include "server/host/step_controller.h"

namespace pliant::server {

// Deadline and cancellation of a long request.
struct CallLimits {
  SteadyTime deadline = SteadyTime::max();
  std::shared_ptr<const std::atomic<bool>> cancelled;  // may be null
};

struct SavedState {
  std::string bytes;
  std::string hash;
};

struct HostCounters {
  std::uint64_t steps = 0;
  std::uint64_t faults = 0;
  std::uint64_t not_converged = 0;  // steps, stalled ones included
  double step_seconds = 0;          // summed
  physics::StepTotals totals;
};

// One world with the thread that steps it.
//
// Other threads access it in two ways only: through the bounded mailbox of requests, and through
// the pointer to the last published state. Requests are executed in order, between steps, on the
// stepping thread; `done` is called there too, exactly once, and must not block. A step that fails,
// does not converge or is not finite pauses this world with a fault and leaves it at a valid state;
// the next request that makes time pass clears the fault.
class WorldHost {
 public:
  using Done = std::function<void(absl::StatusOr<std::shared_ptr<const Published>>)>;
  static constexpr std::size_t kMailboxCapacity = 64;
  static constexpr std::int64_t kMaxSteps = 10'000'000;  // in one request

  // `on_publish` is called on the stepping thread after every publication, and must be quick.
  WorldHost(std::string id, physics::World world, std::unique_ptr<StepController> controller,
            std::function<void()> on_publish, const ClockMode& clock = {});
  ~WorldHost();
  WorldHost(const WorldHost&) = delete;

  const std::string& id() const { return id_; }
  const physics::Model& model() const { return *model_; }
  std::shared_ptr<const physics::Model> shared_model() const { return model_; }
  StepController& controller() { return *controller_; }
  std::shared_ptr<const Published> latest() const;
  HostCounters counters() const;

  // Advances a paused world. Errors: FAILED_PRECONDITION when it runs in time, ABORTED when a step
  // failed, DEADLINE_EXCEEDED and CANCELLED when `limits` ended it between two steps. Completed
  // steps are kept.
  void Step(std::int64_t steps, const CallLimits& limits, Done done);
  void SetClock(const ClockMode& mode, Done done);
  void Reset(Done done);
  void Restore(std::string bytes,
               Done done);  // INVALID_ARGUMENT when the bytes are not of this model
  void Save(std::function<void(absl::StatusOr<SavedState>)> done);

  // Publishes again, because what the controller reports has changed.
  void Touch();

  // Stops after the current step and notifies readers. Waiting requests, and a long one in
  // progress, fail with `reason`. Does not block; Join does. Never call Join from the stepping
  // thread.
  void RequestStop(const absl::Status& reason);
  void Join();
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  const absl::Status& stop_reason() const { return stop_reason_; }  // once stopping()

 private:
  struct Request {
    std::function<void()> run;
    std::function<void(const absl::Status&)> refuse;
  };

  void Post(Request request);
  void PostChange(std::function<absl::Status()> change, Done done);
  void Run();
  SteadyTime CalcWake(SteadyTime now);
  bool StepOnce(SteadyTime now);
  void RaiseFault(physics::WorldFault fault);
  absl::Status DoSteps(std::int64_t steps, const CallLimits& limits);
  void SwitchClock(const ClockMode& mode);
  void BeginEpoch();
  void Publish();

  const std::string id_;
  const std::shared_ptr<const physics::Model> model_;
  const std::unique_ptr<StepController> controller_;
  const std::function<void()> on_publish_;

  // used by the stepping thread only
  physics::World world_;
  ClockMode clock_;
  Pacer pacer_;
  RateMeter meter_;
  std::optional<physics::WorldFault> fault_;
  std::uint64_t version_ = 0;
  std::uint32_t epoch_ = 0;
  std::int64_t steps_not_converged_ = 0;   // of this epoch
  physics::CompromiseCounts compromises_;  // of this epoch
  std::shared_ptr<const physics::Snapshot> snapshot_;

  // the mailbox
  std::mutex mailbox_mutex_;
  std::condition_variable wake_;
  std::deque<Request> mailbox_;
  bool touched_ = false;
  absl::Status stop_reason_;
  std::atomic<bool> stopping_{false};

  // read by other threads
  mutable std::mutex published_mutex_;
  std::shared_ptr<const Published> published_;
  physics::StepTotals totals_;
  std::atomic<std::uint64_t> steps_{0}, faults_{0}, not_converged_{0};
  std::atomic<double> step_seconds_{0};

  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace pliant::server
