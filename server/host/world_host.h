#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "server/host/clock.h"
#include "server/host/histogram.h"
#include "server/host/journal.h"
#include "server/host/published.h"
#include "server/host/quotas.h"
#include "server/host/step_controller.h"
#include "server/host/timeline.h"
#include "server/host/world_settings.h"

namespace pliant::server {

// Deadline and cancellation of a long request.
struct CallLimits {
  SteadyTime deadline = kNever;
  std::shared_ptr<const std::atomic<bool>> cancelled;  // may be null
};

// The steps that a world may make on the calling thread instead of its own. A thread that also
// serves other clients makes only steps that are sure to be quick. One that only steps worlds makes
// those that are short.
enum class Lent { kNothing, kQuickSteps, kShortSteps };

// The sender of a request for steps. `on_wait` is called on the stepping thread with the number of
// requests ahead of it, if there are any.
struct StepCaller {
  std::string name;
  std::function<void(int ahead)> on_wait;
  // Which steps the calling thread may make, instead of waking the world's own.
  Lent lent = Lent::kNothing;
};

// Notified of every publication of a world, and when the world stops.
class PublicationListener {
 public:
  virtual ~PublicationListener() = default;
  virtual void OnPublish() = 0;  // usually on the stepping thread; must be quick
};

struct HostCounters {
  std::uint64_t steps = 0;
  std::uint64_t faults = 0;
  std::uint64_t not_converged = 0;  // steps, stalled ones included
  double step_seconds = 0;          // summed
  physics::StepTotals totals;
  Histogram lateness;  // of step starts in real time
  Histogram step_time;
  std::array<Histogram, physics::kPhaseNames.size()> phase_time;
  std::size_t waiting = 0;  // requests in the mailbox
};

// One world with the worker that steps it.
//
// Other threads access it only through the bounded mailbox of requests and through the pointer to
// the last published state. Requests are executed in order, between steps, on the
// stepping thread; `done` is called there too, exactly once, and must not block. A thread that
// lends itself for a step (StepCaller) is the stepping thread meanwhile. A step that fails, does
// not converge or is not finite pauses this world with a fault and leaves it at a valid state;
// the next request that makes time pass clears the fault.
//
// Stepping on request is a state of the clock, kStepping: other requests are served between any two
// steps. One that changes the clock or the state ends it.
class WorldHost {
 public:
  using Done = std::function<void(absl::StatusOr<std::shared_ptr<const Published>>)>;
  static constexpr std::size_t kMailboxCapacity = 64;
  static constexpr std::size_t kMaxRuns = 64;            // requests to step, waiting for each other
  static constexpr std::int64_t kMaxSteps = 10'000'000;  // in one request

  // `timeline` outlives the host. `journal` keeps the world; null if it is not durable.
  WorldHost(std::string id, physics::World world, std::unique_ptr<StepController> controller,
            Timeline* timeline, const ClockMode& clock = {}, WorldSettings settings = {},
            std::shared_ptr<Journal> journal = nullptr);
  ~WorldHost();
  WorldHost(const WorldHost&) = delete;

  const std::string& id() const { return id_; }
  const physics::Model& model() const { return *model_; }
  std::shared_ptr<const physics::Model> shared_model() const { return model_; }
  StepController& controller() { return *controller_; }
  std::shared_ptr<const WorldSettings> settings() const { return settings_; }
  const Usage& usage() const { return usage_; }

  // Requests and streams use a world; an idle one may be deleted.
  void Use(SteadyTime now) { last_use_.store(now, std::memory_order_relaxed); }
  SteadyTime last_use() const { return last_use_.load(std::memory_order_relaxed); }

  std::shared_ptr<const Published> latest() const;
  // The latest state of a durable world that survives the process; otherwise the same as latest().
  std::shared_ptr<const Published> latest_written() const;
  bool is_durable() const { return journal_ != nullptr; }
  Journal* journal() const { return journal_.get(); }
  HostCounters counters() const;

  // True if the next step is sure to be quick, whatever happens in it.
  bool IsQuick() const;

  // Advances a paused world. Requests to step are served one after the other. Errors:
  // FAILED_PRECONDITION when the world is running, RESOURCE_EXHAUSTED when kMaxRuns are waiting,
  // DEADLINE_EXCEEDED and CANCELLED when `limits` ended it between two steps, ABORTED when a step
  // failed or when another request ended it, saying by whom. Completed steps are kept. `inputs` of
  // its steps are those of the controller if not given.
  void Step(std::int64_t steps, const CallLimits& limits, Done done, StepInputs inputs = nullptr,
            StepCaller caller = {});

  // Each ends requests to step. `who` made the request.
  void SetClock(const ClockMode& mode, const std::string& who, Done done);
  void Reset(const std::string& who, Done done);
  // INVALID_ARGUMENT when the bytes are not of this model; then nothing has changed.
  void Restore(std::string bytes, const std::string& who, Done done);
  // Replies with the state that earlier requests have led to, between two steps.
  void Read(Done done);

  // Calls `observer` for every change of the state from now on, until it is removed.
  void AddObserver(std::shared_ptr<StateObserver> observer, Done done);
  // `observer` is not called any more when `done` is.
  void RemoveObserver(std::shared_ptr<StateObserver> observer, Done done);

  // Notifies `listener` of publications as long as it exists. Adding it again changes nothing.
  void Listen(const std::weak_ptr<PublicationListener>& listener);

  // Publishes again, because what the controller reports has changed.
  void Touch();

  // Stops after the current step and notifies readers. Waiting requests fail with `reason`, and so
  // do requests to step, as ABORTED if the world was deleted. Does not block; Join does. Never call
  // Join from the stepping thread.
  void RequestStop(const absl::Status& reason);
  void Join();
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  const absl::Status& stop_reason() const { return stop_reason_; }  // once stopping()

 private:
  // A request to step.
  struct Run {
    std::int64_t steps = 0;
    std::int64_t made = 0;
    CallLimits limits;
    Done done;
    StepInputs inputs;
    StepCaller caller;
  };

  // Any request. `serve` takes `run.done`; without it, the request is to step.
  struct Request {
    Run run;
    std::function<void(Done)> serve;
  };

  void Post(std::function<void(Done)> serve, Done done);
  void Post(Request request, int turns_here);
  int CountStepsHere(std::int64_t steps, Lent lent) const;
  void PostChange(std::function<absl::Status()> change, Done done);
  void ReplyWhenWritten(Done done);
  void Observe(void (StateObserver::*change)(const std::shared_ptr<const physics::Snapshot>&));
  SteadyTime Continue();
  SteadyTime StepOnRequest(SteadyTime now);
  void StartRun(Run run);
  void EndRuns(absl::StatusCode code, const std::string& why);
  void EndRunsOfStopped();
  bool StepOnce(SteadyTime now, const StepInputs& inputs = nullptr);
  void RaiseFault(physics::WorldFault fault);
  void SwitchClock(const ClockMode& mode);
  void BeginEpoch();
  void Publish();
  void NotifyListeners();

  const std::string id_;
  const std::shared_ptr<const physics::Model> model_;
  const std::unique_ptr<StepController> controller_;
  const std::shared_ptr<const WorldSettings> settings_;
  const Usage usage_;
  const bool is_small_;  // all its steps are quick
  Timeline* const timeline_;
  const std::shared_ptr<Journal> journal_;  // null: not durable

  // used by the stepping thread only
  physics::World world_;
  ClockMode clock_;
  std::vector<Run> runs_;  // the first one steps; none unless clock_ is kStepping
  SteadyTime shown_;       // last publication during a run
  Pacer pacer_;
  RateMeter meter_;
  std::optional<physics::WorldFault> fault_;
  std::uint64_t version_ = 0;
  std::uint32_t epoch_ = 0;
  std::int64_t steps_not_converged_ = 0;   // of this epoch
  physics::CompromiseCounts compromises_;  // of this epoch
  std::shared_ptr<const physics::Snapshot> snapshot_;
  std::vector<std::shared_ptr<StateObserver>> observers_;

  // the mailbox
  mutable std::mutex mailbox_mutex_;
  std::vector<Request> mailbox_;
  bool touched_ = false;
  absl::Status stop_reason_;
  std::atomic<bool> stopping_{false};

  // read by other threads
  mutable std::mutex published_mutex_;
  std::shared_ptr<const Published> published_;
  std::shared_ptr<const Published> written_;  // durable worlds only
  physics::StepTotals totals_;
  Histogram lateness_;
  Histogram step_time_;
  std::array<Histogram, physics::kPhaseNames.size()> phase_time_;
  std::atomic<SteadyTime> last_use_;
  std::atomic<std::uint64_t> steps_{0}, faults_{0}, not_converged_{0};
  std::atomic<double> step_seconds_{0}, last_step_{0};  // [s]

  std::mutex listeners_mutex_;
  std::vector<std::weak_ptr<PublicationListener>> listeners_;

  std::unique_ptr<Timeline::Worker> worker_;
};

}  // namespace pliant::server
