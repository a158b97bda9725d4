// Lockstep over gRPC, against a real server.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tests/server/host/robot_scene.h"
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

// Many worlds of one model stepped in one call whose numbers are arrays.

std::string Bytes(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

std::vector<double> Numbers(const std::string& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

class BatchCalls : public ServerTest {
 protected:
  BatchCalls() {
    quotas_.server.worlds = 20;
    scene_ = LoadGantryModel(R"(
probes:
  - {name: hand, position: {link: left/hand, point: [0, 0, 0]}}
  - {name: x, joint: {robot: right, joint: x, quantity: POSITION}}
  - {name: touching, contact_points: {}}
)");
  }

  void SetUp() override {
    ServerTest::SetUp();
    grpc::ClientContext pausing, resetting;
    v1::SetClockRequest pause;
    pause.set_name("worlds/default");
    pause.mutable_paused();
    v1::ResetWorldRequest reset;
    reset.set_name("worlds/default");
    v1::World paused;
    ASSERT_TRUE(worlds_->SetClock(&pausing, pause, &paused).ok());
    ASSERT_TRUE(worlds_->ResetWorld(&resetting, reset, &paused).ok());
    for (const char* id : {"a", "b"}) {
      grpc::ClientContext context;
      v1::ForkWorldRequest request;
      request.set_name("worlds/default");
      request.set_world_id(id);
      v1::World world;
      ASSERT_TRUE(worlds_->ForkWorld(&context, request, &world).ok());
    }
  }

  // Targets of two joints of one robot and one of the other, in an order that is not the robots'.
  static v1::StepWorldsRequest Request(const std::vector<std::string>& worlds,
                                       const std::vector<double>& actions) {
    v1::StepWorldsRequest request;
    v1::StepBatch& batch = *request.mutable_batch();
    for (const std::string& world : worlds) batch.add_names("worlds/" + world);
    v1::BatchTarget& right = *batch.add_targets();
    right.set_target("right");
    for (const char* joint : {"z", "x"}) right.add_joints(joint);
    v1::BatchTarget& left = *batch.add_targets();
    left.set_target("left");
    left.add_joints("y");
    batch.set_actions(Bytes(actions));
    batch.set_joints(true);
    for (const char* probe : {"x", "hand"}) batch.add_probes(probe);
    return request;
  }

  grpc::Status Advance(const v1::StepWorldsRequest& request, v1::StepBatchResult* result) {
    grpc::ClientContext context;
    v1::StepWorldsResponse response;
    const grpc::Status status = worlds_->StepWorlds(&context, request, &response);
    *result = response.batch();
    return status;
  }

  void ExpectRefused(const v1::StepWorldsRequest& request, const std::string& why) {
    v1::StepBatchResult result;
    const grpc::Status status = Advance(request, &result);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find(why), std::string::npos) << status.error_message();
  }
};

TEST_F(BatchCalls, StepWorldsAsSingleRequestsDo) {
  v1::StepBatchResult result;
  std::vector<double> actions{0.1, 0.2, -0.1, -0.2, 0.05, 0.1};
  for (int i = 0; i < 5; ++i) {
    actions[3] += 0.02;
    v1::StepWorldsRequest request = Request({"a", "b"}, actions);
    request.mutable_batch()->set_steps(3);
    ASSERT_TRUE(Advance(request, &result).ok());
  }
  ASSERT_EQ(result.failures_size(), 0);
  EXPECT_EQ(std::vector<std::int64_t>(result.steps().begin(), result.steps().end()),
            (std::vector<std::int64_t>{15, 15}));
  EXPECT_NEAR(result.times(1), 0.15, 1e-12);

  // the second world's steps, one request for each
  actions = {0.1, 0.2, -0.1, -0.2, 0.05, 0.1};
  v1::StepWorldResponse single;
  for (int i = 0; i < 5; ++i) {
    actions[3] += 0.02;
    v1::StepWorldRequest request;
    request.set_name("worlds/default");
    request.set_steps(3);
    const auto command = [&](const char* target, std::vector<std::pair<const char*, double>> to) {
      v1::TargetCommand& each = *request.add_commands();
      each.set_target(target);
      for (const auto& [joint, value] : to) {
        each.mutable_joint_targets()->add_joints(joint);
        each.mutable_joint_targets()->add_values(value);
      }
    };
    command("right", {{"z", actions[3]}, {"x", actions[4]}});
    command("left", {{"y", actions[5]}});
    for (const char* probe : {"x", "hand"}) request.add_probes(probe);
    request.mutable_frame()->add_bodies("left/hand");
    grpc::ClientContext context;
    ASSERT_TRUE(worlds_->StepWorld(&context, request, &single).ok());
  }
  EXPECT_EQ(result.state_hashes(1), single.state_hash());
  EXPECT_NE(result.state_hashes(0), single.state_hash());

  const std::vector<double> probes = Numbers(result.probes());
  ASSERT_EQ(probes.size(), 8);
  EXPECT_EQ(probes[4], single.probes(0).values(0));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(probes[5 + i], single.probes(1).values(i));
  const auto& joints = single.frame().joints();
  const std::vector<double> positions = Numbers(result.joint_positions());
  const std::vector<double> velocities = Numbers(result.joint_velocities());
  const int count = joints.positions_size();
  ASSERT_EQ(static_cast<int>(positions.size()), 2 * count);
  ASSERT_EQ(static_cast<int>(velocities.size()), 2 * count);
  double fastest = 0;
  for (int j = 0; j < count; ++j) {
    EXPECT_EQ(positions[count + j], joints.positions(j));
    EXPECT_EQ(static_cast<float>(velocities[count + j]), joints.velocities(j));
    fastest = std::max(fastest, std::abs(velocities[count + j]));
  }
  EXPECT_GT(fastest, 0.01);
}

// More worlds than there are threads, stepped one step at a time and several at a time by two
// clients at once, lead to the state that one world has alone.
TEST_F(BatchCalls, ManyWorldsOfTwoClientsAreSteppedByTurns) {
  constexpr int kWorlds = 8;
  for (const char* client : {"x", "y"}) {
    for (int i = 0; i < kWorlds; ++i) {
      grpc::ClientContext context;
      v1::ForkWorldRequest request;
      request.set_name("worlds/default");
      request.set_world_id(absl::StrCat(client, i));
      v1::World world;
      ASSERT_TRUE(worlds_->ForkWorld(&context, request, &world).ok());
    }
  }
  const auto drive = [&](const std::string& client, int steps_of_each, std::string* hash) {
    std::vector<std::string> names;
    for (int i = 0; i < kWorlds; ++i) names.push_back(absl::StrCat(client, i));
    const std::vector<double> actions(3 * kWorlds, 0.1);
    v1::StepBatchResult result;
    for (int step = 0; step < 60; step += steps_of_each) {
      v1::StepWorldsRequest request = Request(names, actions);
      request.mutable_batch()->set_steps(steps_of_each);
      ASSERT_TRUE(Advance(request, &result).ok());
      ASSERT_EQ(result.failures_size(), 0) << result.failures(0).status().message();
    }
    *hash = result.state_hashes(0);
    for (int i = 0; i < kWorlds; ++i) {
      EXPECT_EQ(result.steps(i), 60);
      EXPECT_EQ(result.state_hashes(i), *hash);
    }
  };
  std::string of_single, of_five, alone;
  std::thread other([&] { drive("x", 5, &of_five); });
  drive("y", 1, &of_single);
  other.join();
  EXPECT_EQ(of_single, of_five);
  v1::StepBatchResult result;
  for (int step = 0; step < 60; ++step)
    ASSERT_TRUE(Advance(Request({"a"}, {0.1, 0.1, 0.1}), &result).ok());
  EXPECT_EQ(result.state_hashes(0), of_single);
}

TEST_F(BatchCalls, AWorldThatCannotBeSteppedLeavesTheOthers) {
  v1::Lease lease;
  ASSERT_TRUE(Acquire("b", "left", "someone", false, &lease).ok());
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> actions(12, 0.1);
  actions[10] = kNan;  // of the last world
  v1::StepBatchResult result;
  ASSERT_TRUE(Advance(Request({"a", "missing", "b", "default"}, actions), &result).ok());
  EXPECT_EQ(std::vector<std::int64_t>(result.steps().begin(), result.steps().end()),
            (std::vector<std::int64_t>{1, -1, -1, -1}));
  ASSERT_EQ(result.failures_size(), 3);
  const char* const why[] = {"worlds/missing", "\"left\" is driven by someone",
                             "actions[3][1]: nan is not a finite number"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(result.failures(i).index(), i + 1);
    EXPECT_NE(result.failures(i).status().message().find(why[i]), std::string::npos)
        << result.failures(i).status().message();
  }
  EXPECT_NE(result.state_hashes(0), "");
  EXPECT_EQ(result.state_hashes(1), "");
  const std::vector<double> probes = Numbers(result.probes());
  ASSERT_EQ(probes.size(), 16);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(probes[i]), i >= 4);

  // without any world that can be stepped
  ASSERT_TRUE(Advance(Request({"gone"}, {0, 0, 0}), &result).ok());
  ASSERT_EQ(result.failures_size(), 1);
  EXPECT_EQ(result.failures(0).status().code(), 5);
}

TEST_F(BatchCalls, InvalidBatchesAreRefusedWithThePlace) {
  const v1::StepWorldsRequest good = Request({"a", "b"}, {0, 0, 0, 0, 0, 0});
  v1::StepWorldsRequest request = good;
  request.mutable_batch()->clear_names();
  ExpectRefused(request, "batch.names: 0 worlds; expected 1 to 1024");
  request = good;
  request.mutable_batch()->set_actions("12345678");
  ExpectRefused(request, "batch.actions: 8 bytes; expected 48, float64 for 2 worlds and 3 joints");
  request = good;
  request.mutable_batch()->mutable_targets(0)->set_joints(1, "w");
  ExpectRefused(request, "\"w\"");
  request = good;
  request.mutable_batch()->mutable_targets(1)->set_target("right");
  ExpectRefused(request, "batch.targets: \"right\" is given twice");
  request = good;
  request.mutable_batch()->add_probes("touching");
  ExpectRefused(request, "batch.probes: \"touching\" has rows");
  request = good;
  request.mutable_batch()->add_probes("strain");
  ExpectRefused(request, "no probe \"strain\"");
  request = good;
  request.add_requests()->set_name("worlds/a");
  ExpectRefused(request, "send one of both");
  request = good;
  ASSERT_TRUE(Create("other").ok());
  request.mutable_batch()->set_names(1, "worlds/other");
  ExpectRefused(request, "batch.names[1]: worlds/other has another model than worlds/a");
  // nothing was stepped
  EXPECT_EQ(Get("a").step(), 0);
}

}  // namespace
}  // namespace pliant::server
