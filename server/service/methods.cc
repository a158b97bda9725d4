#include "server/service/methods.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "server/host/text.h"
#include "server/service/handlers.h"

namespace pliant::server {
namespace {

// Costs: at most four scenes of one client are built or wait to be built.
constexpr int kQuick = 1;
constexpr int kMeshes = 4;
constexpr int kScene = 16;

// Requests that change something are recorded, except steps, of which there are thousands a second.
bool IsAudited(std::string_view name, Role role) {
  if (name == "WorldService/StepWorld" || name == "WorldService/StepWorlds" ||
      name == "WorldService/Lockstep")
    return false;
  return role != Role::kViewer || name == "ControlService/StopWorld";
}

// The world that a request concerns, as far as its fields name it.
template <typename Request>
std::string NameWorld(const Request& request) {
  if constexpr (requires { request.world_id(); }) {
    return request.world_id().empty() ? "" : absl::StrCat("worlds/", request.world_id());
  } else if constexpr (requires { request.name(); }) {
    return request.name();
  } else if constexpr (requires { request.world(); }) {
    return request.world();
  } else {
    return "";
  }
}

template <typename Request, typename Response>
Method Unary(const char* name, Role role, int cost,
             void (Handlers::*handler)(const Call&, const Request&, Reply<Response>)) {
  const bool audited = IsAudited(name, role);
  const auto handle = [handler, audited](Handlers& handlers, const Call& call,
                                         std::string_view bytes, Reply<std::string> reply) {
    Request request;
    if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return reply(absl::InvalidArgumentError(
          absl::StrCat("the request is not a ", Request::descriptor()->full_name())));
    }
    const auto answer = [reply = std::move(reply)](absl::StatusOr<Response> result) {
      if (!result.ok()) return reply(result.status());
      reply(result->SerializeAsString());
    };
    if (!audited) return (handlers.*handler)(call, request, answer);
    const auto record = [&handlers, caller = call.caller, method = call.method,
                         world = NameWorld(request), answer](absl::StatusOr<Response> result) {
      // a refusal for lack of a role is recorded where it is made
      if (!absl::IsPermissionDenied(result.status()))
        handlers.Audit(*caller, method, world, result.status());
      answer(std::move(result));
    };
    (handlers.*handler)(call, request, record);
  };
  return {absl::StrCat("pliant.v1.", name), role, cost, handle};
}

const Method* FindMethod(std::string_view name) {
  static const auto& by_name = *[] {
    auto* table = new absl::flat_hash_map<std::string_view, const Method*>();
    for (const Method& method : Methods()) table->emplace(method.name, &method);
    return table;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

absl::Status CheckCaller(const Handlers& handlers, const Caller& caller, const Method& method) {
  const std::optional<Role> highest = caller.identity.HighestRole();
  if (!highest) {
    return caller.refusal.ok() ? absl::UnauthenticatedError("the caller has no identity")
                               : caller.refusal;
  }
  if (absl::Status status = handlers.CheckCurrent(caller); !status.ok()) return status;
  if (*highest >= method.role) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(method.name, " requires the role ",
                                                  NameOf(method.role), "; ", caller.name,
                                                  " has the role ", NameOf(*highest)));
}

absl::StatusOr<Call> Admit(const Handlers& handlers, const Call& call, const Method& method) {
  if (absl::Status status = CheckCaller(handlers, *call.caller, method); !status.ok()) {
    handlers.Audit(*call.caller, method.name, "", status);
    return status;
  }
  Call admitted = call;
  admitted.required = method.role;
  admitted.method = method.name;
  return admitted;
}

absl::Status TooLarge(std::size_t size) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the reply has ", size, " bytes, and at most ", kMaxReply,
                   " are sent at once; ask for less, in parts or in pages"));
}

}  // namespace

const std::vector<Method>& Methods() {
  constexpr Role kViewer = Role::kViewer, kOperator = Role::kOperator;
  static const auto& methods = *new std::vector<Method>{
      Unary("WorldService/GetServer", kViewer, kQuick, &Handlers::GetServer),
      Unary("WorldService/CreateWorld", kOperator, kScene, &Handlers::CreateWorld),
      Unary("WorldService/GetWorld", kViewer, kQuick, &Handlers::GetWorld),
      Unary("WorldService/ListWorlds", kViewer, kQuick, &Handlers::ListWorlds),
      Unary("WorldService/DeleteWorld", kOperator, kQuick, &Handlers::DeleteWorld),
      Unary("WorldService/DescribeWorld", kViewer, kMeshes, &Handlers::DescribeWorld),
      Unary("WorldService/StepWorld", kOperator, kQuick, &Handlers::StepWorld),
      Unary("WorldService/StepWorlds", kOperator, kScene, &Handlers::StepWorlds),
      // a stream has one request at a time, but perhaps 20,000 a second
      Unary("WorldService/Lockstep", kOperator, kQuick, &Handlers::StepWorlds),
      Unary("WorldService/ProbeWorld", kViewer, kMeshes, &Handlers::ProbeWorld),
      Unary("WorldService/SetClock", kOperator, kQuick, &Handlers::SetClock),
      Unary("WorldService/ResetWorld", kOperator, kQuick, &Handlers::ResetWorld),
      Unary("WorldService/CheckpointWorld", kOperator, kMeshes, &Handlers::CheckpointWorld),
      Unary("WorldService/ListCheckpoints", kViewer, kMeshes, &Handlers::ListCheckpoints),
      Unary("WorldService/FetchCheckpoint", kOperator, kMeshes, &Handlers::FetchCheckpoint),
      Unary("WorldService/DeleteCheckpoint", kOperator, kMeshes, &Handlers::DeleteCheckpoint),
      Unary("WorldService/RestoreWorld", kOperator, kMeshes, &Handlers::RestoreWorld),
      Unary("WorldService/ForkWorld", kOperator, kScene, &Handlers::ForkWorld),
      Unary("ObjectService/FindMissingObjects", kOperator, kQuick, &Handlers::FindMissingObjects),
      Unary("ObjectService/UploadObject", kOperator, kMeshes, &Handlers::UploadObject),
      Unary("ObjectService/FetchObject", kViewer, kMeshes, &Handlers::FetchObject),
      Unary("RecordService/StartRecording", kOperator, kMeshes, &Handlers::StartRecording),
      Unary("RecordService/StopRecording", kOperator, kMeshes, &Handlers::StopRecording),
      Unary("RecordService/ListRecordings", kViewer, kMeshes, &Handlers::ListRecordings),
      Unary("RecordService/FetchRecording", kViewer, kMeshes, &Handlers::FetchRecording),
      Unary("RecordService/DeleteRecording", kOperator, kMeshes, &Handlers::DeleteRecording),
      Unary("RecordService/Replay", kOperator, kScene, &Handlers::Replay),
      Unary("ControlService/AcquireLease", kOperator, kQuick, &Handlers::AcquireLease),
      Unary("ControlService/ReleaseLease", kOperator, kQuick, &Handlers::ReleaseLease),
      // anyone may stop a world, but not everyone may resume it
      Unary("ControlService/StopWorld", kViewer, kQuick, &Handlers::StopWorld),
      Unary("ControlService/ResumeWorld", kOperator, kQuick, &Handlers::ResumeWorld),
      Method{kSubscribeMethod, kViewer, 0, nullptr},
      Method{kCommandMethod, kOperator, 0, nullptr},
  };
  return methods;
}

absl::StatusOr<Call> Admit(const Handlers& handlers, const Call& call, std::string_view method) {
  return Admit(handlers, call, *FindMethod(method));
}

absl::Status CheckRate(const Call& call, int cost, SteadyTime now) {
  if (call.caller->rate.Admit(cost, now)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(call.caller->name, " sends too many requests a second; send them more slowly"));
}

void Dispatch(Handlers& handlers, const Call& call, std::string_view name, std::string_view request,
              Reply<std::string> reply) {
  const Method* method = FindMethod(name);
  if (method == nullptr || !method->handle) {
    return reply(absl::UnimplementedError(
        absl::StrCat("there is no method \"", Shorten(name, 80), "\" that replies once")));
  }
  const absl::StatusOr<Call> admitted = Admit(handlers, call, *method);
  if (!admitted.ok()) return reply(admitted.status());
  if (absl::Status status = CheckRate(call, method->cost, handlers.timeline().Now()); !status.ok())
    return reply(status);

  // each reply makes room for further requests
  const std::shared_ptr<Caller>& caller = call.caller;
  const int cost = method->cost;
  if (caller->unanswered.fetch_add(cost) + cost > kMaxUnanswered) {
    caller->unanswered.fetch_sub(cost);
    return reply(absl::ResourceExhaustedError(
        absl::StrCat("too many requests of ", caller->name,
                     " are pending; wait for replies before sending ", method->name, " again")));
  }
  method->handle(handlers, *admitted, request,
                 [caller, cost, reply = std::move(reply)](absl::StatusOr<std::string> result) {
                   caller->unanswered.fetch_sub(cost);
                   if (result.ok() && result->size() > kMaxReply) result = TooLarge(result->size());
                   reply(std::move(result));
                 });
}

}  // namespace pliant::server
