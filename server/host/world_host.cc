#include "server/host/world_host.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace pliant::server {
namespace {

using Seconds = std::chrono::duration<double>;

// Interval at which viewers see a state during a long request.
constexpr auto kProgressInterval = std::chrono::milliseconds(10);

// Finds the first block whose positions or velocities are not all finite, or returns −1.
int FindNotFinite(const physics::Model& model, const physics::State& state) {
  const auto is_finite = [](double x) { return std::isfinite(x); };
  for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
    if (!std::ranges::all_of(model.Positions(state, b), is_finite) ||
        !std::ranges::all_of(model.Velocities(state, b), is_finite))
      return b;
  }
  return -1;
}

}  // namespace

WorldHost::WorldHost(std::string id, physics::World world,
                     std::unique_ptr<StepController> controller, std::function<void()> on_publish,
                     const ClockMode& clock)
    : id_(std::move(id)),
      model_(world.shared_model()),
      controller_(std::move(controller)),
      on_publish_(std::move(on_publish)),
      world_(std::move(world)) {
  SwitchClock(clock);
  snapshot_ = world_.TakeSnapshot();
  Publish();
  thread_ = std::thread([this] { Run(); });
}

WorldHost::~WorldHost() {
  RequestStop(absl::CancelledError("the world no longer exists"));
  Join();
}

std::shared_ptr<const Published> WorldHost::latest() const {
  std::lock_guard lock(published_mutex_);
  return published_;
}

HostCounters WorldHost::counters() const {
  std::lock_guard lock(published_mutex_);
  return {steps_.load(), faults_.load(), not_converged_.load(), step_seconds_.load(), totals_};
}

void WorldHost::Step(std::int64_t steps, const CallLimits& limits, Done done) {
  if (steps < 1 || steps > kMaxSteps) {
    return done(absl::InvalidArgumentError(
        absl::StrCat("steps: ", steps, " is not allowed; expected 1 to ", kMaxSteps)));
  }
  PostChange([this, steps, limits] { return DoSteps(steps, limits); }, std::move(done));
}

void WorldHost::SetClock(const ClockMode& mode, Done done) {
  PostChange(
      [this, mode] {
        SwitchClock(mode);
        return absl::OkStatus();
      },
      std::move(done));
}

void WorldHost::Reset(Done done) {
  PostChange(
      [this] {
        world_.Reset();
        BeginEpoch();
        return absl::OkStatus();
      },
      std::move(done));
}

void WorldHost::Restore(std::string bytes, Done done) {
  PostChange(
      [this, bytes = std::move(bytes)] {
        absl::Status status = world_.Restore(bytes);
        if (!status.ok()) return status;
        BeginEpoch();
        return absl::OkStatus();
      },
      std::move(done));
}

void WorldHost::Save(std::function<void(absl::StatusOr<SavedState>)> done) {
  auto shared_done = std::make_shared<decltype(done)>(std::move(done));
  Post({[this, shared_done] {
          (*shared_done)(SavedState{world_.Save(), physics::HashState(world_.state())});
        },
        [shared_done](const absl::Status& status) { (*shared_done)(status); }});
}

void WorldHost::PostChange(std::function<absl::Status()> change, Done done) {
  auto shared_done = std::make_shared<Done>(std::move(done));
  Post({[this, change = std::move(change), shared_done] {
          const absl::Status status = change();
          snapshot_ = world_.TakeSnapshot();
          Publish();
          if (status.ok()) {
            (*shared_done)(latest());
          } else {
            (*shared_done)(status);
          }
        },
        [shared_done](const absl::Status& status) { (*shared_done)(status); }});
}

void WorldHost::Post(Request request) {
  absl::Status refused;
  {
    std::lock_guard lock(mailbox_mutex_);
    if (stopping()) {
      refused = stop_reason_;
    } else if (mailbox_.size() >= kMailboxCapacity) {
      refused = absl::ResourceExhaustedError(
          absl::StrCat("worlds/", id_, " has ", kMailboxCapacity,
                       " pending requests; wait for replies before sending more"));
    } else {
      mailbox_.push_back(std::move(request));
    }
  }
  if (!refused.ok()) return request.refuse(refused);
  wake_.notify_one();
}

void WorldHost::Touch() {
  {
    std::lock_guard lock(mailbox_mutex_);
    touched_ = true;
  }
  wake_.notify_one();
}

void WorldHost::RequestStop(const absl::Status& reason) {
  std::deque<Request> abandoned;
  {
    std::lock_guard lock(mailbox_mutex_);
    if (stopping()) return;
    stop_reason_ = reason;
    stopping_.store(true, std::memory_order_release);
    abandoned.swap(mailbox_);
  }
  wake_.notify_one();
  for (Request& request : abandoned) request.refuse(reason);
  on_publish_();
}

void WorldHost::Join() {
  std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void WorldHost::Run() {
  while (true) {
    Request request;
    bool touched = false;
    {
      std::unique_lock lock(mailbox_mutex_);
      const SteadyTime wake = CalcWake(std::chrono::steady_clock::now());
      wake_.wait_until(lock, wake, [this] { return stopping() || touched_ || !mailbox_.empty(); });
      if (stopping()) return;
      touched = std::exchange(touched_, false);
      if (!mailbox_.empty()) {
        request = std::move(mailbox_.front());
        mailbox_.pop_front();
      }
    }

    // handle at most one request between two steps, so that neither starves the other
    if (request.run) request.run();

    const SteadyTime now = std::chrono::steady_clock::now();
    if (clock_.kind == ClockMode::Kind::kPaused) {
      const auto change = controller_->CalcNextChange();
      if (touched || (change && *change <= now)) Publish();
      continue;
    }
    if (clock_.kind == ClockMode::Kind::kRealTime) {
      if (now < pacer_.CalcDue(world_.state().time)) {
        if (touched) Publish();
        continue;
      }
      pacer_.Begin(now, world_.state().time);
    }
    StepOnce(now);
    snapshot_ = world_.TakeSnapshot();
    Publish();
  }
}

SteadyTime WorldHost::CalcWake(SteadyTime now) {
  switch (clock_.kind) {
    case ClockMode::Kind::kFreeRun:
      return now;
    case ClockMode::Kind::kRealTime:
      return pacer_.CalcDue(world_.state().time);
    case ClockMode::Kind::kPaused:
      break;
  }
  const auto change = controller_->CalcNextChange();
  return change ? *change : now + std::chrono::hours(1);
}

bool WorldHost::StepOnce(SteadyTime now) {
  const physics::Inputs inputs = controller_->Advance(world_.state(), now);

  // an error in one world, even a failed allocation, must not end the others
  absl::Status status;
  try {
    status = world_.Step(inputs);
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  }
  const SteadyTime end = std::chrono::steady_clock::now();
  steps_.fetch_add(1);
  step_seconds_.store(step_seconds_.load() + Seconds(end - now).count());
  if (!status.ok()) {
    RaiseFault(physics::MakeFault(*model_, world_.state(), status));
    return false;
  }

  const physics::State& state = world_.state();
  if (const int block = FindNotFinite(*model_, state); block >= 0) {
    // go back to the last finite state, for checkpoints and viewers
    const physics::State& last = snapshot_->state;
    const absl::Status error =
        absl::InternalError("the step led to non-finite positions or velocities");
    RaiseFault(physics::MakeFault(*model_, last, physics::FailAtBlock(*model_, block, error)));
    const absl::Status restored = world_.Restore(physics::SerializeState(last, model_->hash));
    if (!restored.ok())
      spdlog::error("event=restore_failed world={} reason=\"{}\"", id_, restored.ToString());
    return false;
  }
  const physics::StepReport& report = world_.report();
  compromises_.Add(report.compromises);
  {
    std::lock_guard lock(published_mutex_);
    totals_.Add(report);
  }
  if (!report.converged) {
    not_converged_.fetch_add(1);
    ++steps_not_converged_;
  }
  if (!report.converged && !report.stalled) {
    const std::string reason(solvers::NameOf(report.reason));
    const std::string text =
        absl::StrCat("the step did not converge (", reason, "): relative residual ",
                     report.residual, " after ", report.iterations, " iterations");
    RaiseFault({state.step, state.time, text, "", {}});
    return false;
  }
  meter_.Add(end, state.time);
  return true;
}

void WorldHost::RaiseFault(physics::WorldFault fault) {
  spdlog::warn("event=world_fault world={} step={} time={:.6f} reason=\"{}\"", id_, fault.step,
               fault.time, fault.reason);
  faults_.fetch_add(1);
  SwitchClock({});
  fault_ = std::move(fault);
}

absl::Status WorldHost::DoSteps(std::int64_t steps, const CallLimits& limits) {
  if (clock_.kind != ClockMode::Kind::kPaused) {
    return absl::FailedPreconditionError(
        absl::StrCat("worlds/", id_, " is running; pause it before stepping it"));
  }
  fault_.reset();
  SteadyTime shown = std::chrono::steady_clock::now();
  for (std::int64_t done = 0; done < steps; ++done) {
    const SteadyTime now = std::chrono::steady_clock::now();
    const auto so_far = [&] { return absl::StrCat(" after ", done, " of ", steps, " steps"); };
    if (stopping())
      return absl::Status(stop_reason_.code(), absl::StrCat(stop_reason_.message(), so_far()));
    if (limits.cancelled && limits.cancelled->load())
      return absl::CancelledError("cancelled" + so_far());
    if (now > limits.deadline) return absl::DeadlineExceededError("deadline passed" + so_far());
    if (!StepOnce(now)) {
      return absl::AbortedError(
          absl::StrCat("worlds/", id_, " paused at step ", fault_->step, ": ", fault_->reason));
    }
    if (done + 1 == steps) break;

    // a step that is not finite falls back to the snapshot, so take one after every step
    snapshot_ = world_.TakeSnapshot();
    if (now - shown >= kProgressInterval) {
      Publish();
      shown = now;
    }
  }
  return absl::OkStatus();
}

void WorldHost::SwitchClock(const ClockMode& mode) {
  // motion commanded before a pause does not continue after it
  if (mode.kind == ClockMode::Kind::kPaused && clock_.kind != ClockMode::Kind::kPaused)
    controller_->Drop();
  if (mode.kind != ClockMode::Kind::kPaused) fault_.reset();
  clock_ = mode;
  const SteadyTime now = std::chrono::steady_clock::now();
  pacer_.Restart(now, world_.state().time, mode.factor);
  meter_.Restart(now, world_.state().time);
}

// Drops all commands, counts and faults, after the world was set to another state.
void WorldHost::BeginEpoch() {
  controller_->Drop();
  ++epoch_;
  steps_not_converged_ = 0;
  compromises_ = {};
  fault_.reset();
  SwitchClock(clock_);
}

void WorldHost::Publish() {
  auto published = std::make_shared<Published>();
  published->snapshot = snapshot_;
  published->version = ++version_;
  published->epoch = epoch_;
  published->steps_not_converged = steps_not_converged_;
  published->compromises = compromises_;
  published->clock = clock_;
  published->fault = fault_;
  published->control = controller_->Describe(std::chrono::steady_clock::now());
  if (clock_.kind != ClockMode::Kind::kPaused) published->rate = meter_.rate();
  if (clock_.kind == ClockMode::Kind::kRealTime) published->lag = pacer_.lag();
  std::shared_ptr<const Published> latest = std::move(published);
  {
    std::lock_guard lock(published_mutex_);
    published_.swap(latest);
  }
  on_publish_();
}

}  // namespace pliant::server
