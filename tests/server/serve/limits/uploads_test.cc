// Scenes with files of their own, progress and cancellation of creations, over gRPC.

#include <filesystem>
#include <fstream>
#include <iterator>

#include "pliant/v1/objects.grpc.pb.h"
#include "pliant/v1/record.grpc.pb.h"
#include "server/host/creation.h"
#include "server/service/handlers.h"
#include "server/uploads/sha256.h"
#include "tests/server/run/temporary_folder.h"
#include "tests/server/serve/program.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

constexpr char kTetrahedron[] = R"(# vtk DataFile Version 3.0
one tetrahedron
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 4 double
0 0 0
0.1 0 0
0 0.1 0
0 0 0.1
CELLS 1 5
4 0 1 2 3
CELL_TYPES 1
10
)";
constexpr char kMeshScene[] = R"(name: with_mesh
bodies:
  - name: tet
    deformable: {mesh: {file: meshes/tet.vtk},
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
        density: 1000}}
)";
constexpr char kUrdf[] = R"(<robot name="arm">
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="link.stl"/></geometry></visual>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
</robot>
)";
constexpr char kStl[] = R"(solid one
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 0.1 0 0
vertex 0 0.1 0
endloop
endfacet
endsolid one
)";

class Uploads : public ServerTest {
 protected:
  void SetUp() override {
    data_dir_ = folder_.File("data");
    ServerTest::SetUp();
    objects_ = v1::ObjectService::NewStub(channel_);
  }

  // Sends content in chunks; returns its hash.
  std::string Upload(const std::string& content, std::size_t chunk = 100) {
    const std::string sha256 = CalcSha256(content);
    bool complete = false;
    for (std::size_t at = 0; !complete;) {
      grpc::ClientContext context;
      v1::UploadObjectRequest request;
      request.set_sha256(sha256);
      request.set_size(static_cast<std::int64_t>(content.size()));
      request.set_offset(static_cast<std::int64_t>(at));
      request.set_data(content.substr(at, chunk));
      v1::UploadObjectResponse response;
      const grpc::Status status = objects_->UploadObject(&context, request, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      if (!status.ok()) break;
      at = static_cast<std::size_t>(response.received());
      complete = response.complete();
    }
    return sha256;
  }

  grpc::Status CreateWith(const std::string& id, const std::string& yaml,
                          const std::map<std::string, std::string>& files, v1::World* world) {
    grpc::ClientContext context;
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_scene_yaml(yaml);
    request.mutable_files()->insert(files.begin(), files.end());
    return worlds_->CreateWorld(&context, request, world);
  }

  TemporaryFolder folder_;
  std::unique_ptr<v1::ObjectService::Stub> objects_;
};

TEST_F(Uploads, SceneHasTheMeshThatWasUploadedForIt) {
  const std::string sha256 = Upload(kTetrahedron);
  v1::World world;
  const grpc::Status status = CreateWith("w", kMeshScene, {{"meshes/tet.vtk", sha256}}, &world);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world.size().tetrahedra(), 1);

  // no client need send it again
  grpc::ClientContext context;
  v1::FindMissingObjectsRequest request;
  request.add_sha256(sha256);
  request.add_sha256(CalcSha256("unknown"));
  v1::FindMissingObjectsResponse missing;
  ASSERT_TRUE(objects_->FindMissingObjects(&context, request, &missing).ok());
  ASSERT_EQ(missing.sha256_size(), 1);
  EXPECT_EQ(missing.sha256(0), CalcSha256("unknown"));
}

TEST_F(Uploads, RobotFileFindsTheMeshesUploadedWithIt) {
  v1::World world;
  const grpc::Status status =
      CreateWith("r", "robots: [{name: arm, file: arm/arm.urdf}]\n",
                 {{"arm/arm.urdf", Upload(kUrdf)}, {"arm/link.stl", Upload(kStl)}}, &world);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world.size().joints(), 1);
}

TEST_F(Uploads, SceneReadsNothingButItsOwnFiles) {
  v1::World world;
  // another client's file is not found by its name
  Upload(kTetrahedron);
  const std::string other = Upload("other");
  grpc::Status status = CreateWith("w", kMeshScene, {{"meshes/other.vtk", other}}, &world);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("meshes/tet.vtk"), std::string::npos);
  EXPECT_EQ(status.error_message().find(data_dir_), std::string::npos) << status.error_message();

  std::string outside = kMeshScene;
  outside.replace(outside.find("meshes/tet.vtk"), 14, "../../../../etc/passwd");
  status = CreateWith("x", outside, {{"meshes/other.vtk", other}}, &world);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("is outside"), std::string::npos) << status.error_message();

  status = CreateWith("y", kMeshScene, {{"meshes/tet.vtk", CalcSha256("never sent")}}, &world);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(status.error_message().find("UploadObject"), std::string::npos);
}

// Recordings keep the files of their scenes.
class RecordedUploads : public Uploads {
 protected:
  void SetUp() override {
    Uploads::SetUp();
    records_ = v1::RecordService::NewStub(channel_);
  }
  void CreateMesh(const std::string& id) {
    v1::World world;
    const grpc::Status status =
        CreateWith(id, kMeshScene, {{"meshes/tet.vtk", Upload(kTetrahedron)}}, &world);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  // Sets a quota of 0, which drops all uploads.
  void DropUploads() {
    Quotas quotas = quotas_;
    quotas.uploads = 0;
    server_->handlers().SetQuotas(quotas);
    ASSERT_FALSE(std::filesystem::exists(data_dir_ + "/objects/" + CalcSha256(kTetrahedron)));
  }
  grpc::Status StartRecording(const std::string& id, std::int64_t max_bytes = 0) {
    grpc::ClientContext context;
    v1::StartRecordingRequest request;
    request.set_world("worlds/" + id);
    request.set_recording_id(id);
    request.set_max_bytes(max_bytes);
    v1::Recording recording;
    return records_->StartRecording(&context, request, &recording);
  }
  void StepAndStop(const std::string& id) {
    v1::StepWorldResponse step;
    ASSERT_TRUE(Step(id, 10, &step).ok());
    grpc::ClientContext context;
    v1::StopRecordingRequest request;
    request.set_name("recordings/" + id);
    v1::Recording recording;
    ASSERT_TRUE(records_->StopRecording(&context, request, &recording).ok());
  }
  grpc::Status Replay(const std::string& id, v1::ReplayResponse* replay) {
    grpc::ClientContext context;
    v1::ReplayRequest request;
    request.set_name("recordings/" + id);
    return records_->Replay(&context, request, replay);
  }
  // The exit status of pliantd on the file of a recording.
  int Run(const std::string& command, const std::string& id,
          const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {command, data_dir_ + "/recordings/" + id + ".mcap"};
    words.insert(words.end(), options.begin(), options.end());
    return Program(words, folder_.File("errors")).Wait();
  }

  std::unique_ptr<v1::RecordService::Stub> records_;
};

TEST_F(RecordedUploads, ReplayAndExportWorkWhenTheUploadsWereDropped) {
  ASSERT_NO_FATAL_FAILURE(CreateMesh("w"));
  ASSERT_TRUE(StartRecording("w").ok());
  ASSERT_NO_FATAL_FAILURE(StepAndStop("w"));
  ASSERT_NO_FATAL_FAILURE(DropUploads());
  v1::ReplayResponse replay;
  const grpc::Status status = Replay("w", &replay);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(replay.steps(), 10);
  EXPECT_FALSE(replay.has_mismatch());
  EXPECT_EQ(Run("replay", "w"), 0) << folder_.Read(folder_.File("errors"));
  EXPECT_EQ(Run("export", "w", {"--out", folder_.File("out")}), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.File("out/probes.csv")));
  // nothing is left of the files that were unpacked
  for (const auto& entry : std::filesystem::directory_iterator(data_dir_ + "/recordings"))
    EXPECT_EQ(entry.path().extension(), ".mcap") << entry.path();
}

TEST_F(RecordedUploads, FileThatWasDroppedBeforeTheRecordingIsNamed) {
  ASSERT_NO_FATAL_FAILURE(CreateMesh("w"));
  ASSERT_NO_FATAL_FAILURE(DropUploads());
  ASSERT_TRUE(StartRecording("w").ok());
  ASSERT_NO_FATAL_FAILURE(StepAndStop("w"));
  v1::ReplayResponse replay;
  const grpc::Status status = Replay("w", &replay);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(status.error_message().find("meshes/tet.vtk"), std::string::npos)
      << status.error_message();
  EXPECT_EQ(Run("replay", "w"), 3);
  const std::string errors = folder_.Read(folder_.File("errors"));
  EXPECT_NE(errors.find("lacks \"meshes/tet.vtk\" (SHA-256 " + CalcSha256(kTetrahedron)),
            std::string::npos)
      << errors;

  // uploaded again, the server has what the recording lacks
  server_->handlers().SetQuotas(quotas_);
  Upload(kTetrahedron);
  ASSERT_TRUE(Replay("w", &replay).ok());
  EXPECT_FALSE(replay.has_mismatch());
}

TEST_F(RecordedUploads, RecordingTooSmallForItsFilesIsRefused) {
  v1::World world;
  const std::string large = std::string(kTetrahedron) + std::string(70'000, '\n');
  ASSERT_TRUE(
      CreateWith("w", kMeshScene, {{"meshes/tet.vtk", Upload(large, 50'000)}}, &world).ok());
  const grpc::Status status = StartRecording("w", 100'000);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("max_bytes"), std::string::npos);
  EXPECT_TRUE(StartRecording("w", 200'000).ok());
}

// A scene whose creation takes a few seconds, in many parts.
std::string LargeScene() {
  std::string yaml = "bodies:\n";
  for (int i = 0; i < 400; ++i) {
    yaml += "  - {name: b" + std::to_string(i) +
            ", deformable: {mesh: {sphere: {radius: 0.1}, edge_length: 0.012}, material: {model: "
            "LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}, "
            "pose: {position: [" +
            std::to_string(i) + ", 0, 0]}}}\n";
  }
  return yaml;
}

TEST_F(Uploads, IdOfARefusedWorldIsFreeWhenTheReplyArrives) {
  v1::World world;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(CreateWith("again", "bodies: []", {}, &world).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(Uploads, CreationReportsProgressAndIsEndedByDeletion) {
  grpc::Status created;
  std::thread creator([&] {
    v1::World world;
    created = CreateWith("large", LargeScene(), {}, &world);
  });
  double progress = 0;
  const bool seen = WaitUntil([&] {
    grpc::ClientContext context;
    v1::GetWorldRequest request;
    request.set_name("worlds/large");
    v1::World world;
    if (!worlds_->GetWorld(&context, request, &world).ok()) return false;
    progress = world.creation().progress();
    return progress > 0;
  });
  EXPECT_TRUE(seen);
  EXPECT_LT(progress, 1);

  // others see it among the worlds
  ASSERT_TRUE(Create("ready").ok());
  grpc::ClientContext context;
  v1::ListWorldsResponse list;
  ASSERT_TRUE(worlds_->ListWorlds(&context, v1::ListWorldsRequest(), &list).ok());
  ASSERT_EQ(list.worlds_size(), 2);
  EXPECT_EQ(list.worlds(0).name(), "worlds/large");
  EXPECT_GE(list.worlds(0).creation().progress(), progress);
  EXPECT_FALSE(list.worlds(0).owner().empty());
  EXPECT_FALSE(list.worlds(1).has_creation());
  const grpc::Status deleted = Delete("large");
  EXPECT_TRUE(deleted.ok()) << deleted.error_message();
  creator.join();
  EXPECT_EQ(created.error_code(), grpc::StatusCode::ABORTED) << created.error_message();
  EXPECT_NE(created.error_message().find("was ended by"), std::string::npos);
  // its id is free
  EXPECT_TRUE(Create("large").ok());
}

// The state of this world has more than 4 MiB.
constexpr char kSheet[] = R"(bodies: [{name: sheet, deformable: {
  mesh: {box: {size: [2.1, 2.1, 0.01]}, edge_length: 0.01},
  material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}}}]
)";

TEST_F(Uploads, StateBeyondTheSizeOfAReplyIsReadInChunksWhateverHappensToItsWorld) {
  v1::World world;
  grpc::Status status = CreateWith("w", kSheet, {}, &world);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(world.durable());
  const auto model = (*server_->handlers().registry().Get("w"))->shared_model();
  const std::string bytes = physics::SerializeState(physics::MakeInitialState(*model), model->hash);
  ASSERT_GT(bytes.size(), 4u << 20);

  v1::CheckpointWorldRequest request;
  request.set_name("worlds/w");
  v1::CheckpointWorldResponse taken;
  const auto checkpoint = [&] {
    grpc::ClientContext context;
    return worlds_->CheckpointWorld(&context, request, &taken);
  };
  status = checkpoint();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("in_chunks"), std::string::npos) << status.error_message();
  request.set_in_chunks(true);
  status = checkpoint();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(taken.size(), static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(taken.state_hash(), world.state_hash());
  EXPECT_EQ(taken.state(), "");

  // another state and the end of the world do not touch it
  ASSERT_TRUE(Delete("w").ok());
  std::string state;
  while (static_cast<std::int64_t>(state.size()) < taken.size()) {
    grpc::ClientContext context;
    v1::FetchCheckpointRequest fetch;
    fetch.set_handle(taken.handle());
    fetch.set_offset(static_cast<std::int64_t>(state.size()));
    v1::FetchCheckpointResponse chunk;
    status = worlds_->FetchCheckpoint(&context, fetch, &chunk);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_FALSE(chunk.data().empty());
    EXPECT_EQ(chunk.handle(), taken.handle());
    state += chunk.data();
  }
  EXPECT_TRUE(state == bytes);
}

TEST_F(Uploads, StateBeyondTheSizeOfARequestIsRestoredAfterItsUpload) {
  v1::World world;
  grpc::Status status = CreateWith("w", kSheet, {}, &world);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto model = (*server_->handlers().registry().Get("w"))->shared_model();
  physics::State state = physics::MakeInitialState(*model);
  state.step = 7;
  const std::string bytes = physics::SerializeState(state, model->hash);
  ASSERT_GT(bytes.size(), 4u << 20);

  const auto restore = [&](const v1::RestoreWorldRequest& request) {
    grpc::ClientContext context;
    return worlds_->RestoreWorld(&context, request, &world);
  };
  v1::RestoreWorldRequest request;
  request.set_name("worlds/w");
  request.set_sha256(CalcSha256(bytes));
  status = restore(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(status.error_message().find("UploadObject"), std::string::npos);
  Upload(bytes, 1 << 20);
  status = restore(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world.step(), 7);
  EXPECT_EQ(world.state_hash(), physics::HashState(state));

  request.set_state("both");
  EXPECT_EQ(restore(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(Uploads, DrainEndsTheCreationsUnderWay) {
  grpc::Status created;
  std::thread creator([&] {
    v1::World world;
    created = CreateWith("large", LargeScene(), {}, &world);
  });
  std::shared_ptr<Creation> creation;
  EXPECT_TRUE(WaitUntil([&] {
    creation = server_->handlers().registry().FindCreation("large");
    return creation != nullptr && creation->progress() > 0;
  }));
  server_->handlers().Drain();
  creator.join();
  EXPECT_EQ(created.error_code(), grpc::StatusCode::UNAVAILABLE) << created.error_message();
  // most of it was not built
  ASSERT_NE(creation, nullptr);
  EXPECT_LT(creation->progress(), 0.5);
}

TEST_F(Uploads, CreationEndsWithTheCallThatAskedForIt) {
  grpc::ClientContext context;
  v1::CreateWorldRequest request;
  request.set_world_id("large");
  request.set_scene_yaml(LargeScene());
  std::thread creator([&] {
    v1::World world;
    EXPECT_EQ(worlds_->CreateWorld(&context, request, &world).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(
      WaitUntil([&] { return server_->handlers().registry().FindCreation("large") != nullptr; }));
  context.TryCancel();
  creator.join();
  EXPECT_TRUE(
      WaitUntil([&] { return server_->handlers().registry().FindCreation("large") == nullptr; }));
  EXPECT_FALSE(server_->handlers().registry().Get("large").ok());
}

}  // namespace
}  // namespace pliant::server
