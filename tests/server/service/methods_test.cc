#include "server/service/methods.h"

#include <future>
#include <set>

#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"

#include "server/service/handlers.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

Call MakeCall(Role role) {
  Call call;
  call.caller = std::make_shared<Caller>();
  call.caller->name = "tester";
  call.caller->identity.grants = {Grant{role, {}}};
  return call;
}

absl::StatusOr<std::string> Ask(Handlers& handlers, const Call& call, std::string_view method,
                                const std::string& request) {
  std::promise<absl::StatusOr<std::string>> promise;
  Dispatch(handlers, call, method, request,
           [&](absl::StatusOr<std::string> reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

TEST(Methods, TableHasEveryMethodOfTheServicesOnce) {
  std::set<std::string> in_table, in_proto;
  for (const Method& method : Methods()) EXPECT_TRUE(in_table.insert(method.name).second);
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  for (const char* file :
       {"pliant/v1/world.proto", "pliant/v1/objects.proto", "pliant/v1/control.proto",
        "pliant/v1/stream.proto", "pliant/v1/record.proto"}) {
    const auto* descriptor = pool->FindFileByName(file);
    ASSERT_NE(descriptor, nullptr) << file;
    for (int s = 0; s < descriptor->service_count(); ++s) {
      const auto* service = descriptor->service(s);
      for (int m = 0; m < service->method_count(); ++m)
        in_proto.insert(service->full_name() + "/" + service->method(m)->name());
    }
  }
  EXPECT_EQ(in_table, in_proto);
}

TEST(Methods, RoleBelowTheRequiredOneIsRefusedAndNamed) {
  Handlers handlers({});
  for (const Method& method : Methods()) {
    if (!method.handle) continue;
    for (const Role role : {Role::kViewer, Role::kOperator, Role::kAdmin}) {
      const auto reply = Ask(handlers, MakeCall(role), method.name, "");
      EXPECT_EQ(absl::IsPermissionDenied(reply.status()), role < method.role) << method.name;
      if (role < method.role) {
        EXPECT_NE(reply.status().message().find(NameOf(method.role)), std::string::npos)
            << reply.status();
      }
    }
  }
  EXPECT_TRUE(absl::IsPermissionDenied(handlers.Subscribe(MakeCall(Role::kViewer), {}).status()) ==
              false);
  EXPECT_NE(handlers.Command(MakeCall(Role::kViewer), {}).refused().find("operator"),
            std::string::npos);
}

TEST(Methods, UnknownMethodAndUnreadableRequestAreRefused) {
  Handlers handlers({});
  const Call call = MakeCall(Role::kAdmin);
  EXPECT_TRUE(absl::IsUnimplemented(Ask(handlers, call, "pliant.v1.Nothing/Here", "").status()));
  EXPECT_TRUE(absl::IsUnimplemented(Ask(handlers, call, kSubscribeMethod, "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Ask(handlers, call, "pliant.v1.WorldService/GetWorld", "\xff\xff").status()));
}

TEST(Methods, PendingRequestsOfOneClientAreBoundedAndThoseOfOthersAreNot) {
  Handlers handlers({});
  const Call greedy = MakeCall(Role::kAdmin), other = MakeCall(Role::kAdmin);
  v1::CreateWorldRequest create;
  create.set_world_id("w");
  create.set_scene_yaml(kTestScene);
  ASSERT_TRUE(
      Ask(handlers, other, "pliant.v1.WorldService/CreateWorld", create.SerializeAsString()).ok());

  // one request runs for long, and the others wait for it
  v1::StepWorldRequest step;
  step.set_name("worlds/w");
  step.set_steps(10'000'000);
  std::atomic<bool> cancelled{false};
  Call cancellable = greedy;
  cancellable.limits.cancelled =
      std::shared_ptr<const std::atomic<bool>>(&cancelled, [](const auto*) {});
  std::atomic<int> answered{0}, refused{0};
  for (int i = 0; i < kMaxUnanswered + 10; ++i) {
    Dispatch(handlers, cancellable, "pliant.v1.WorldService/StepWorld", step.SerializeAsString(),
             [&](const absl::StatusOr<std::string>& reply) {
               refused += absl::IsResourceExhausted(reply.status());
               ++answered;
             });
  }
  EXPECT_EQ(refused.load(), 10);
  v1::GetWorldRequest get;
  get.set_name("worlds/w");
  const std::string bytes = get.SerializeAsString();
  EXPECT_TRUE(Ask(handlers, other, "pliant.v1.WorldService/GetWorld", bytes).ok());

  // replies make room again
  cancelled = true;
  while (answered.load() < kMaxUnanswered + 10) std::this_thread::yield();
  EXPECT_EQ(greedy.caller->unanswered.load(), 0);
  EXPECT_TRUE(Ask(handlers, greedy, "pliant.v1.WorldService/GetWorld", bytes).ok());
}

// A stream steps a small world some 20,000 times a second.
TEST(Methods, MessagesOfAStreamOfStepsAreNotTooFrequent) {
  Handlers handlers({});
  const Call call = MakeCall(Role::kOperator);
  int too_frequent = 0;
  for (int i = 0; i < 30'000; ++i)
    too_frequent += absl::IsResourceExhausted(Ask(handlers, call, kLockstepMethod, "").status());
  EXPECT_EQ(too_frequent, 0);
}

}  // namespace
}  // namespace pliant::server
