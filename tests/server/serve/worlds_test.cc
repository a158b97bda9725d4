// Worlds over gRPC, against a real server.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <unistd.h>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "grpcpp/generic/generic_stub.h"

#include "physics/world/world.h"
#include "pliant/v1/gateway.pb.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

class Worlds : public ServerTest {};

TEST_F(Worlds, AreCreatedListedSteppedAndDeleted) {
  ASSERT_TRUE(Create("one").ok());
  ASSERT_TRUE(Create("two").ok());
  grpc::ClientContext context;
  v1::ListWorldsRequest request;
  v1::ListWorldsResponse list;
  ASSERT_TRUE(worlds_->ListWorlds(&context, request, &list).ok());
  ASSERT_EQ(list.worlds_size(), 2);
  EXPECT_EQ(list.worlds(0).name(), "worlds/one");
  EXPECT_EQ(list.worlds(0).size().rigid_bodies(), 3);
  EXPECT_EQ(list.worlds(0).size().deformables(), 1);
  EXPECT_TRUE(list.worlds(0).clock().has_paused());

  v1::StepWorldResponse stepped;
  ASSERT_TRUE(Step("one", 3, &stepped).ok());
  EXPECT_EQ(stepped.step(), 3);
  EXPECT_DOUBLE_EQ(stepped.time(), 0.03);
  EXPECT_EQ(Get("two").step(), 0);

  ASSERT_TRUE(Delete("one").ok());
  EXPECT_EQ(Delete("one").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Step("one", 1, &stepped).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Step("two", 1, &stepped).ok());
}

TEST_F(Worlds, ListComesInPages) {
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(Create(id).ok());
  v1::ListWorldsRequest request;
  request.set_page_size(2);
  v1::ListWorldsResponse first, second;
  grpc::ClientContext one, two;
  ASSERT_TRUE(worlds_->ListWorlds(&one, request, &first).ok());
  ASSERT_EQ(first.worlds_size(), 2);
  ASSERT_FALSE(first.next_page_token().empty());
  request.set_page_token(first.next_page_token());
  ASSERT_TRUE(worlds_->ListWorlds(&two, request, &second).ok());
  ASSERT_EQ(second.worlds_size(), 1);
  EXPECT_EQ(second.worlds(0).name(), "worlds/c");
  EXPECT_TRUE(second.next_page_token().empty());
}

TEST_F(Worlds, SteppedOverTheWireHaveTheHashOfALocalRun) {
  ASSERT_TRUE(Create("remote").ok());
  v1::StepWorldResponse stepped;
  ASSERT_TRUE(Step("remote", 15, &stepped).ok());
  physics::World local(LoadTestModel());
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(local.Step().ok());
  EXPECT_EQ(stepped.state_hash(), physics::HashState(local.state()));
}

TEST_F(Worlds, BadSceneNamesPlaceAndFieldWhileAnotherWorldGoesOn) {
  ASSERT_TRUE(Create("good").ok());
  ASSERT_TRUE(RunInRealTime("good").ok());
  const std::int64_t before = Get("good").step();

  std::string bad = kTestScene;
  bad.replace(bad.find("density: 1000"), 13, "density: -3.5");
  const grpc::Status status = Create("bad", bad);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("uploaded.yaml:10:"), std::string::npos)
      << status.error_message();
  EXPECT_NE(status.error_message().find("bodies[2].rigid.density"), std::string::npos)
      << status.error_message();

  // and in machine-readable form: google.rpc.Status with a google.rpc.BadRequest
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 3);
  ASSERT_EQ(details.details_size(), 1);
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.BadRequest");
  google::rpc::BadRequest violations;
  ASSERT_TRUE(violations.ParseFromString(details.details(0).value()));
  ASSERT_GE(violations.field_violations_size(), 1);
  EXPECT_EQ(violations.field_violations(0).field(), "bodies[2].rigid.density");

  EXPECT_TRUE(WaitUntil([&] { return Get("good").step() > before + 5; }));
  // the name of the world that was not created is free
  EXPECT_TRUE(Create("bad").ok());
}

TEST_F(Worlds, UploadedSceneMayNotNameFiles) {
  const grpc::Status status = Create("spy", R"(
bodies:
  - name: ball
    deformable:
      mesh: {file: ../../../etc/passwd}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
)");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("mesh.file"), std::string::npos) << status.error_message();
}

// A server whose own folder has a mesh in it.
class OwnFolder : public ServerTest {
 protected:
  void SetUp() override {
    data_dir_ = testing::TempDir() + "pliant-own-" + std::to_string(getpid());
    std::filesystem::create_directories(data_dir_);
    std::ofstream(data_dir_ + "/pyramid.obj")
        << "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    ServerTest::SetUp();
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(data_dir_);
  }
};

TEST_F(OwnFolder, IsNotReadByUploadedScenes) {
  const grpc::Status status = Create("spy", R"(
bodies: [{name: b, rigid: {motion: FREE, density: 1000, shapes: [{mesh: {file: pyramid.obj}}]}}]
)");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("pyramid.obj"), std::string::npos)
      << status.error_message();
}

TEST_F(Worlds, ShippedSceneIsOfferedByNameWithItsFiles) {
  grpc::ClientContext context;
  v1::ServerInfo info;
  ASSERT_TRUE(worlds_->GetServer(&context, v1::GetServerRequest(), &info).ok());
  EXPECT_EQ(info.version(), "test");
  const auto& names = info.shipped_scenes();
  EXPECT_NE(std::find(names.begin(), names.end(), "soft_ball"), names.end());
  const auto create = [&](const std::string& name, v1::World* world) {
    grpc::ClientContext call;
    v1::CreateWorldRequest request;
    request.set_shipped_scene(name);
    return worlds_->CreateWorld(&call, request, world);
  };
  v1::World world;
  const grpc::Status created = create("iiwa_wsg", &world);  // its robot is in a file
  ASSERT_TRUE(created.ok()) << created.error_message();
  EXPECT_GT(world.size().joints(), 6);

  for (const char* name : {"", "no_such_scene", "../scenes/soft_ball", "robots/iiwa14"}) {
    const grpc::Status status = create(name, &world);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << name;
    EXPECT_NE(status.error_message().find("soft_ball"), std::string::npos);
  }
}

TEST_F(Worlds, CarryLabelsAndAreListedByThem) {
  const auto create = [&](const std::string& id, const std::string& team, double timeout = 0) {
    grpc::ClientContext context;
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_scene_yaml(kTestScene);
    request.set_idle_timeout(timeout);
    (*request.mutable_labels())["team"] = team;
    v1::World world;
    return worlds_->CreateWorld(&context, request, &world);
  };
  ASSERT_TRUE(create("a", "red", 3600).ok());
  ASSERT_TRUE(create("b", "blue").ok());
  grpc::ClientContext context;
  v1::ListWorldsRequest request;
  (*request.mutable_labels())["team"] = "red";
  v1::ListWorldsResponse list;
  ASSERT_TRUE(worlds_->ListWorlds(&context, request, &list).ok());
  ASSERT_EQ(list.worlds_size(), 1);
  EXPECT_EQ(list.worlds(0).name(), "worlds/a");
  EXPECT_EQ(list.worlds(0).labels().at("team"), "red");
  EXPECT_EQ(list.worlds(0).idle_timeout(), 3600);
  EXPECT_FALSE(list.worlds(0).owner().empty());
  EXPECT_EQ(list.worlds(0).state_hash(),
            physics::HashState(physics::World(LoadTestModel()).state()));

  for (const grpc::Status& status :
       {create("c", std::string(64, 'x')), create("c", "red", 0.5), create("c", "red", 1e9)})
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
}

TEST_F(Worlds, NamesAreChecked) {
  EXPECT_EQ(Create("Upper").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Create(std::string(64, 'a')).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(Create("twice").ok());
  EXPECT_EQ(Create("twice").error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(Worlds, AreBoundedInNumber) {
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(Create(id).ok());
  EXPECT_EQ(Create("e").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ASSERT_TRUE(Delete("a").ok());
  EXPECT_TRUE(Create("e").ok());
}

TEST_F(Worlds, RunningOneIsNotStepped) {
  ASSERT_TRUE(Create("busy").ok());
  ASSERT_TRUE(RunInRealTime("busy").ok());
  v1::StepWorldResponse stepped;
  EXPECT_EQ(Step("busy", 1, &stepped).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(Worlds, ClockRefusesWhatIsNoFactor) {
  ASSERT_TRUE(Create("w").ok());
  for (const double factor : {-1.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(RunInRealTime("w", factor).error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << factor;
  }
  EXPECT_TRUE(Get("w").clock().has_paused());
}

TEST_F(Worlds, LongStepEndsAtItsDeadlineAndTheWorldLivesOn) {
  ASSERT_TRUE(Create("long").ok());
  v1::StepWorldResponse stepped;
  EXPECT_EQ(Step("long", 9'000'000, &stepped, std::chrono::milliseconds(300)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Step("long", 1, &stepped).ok());
  EXPECT_LT(stepped.step(), 9'000'000);
}

TEST_F(Worlds, DeletingOneEndsALongStepInIt) {
  ASSERT_TRUE(Create("doomed").ok());
  grpc::Status status;
  std::thread stepping([&] {
    v1::StepWorldResponse stepped;
    status = Step("doomed", 9'000'000, &stepped);
  });
  EXPECT_TRUE(WaitUntil([&] { return Get("doomed").step() > 0; }));
  EXPECT_TRUE(Delete("doomed").ok());
  stepping.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(Worlds, CheckpointRestoreAndForkReproduceTheSameBits) {
  ASSERT_TRUE(Create("origin").ok());
  v1::StepWorldResponse stepped;
  ASSERT_TRUE(Step("origin", 8, &stepped).ok());
  v1::CheckpointWorldRequest save;
  save.set_name("worlds/origin");
  v1::CheckpointWorldResponse saved;
  grpc::ClientContext one, two, three, four;
  ASSERT_TRUE(worlds_->CheckpointWorld(&one, save, &saved).ok());
  EXPECT_EQ(saved.state_hash(), stepped.state_hash());

  v1::ForkWorldRequest fork;
  fork.set_name("worlds/origin");
  fork.set_world_id("branch");
  v1::World world;
  ASSERT_TRUE(worlds_->ForkWorld(&two, fork, &world).ok());
  EXPECT_EQ(world.step(), 8);
  ASSERT_TRUE(Step("origin", 7, &stepped).ok());
  const std::string end = stepped.state_hash();
  ASSERT_TRUE(Step("branch", 7, &stepped).ok());
  EXPECT_EQ(stepped.state_hash(), end);

  v1::RestoreWorldRequest restore;
  restore.set_name("worlds/origin");
  restore.set_state(saved.state());
  ASSERT_TRUE(worlds_->RestoreWorld(&three, restore, &world).ok());
  EXPECT_EQ(world.step(), 8);
  ASSERT_TRUE(Step("origin", 7, &stepped).ok());
  EXPECT_EQ(stepped.state_hash(), end);

  // damaged bytes are refused and change nothing
  saved.mutable_state()->at(saved.state().size() / 2) ^= 1;
  restore.set_state(saved.state());
  EXPECT_EQ(worlds_->RestoreWorld(&four, restore, &world).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Get("origin").step(), 15);
}

TEST_F(Worlds, FaultPausesOnlyTheOneThatHasIt) {
  ASSERT_TRUE(Create("sound").ok());
  ASSERT_TRUE(Create("faulty", kFaultyScene).ok());
  ASSERT_TRUE(RunInRealTime("sound").ok());
  ASSERT_TRUE(RunInRealTime("faulty").ok());
  ASSERT_TRUE(WaitUntil([&] { return Get("faulty").has_fault(); }));
  const v1::World faulty = Get("faulty");
  EXPECT_TRUE(faulty.clock().has_paused());
  EXPECT_GT(faulty.fault().step(), 0);
  EXPECT_NE(faulty.fault().reason().find("converge"), std::string::npos) << faulty.fault().reason();

  const std::int64_t before = Get("sound").step();
  EXPECT_TRUE(WaitUntil([&] { return Get("sound").step() > before + 5; }));
  EXPECT_FALSE(Get("sound").has_fault());

  // its checkpoint is still valid
  grpc::ClientContext one, two;
  v1::CheckpointWorldRequest save;
  save.set_name("worlds/faulty");
  v1::CheckpointWorldResponse saved;
  ASSERT_TRUE(worlds_->CheckpointWorld(&one, save, &saved).ok());
  v1::RestoreWorldRequest restore;
  restore.set_name("worlds/faulty");
  restore.set_state(saved.state());
  v1::World world;
  EXPECT_TRUE(worlds_->RestoreWorld(&two, restore, &world).ok());
  EXPECT_FALSE(world.has_fault());
}

// An explicit step that is too long for the stiffness: the motion grows until it overflows.
constexpr char kOverflowingScene[] = R"(name: overflowing
method: {convex: {theta: [0, 1]}}
bodies:
  - name: jelly
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.1}
      material: {model: LINEAR, youngs_modulus: 1.0e7, poissons_ratio: 0.4, density: 1000}
      velocity: {angular: [0, 10, 0]}
)";

TEST_F(Worlds, OneThatTurnsNotFiniteSaysSoAndLeavesOthersRunning) {
  ASSERT_TRUE(Create("sound").ok());
  ASSERT_TRUE(Create("burst", kOverflowingScene).ok());
  ASSERT_TRUE(RunInRealTime("sound").ok());
  v1::StepWorldResponse response;
  const grpc::Status status = Step("burst", 2000, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_NE(status.error_message().find("finite"), std::string::npos) << status.error_message();
  const v1::World burst = Get("burst");
  EXPECT_NE(status.error_message().find("after " + std::to_string(burst.step()) + " of 2000"),
            std::string::npos)
      << status.error_message();
  EXPECT_TRUE(burst.clock().has_paused());
  EXPECT_EQ(burst.fault().body(), "jelly");
  EXPECT_EQ(burst.fault().step(), burst.step() + 1);

  // probes sample the last state, which is finite
  grpc::ClientContext one, two;
  v1::ProbeWorldRequest probe;
  probe.set_name("worlds/burst");
  probe.add_definitions()->mutable_position()->set_body("jelly");
  v1::ProbeWorldResponse sampled;
  ASSERT_TRUE(worlds_->ProbeWorld(&one, probe, &sampled).ok());
  for (const double number : sampled.probes(0).values()) EXPECT_TRUE(std::isfinite(number));

  const std::int64_t before = Get("sound").step();
  EXPECT_TRUE(WaitUntil([&] { return Get("sound").step() > before + 5; }));
  EXPECT_FALSE(Get("sound").has_fault());

  // the same step fails again, and a reset is the way out
  EXPECT_EQ(Step("burst", 1, &response).error_code(), grpc::StatusCode::ABORTED);
  v1::ResetWorldRequest reset;
  reset.set_name("worlds/burst");
  v1::World world;
  ASSERT_TRUE(worlds_->ResetWorld(&two, reset, &world).ok());
  EXPECT_FALSE(world.has_fault());
  EXPECT_TRUE(Step("burst", 3, &response).ok());
}

TEST_F(Worlds, DescriptionCarriesShapesAndSurfaces) {
  ASSERT_TRUE(Create("w").ok());
  grpc::ClientContext context;
  v1::DescribeWorldRequest request;
  request.set_name("worlds/w");
  v1::WorldDescription description;
  ASSERT_TRUE(worlds_->DescribeWorld(&context, request, &description).ok());
  ASSERT_EQ(description.rigid_bodies_size(), 3);
  EXPECT_EQ(description.rigid_bodies(1).name(), "paddle");
  EXPECT_EQ(description.rigid_bodies(1).motion(), v1::RigidBody::MOTION_KINEMATIC);
  EXPECT_DOUBLE_EQ(description.rigid_bodies(1).shapes(0).box().size(0), 0.02);
  ASSERT_EQ(description.deformables_size(), 1);
  const v1::DeformableDescription& ball = description.deformables(0);
  EXPECT_EQ(ball.surface().vertices_size(), 3 * ball.surface_to_volume_size());
  EXPECT_GT(ball.surface().indices_size(), 0);
  for (const std::uint32_t index : ball.surface().indices()) {
    ASSERT_LT(index, static_cast<std::uint32_t>(ball.surface_to_volume_size()));
  }
}

TEST_F(Worlds, HealthAndReflectionAnswerWithoutOurSchema) {
  // as sent by grpcurl: ServerReflectionRequest{list_services: ""} encodes to the bytes 3a 00
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  ASSERT_TRUE(wait());
  const grpc::Slice slice(std::string("\x3a\x00", 2));
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(wait());
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  ASSERT_TRUE(wait());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(response.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& part : slices)
    bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
  for (const char* service : {"pliant.v1.WorldService", "pliant.v1.StreamService",
                              "pliant.v1.ControlService", "grpc.health.v1.Health"}) {
    EXPECT_NE(bytes.find(service), std::string::npos) << service;
  }
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
}

}  // namespace
}  // namespace pliant::server
