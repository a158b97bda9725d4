// Control of robots over gRPC and WebSocket, against a real server.

#include <atomic>
#include <cmath>

#include "server/service/handlers.h"
#include "tests/server/host/robot_scene.h"
#include "tests/server/serve/server_test_base.h"
#include "tests/server/serve/socket_client.h"

namespace pliant::server {
namespace {

constexpr char kWorld[] = "worlds/default";

class Robots : public ServerTest {
 protected:
  void SetUp() override {
    scene_ = LoadGantryModel();
    ASSERT_NE(scene_, nullptr);
    ServerTest::SetUp();
  }

  v1::Lease Take(const std::string& robot, const std::string& client) {
    v1::Lease lease;
    const grpc::Status status = Acquire("default", robot, client, false, &lease);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return lease;
  }

  v1::CommandRequest Request(const v1::Lease& lease) {
    v1::CommandRequest request;
    request.set_world(kWorld);
    request.set_lease_id(lease.lease_id());
    request.set_sequence(++sequence_);
    return request;
  }
  v1::CommandRequest Target(const v1::Lease& lease, const std::string& joint, double value) {
    v1::CommandRequest request = Request(lease);
    request.mutable_joint_targets()->add_joints(joint);
    request.mutable_joint_targets()->add_values(value);
    return request;
  }

  double Position(const std::string& joint) {
    const auto host = server_->handlers().registry().Get("default");
    const auto snapshot = (*host)->latest()->snapshot;
    const physics::Model& model = *snapshot->model;
    const physics::RobotJoint& found =
        model.joint_of(model.actuators[physics::FindActuator(model, joint)]);
    return model.Positions(snapshot->state, found.block)[found.position];
  }

  std::atomic<std::uint64_t> sequence_{0};
};

// A command stream that keeps the last refusal.
class Operator {
 public:
  explicit Operator(v1::ControlService::Stub* stub) : stream_(stub->Command(&context_)) {
    reading_ = std::thread([this] {
      v1::CommandResponse response;
      while (stream_->Read(&response)) {
        if (response.refused().empty()) {
          applied_.store(std::max(applied_.load(), response.applied_step()));
          continue;
        }
        std::lock_guard lock(mutex_);
        refused_ = response.refused();
      }
    });
  }
  ~Operator() {
    context_.TryCancel();
    reading_.join();
    stream_->Finish();
  }

  void Write(const v1::CommandRequest& request) { EXPECT_TRUE(stream_->Write(request)); }
  std::int64_t applied() const { return applied_.load(); }
  std::string refused() {
    std::lock_guard lock(mutex_);
    return refused_;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CommandRequest, v1::CommandResponse>> stream_;
  std::thread reading_;
  std::atomic<std::int64_t> applied_{0};
  std::mutex mutex_;
  std::string refused_;
};

TEST_F(Robots, TwoOperatorsDriveTwoRobotsOfOneWorld) {
  const v1::Lease left = Take("left", "alice"), right = Take("right", "bob");
  v1::Lease other;
  const grpc::Status held = Acquire("default", "left", "bob", false, &other);
  EXPECT_NE(held.error_message().find("alice"), std::string::npos) << held.error_message();

  Operator alice(control_.get()), bob(control_.get());
  EXPECT_TRUE(WaitUntil([&] {
    alice.Write(Target(left, "x", 0.2));
    v1::CommandRequest twist = Request(right);
    twist.set_controller("tool");
    for (const double v : {0.0, 0.2, 0.0}) twist.mutable_twist()->add_linear(v);
    bob.Write(twist);
    return std::abs(Position("left/x") - 0.2) < 1e-3 && Position("right/y") > 0.1;
  }));
  EXPECT_GT(alice.applied(), 0);
  EXPECT_GT(bob.applied(), 0);
  EXPECT_EQ(alice.refused(), "");
  EXPECT_EQ(bob.refused(), "");
  EXPECT_NEAR(Position("left/y"), 0, 1e-9);
  EXPECT_NEAR(Position("right/x"), 0, 1e-6);
}

TEST_F(Robots, RefusalsReachWhoeverCommanded) {
  const v1::Lease lease = Take("left", "alice");
  Operator alice(control_.get());
  alice.Write(Target(lease, "elbow", 1));
  EXPECT_TRUE(WaitUntil([&] { return !alice.refused().empty(); }));
  EXPECT_NE(alice.refused().find("no joint \"elbow\""), std::string::npos) << alice.refused();
  EXPECT_NE(alice.refused().find("x, y, z"), std::string::npos) << alice.refused();
}

TEST_F(Robots, GripperClosesWhileTheToolMoves) {
  const v1::Lease lease = Take("left", "alice");
  Operator alice(control_.get());
  EXPECT_TRUE(WaitUntil([&] {
    v1::CommandRequest grip = Request(lease);
    grip.mutable_gripper()->set_controller("jaws");
    grip.mutable_gripper()->set_position(0.02);
    alice.Write(grip);
    v1::CommandRequest twist = Request(lease);
    for (const double v : {0.0, 0.0, 0.1}) twist.mutable_twist()->add_linear(v);
    alice.Write(twist);
    return std::abs(Position("left/right") - 0.02) < 1e-3 && Position("left/z") > 0.05;
  }));
  EXPECT_EQ(alice.refused(), "");
}

TEST_F(Robots, StreamEndsAndTheRobotStops) {
  const v1::Lease lease = Take("left", "alice");
  {
    Operator alice(control_.get());
    alice.Write(Target(lease, "x", 0.5));
    EXPECT_TRUE(WaitUntil([&] { return Position("left/x") > 0.01; }));
  }
  // half a metre at 0.4 m/s would take more than a second
  EXPECT_TRUE(WaitUntil([&] {
    const double before = Position("left/x");
    const std::int64_t step = Get("default").step();
    WaitUntil([&] { return Get("default").step() > step + 10; });
    return std::abs(Position("left/x") - before) < 1e-6;
  }));
  EXPECT_LT(Position("left/x"), 0.45);
}

TEST_F(Robots, SocketDescribesDrivesAndShowsThem) {
  boost::asio::io_context io;
  SocketClient socket(&io, server_->http_port(), kTimeout);
  v1::DescribeWorldRequest describe;
  describe.set_name(kWorld);
  const auto world = socket.Call<v1::WorldDescription>("WorldService/DescribeWorld", describe);
  ASSERT_EQ(world.robots_size(), 2);
  EXPECT_EQ(world.robots(0).joints(0).name(), "x");

  v1::AcquireLeaseRequest acquire;
  acquire.set_world(kWorld);
  acquire.set_target("left");
  const auto lease = socket.Call<v1::Lease>("ControlService/AcquireLease", acquire);
  ASSERT_FALSE(lease.lease_id().empty());
  v1::ClientMessage subscribe;
  subscribe.mutable_subscribe()->mutable_subscription()->set_world(kWorld);
  EXPECT_EQ(socket.Ask(subscribe).status().code(), 0);

  double shown = 0, target = 0;
  EXPECT_TRUE(WaitUntil([&] {
    v1::ClientMessage command;
    *command.mutable_command() = Target(lease, "x", 0.1);
    socket.Send(command);
    const v1::ServerMessage message = socket.Receive();
    EXPECT_EQ(message.command().refused(), "");
    if (!message.stream().has_frame()) return false;
    const v1::Frame& frame = message.stream().frame();
    v1::ClientMessage ack;
    ack.mutable_subscribe()->mutable_ack()->set_frame(frame.frame());
    socket.Send(ack);
    shown = frame.joints().positions(0);
    target = frame.joints().targets(0);
    return std::abs(shown - 0.1) < 1e-3;
  }));
  EXPECT_EQ(target, 0.1);

  v1::ClientMessage wrong;
  *wrong.mutable_command() = Target(lease, "x", std::nan(""));
  socket.Send(wrong);
  std::string refused;
  EXPECT_TRUE(WaitUntil([&] {
    refused = socket.Receive().command().refused();
    return !refused.empty();
  }));
  EXPECT_NE(refused.find("\"x\" is not a finite number"), std::string::npos) << refused;
}

}  // namespace
}  // namespace pliant::server
