// Clients that misbehave: each is answered by a clear error, and other worlds run on.

#include <algorithm>
#include <atomic>
#include <vector>

#include "server/service/handlers.h"
#include "server/service/methods.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

using std::chrono::seconds;

class Trouble : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    ASSERT_TRUE(Create("other").ok());
  }

  // Steps another world meanwhile.
  void ExpectOtherWorldGoesOn() {
    const std::int64_t before = Get("other").step();
    v1::StepWorldResponse response;
    const grpc::Status status = Step("other", 5, &response, seconds(20));
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.step(), before + 5);
  }
};

TEST_F(Trouble, StepOfTenMillionTakesNothingFromOthersAndEndsWithItsClient) {
  ASSERT_TRUE(Create("long").ok());
  grpc::ClientContext context;
  v1::StepWorldRequest request;
  request.set_name("worlds/long");
  request.set_steps(10'000'000);
  v1::StepWorldResponse response;
  std::thread stepper([&] {
    EXPECT_EQ(worlds_->StepWorld(&context, request, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(WaitUntil([&] { return Get("long").step() > 3; }));
  ExpectOtherWorldGoesOn();
  context.TryCancel();
  stepper.join();
  // its world is free for the next step soon
  EXPECT_TRUE(Step("long", 1, &response, seconds(20)).ok());

  request.set_steps(10'000'001);
  grpc::ClientContext next;
  const grpc::Status refused = worlds_->StepWorld(&next, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(refused.error_message().find("10000000"), std::string::npos);
}

TEST_F(Trouble, FloodOfRequestsIsRefusedBeyondABoundAndOthersAreServed) {
  // 2,000 requests at once on one connection, each of which takes long
  ASSERT_TRUE(Create("flooded").ok());
  constexpr int kRequests = 2000;
  std::atomic<int> refused{0}, ended{0};
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  v1::StepWorldRequest request;
  request.set_name("worlds/flooded");
  request.set_steps(10'000'000);
  std::vector<v1::StepWorldResponse> responses(kRequests);
  for (int i = 0; i < kRequests; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    worlds_->async()->StepWorld(contexts.back().get(), &request, &responses[i],
                                [&](const grpc::Status& status) {
                                  if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED)
                                    refused.fetch_add(1);
                                  ended.fetch_add(1);
                                });
  }
  // requests in transit beyond the bound are refused; further ones wait in the client
  EXPECT_TRUE(WaitUntil([&] { return refused.load() >= 200 - kMaxUnanswered; }));

  // a second connection is served
  worlds_ = v1::WorldService::NewStub(Connect(server_->grpc_address()));
  ExpectOtherWorldGoesOn();
  for (const auto& context : contexts) context->TryCancel();
  EXPECT_TRUE(WaitUntil([&] { return ended.load() == kRequests; }));
}

TEST_F(Trouble, ManySubscriptionsAtAThousandHertzDoNotStopTheWorld) {
  ASSERT_TRUE(Create("watched").ok());
  ASSERT_TRUE(RunInRealTime("watched", 0.2).ok());
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::thread> viewers;
  std::atomic<int> frames{0};
  for (int i = 0; i < 20; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    viewers.emplace_back([this, context = contexts.back().get(), &frames] {
      const auto stream = streams_->Subscribe(context);
      v1::SubscribeRequest request;
      request.mutable_subscription()->set_world("worlds/watched");
      request.mutable_subscription()->set_rate(1000);
      request.mutable_subscription()->set_contacts(true);
      request.mutable_subscription()->add_fields(v1::FIELD_MEASURE_GREEN_STRAIN);
      stream->Write(request);
      v1::SubscribeResponse response;
      while (stream->Read(&response)) frames.fetch_add(1);
      stream->Finish();
    });
  }
  EXPECT_TRUE(WaitUntil([&] { return frames.load() > 200; }));
  ExpectOtherWorldGoesOn();
  // the world steps on
  const std::int64_t step = Get("watched").step();
  EXPECT_TRUE(WaitUntil([&] { return Get("watched").step() > step + 20; }));
  for (const auto& context : contexts) context->TryCancel();
  for (std::thread& viewer : viewers) viewer.join();
}

TEST_F(Trouble, ClientThatNeverReadsItsStreamDoesNotHinderOthers) {
  ASSERT_TRUE(Create("watched").ok());
  ASSERT_TRUE(RunInRealTime("watched").ok());
  grpc::ClientContext context;
  const auto stream = streams_->Subscribe(&context);
  v1::SubscribeRequest request;
  request.mutable_subscription()->set_world("worlds/watched");
  request.mutable_subscription()->set_rate(1000);
  request.mutable_subscription()->set_precision(v1::PRECISION_FLOAT64);
  ASSERT_TRUE(stream->Write(request));
  const StreamCounters& counters = server_->handlers().stream_counters();
  EXPECT_TRUE(WaitUntil([&] { return counters.sent.load() > 0; }));
  ExpectOtherWorldGoesOn();
  // the stream ends when its client leaves without having read
  context.TryCancel();
  stream->Finish();
  EXPECT_TRUE(WaitUntil([&] { return counters.open.load() == 0; }));
}

TEST_F(Trouble, HugeScenesAreRefusedWithWhatIsAllowed) {
  // larger than any message
  const grpc::Status large = Create("large", "name: " + std::string(5 << 20, 'x') + "\n");
  EXPECT_EQ(large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << large.error_message();

  // a small message that asks for billions of elements
  const grpc::Status many = Create("many", R"(bodies: [{name: ball, deformable: {
    mesh: {sphere: {radius: 10}, edge_length: 0.001}, material: {model: LINEAR_COROTATIONAL,
    youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}}}]
)");
  EXPECT_EQ(many.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << many.error_message();
  EXPECT_NE(many.error_message().find("edge_length"), std::string::npos) << many.error_message();

  // many copies of one body
  const grpc::Status copies = Create("copies", R"(
bodies: [{name: ball, template: true, rigid: {shapes: [{sphere: {radius: 1}}]}}]
instances: [{of: ball, count: 2000000000}]
)");
  EXPECT_EQ(copies.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << copies.error_message();

  // nesting without end
  const grpc::Status deep = Create("deep", std::string(100'000, '['));
  EXPECT_EQ(deep.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << deep.error_message();
  ExpectOtherWorldGoesOn();
}

}  // namespace
}  // namespace pliant::server
