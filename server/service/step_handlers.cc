#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <tbb/task_arena.h>

#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "server/host/text.h"
#include "server/service/errors.h"
#include "server/service/handlers.h"
#include "server/stream/messages.h"
#include "server/stream/robot_messages.h"

namespace pliant::server {
namespace {

constexpr int kMaxWorldsAtOnce = 256;
constexpr int kMaxWorldsOfBatch = 1024;
constexpr int kMaxWorldsOnLentThread = 64;
constexpr std::size_t kMaxNumbersOfBatch = 400'000;
constexpr int kMaxDefinitions = 256;  // of probes
// Time after which a thread that steps a batch goes on with the next one.
constexpr auto kTurn = std::chrono::milliseconds(2);

// Finds probes of the scene by their names, or all of them if `all` is set.
template <typename Names>
absl::StatusOr<std::vector<const physics::Probe*>> FindProbes(const physics::Model& model,
                                                              const Names& names, bool all) {
  std::vector<const physics::Probe*> probes;
  if (all) {
    for (const physics::Probe& probe : model.probes) probes.push_back(&probe);
    return probes;
  }
  if (names.size() > static_cast<int>(model.probes.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "probes: ", names.size(), " names; the scene has ", model.probes.size(), " probes"));
  }
  for (const std::string& name : names) {
    const auto found = std::find_if(model.probes.begin(), model.probes.end(),
                                    [&](const auto& probe) { return probe.name == name; });
    if (found == model.probes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("probes: the scene has no probe \"", Shorten(name, 80), "\""));
    }
    probes.push_back(&*found);
  }
  return probes;
}

// Numbers that several threads change are this far apart, so that each has its own line in their
// caches [bytes].
constexpr std::size_t kCacheLine = 64;

// A batch whose worlds are being stepped. Each world writes its own rows, on any thread.
struct Batch {
  // Consecutive worlds for one thread, which helps with the others' when it is done with them. It
  // mostly stepped them the last time, too, so they are in its processor's caches.
  struct alignas(kCacheLine) Share {
    std::atomic<int> next{0};  // the first world that no thread has taken
    int end = 0;
  };

  std::shared_ptr<Batch> self;  // until it has answered
  int count = 0;                // of worlds
  int steps_of_each = 1;
  std::shared_ptr<const std::atomic<bool>> cancelled;
  CallLimits limits;  // its flag belongs to `cancelled`, so that worlds need not count references
  std::string caller;
  SteadyTime now;
  std::vector<std::shared_ptr<WorldHost>> hosts;
  std::vector<ActuatorList> lists;
  std::vector<const physics::Probe*> probes;
  std::vector<JointPlace> joints;
  std::vector<double> actions;
  // (worlds, numbers)
  std::vector<double> probed, positions, velocities;
  std::vector<std::int64_t> steps;
  std::vector<double> times;
  std::vector<std::string> hashes;
  std::vector<absl::Status> failures;
  std::vector<Share> shares;
  std::function<void(absl::StatusOr<v1::StepWorldsResponse>)> reply;
  alignas(kCacheLine) std::atomic<int> missing;  // number of worlds without a result
};

std::string Bytes(const std::vector<double>& numbers) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

void Answer(const Batch& batch) {
  v1::StepWorldsResponse response;
  v1::StepBatchResult& result = *response.mutable_batch();
  result.mutable_steps()->Add(batch.steps.begin(), batch.steps.end());
  result.mutable_times()->Add(batch.times.begin(), batch.times.end());
  result.mutable_state_hashes()->Add(batch.hashes.begin(), batch.hashes.end());
  result.set_probes(Bytes(batch.probed));
  result.set_joint_positions(Bytes(batch.positions));
  result.set_joint_velocities(Bytes(batch.velocities));
  for (int i = 0; i < batch.count; ++i) {
    if (batch.failures[i].ok()) continue;
    v1::BatchFailure& failure = *result.add_failures();
    failure.set_index(i);
    *failure.mutable_status() = WriteStatus(batch.failures[i]);
  }
  batch.reply(std::move(response));
}

void WriteRows(const physics::Snapshot& snapshot, int i, Batch* batch) {
  const physics::Model& model = *snapshot.model;
  const physics::State& state = snapshot.state;
  batch->steps[i] = state.step;
  batch->times[i] = state.time;
  batch->hashes[i] = physics::HashState(state);
  double* probed = batch->probed.data() + i * (batch->probed.size() / batch->count);
  if (!batch->probes.empty()) {
    physics::ProbeSampler sampler(model);
    for (const physics::Probe* probe : batch->probes) {
      const physics::ProbeValue value =
          sampler.Sample(*probe, state, snapshot.report, model.time_step);
      probed = std::ranges::copy(value.numbers, probed).out;
    }
  }
  const std::size_t joints = batch->joints.size();
  for (std::size_t j = 0; j < joints; ++j) {
    const JointPlace& place = batch->joints[j];
    const bool moves = place.block >= 0;
    batch->positions[i * joints + j] =
        moves ? model.Positions(state, place.block)[place.position] : 0;
    batch->velocities[i * joints + j] =
        moves ? model.Velocities(state, place.block)[place.velocity] : 0;
  }
}

// Takes the result of a world. The last one answers, and ends the batch.
void Finish(const absl::Status& status, int i, Batch* batch) {
  batch->failures[i] = status;
  if (batch->missing.fetch_sub(1) != 1) return;
  const std::shared_ptr<Batch> self = std::move(batch->self);
  Answer(*self);
}

void StepWorldOf(Batch* batch, int i, Lent lent) {
  WorldHost* host = batch->hosts[i].get();
  if (host == nullptr) return Finish(batch->failures[i], i, batch);
  const std::size_t width = batch->actions.size() / batch->count;
  const std::span<const double> actions(batch->actions.data() + i * width, width);
  for (std::size_t j = 0; j < width; ++j) {
    if (std::isfinite(actions[j])) continue;
    const absl::Status status = absl::InvalidArgumentError(
        absl::StrCat("actions[", i, "][", j, "]: ", actions[j], " is not a finite number"));
    return Finish(status, i, batch);
  }
  const absl::Status allowed = host->controller().CheckTargets(batch->lists, batch->now);
  if (!allowed.ok()) return Finish(allowed, i, batch);
  // The batch lives until its last world is done. Functions that hold no more than a pointer and a
  // number take no memory of their own.
  const auto done = [batch, i](const absl::StatusOr<std::shared_ptr<const Published>>& published) {
    if (published.ok()) WriteRows(*(*published)->snapshot, i, batch);
    Finish(published.status(), i, batch);
  };
  const auto inputs = [batch, i](const physics::State& state, SteadyTime now) {
    const std::size_t width = batch->actions.size() / batch->count;
    return batch->hosts[i]->controller().AdvanceTargets(
        batch->lists, {batch->actions.data() + i * width, width}, state, now);
  };
  host->Step(batch->steps_of_each, batch->limits, done, inputs, {batch->caller, nullptr, lent});
}

// Divides the worlds of a batch among threads.
void Divide(int threads, Batch* batch) {
  batch->shares = std::vector<Batch::Share>(threads);
  for (int k = 0; k < threads; ++k) {
    batch->shares[k].next = k * batch->count / threads;
    batch->shares[k].end = (k + 1) * batch->count / threads;
  }
}

// Takes a world that no thread has taken, of this share if it has any. Returns −1 if none are left.
int TakeWorld(int share, Batch* batch) {
  const int count = static_cast<int>(batch->shares.size());
  for (int k = 0; k < count; ++k) {
    Batch::Share& of = batch->shares[(share + k) % count];
    // never counts far beyond the end
    if (of.next.load() >= of.end) continue;
    if (const int world = of.next.fetch_add(1); world < of.end) return world;
  }
  return -1;
}

// Steps worlds of a batch that no other thread has taken, first those of `share`, until none are
// left or it is `until`. Returns whether none are left.
bool StepShare(const std::shared_ptr<Batch>& batch, int share, Lent lent, const Timeline& timeline,
               SteadyTime until = kNever) {
  for (int i = TakeWorld(share, batch.get()); i >= 0; i = TakeWorld(share, batch.get())) {
    StepWorldOf(batch.get(), i, lent);
    if (timeline.Now() >= until) return false;
  }
  return true;
}

// Steps worlds of a batch on a thread of `queue`, by turns with other batches.
void StepInTurns(const std::shared_ptr<Batch>& batch, int share, Timeline* timeline,
                 WorkQueue* queue) {
  queue->Post(
      [batch, share, timeline, queue] {
        bool done = false;
        const auto step = [&] {
          done = StepShare(batch, share, Lent::kShortSteps, *timeline, timeline->Now() + kTurn);
        };
        if (batch->count < queue->size()) {
          step();
        } else {
          // other worlds keep the other processors busy
          tbb::task_arena(1).execute(step);
        }
        if (!done) StepInTurns(batch, share, timeline, queue);
      },
      // the worlds' own threads do the rest
      [batch, share, timeline](const absl::Status&) {
        StepShare(batch, share, Lent::kNothing, *timeline);
      });
}

// Reads the request of a batch, whose worlds all have the model of `host`, and allocates their
// rows.
absl::Status PrepareBatch(WorldHost* host, const v1::StepBatch& request, Batch* batch) {
  const physics::Model& model = host->model();
  std::size_t width = 0;
  for (const v1::BatchTarget& target : request.targets()) {
    absl::StatusOr<ActuatorList> list = host->controller().FindActuators(target);
    if (!list.ok()) return list.status();
    width += list->actuators.size();
    for (const ActuatorList& other : batch->lists) {
      if (other.target == list->target) {
        return absl::InvalidArgumentError(
            absl::StrCat("batch.targets: \"", Shorten(target.target(), 80), "\" is given twice"));
      }
    }
    batch->lists.push_back(*std::move(list));
  }
  const std::size_t count = batch->count;
  const std::string& actions = request.actions();
  if (actions.size() != count * width * sizeof(double)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch.actions: ", actions.size(), " bytes; expected ", count * width * sizeof(double),
        ", float64 for ", count, " worlds and ", width, " joints"));
  }
  batch->actions.resize(count * width);
  std::memcpy(batch->actions.data(), actions.data(), actions.size());

  absl::StatusOr<std::vector<const physics::Probe*>> probes =
      FindProbes(model, request.probes(), false);
  if (!probes.ok()) return probes.status();
  std::size_t numbers = 0;
  for (const physics::Probe* probe : *probes) {
    const int own = physics::CountProbeNumbers(*probe);
    if (own == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "batch.probes: \"", probe->name,
          "\" has rows, whose number changes; ask for it by `requests` or ProbeWorld"));
    }
    numbers += own;
  }
  batch->probes = *std::move(probes);
  if (request.joints()) batch->joints = FindJoints(model);
  const std::size_t largest = kMaxNumbersOfBatch / count;
  if (numbers + 2 * batch->joints.size() > largest) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch: ", numbers + 2 * batch->joints.size(), " numbers of each of ", count,
                     " worlds are too many for one reply; expected at most ", largest));
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  batch->probed.assign(count * numbers, kNone);
  batch->positions.assign(count * batch->joints.size(), kNone);
  batch->velocities = batch->positions;
  return absl::OkStatus();
}

template <typename Response>
void WriteProbes(const physics::Snapshot& snapshot,
                 const std::vector<const physics::Probe*>& probes, Response* response) {
  physics::ProbeSampler sampler(*snapshot.model);
  for (const physics::Probe* probe : probes) {
    const physics::ProbeValue value =
        sampler.Sample(*probe, snapshot.state, snapshot.report, snapshot.model->time_step);
    v1::ProbeValue* message = response->add_probes();
    message->set_name(probe->name);
    message->mutable_values()->Add(value.numbers.begin(), value.numbers.end());
    for (const std::vector<double>& row : value.rows)
      message->add_rows()->mutable_value()->Add(row.begin(), row.end());
  }
}

}  // namespace

void Handlers::StepWorld(const Call& call, const v1::StepWorldRequest& request,
                         Reply<v1::StepWorldResponse> reply) {
  if (options_.awake != nullptr) {
    options_.awake->OnRequest();
    reply = [awake = options_.awake,
             reply = std::move(reply)](absl::StatusOr<v1::StepWorldResponse> response) {
      awake->OnReply();
      reply(std::move(response));
    };
  }
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  const auto probes = FindProbes((*host)->model(), request.probes(), false);
  if (!probes.ok()) return reply(probes.status());
  std::optional<FrameChoice> choice;
  std::shared_ptr<const FrameLayout> layout;
  if (request.has_frame()) {
    absl::StatusOr<Subscription> frame = streams_.Read(request.frame(), *host);
    if (!frame.ok()) return reply(frame.status());
    choice = std::move(frame->choice);
    layout = frame->world->layout();
  }
  absl::StatusOr<StepInputs> inputs = (*host)->controller().Hold(
      {request.commands().begin(), request.commands().end()}, timeline().Now());
  if (!inputs.ok()) return reply(inputs.status());

  const auto ahead = std::make_shared<std::atomic<int>>(0);
  const auto done = [reply = std::move(reply), probes = *probes, choice = std::move(choice), layout,
                     ahead](absl::StatusOr<std::shared_ptr<const Published>> published) {
    if (!published.ok()) return reply(published.status());
    const physics::Snapshot& snapshot = *(*published)->snapshot;
    v1::StepWorldResponse response;
    response.set_waited_for(ahead->load());
    response.set_step(snapshot.state.step);
    response.set_time(snapshot.state.time);
    response.set_state_hash(physics::HashState(snapshot.state));
    *response.mutable_report() = DescribeReport(**published, true);
    WriteProbes(snapshot, probes, &response);
    if (choice)
      response.mutable_frame()->ParseFromString(*EncodeFrame(*published, *choice, layout));
    reply(std::move(response));
  };
  const int steps = request.steps() == 0 ? 1 : request.steps();
  (*host)->Step(steps, call.limits, done, *std::move(inputs),
                {call.caller->name, [ahead](int count) { ahead->store(count); },
                 call.lends_thread ? Lent::kQuickSteps : Lent::kNothing});
}

void Handlers::StepWorlds(const Call& call, const v1::StepWorldsRequest& request,
                          Reply<v1::StepWorldsResponse> reply) {
  if (request.has_batch()) {
    if (!request.requests().empty()) {
      return reply(
          absl::InvalidArgumentError("requests: are not allowed beside a batch; send one of both"));
    }
    return StepBatch(call, request.batch(), std::move(reply));
  }
  const int count = request.requests_size();
  if (count == 0 || count > kMaxWorldsAtOnce) {
    return reply(absl::InvalidArgumentError(
        absl::StrCat("requests: ", count, " are not allowed; expected 1 to ", kMaxWorldsAtOnce)));
  }

  // each world answers on its own thread, into a result of its own; the last one replies
  struct Gathered {
    v1::StepWorldsResponse response;
    std::atomic<int> missing;
    Reply<v1::StepWorldsResponse> reply;
  };
  auto gathered = std::make_shared<Gathered>();
  gathered->missing = count;
  gathered->reply = std::move(reply);
  for (int i = 0; i < count; ++i) gathered->response.add_results();
  Call each = call;
  each.lends_thread = call.lends_thread && count == 1;  // several worlds step at the same time
  for (int i = 0; i < count; ++i) {
    StepWorld(each, request.requests(i), [gathered, i](absl::StatusOr<v1::StepWorldResponse> step) {
      v1::StepWorldResult* result = gathered->response.mutable_results(i);
      if (step.ok()) {
        *result->mutable_response() = *std::move(step);
      } else {
        *result->mutable_status() = WriteStatus(step.status());
      }
      if (gathered->missing.fetch_sub(1) == 1) gathered->reply(std::move(gathered->response));
    });
  }
}

void Handlers::StepBatch(const Call& call, const v1::StepBatch& request,
                         Reply<v1::StepWorldsResponse> reply) {
  const int count = request.names_size();
  if (count == 0 || count > kMaxWorldsOfBatch) {
    return reply(absl::InvalidArgumentError(
        absl::StrCat("batch.names: ", count, " worlds; expected 1 to ", kMaxWorldsOfBatch)));
  }
  auto batch = std::make_shared<Batch>();
  batch->count = count;
  batch->steps_of_each = request.steps() == 0 ? 1 : request.steps();
  batch->cancelled = call.limits.cancelled;
  batch->limits.deadline = call.limits.deadline;
  batch->limits.cancelled = {std::shared_ptr<void>(), batch->cancelled.get()};
  batch->caller = call.caller->name;
  batch->now = timeline().Now();
  batch->failures.resize(count);
  batch->hosts.resize(count);
  batch->steps.assign(count, -1);
  batch->times.assign(count, std::numeric_limits<double>::quiet_NaN());
  batch->hashes.resize(count);
  WorldHost* first = nullptr;
  for (int i = 0; i < count; ++i) {
    auto host = FindWorld(call, request.names(i));
    if (!host.ok()) {
      batch->failures[i] = host.status();
      continue;
    }
    if (first == nullptr) first = host->get();
    if ((*host)->model().hash != first->model().hash) {
      return reply(absl::InvalidArgumentError(
          absl::StrCat("batch.names[", i, "]: ", Shorten(request.names(i), 80),
                       " has another model than worlds/", first->id(),
                       "; a batch is for worlds of the same scene, `requests` for any")));
    }
    batch->hosts[i] = *std::move(host);
  }
  if (first != nullptr) {
    const absl::Status status = PrepareBatch(first, request, batch.get());
    if (!status.ok()) return reply(status);
  }

  if (options_.awake != nullptr) options_.awake->OnRequest();
  batch->reply = [awake = options_.awake,
                  reply = std::move(reply)](absl::StatusOr<v1::StepWorldsResponse> response) {
    if (awake != nullptr) awake->OnReply();
    reply(std::move(response));
  };
  batch->missing = count;
  batch->self = batch;
  // other calls wait for the thread that received this one
  const bool lent = call.lends_thread && batch->steps_of_each == 1 &&
                    count <= kMaxWorldsOnLentThread && first != nullptr && first->IsQuick();
  const int threads = std::min(stepping_.size(), count);
  Divide(threads, batch.get());
  for (int i = lent ? 1 : 0; i < threads; ++i) StepInTurns(batch, i, options_.timeline, &stepping_);
  if (lent) StepShare(batch, 0, Lent::kQuickSteps, *options_.timeline);
}

void Handlers::ProbeWorld(const Call& call, const v1::ProbeWorldRequest& request,
                          Reply<v1::ProbeWorldResponse> reply) {
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  const int count = request.definitions_size();
  if (count > kMaxDefinitions) {
    return reply(absl::InvalidArgumentError(absl::StrCat(
        "definitions: ", count, " are not allowed; expected at most ", kMaxDefinitions)));
  }
  auto probes =
      FindProbes((*host)->model(), request.probes(), request.probes().empty() && count == 0);
  if (!probes.ok()) return reply(probes.status());
  const auto sample = [host = *host, probes = *std::move(probes), request, reply]() mutable {
    const physics::ProbesResult given =
        physics::CompileProbes(request.definitions(), "request", "definitions", host->model());
    if (!given.ok()) return reply(SceneError(given.messages, "the probes are invalid"));
    for (const physics::Probe& probe : given.probes) probes.push_back(&probe);
    const std::shared_ptr<const Published> published = host->latest();
    v1::ProbeWorldResponse response;
    response.set_step(published->snapshot->state.step);
    response.set_time(published->snapshot->state.time);
    WriteProbes(*published->snapshot, probes, &response);
    reply(std::move(response));
  };
  describing_.Post(sample, reply);
}

}  // namespace pliant::server
