// Control of bodies over gRPC, against a real server.

#include <atomic>
#include <limits>

#include "server/service/handlers.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

using CommandStream = grpc::ClientReaderWriter<v1::CommandRequest, v1::CommandResponse>;

class Control : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    ASSERT_TRUE(Create("w").ok());
  }

  static v1::CommandRequest Twist(const v1::Lease& lease, std::uint64_t sequence, double speed) {
    v1::CommandRequest request;
    request.set_world("worlds/w");
    request.set_lease_id(lease.lease_id());
    request.set_sequence(sequence);
    request.mutable_twist()->add_linear(0);
    request.mutable_twist()->add_linear(0);
    request.mutable_twist()->add_linear(speed);
    return request;
  }

  // Present height of the paddle [m].
  double PaddleHeight() {
    const auto host = server_->handlers().registry().Get("w");
    const auto snapshot = (*host)->latest()->snapshot;
    return physics::CalcBodyPose(*snapshot->model, snapshot->state,
                                 physics::FindBody(*snapshot->model, "paddle"))
        .p.z();
  }

  grpc::Status Stop() {
    grpc::ClientContext context;
    v1::StopWorldRequest request;
    request.set_world("worlds/w");
    google::protobuf::Empty empty;
    return control_->StopWorld(&context, request, &empty);
  }
  grpc::Status Resume() {
    grpc::ClientContext context;
    v1::ResumeWorldRequest request;
    request.set_world("worlds/w");
    google::protobuf::Empty empty;
    return control_->ResumeWorld(&context, request, &empty);
  }
};

TEST_F(Control, LeaseHasOneHolderCanBeTakenOverAndLapses) {
  v1::Lease alice, bob;
  ASSERT_TRUE(Acquire("w", "paddle", "alice", false, &alice).ok());
  const grpc::Status held = Acquire("w", "paddle", "bob", false, &bob);
  EXPECT_EQ(held.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(held.error_message().find("alice"), std::string::npos) << held.error_message();
  ASSERT_TRUE(Acquire("w", "paddle", "bob", true, &bob).ok());

  // alice learns who took over
  grpc::ClientContext context;
  const auto stream = control_->Command(&context);
  v1::CommandResponse response;
  ASSERT_TRUE(stream->Write(Twist(alice, 1, 0.1)));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_NE(response.refused().find("taken over by bob"), std::string::npos) << response.refused();

  // the lease holds when renewed, and lapses otherwise
  ASSERT_TRUE(Acquire("w", "paddle", "bob", false, &bob, bob.lease_id()).ok());
  EXPECT_TRUE(WaitUntil([&] { return Acquire("w", "paddle", "carol", false, &alice).ok(); }));
  context.TryCancel();
  stream->Finish();
}

TEST_F(Control, FixedBodiesTakeNoCommands) {
  v1::Lease lease;
  EXPECT_TRUE(Acquire("w", "cube", "alice", false, &lease).ok());
  const grpc::Status status = Acquire("w", "table", "alice", false, &lease);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("paddle"), std::string::npos) << status.error_message();
  EXPECT_EQ(Acquire("w", "ghost", "alice", false, &lease).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(Control, CommandsMoveTheBodyAndItRampsToRestWhenTheyEnd) {
  ASSERT_TRUE(RunInRealTime("w").ok());
  v1::Lease lease;
  ASSERT_TRUE(Acquire("w", "paddle", "alice", false, &lease).ok());
  const double start = PaddleHeight();

  // hold to run: repeat the command until the paddle has moved
  grpc::ClientContext context;
  const auto stream = control_->Command(&context);
  std::atomic<std::int64_t> applied{0};
  std::thread reading([&] {
    v1::CommandResponse response;
    while (stream->Read(&response)) {
      EXPECT_EQ(response.refused(), "");
      applied.store(std::max(applied.load(), response.applied_step()));
    }
  });
  std::uint64_t sequence = 0;
  EXPECT_TRUE(WaitUntil([&] {
    EXPECT_TRUE(stream->Write(Twist(lease, ++sequence, 0.3)));
    return PaddleHeight() > start + 0.05 && applied.load() > 0;
  }));

  // without further commands it comes to rest by itself, without a stop
  const auto last = std::chrono::steady_clock::now();
  EXPECT_TRUE(WaitUntil([&] {
    const double height = PaddleHeight();
    const std::int64_t step = Get("w").step();
    WaitUntil([&] { return Get("w").step() > step + 3; });
    return PaddleHeight() == height;
  }));
  EXPECT_GT(std::chrono::steady_clock::now() - last, std::chrono::milliseconds(100));
  context.TryCancel();
  reading.join();
  stream->Finish();
}

TEST_F(Control, NanAndStaleSequencesAreRefused) {
  v1::Lease lease;
  ASSERT_TRUE(Acquire("w", "paddle", "alice", false, &lease).ok());
  grpc::ClientContext context;
  const auto stream = control_->Command(&context);
  v1::CommandResponse response;
  ASSERT_TRUE(stream->Write(Twist(lease, 1, std::numeric_limits<double>::quiet_NaN())));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_NE(response.refused().find("finite"), std::string::npos) << response.refused();

  ASSERT_TRUE(stream->Write(Twist(lease, 5, 0.1)));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.refused(), "");
  EXPECT_EQ(response.sequence(), 5u);
  ASSERT_TRUE(stream->Write(Twist(lease, 5, 0.1)));
  do {
    ASSERT_TRUE(stream->Read(&response));
  } while (response.refused().empty());
  EXPECT_NE(response.refused().find("stale"), std::string::npos) << response.refused();
  context.TryCancel();
  stream->Finish();
}

TEST_F(Control, StopIsLatchedUntilResumed) {
  v1::Lease lease;
  ASSERT_TRUE(Acquire("w", "paddle", "alice", false, &lease).ok());
  ASSERT_TRUE(Stop().ok());
  EXPECT_TRUE(WaitUntil([&] { return Get("w").stopped(); }));
  grpc::ClientContext context;
  const auto stream = control_->Command(&context);
  v1::CommandResponse response;
  ASSERT_TRUE(stream->Write(Twist(lease, 1, 0.1)));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_NE(response.refused().find("stopped"), std::string::npos) << response.refused();

  ASSERT_TRUE(Resume().ok());
  EXPECT_TRUE(WaitUntil([&] { return !Get("w").stopped(); }));

  // the refused command is not resumed
  const double height = PaddleHeight();
  v1::StepWorldResponse stepped;
  ASSERT_TRUE(Step("w", 5, &stepped).ok());
  EXPECT_EQ(PaddleHeight(), height);
  context.TryCancel();
  stream->Finish();
}

TEST_F(Control, LeaseEndsWithTheStreamThatUsedIt) {
  v1::Lease lease, other;
  ASSERT_TRUE(Acquire("w", "paddle", "alice", false, &lease).ok());
  {
    grpc::ClientContext context;
    const auto stream = control_->Command(&context);
    ASSERT_TRUE(stream->Write(Twist(lease, 1, 0.1)));
    v1::CommandResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.refused(), "");
    context.TryCancel();
    stream->Finish();
  }
  // renewing would keep the lease for ever if it had not been released
  grpc::Status status;
  EXPECT_TRUE(WaitUntil([&] {
    status = Acquire("w", "paddle", "alice", false, &other, lease.lease_id());
    return !status.ok();
  }));
  EXPECT_NE(status.error_message().find("was released"), std::string::npos)
      << status.error_message();
}

}  // namespace
}  // namespace pliant::server
