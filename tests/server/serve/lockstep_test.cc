// Lockstep over gRPC, against a real server.

#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

std::string LockstepScene() {
  return std::string(kTestScene) + R"(probes:
  - {name: paddle_p, position: {body: paddle}}
  - {name: touching, contact_points: {}}
  - {name: strain, field: {body: ball, measure: VON_MISES_STRAIN, reduce: MAX}}
)";
}

class LockstepCalls : public ServerTest {
 protected:
  static v1::StepWorldRequest Request(const std::string& id, int steps, double speed) {
    v1::StepWorldRequest request;
    request.set_name("worlds/" + id);
    request.set_steps(steps);
    v1::TargetCommand* command = request.add_commands();
    command->set_target("paddle");
    for (const double v : {speed, 0.0, 0.0}) command->mutable_twist()->add_linear(v);
    return request;
  }
  v1::StepWorldResponse Advance(const v1::StepWorldRequest& request) {
    grpc::ClientContext context;
    v1::StepWorldResponse response;
    const grpc::Status status = worlds_->StepWorld(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(LockstepCalls, StepsWithCommandsReturnProbesAndAFrame) {
  ASSERT_TRUE(Create("w", LockstepScene()).ok());
  v1::StepWorldRequest request = Request("w", 40, 0.5);
  request.add_probes("paddle_p");
  request.add_probes("touching");
  request.mutable_frame()->set_contacts(true);
  request.mutable_frame()->add_fields(v1::FIELD_MEASURE_VON_MISES_STRESS);
  const v1::StepWorldResponse response = Advance(request);
  EXPECT_EQ(response.step(), 40);
  ASSERT_EQ(response.probes_size(), 2);
  EXPECT_EQ(response.probes(0).name(), "paddle_p");
  EXPECT_GT(response.probes(0).values(0), -0.45);
  EXPECT_EQ(response.probes(1).rows_size(), response.report().contacts());
  EXPECT_EQ(response.frame().step(), 40);
  EXPECT_EQ(response.frame().contacts().gaps_size(), response.report().contacts());
  EXPECT_EQ(response.frame().fields(0).measure(), v1::FIELD_MEASURE_VON_MISES_STRESS);

  grpc::ClientContext context;
  v1::ProbeWorldRequest probe;
  probe.set_name("worlds/w");
  v1::ProbeWorldResponse all;
  ASSERT_TRUE(worlds_->ProbeWorld(&context, probe, &all).ok());
  EXPECT_EQ(all.step(), 40);
  ASSERT_EQ(all.probes_size(), 3);
  EXPECT_EQ(all.probes(0).values(0), response.probes(0).values(0));

  grpc::ClientContext another;
  probe.add_probes("missing");
  const grpc::Status status = worlds_->ProbeWorld(&another, probe, &all);
  EXPECT_NE(status.error_message().find("\"missing\""), std::string::npos);
}

TEST_F(LockstepCalls, AnyProbeOfTheSceneSchemaIsAnsweredOnce) {
  ASSERT_TRUE(Create("w", LockstepScene()).ok());
  Advance(Request("w", 40, 0.5));
  v1::ProbeWorldRequest request;
  request.set_name("worlds/w");
  request.add_probes("strain");
  v1::Probe* declared = request.add_definitions();
  declared->set_name("again");
  declared->mutable_field()->set_body("ball");
  declared->mutable_field()->set_measure(v1::FIELD_MEASURE_VON_MISES_STRAIN);
  declared->mutable_field()->set_reduce(v1::FieldProbe::REDUCE_MAX);
  request.add_definitions()->mutable_volume()->set_body("ball");
  v1::ProbeWorldResponse response;
  grpc::Status status;
  const auto probe = [&] {
    grpc::ClientContext context;
    status = worlds_->ProbeWorld(&context, request, &response);
  };
  probe();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.probes_size(), 3);
  EXPECT_EQ(response.probes(1).name(), "again");
  EXPECT_EQ(response.probes(1).values(0), response.probes(0).values(0));
  // between those of an octahedron and of a sphere, of 5 cm
  EXPECT_GT(response.probes(2).values(0), 1.6e-4);
  EXPECT_LT(response.probes(2).values(0), 5.3e-4);

  // definitions alone are sampled alone; the scene is as before
  request.clear_probes();
  probe();
  EXPECT_EQ(response.probes_size(), 2);
  request.mutable_definitions(1)->mutable_volume()->set_body("cube");
  probe();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("definitions[1].volume.body: \"cube\" is rigid"),
            std::string::npos)
      << status.error_message();
  request.clear_definitions();
  probe();
  EXPECT_EQ(response.probes_size(), 3);
  for (int i = 0; i < 257; ++i) request.add_definitions()->mutable_energy();
  probe();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("at most 256"), std::string::npos);
}

TEST_F(LockstepCalls, ForkAndCheckpointTakenInMotionRepeatBitForBit) {
  ASSERT_TRUE(Create("w", LockstepScene()).ok());
  Advance(Request("w", 10, 0.5));
  const auto fork = [this](const std::string& id) {
    grpc::ClientContext context;
    v1::ForkWorldRequest request;
    request.set_name("worlds/w");
    request.set_world_id(id);
    v1::World world;
    EXPECT_TRUE(worlds_->ForkWorld(&context, request, &world).ok());
  };
  v1::CheckpointWorldRequest save;
  save.set_name("worlds/w");
  v1::CheckpointWorldResponse saved;
  grpc::ClientContext saving;
  ASSERT_TRUE(worlds_->CheckpointWorld(&saving, save, &saved).ok());
  fork("f");
  fork("g");

  // without a command the paddle ramps to rest from its speed
  v1::StepWorldRequest nothing;
  nothing.set_steps(8);  // enough to turn round
  const auto rest = [&](const std::string& id) {
    nothing.set_name("worlds/" + id);
    return Advance(nothing).state_hash();
  };
  const std::string ramped = rest("w"), turned = Advance(Request("g", 8, -0.2)).state_hash();
  EXPECT_EQ(rest("f"), ramped);
  EXPECT_NE(turned, ramped);

  v1::RestoreWorldRequest restore;
  restore.set_name("worlds/w");
  restore.set_state(saved.state());
  for (const bool turns : {false, true}) {
    grpc::ClientContext restoring;
    v1::World world;
    ASSERT_TRUE(worlds_->RestoreWorld(&restoring, restore, &world).ok());
    EXPECT_EQ(turns ? Advance(Request("w", 8, -0.2)).state_hash() : rest("w"),
              turns ? turned : ramped);
  }
}

TEST_F(LockstepCalls, ManyWorldsRepeatBitForBitHoweverLongTheClientWaits) {
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(Create(id, LockstepScene()).ok());
  v1::StepWorldsRequest together;
  for (const char* id : {"a", "b", "missing"}) *together.add_requests() = Request(id, 7, 0.3);
  v1::StepWorldsResponse response;
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    const grpc::Status status = worlds_->StepWorlds(&context, together, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.results_size(), 3);
    EXPECT_EQ(response.results(2).status().code(), 5);

    // this client waits until its commands would have lapsed
    const v1::StepWorldResponse alone = Advance(Request("c", 7, 0.3));
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    for (const int world : {0, 1})
      EXPECT_EQ(response.results(world).response().state_hash(), alone.state_hash());
  }
  EXPECT_EQ(response.results(0).response().step(), 21);
}

}  // namespace
}  // namespace pliant::server
