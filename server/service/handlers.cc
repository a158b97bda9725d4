#include "server/service/handlers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/import/import_files.h"
#include "physics/scene/scene.h"
#include "server/control/world_control.h"
#include "server/host/text.h"
#include "server/service/errors.h"
#include "server/service/methods.h"
#include "server/store/checkpoints.h"
#include "server/stream/messages.h"
#include "server/uploads/given_scene.h"

namespace pliant::server {
namespace {

constexpr char kPrefix[] = "worlds/";
constexpr double kMaxFactor = 1000;
constexpr int kMaxOperatorPriority = 50;  // of a lease
constexpr int kSubscriptionCost = 100;
constexpr int kDefaultPage = 50;
constexpr int kMaxPage = 1000;
constexpr std::size_t kMaxLabels = 16;
constexpr std::size_t kMaxLabelLength = 63;
constexpr std::int64_t kMinStateRoom = 16 << 20;
constexpr int kMaxHelpers = 32;
constexpr double kMaxIdleTimeout = 30 * 86400;  // [s]

// Threads that share the steps of a batch.
int CountHelpers() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxHelpers);
}

v1::World DescribeWorldNow(const std::string& id, const WorldSettings& settings,
                           const Published& published) {
  v1::World world = DescribeStatus(id, published);
  world.set_memory(CalcUsage(*published.snapshot->model).memory);
  world.set_state_hash(physics::HashState(published.snapshot->state));
  world.mutable_labels()->insert(settings.labels.begin(), settings.labels.end());
  world.set_owner(settings.owner);
  if (settings.idle_timeout != SteadyTime::duration::max())
    world.set_idle_timeout(std::chrono::duration<double>(settings.idle_timeout).count());
  world.set_durable(settings.durable);
  return world;
}

// Describes the latest written state of a world. A fault is reported at once, even if it keeps the
// state from being written.
v1::World DescribeWorldNow(const WorldHost& host) {
  std::shared_ptr<const Published> published = host.latest();
  if (!published->fault) published = host.latest_written();
  return DescribeWorldNow(host.id(), *host.settings(), *published);
}

// Callback that replies to a change with the world's new status.
WorldHost::Done ReplyWithStatus(const WorldHost& host, Reply<v1::World> reply) {
  return [id = host.id(), settings = host.settings(),
          reply = std::move(reply)](absl::StatusOr<std::shared_ptr<const Published>> published) {
    if (!published.ok()) return reply(published.status());
    reply(DescribeWorldNow(id, *settings, **published));
  };
}

absl::Status CheckLabels(const google::protobuf::Map<std::string, std::string>& labels) {
  if (labels.size() > kMaxLabels) {
    return absl::InvalidArgumentError(
        absl::StrCat("labels: ", labels.size(), " are not allowed; expected at most ", kMaxLabels));
  }
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || std::strchr("._/-", c) != nullptr;
  };
  for (const auto& [key, value] : labels) {
    if (key.empty() || key.size() > kMaxLabelLength || !std::ranges::all_of(key, allowed)) {
      return absl::InvalidArgumentError(
          absl::StrCat("labels: \"", Shorten(key, 80), "\" is not a key; expected 1 to ",
                       kMaxLabelLength, " of the characters a-z, 0-9, '.', '_', '/' and '-'"));
    }
    if (value.size() > kMaxLabelLength) {
      return absl::InvalidArgumentError(absl::StrCat("labels.", key, ": ", value.size(),
                                                     " bytes; expected at most ", kMaxLabelLength));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ClockMode> ReadClock(const v1::SetClockRequest& request) {
  switch (request.mode_case()) {
    case v1::SetClockRequest::kPaused:
      return ClockMode{};
    case v1::SetClockRequest::kFreeRun:
      return ClockMode{ClockMode::Kind::kFreeRun, 1};
    case v1::SetClockRequest::kRealTime:
      break;
    case v1::SetClockRequest::MODE_NOT_SET:
      return absl::InvalidArgumentError("mode: missing; expected paused, real_time or free_run");
  }
  const double factor = request.real_time().factor();
  if (!(factor >= 0 && factor <= kMaxFactor)) {
    return absl::InvalidArgumentError(absl::StrCat("real_time.factor: ", factor,
                                                   " is not allowed; expected a number in (0, ",
                                                   kMaxFactor, "], or 0 for 1"));
  }
  return ClockMode{ClockMode::Kind::kRealTime, factor > 0 ? factor : 1};
}

v1::World DescribeCreation(const std::string& name, const Creation& creation, SteadyTime now) {
  v1::World world;
  world.set_name(name);
  const WorldSettings& settings = creation.settings();
  world.mutable_labels()->insert(settings.labels.begin(), settings.labels.end());
  world.set_owner(settings.owner);
  world.mutable_creation()->set_progress(creation.progress());
  world.mutable_creation()->set_elapsed(
      std::chrono::duration<double>(now - creation.started()).count());
  return world;
}

// Reports the caller's own role on a world that it may see.
void SetCallerRole(const Call& call, const std::map<std::string, std::string>& labels,
                   v1::World* world) {
  const std::optional<Role> role = call.caller->identity.RoleOn(labels);
  if (role) world->set_caller_role(NameOf(*role));
}

// Reports the viewers of a world and its controlling clients.
void SetUsers(const WorldHost& host, StreamHub* streams, v1::World* world) {
  world->set_viewers(streams->CountStreams(host));
  std::set<std::string> controllers;
  const std::shared_ptr<const Published> latest = host.latest();
  for (const CommandEcho& echo : latest->control.commands) controllers.insert(echo.client);
  world->mutable_controllers()->Add(controllers.begin(), controllers.end());
}

absl::Status CheckFiles(const v1::CreateWorldRequest& request, const ObjectStore* objects) {
  if (request.has_imported() && request.files().empty()) {
    return absl::InvalidArgumentError(
        "files: missing; expected the paths of what is imported, see ObjectService");
  }
  if (request.files().empty()) return absl::OkStatus();
  if (request.has_shipped_scene())
    return absl::InvalidArgumentError("files: expected none with a shipped_scene");
  return objects == nullptr ? NoUploads() : absl::OkStatus();
}

}  // namespace

Handlers::Handlers(Options options)
    : options_(std::move(options)),
      shipped_(options_.scenes_folder),
      streams_(options_.timeline),
      feedback_(options_.timeline, 1, {"feedback"}),
      registry_({options_.quotas,
                 [](std::shared_ptr<const physics::Model> model) {
                   return std::make_unique<WorldControl>(std::move(model));
                 },
                 options_.timeline}),
      building_(options_.timeline, 2, 64, {"building"}),
      stepping_(options_.timeline, CountHelpers(), kMaxHelpers * 64, {"stepping"}),
      describing_(options_.timeline, 1, 256, {"describing"}),
      storing_(options_.timeline, 1, 256, {"storing"}),
      downloads_(options_.timeline),
      replaying_(options_.timeline, 1, 16, {"replaying"}),
      recordings_(options_.store == nullptr
                      ? nullptr
                      : std::make_unique<Recordings>(options_.store->folder().recordings(),
                                                     options_.timeline)) {}

Handlers::~Handlers() {
  Drain();
  Stop();
}

void Handlers::SetQuotas(const Quotas& quotas) {
  registry_.SetQuotas(quotas);
  if (options_.objects != nullptr) options_.objects->SetMaxBytes(quotas.uploads);
}

absl::StatusOr<Identity> Handlers::Identify(absl::string_view token) const {
  return options_.authenticator == nullptr ? Anyone() : options_.authenticator->Authenticate(token);
}

absl::Status Handlers::CheckCurrent(const Caller& caller) const {
  if (options_.authenticator == nullptr || options_.authenticator->IsCurrent(caller.identity))
    return absl::OkStatus();
  return absl::UnauthenticatedError(
      absl::StrCat("the token of ", caller.name, " has expired, or was changed or withdrawn"));
}

void Handlers::Audit(const Caller& caller, std::string_view method, const std::string& world,
                     const absl::Status& result) const {
  if (options_.audit == nullptr) return;
  options_.audit->Write(
      {caller.name, caller.connection, std::string(method), Shorten(world, 200), result},
      options_.timeline->Now());
}

absl::Status Handlers::CheckRoleOn(const Call& call,
                                   const std::map<std::string, std::string>& labels,
                                   const std::string& world) const {
  if (call.caller->identity.Has(call.required, labels)) return absl::OkStatus();
  const absl::Status denied = absl::PermissionDeniedError(
      absl::StrCat(std::string(call.method), " requires the role ", NameOf(call.required), " on ",
                   Shorten(world, 80), "; ", call.caller->name, " has it on other worlds only"));
  Audit(*call.caller, call.method, world, denied);
  return denied;
}

absl::StatusOr<std::shared_ptr<WorldHost>> Handlers::FindWorld(const Call& call,
                                                               const std::string& name) const {
  if (name.rfind(kPrefix, 0) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("name: \"", Shorten(name, 80),
                     "\" is not the name of a world; expected worlds/{world_id}"));
  }
  const std::string id = name.substr(sizeof(kPrefix) - 1);
  if (const auto lost = lost_.find(id); lost != lost_.end()) {
    absl::Status status = CheckRoleOn(call, lost->second.labels, name);
    status.Update(absl::DataLossError(
        absl::StrCat(name, " could not be brought back: ", lost->second.reason)));
    return status;
  }
  auto host = registry_.Get(id);
  if (!host.ok()) return host;
  if (absl::Status status = CheckRoleOn(call, (*host)->settings()->labels, name); !status.ok())
    return status;
  (*host)->Use(options_.timeline->Now());
  return host;
}

void Handlers::GetServer(const Call& /*call*/, const v1::GetServerRequest& /*request*/,
                         Reply<v1::ServerInfo> reply) {
  v1::ServerInfo info;
  info.set_version(options_.version);
  info.set_build(options_.build);
  info.mutable_features()->Add(options_.features.begin(), options_.features.end());
  info.mutable_shipped_scenes()->Add(shipped_.names().begin(), shipped_.names().end());
  reply(std::move(info));
}

absl::StatusOr<WorldSettings> Handlers::ReadSettings(const std::string& owner,
                                                     const v1::CreateWorldRequest& request) {
  if (absl::Status status = CheckLabels(request.labels()); !status.ok()) return status;
  const double timeout = request.idle_timeout();
  if (timeout != 0 && !(timeout >= 1 && timeout <= kMaxIdleTimeout)) {
    return absl::InvalidArgumentError(absl::StrCat("idle_timeout: ", timeout,
                                                   " is not allowed; expected 1 to ",
                                                   kMaxIdleTimeout, " s, or 0 for none"));
  }
  WorldSettings settings;
  settings.labels.insert(request.labels().begin(), request.labels().end());
  settings.durable = request.durable();
  settings.owner = owner;
  settings.source = std::make_shared<const v1::CreateWorldRequest>(request);
  if (timeout > 0) {
    settings.idle_timeout =
        std::chrono::duration_cast<SteadyTime::duration>(std::chrono::duration<double>(timeout));
  }
  return settings;
}

void Handlers::CreateWorld(const Call& call, const v1::CreateWorldRequest& request,
                           Reply<v1::World> reply) {
  if (request.source_case() == v1::CreateWorldRequest::SOURCE_NOT_SET) {
    return reply(
        absl::InvalidArgumentError("source: missing; expected scene, scene_yaml, shipped_scene or "
                                   "imported"));
  }
  absl::StatusOr<WorldSettings> settings = ReadSettings(call.caller->name, request);
  if (!settings.ok()) return reply(settings.status());
  if (absl::Status status = CheckRoleOn(call, settings->labels, "a world with these labels");
      !status.ok())
    return reply(status);
  if (request.has_shipped_scene()) {
    const absl::StatusOr<std::string> found = shipped_.Find(request.shipped_scene());
    if (!found.ok()) return reply(found.status());
  }
  if (absl::Status status = CheckFiles(request, options_.objects.get()); !status.ok())
    return reply(status);
  if (request.durable() && options_.store == nullptr) {
    return reply(absl::FailedPreconditionError(
        "durable: this server keeps no worlds; start it with --data-dir DIR"));
  }
  absl::StatusOr<WorldRegistry::Reservation> reservation = Reserve(request.world_id(), *settings);
  if (!reservation.ok()) return reply(reservation.status());

  // use a worker thread: reading, cutting and checking meshes takes seconds for a large scene
  auto held = std::make_shared<WorldRegistry::Reservation>(*std::move(reservation));
  const auto build = [this, request = v1::CreateWorldRequest(request), settings = *settings,
                      limits = call.limits, held, answer = reply]() mutable {
    // the id of a refused world is free before its client gets the error
    const auto reply = [&](absl::StatusOr<v1::World> world) {
      if (!world.ok()) {
        const WorldRegistry::Reservation freed(std::move(*held));
      }
      answer(std::move(world));
    };
    if (limits.cancelled && limits.cancelled->load())
      return reply(absl::CancelledError("cancelled before the scene was built"));
    if (timeline().Now() >= limits.deadline)
      return reply(absl::DeadlineExceededError("the deadline passed before the scene was built"));
    const auto progress = [&held, &limits](double share) {
      held->creation().Report(share);
      return held->creation().cancelled_by().empty() &&
             !(limits.cancelled && limits.cancelled->load());
    };
    std::map<std::string, std::string> files;
    if (request.has_imported()) {
      const auto import = ImportFiles(options_.objects.get(), &request);
      if (!import.ok()) return reply(import.status());
      if (!import->faults.empty())
        return reply(SceneError(import->faults, "the files cannot be imported"));
      files = import->files;
      settings.source = std::make_shared<const v1::CreateWorldRequest>(request);
    }
    absl::StatusOr<physics::SceneResult> scene = LoadSource(request, progress);
    if (!scene.ok()) return reply(scene.status());
    physics::ReferToFiles(files, &scene->messages);
    if (draining()) return reply(absl::UnavailableError("the server is shutting down"));
    if (const std::string who = held->creation().cancelled_by(); !who.empty())
      return reply(absl::AbortedError(
          absl::StrCat("the creation of worlds/", held->id(), " was ended by ", who)));
    if (limits.cancelled && limits.cancelled->load())
      return reply(absl::CancelledError("cancelled while the scene was built"));
    if (!scene->ok()) return reply(SceneError(scene->messages));
    auto host =
        OpenWorld(std::move(*held), physics::World(registry_.Share(scene->model)), settings);
    if (!host.ok()) return reply(host.status());
    v1::World world = DescribeWorldNow(**host);
    AddWarnings(scene->messages, &world);
    reply(std::move(world));
  };
  building_.Post(build, reply);
}

absl::StatusOr<std::shared_ptr<Creation>> Handlers::FindCreation(const Call& call,
                                                                 const std::string& name) const {
  std::shared_ptr<Creation> creation;
  if (name.rfind(kPrefix, 0) == 0)
    creation = registry_.FindCreation(name.substr(sizeof(kPrefix) - 1));
  if (creation == nullptr) return absl::NotFoundError("");
  if (absl::Status status = CheckRoleOn(call, creation->settings().labels, name); !status.ok())
    return status;
  return creation;
}

void Handlers::GetWorld(const Call& call, const v1::GetWorldRequest& request,
                        Reply<v1::World> reply) {
  const auto creation = FindCreation(call, request.name());
  if (absl::IsPermissionDenied(creation.status())) return reply(creation.status());
  if (creation.ok()) {
    v1::World world = DescribeCreation(request.name(), **creation, timeline().Now());
    SetCallerRole(call, (*creation)->settings().labels, &world);
    return reply(std::move(world));
  }
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  v1::World world = DescribeWorldNow(**host);
  SetCallerRole(call, (*host)->settings()->labels, &world);
  SetUsers(**host, &streams_, &world);
  reply(std::move(world));
}

void Handlers::ListWorlds(const Call& call, const v1::ListWorldsRequest& request,
                          Reply<v1::ListWorldsResponse> reply) {
  if (request.page_size() < 0) {
    return reply(absl::InvalidArgumentError(absl::StrCat(
        "page_size: ", request.page_size(), " is not allowed; expected 0 (for 50) or more")));
  }
  const int page =
      request.page_size() == 0 ? kDefaultPage : std::min(request.page_size(), kMaxPage);
  v1::ListWorldsResponse response;
  for (const auto& [id, host, creation] : registry_.ListWithCreations()) {
    // a page token is the last id of the previous page
    if (id <= request.page_token()) continue;
    const std::map<std::string, std::string>& labels =
        host != nullptr ? host->settings()->labels : creation->settings().labels;
    if (!call.caller->identity.Has(call.required, labels)) continue;
    const bool chosen = std::ranges::all_of(request.labels(), [&](const auto& wanted) {
      const auto own = labels.find(wanted.first);
      return own != labels.end() && own->second == wanted.second;
    });
    if (!chosen) continue;
    if (response.worlds_size() == page) {
      response.set_next_page_token(response.worlds(page - 1).name().substr(sizeof(kPrefix) - 1));
      break;
    }
    v1::World* world = response.add_worlds();
    *world = host != nullptr ? DescribeWorldNow(*host)
                             : DescribeCreation(kPrefix + id, *creation, timeline().Now());
    SetCallerRole(call, labels, world);
    if (host != nullptr) SetUsers(*host, &streams_, world);
  }
  reply(std::move(response));
}

void Handlers::DeleteWorld(const Call& call, const v1::DeleteWorldRequest& request,
                           Reply<google::protobuf::Empty> reply) {
  const auto creation = FindCreation(call, request.name());
  if (absl::IsPermissionDenied(creation.status())) return reply(creation.status());
  if (creation.ok()) {
    const absl::Status status =
        registry_.CancelCreation(request.name().substr(sizeof(kPrefix) - 1), call.caller->name);
    if (status.ok()) return reply(google::protobuf::Empty());
  }
  const auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  // reply when the world's thread has ended
  const absl::Status status = registry_.Remove((*host)->id(), call.caller->name,
                                               [reply] { reply(google::protobuf::Empty()); });
  if (!status.ok()) reply(status);
}

void Handlers::DescribeWorld(const Call& call, const v1::DescribeWorldRequest& request,
                             Reply<v1::WorldDescription> reply) {
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  const auto describe = [this, host = *host, request, reply] {
    reply(descriptions_.Describe(request, host->id(), host->shared_model()));
  };
  describing_.Post(describe, reply);
}

void Handlers::SetClock(const Call& call, const v1::SetClockRequest& request,
                        Reply<v1::World> reply) {
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  const absl::StatusOr<ClockMode> mode = ReadClock(request);
  if (!mode.ok()) return reply(mode.status());
  (*host)->SetClock(*mode, call.caller->name, ReplyWithStatus(**host, std::move(reply)));
}

void Handlers::ResetWorld(const Call& call, const v1::ResetWorldRequest& request,
                          Reply<v1::World> reply) {
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  (*host)->Reset(call.caller->name, ReplyWithStatus(**host, std::move(reply)));
}

void Handlers::RestoreWorld(const Call& call, const v1::RestoreWorldRequest& request,
                            Reply<v1::World> reply) {
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  const std::string& who = call.caller->name;
  if (!request.state().empty() + !request.checkpoint().empty() + !request.sha256().empty() > 1) {
    return reply(absl::InvalidArgumentError(
        "state, checkpoint, sha256: several are given; expected one of them"));
  }
  std::function<absl::StatusOr<std::string>()> read;
  if (!request.checkpoint().empty()) {
    auto name = ReadCheckpointName(call, request.checkpoint());
    if (!name.ok()) return reply(name.status());
    read = [name = *std::move(name)] { return ReadCheckpointState(name.folder, name.id); };
  } else if (!request.sha256().empty()) {
    if (options_.objects == nullptr) return reply(NoUploads());
    // a state is a small part of the memory of a world
    read = [objects = options_.objects, sha256 = request.sha256(),
            max_bytes = (*host)->usage().memory + kMinStateRoom] {
      return objects->Read(sha256, max_bytes);
    };
  } else {
    return (*host)->Restore(request.state(), who, ReplyWithStatus(**host, std::move(reply)));
  }
  const auto restore = [host = *host, read, who, reply] {
    absl::StatusOr<std::string> state = read();
    if (!state.ok()) return reply(state.status());
    host->Restore(*std::move(state), who, ReplyWithStatus(*host, reply));
  };
  storing_.Post(restore, reply);
}

void Handlers::ForkWorld(const Call& call, const v1::ForkWorldRequest& request,
                         Reply<v1::World> reply) {
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  WorldSettings settings = *(*host)->settings();
  settings.owner = call.caller->name;
  absl::StatusOr<WorldRegistry::Reservation> reservation = Reserve(request.world_id(), settings);
  if (!reservation.ok()) return reply(reservation.status());

  // the model is shared; only the state is copied
  auto held = std::make_shared<WorldRegistry::Reservation>(*std::move(reservation));
  (*host)->Read(
      [this, held, settings, reply](absl::StatusOr<std::shared_ptr<const Published>> published) {
        if (!published.ok()) return reply(published.status());
        const auto build = [this, held, settings, from = (*published)->snapshot, reply] {
          physics::World world(from->model);
          const std::string state = physics::SerializeState(from->state, from->model->hash);
          if (absl::Status status = world.Restore(state); !status.ok()) return reply(status);
          auto fork = OpenWorld(std::move(*held), std::move(world), settings);
          if (!fork.ok()) return reply(fork.status());
          reply(DescribeWorldNow(**fork));
        };
        building_.Post(build, reply);
      });
}

void Handlers::AcquireLease(const Call& call, const v1::AcquireLeaseRequest& request,
                            Reply<v1::Lease> reply) {
  auto host = FindWorld(call, request.world());
  if (!host.ok()) return reply(host.status());
  if (request.priority() > kMaxOperatorPriority &&
      !call.caller->identity.Has(Role::kAdmin, (*host)->settings()->labels)) {
    return reply(absl::PermissionDeniedError(
        absl::StrCat("priority: ", request.priority(), " requires the role ", NameOf(Role::kAdmin),
                     "; operators have up to ", kMaxOperatorPriority)));
  }
  v1::AcquireLeaseRequest named = request;
  if (named.client().empty()) named.set_client(call.caller->label);
  absl::StatusOr<v1::Lease> lease = (*host)->controller().Acquire(named, options_.timeline->Now());
  if (!lease.ok()) return reply(lease.status());
  (*host)->Touch();
  lease->set_world(request.world());
  reply(*std::move(lease));
}

void Handlers::ReleaseLease(const Call& call, const v1::ReleaseLeaseRequest& request,
                            Reply<google::protobuf::Empty> reply) {
  auto host = FindWorld(call, request.world());
  if (!host.ok()) return reply(host.status());
  if (absl::Status status =
          (*host)->controller().Release(request.lease_id(), options_.timeline->Now());
      !status.ok())
    return reply(status);
  (*host)->Touch();
  reply(google::protobuf::Empty());
}

void Handlers::StopWorld(const Call& call, const v1::StopWorldRequest& request,
                         Reply<google::protobuf::Empty> reply) {
  auto host = FindWorld(call, request.world());
  if (!host.ok()) return reply(host.status());
  (*host)->controller().Stop();
  (*host)->Touch();
  reply(google::protobuf::Empty());
}

void Handlers::ResumeWorld(const Call& call, const v1::ResumeWorldRequest& request,
                           Reply<google::protobuf::Empty> reply) {
  auto host = FindWorld(call, request.world());
  if (!host.ok()) return reply(host.status());
  (*host)->controller().Resume();
  (*host)->Touch();
  reply(google::protobuf::Empty());
}

v1::CommandResponse Handlers::Command(const Call& call, const v1::CommandRequest& request) {
  const SteadyTime now = options_.timeline->Now();
  v1::CommandResponse response;
  response.set_lease_id(request.lease_id());
  response.set_sequence(request.sequence());
  response.set_client_time(request.client_time());
  response.set_server_time(std::chrono::duration<double>(now.time_since_epoch()).count());
  const absl::StatusOr<std::string> target = Submit(call, request, now);
  if (target.ok()) {
    response.set_target(*target);
  } else {
    response.set_refused(std::string(target.status().message()));
  }
  return response;
}

absl::StatusOr<std::string> Handlers::Submit(const Call& call, const v1::CommandRequest& request,
                                             SteadyTime now) {
  const absl::StatusOr<Call> admitted = Admit(*this, call, kCommandMethod);
  if (!admitted.ok()) return admitted.status();
  if (absl::Status status = CheckRate(call, 1, now); !status.ok()) return status;
  auto host = FindWorld(*admitted, request.world());
  if (!host.ok()) return host.status();
  return (*host)->controller().Submit(request, now);
}

absl::StatusOr<Subscription> Handlers::Subscribe(const Call& call,
                                                 const v1::Subscription& request) {
  const absl::StatusOr<Call> admitted = Admit(*this, call, kSubscribeMethod);
  if (!admitted.ok()) return admitted.status();
  if (absl::Status status = CheckRate(call, kSubscriptionCost, options_.timeline->Now());
      !status.ok())
    return status;
  auto host = FindWorld(*admitted, request.world());
  if (!host.ok()) return host.status();
  absl::StatusOr<Subscription> subscription = streams_.Read(request, *std::move(host));
  if (!subscription.ok()) return subscription;
  if (absl::Status status = subscription->world->layout()->CheckSize(subscription->choice);
      !status.ok())
    return status;
  return subscription;
}

std::shared_ptr<FrameStream> Handlers::MakeStream(FrameSink* sink, Subscription subscription) {
  return streams_.MakeStream(sink, std::move(subscription));
}

void Handlers::Drain() {
  draining_.store(true);
  building_.Cancel();
  stepping_.Cancel();
  describing_.Cancel();
  storing_.Cancel();
  replaying_.Cancel();
  registry_.Close(absl::UnavailableError("the server is shutting down"));
  feedback_.WakeAll();
}

void Handlers::Stop() {
  building_.Stop();
  stepping_.Stop();
  describing_.Stop();
  storing_.Stop();
  replaying_.Stop();
  downloads_.Stop();
  registry_.JoinAll();
  if (options_.awake != nullptr) options_.awake->Stop();
  if (recordings_ != nullptr) recordings_->Stop();
  streams_.Stop();
  feedback_.Stop();
}

}  // namespace pliant::server
