#include "server/host/world_host.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace pliant::server {
namespace {

using Seconds = std::chrono::duration<double>;

// Interval of publications during a long request.
constexpr auto kProgressInterval = std::chrono::milliseconds(10);

// Maximum time of steps made by threads that also serve other clients: about the time to wake
// another thread.
constexpr double kQuickStep = 0.2e-3;  // [s]
// Maximum time of the steps that one caller gets from threads that step worlds for several.
constexpr double kShortRun = 10e-3;  // [s]
constexpr std::size_t kMaxSmallShapes = 16;
constexpr int kMaxSmallDofs = 48;

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

// True if every step is quick, whatever happens in it: a few bodies of simple shapes.
bool IsSmall(const physics::Model& model) {
  const auto is_mesh = [](const physics::Shape& shape) {
    return std::holds_alternative<physics::ConvexMesh>(shape.geometry) ||
           std::holds_alternative<physics::SurfaceMesh>(shape.geometry);
  };
  std::size_t shapes = 0;
  for (const physics::Body& body : model.bodies) {
    if (!body.mesh.vertices.empty() || physics::CountPoints(model, body) > 0 ||
        std::ranges::any_of(body.shapes, is_mesh))
      return false;
    shapes += body.shapes.size();
  }
  return shapes <= kMaxSmallShapes && model.velocity_offsets.back() <= kMaxSmallDofs;
}

}  // namespace

WorldHost::WorldHost(std::string id, physics::World world,
                     std::unique_ptr<StepController> controller, Timeline* timeline,
                     const ClockMode& clock, WorldSettings settings,
                     std::shared_ptr<Journal> journal)
    : id_(std::move(id)),
      model_(world.shared_model()),
      controller_(std::move(controller)),
      settings_(std::make_shared<const WorldSettings>(std::move(settings))),
      usage_(CalcUsage(*model_)),
      is_small_(IsSmall(*model_)),
      timeline_(timeline),
      journal_(std::move(journal)),
      world_(std::move(world)),
      last_use_(timeline->Now()) {
  SwitchClock(clock);
  snapshot_ = world_.TakeSnapshot();
  Publish();
  worker_ = timeline_->Start([this] { return Continue(); }, {"step " + id_});
}

WorldHost::~WorldHost() {
  RequestStop(absl::CancelledError("the world no longer exists"));
  Join();
}

std::shared_ptr<const Published> WorldHost::latest() const {
  std::lock_guard lock(published_mutex_);
  return published_;
}

std::shared_ptr<const Published> WorldHost::latest_written() const {
  std::lock_guard lock(published_mutex_);
  return journal_ == nullptr ? published_ : written_;
}

HostCounters WorldHost::counters() const {
  HostCounters counters;
  counters.steps = steps_.load();
  counters.faults = faults_.load();
  counters.not_converged = not_converged_.load();
  counters.step_seconds = step_seconds_.load();
  {
    std::lock_guard lock(mailbox_mutex_);
    counters.waiting = mailbox_.size();
  }
  std::lock_guard lock(published_mutex_);
  counters.totals = totals_;
  counters.lateness = lateness_;
  counters.step_time = step_time_;
  counters.phase_time = phase_time_;
  return counters;
}

void WorldHost::Step(std::int64_t steps, const CallLimits& limits, Done done, StepInputs inputs,
                     StepCaller caller) {
  if (steps < 1 || steps > kMaxSteps) {
    return done(absl::InvalidArgumentError(
        absl::StrCat("steps: ", steps, " is not allowed; expected 1 to ", kMaxSteps)));
  }
  const int here = CountStepsHere(steps, caller.lent);
  Post({{steps, 0, limits, std::move(done), std::move(inputs), std::move(caller)}, nullptr}, here);
}

void WorldHost::SetClock(const ClockMode& mode, const std::string& who, Done done) {
  PostChange(
      [this, mode, who] {
        const bool paused = mode.kind == ClockMode::Kind::kPaused;
        EndRuns(
            absl::StatusCode::kAborted,
            absl::StrCat("worlds/", id_, paused ? " was paused by " : " was set running by ", who));
        SwitchClock(mode);
        return absl::OkStatus();
      },
      std::move(done));
}

void WorldHost::Reset(const std::string& who, Done done) {
  PostChange(
      [this, who] {
        EndRuns(absl::StatusCode::kAborted, absl::StrCat("worlds/", id_, " was reset by ", who));
        world_.Reset();
        BeginEpoch();
        Observe(&StateObserver::OnReset);
        return absl::OkStatus();
      },
      std::move(done));
}

void WorldHost::Restore(std::string bytes, const std::string& who, Done done) {
  PostChange(
      [this, bytes = std::move(bytes), who] {
        absl::Status status = world_.Restore(bytes);
        if (!status.ok()) return status;
        EndRuns(absl::StatusCode::kAborted, absl::StrCat("worlds/", id_, " was restored by ", who));
        BeginEpoch();
        Observe(&StateObserver::OnRestore);
        return absl::OkStatus();
      },
      std::move(done));
}

void WorldHost::Read(Done done) {
  Post(
      [this](const Done& reply) {
        // steps of a long request are not all published
        if (latest()->snapshot != snapshot_) Publish();
        reply(latest());
      },
      std::move(done));
}

void WorldHost::PostChange(std::function<absl::Status()> change, Done done) {
  Post(
      [this, change = std::move(change)](Done reply) {
        const absl::Status status = change();
        snapshot_ = world_.TakeSnapshot();
        Publish();
        if (status.ok()) {
          ReplyWhenWritten(std::move(reply));
        } else {
          reply(status);
        }
      },
      std::move(done));
}

// Replies with the present state, once it survives the process.
void WorldHost::ReplyWhenWritten(Done done) {
  if (journal_ == nullptr) return done(latest());
  journal_->WhenWritten(
      [done = std::move(done), published = latest()](const absl::Status& written) {
        if (written.ok()) {
          done(published);
        } else {
          done(written);
        }
      });
}

// Takes a snapshot after a change other than a step, and reports it to the observers.
void WorldHost::Observe(
    void (StateObserver::*change)(const std::shared_ptr<const physics::Snapshot>&)) {
  snapshot_ = world_.TakeSnapshot();
  if (journal_ != nullptr) (*journal_.*change)(snapshot_);
  for (const auto& observer : observers_) (*observer.*change)(snapshot_);
}

void WorldHost::AddObserver(std::shared_ptr<StateObserver> observer, Done done) {
  Post(
      [this, observer = std::move(observer)](const Done& reply) {
        observers_.push_back(observer);
        observer->OnStart(snapshot_);
        reply(latest());
      },
      std::move(done));
}

void WorldHost::RemoveObserver(std::shared_ptr<StateObserver> observer, Done done) {
  Post(
      [this, observer = std::move(observer)](const Done& reply) {
        std::erase(observers_, observer);
        reply(latest());
      },
      std::move(done));
}

void WorldHost::Post(std::function<void(Done)> serve, Done done) {
  Request request;
  request.run.done = std::move(done);
  request.serve = std::move(serve);
  Post(std::move(request), 0);
}

void WorldHost::Post(Request request, int turns_here) {
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
  if (!refused.ok()) return request.run.done(refused);
  if (turns_here == 0 || !worker_->TryRun(turns_here)) worker_->Wake();
}

bool WorldHost::IsQuick() const {
  const double last = last_step_.load();
  return is_small_ && journal_ == nullptr && last > 0 && last < kQuickStep;
}

// Number of the steps that a thread lent by a caller may make: all of them or none.
int WorldHost::CountStepsHere(std::int64_t steps, Lent lent) const {
  const double last = last_step_.load();
  const bool is_short = last > 0 && static_cast<double>(steps) * last < kShortRun;
  if (lent == Lent::kShortSteps) return is_short ? static_cast<int>(steps) : 0;
  return lent == Lent::kQuickSteps && steps == 1 && IsQuick() ? 1 : 0;
}

void WorldHost::Touch() {
  {
    std::lock_guard lock(mailbox_mutex_);
    touched_ = true;
  }
  worker_->Wake();
}

void WorldHost::Listen(const std::weak_ptr<PublicationListener>& listener) {
  std::lock_guard lock(listeners_mutex_);
  for (const auto& known : listeners_) {
    if (!known.owner_before(listener) && !listener.owner_before(known)) return;
  }
  listeners_.push_back(listener);
}

void WorldHost::NotifyListeners() {
  std::vector<std::shared_ptr<PublicationListener>> listeners;
  {
    std::lock_guard lock(listeners_mutex_);
    std::erase_if(listeners_, [&](const auto& weak) {
      listeners.push_back(weak.lock());
      return listeners.back() == nullptr;
    });
  }
  for (const auto& listener : listeners) {
    if (listener != nullptr) listener->OnPublish();
  }
}

void WorldHost::RequestStop(const absl::Status& reason) {
  std::vector<Request> abandoned;
  {
    std::lock_guard lock(mailbox_mutex_);
    if (stopping()) return;
    stop_reason_ = reason;
    stopping_.store(true, std::memory_order_release);
    abandoned.swap(mailbox_);
  }
  worker_->Wake();
  for (const Request& request : abandoned) request.run.done(reason);
  NotifyListeners();
}

void WorldHost::Join() {
  worker_->Stop();
  EndRunsOfStopped();  // none if the worker ended them itself
  for (const auto& observer : observers_) observer->OnEnd();
  observers_.clear();
  if (journal_ == nullptr) return;
  if (absl::IsNotFound(stop_reason_)) {
    journal_->Discard();
  } else {
    journal_->Close();
  }
}

// Serves at most one request and makes at most one step, so that neither starves the other. Returns
// the time at which there is more to do.
SteadyTime WorldHost::Continue() {
  Request request;
  bool touched = false;
  bool more = false;
  {
    std::lock_guard lock(mailbox_mutex_);
    touched = std::exchange(touched_, false);
    if (!mailbox_.empty()) {
      request = std::move(mailbox_.front());
      mailbox_.erase(mailbox_.begin());
      more = !mailbox_.empty();
    }
  }
  if (stopping()) {
    if (request.run.done) request.run.done(stop_reason_);
    EndRunsOfStopped();
    return kNever;
  }
  if (request.serve) {
    request.serve(std::move(request.run.done));
  } else if (request.run.done) {
    StartRun(std::move(request.run));
  }

  const SteadyTime now = timeline_->Now();
  switch (clock_.kind) {
    case ClockMode::Kind::kPaused: {
      const auto change = controller_->CalcNextChange();
      if (touched || (change && *change <= now)) Publish();
      return more ? now : controller_->CalcNextChange().value_or(kNever);
    }
    case ClockMode::Kind::kStepping:
      return std::min(StepOnRequest(now), more ? now : kNever);
    case ClockMode::Kind::kRealTime: {
      const SteadyTime due = pacer_.CalcDue(world_.state().time);
      if (now < due) {
        if (touched) Publish();
        return more ? now : due;
      }
      pacer_.Begin(now, world_.state().time);
      std::lock_guard lock(published_mutex_);
      lateness_.Add(Seconds(now - due).count());
      break;
    }
    case ClockMode::Kind::kFreeRun:
      break;
  }
  StepOnce(now);
  Publish();
  if (more || clock_.kind != ClockMode::Kind::kRealTime) return now;
  return pacer_.CalcDue(world_.state().time);
}

void WorldHost::StartRun(Run run) {
  if (clock_.kind != ClockMode::Kind::kPaused && clock_.kind != ClockMode::Kind::kStepping) {
    return run.done(absl::FailedPreconditionError(
        absl::StrCat("worlds/", id_, " is running; pause it before stepping it")));
  }
  if (runs_.size() >= kMaxRuns) {
    return run.done(absl::ResourceExhaustedError(
        absl::StrCat("worlds/", id_, " has ", kMaxRuns,
                     " requests to step; wait for replies before sending more")));
  }
  if (!runs_.empty() && run.caller.on_wait) run.caller.on_wait(static_cast<int>(runs_.size()));
  runs_.push_back(std::move(run));
  if (clock_.kind == ClockMode::Kind::kPaused) {
    clock_.kind = ClockMode::Kind::kStepping;
    fault_.reset();
    shown_ = timeline_->Now();
  }
}

// Makes the next step of the first run, and ends runs that are over.
SteadyTime WorldHost::StepOnRequest(SteadyTime now) {
  const auto so_far = [](const Run& run) {
    return absl::StrCat(" after ", run.made, " of ", run.steps, " steps");
  };
  std::vector<std::pair<Done, absl::Status>> ended;
  std::erase_if(runs_, [&](Run& run) {
    absl::Status status;
    if (run.limits.cancelled && run.limits.cancelled->load()) {
      status = absl::CancelledError("cancelled" + so_far(run));
    } else if (now >= run.limits.deadline) {
      status = absl::DeadlineExceededError("deadline passed" + so_far(run));
    }
    if (!status.ok()) ended.emplace_back(std::move(run.done), status);
    return !status.ok();
  });

  Done completed;
  if (!runs_.empty() && StepOnce(now, runs_.front().inputs)) {
    Run& run = runs_.front();
    if (++run.made == run.steps) {
      completed = std::move(run.done);
      runs_.erase(runs_.begin());
    }
  }
  if (runs_.empty() && clock_.kind == ClockMode::Kind::kStepping)
    clock_.kind = ClockMode::Kind::kPaused;

  const bool over = completed || !ended.empty() || clock_.kind != ClockMode::Kind::kStepping;
  if (over || now - shown_ >= kProgressInterval) {
    Publish();
    shown_ = now;
  }
  if (completed) ReplyWhenWritten(std::move(completed));
  for (const auto& [done, status] : ended) done(status);
  if (fault_) {
    EndRuns(absl::StatusCode::kAborted,
            absl::StrCat("worlds/", id_, " paused at step ", fault_->step, ": ", fault_->reason));
  }
  // when all is done, a thread that lent itself must not wake the world's own
  if (clock_.kind != ClockMode::Kind::kPaused) return now;
  return controller_->CalcNextChange().value_or(kNever);
}

// Ends all requests to step. Leaves the clock paused if there were any.
void WorldHost::EndRuns(absl::StatusCode code, const std::string& why) {
  std::vector<Run> ended;
  ended.swap(runs_);
  if (clock_.kind == ClockMode::Kind::kStepping) clock_.kind = ClockMode::Kind::kPaused;
  for (const Run& run : ended) {
    run.done(
        absl::Status(code, absl::StrCat(why, " after ", run.made, " of ", run.steps, " steps")));
  }
}

void WorldHost::EndRunsOfStopped() {
  const bool deleted = absl::IsNotFound(stop_reason_);
  EndRuns(deleted ? absl::StatusCode::kAborted : stop_reason_.code(),
          std::string(stop_reason_.message()));
}

bool WorldHost::StepOnce(SteadyTime now, const StepInputs& given) {
  const physics::Inputs inputs =
      given ? given(world_.state(), now) : controller_->Advance(world_.state(), now);

  // an error in one world, even a failed allocation, must not end the others
  absl::Status status;
  try {
    status = world_.Step(inputs);
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  }
  const SteadyTime end = timeline_->Now();
  steps_.fetch_add(1);
  last_step_.store(Seconds(end - now).count());
  step_seconds_.store(step_seconds_.load() + last_step_.load());
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
  // a step that is not finite falls back to the snapshot, so take one after every step
  snapshot_ = world_.TakeSnapshot();
  absl::Status kept = journal_ == nullptr ? absl::OkStatus() : journal_->OnStep(inputs, snapshot_);
  for (const auto& observer : observers_) kept.Update(observer->OnStep(inputs, snapshot_));
  const physics::StepReport& report = world_.report();
  compromises_.Add(report.compromises);
  {
    std::lock_guard lock(published_mutex_);
    totals_.Add(report);
    step_time_.Add(Seconds(end - now).count());
    for (std::size_t k = 0; k < phase_time_.size(); ++k)
      phase_time_[k].Add(report.phase_seconds[k]);
  }
  if (!report.converged) {
    not_converged_.fetch_add(1);
    ++steps_not_converged_;
  }
  if (!report.converged && !report.stalled()) {
    const std::string reason(solvers::NameOf(report.reason));
    const std::string text =
        absl::StrCat("the step did not converge (", reason, "): relative residual ",
                     report.residual, " after ", report.iterations, " iterations");
    RaiseFault({state.step, state.time, text, "", {}});
    return false;
  }
  meter_.Add(end, state.time);
  if (!kept.ok()) {
    RaiseFault({state.step, state.time, std::string(kept.message()), "", {}});
    return false;
  }
  return true;
}

void WorldHost::RaiseFault(physics::WorldFault fault) {
  spdlog::warn("event=world_fault world={} step={} time={:.6f} reason=\"{}\"", id_, fault.step,
               fault.time, fault.reason);
  faults_.fetch_add(1);
  SwitchClock({});
  fault_ = std::move(fault);
}

void WorldHost::SwitchClock(const ClockMode& mode) {
  // motion commanded before a pause does not continue after it
  const bool runs =
      clock_.kind == ClockMode::Kind::kRealTime || clock_.kind == ClockMode::Kind::kFreeRun;
  if (mode.kind == ClockMode::Kind::kPaused && runs) controller_->Drop(epoch_);
  if (mode.kind != ClockMode::Kind::kPaused) fault_.reset();
  clock_ = mode;
  const SteadyTime now = timeline_->Now();
  pacer_.Restart(now, world_.state().time, mode.factor);
  meter_.Restart(now, world_.state().time);
}

// Drops all commands, counts and faults, after the world was set to another state.
void WorldHost::BeginEpoch() {
  controller_->Drop(++epoch_);
  steps_not_converged_ = 0;
  compromises_ = {};
  fault_.reset();
  SwitchClock(clock_);
}

void WorldHost::Publish() {
  auto published = std::make_shared<Published>();
  published->snapshot = snapshot_;
  published->at = timeline_->Now();
  published->version = ++version_;
  published->epoch = epoch_;
  published->steps_not_converged = steps_not_converged_;
  published->compromises = compromises_;
  published->clock = clock_;
  if (!runs_.empty()) {
    published->clock.client = runs_.front().caller.name;
    published->clock.waiting = static_cast<int>(runs_.size()) - 1;
  }
  published->fault = fault_;
  published->control = controller_->Describe(published->at);
  if (clock_.kind == ClockMode::Kind::kRealTime || clock_.kind == ClockMode::Kind::kFreeRun)
    published->rate = meter_.rate();
  if (clock_.kind == ClockMode::Kind::kRealTime) published->lag = pacer_.lag();
  std::shared_ptr<const Published> latest = std::move(published);
  {
    std::lock_guard lock(published_mutex_);
    published_ = latest;
  }
  if (journal_ != nullptr) {
    // the journal is closed before this host ends
    journal_->WhenWritten([this, latest](const absl::Status& written) {
      if (!written.ok()) return;
      {
        std::lock_guard lock(published_mutex_);
        written_ = latest;
      }
      NotifyListeners();
    });
  }
  NotifyListeners();
}

}  // namespace pliant::server
