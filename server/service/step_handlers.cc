#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "server/host/text.h"
#include "server/service/errors.h"
#include "server/service/handlers.h"
#include "server/stream/messages.h"

namespace pliant::server {
namespace {

constexpr int kMaxWorldsAtOnce = 256;
constexpr int kMaxDefinitions = 256;  // of probes

// Probes of the scene by their names; all if there are none.
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
  (*host)->Step(
      steps, call.limits, done, *std::move(inputs),
      {call.caller->name, [ahead](int count) { ahead->store(count); }, call.lends_thread});
}

void Handlers::StepWorlds(const Call& call, const v1::StepWorldsRequest& request,
                          Reply<v1::StepWorldsResponse> reply) {
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
