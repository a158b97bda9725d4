// Worlds that the server makes of uploaded robots, meshes and scenes, over gRPC.

#include <filesystem>

#include "gmock/gmock.h"

#include "pliant/v1/objects.grpc.pb.h"
#include "server/serve/server.h"
#include "server/service/handlers.h"
#include "server/uploads/sha256.h"
#include "tests/gltf_in_two_files.h"
#include "tests/server/run/temporary_folder.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two joints; the links have meshes in a package.
constexpr char kArm[] = R"(<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.05 0.05 0.05"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="package://my_arm/meshes/upper.obj"/></geometry></collision>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="1 0 0"/><origin xyz="0 0 0.5"/>
    <limit lower="-1" upper="1" effort="100" velocity="1"/>
  </joint>
</robot>
)";
constexpr char kCube[] =
    "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0.1 0.1 0\nv 0 0 0.1\nv 0.1 0 0.1\nv 0 0.1 0.1\n"
    "v 0.1 0.1 0.1\nf 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";
constexpr char kScene[] = R"(name: given
bodies: [{name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}]
robots: [{name: arm, file: robots/arm.urdf}]
)";

using Files = std::map<std::string, std::string>;  // content by path

class Imports : public ServerTest {
 protected:
  void SetUp() override {
    data_dir_ = folder_.File("data");
    ServerTest::SetUp();
    objects_ = v1::ObjectService::NewStub(channel_);
  }

  grpc::Status Upload(const std::string& content) {
    grpc::ClientContext context;
    v1::UploadObjectRequest request;
    request.set_sha256(CalcSha256(content));
    request.set_size(static_cast<std::int64_t>(content.size()));
    request.set_data(content);
    v1::UploadObjectResponse response;
    return objects_->UploadObject(&context, request, &response);
  }

  // Uploads the files, and imports those that are named, or what the server chooses.
  grpc::Status Import(const std::string& id, const Files& files,
                      const std::vector<std::string>& named = {}, bool durable = false) {
    v1::CreateWorldRequest request;
    request.set_world_id(id);
    request.set_durable(durable);
    request.mutable_imported()->mutable_files()->Add(named.begin(), named.end());
    for (const auto& [path, content] : files) {
      const grpc::Status status = Upload(content);
      if (!status.ok()) return status;
      (*request.mutable_files())[path] = CalcSha256(content);
    }
    grpc::ClientContext context;
    return worlds_->CreateWorld(&context, request, &world_);
  }

  void ExpectRefused(const grpc::Status& status, const std::string& why) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr(why));
    EXPECT_THAT(status.error_message(), Not(HasSubstr(folder_.File("data"))));
  }

  const TemporaryFolder folder_;
  std::unique_ptr<v1::ObjectService::Stub> objects_;
  v1::World world_;
};

TEST_F(Imports, ASurfaceBecomesASoftBodyThatFalls) {
  grpc::Status status = Import("part", {{"part.obj", kCube}});
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world_.size().deformables(), 1);
  EXPECT_GT(world_.size().tetrahedra(), 1000);
  EXPECT_EQ(world_.scene_name(), "part");
  const std::string before = world_.state_hash();
  v1::StepWorldResponse step;
  ASSERT_TRUE(Step("part", 2, &step).ok());
  EXPECT_NE(step.state_hash(), before);
}

TEST_F(Imports, WarningsComeWithTheReplyAndNameTheFiles) {
  ASSERT_TRUE(Import("whole", {{"part.obj", kCube}}).ok());
  EXPECT_EQ(world_.warnings_size(), 0);
  std::string open = kCube;
  open.resize(open.rfind("f "));
  const grpc::Status status =
      Import("open", {{"parts/part.obj", open}, {"arm.urdf", kArm}, {"upper.obj", kCube}},
             {"parts/part.obj"});
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(world_.warnings_size(), 1);
  EXPECT_THAT(world_.warnings(0),
              testing::MatchesRegex("parts/part\\.obj: has [0-9]+ edges with one "
                                    "triangle; closed by winding number.*"));
}

TEST_F(Imports, ASurfaceInTwoFilesBecomesASoftBody) {
  const std::string gltf = GltfNaming("buffers/part.bin"), buffer = GltfBuffer();
  // at the path that the file gives, or without its folder
  for (const char* place : {"parts/buffers/part.bin", "part.bin"}) {
    const grpc::Status status = Import("part", {{"parts/part.gltf", gltf}, {place, buffer}});
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(world_.size().deformables(), 1);
    ASSERT_TRUE(Delete("part").ok());
  }
  ExpectRefused(Import("alone", {{"part.gltf", gltf}}), "buffers/part.bin");
}

TEST_F(Imports, ARobotFindsItsMeshesByTheirNames) {
  // dropped without the folders of its package
  grpc::Status status = Import("flat", {{"arm.urdf", kArm}, {"upper.obj", kCube}});
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world_.size().joints(), 1);
  EXPECT_EQ(world_.size().deformables(), 0);
  // the same in its package, whose other meshes and descriptions are left out
  const std::string hash = world_.state_hash();
  status = Import("package", {{"my_arm/urdf/arm.urdf", kArm},
                              {"my_arm/meshes/upper.obj", kCube},
                              {"my_arm/meshes/spare.obj", kCube},
                              {"my_arm/package.xml", "<package><name>my_arm</name></package>"},
                              {"my_arm/config/arm.srdf", "<robot name='arm'/>"},
                              {"my_arm/config/gains.yaml", "p: 1\n"}});
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world_.state_hash(), hash);
}

TEST_F(Imports, SeveralFilesMakeOneWorld) {
  grpc::Status status =
      Import("both", {{"arm.urdf", kArm}, {"upper.obj", kCube}, {"part.obj", kCube}});
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world_.size().joints(), 1);
  EXPECT_EQ(world_.size().deformables(), 1);
  // only the named files, if some are named
  status = Import("named", {{"arm.urdf", kArm}, {"upper.obj", kCube}, {"part.obj", kCube}},
                  {"arm.urdf"});
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world_.size().deformables(), 0);
}

TEST_F(Imports, ASceneComesWithItsFilesWhereverTheyLie) {
  for (const auto& [id, files] : std::map<std::string, Files>{
           {"beside", {{"scene.yaml", kScene}, {"robots/arm.urdf", kArm}, {"upper.obj", kCube}}},
           {"flat", {{"scene.yaml", kScene}, {"arm.urdf", kArm}, {"upper.obj", kCube}}},
           {"below",
            {{"mine/scenes/scene.yaml", kScene},
             {"mine/scenes/robots/arm.urdf", kArm},
             {"mine/my_arm/meshes/upper.obj", kCube}}}}) {
    const grpc::Status status = Import(id, files);
    ASSERT_TRUE(status.ok()) << id << ": " << status.error_message();
    EXPECT_EQ(world_.scene_name(), "given");
    EXPECT_EQ(world_.size().joints(), 1) << id;
  }
}

TEST_F(Imports, ADurableWorldComesBackWithoutTheUploads) {
  grpc::Status status = Import("kept", {{"arm.urdf", kArm}, {"upper.obj", kCube}}, {}, true);
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::StepWorldResponse step;
  ASSERT_TRUE(Step("kept", 3, &step).ok());
  server_.reset();
  std::filesystem::remove_all(data_dir_ + "/objects");
  ServerTest::SetUp();
  EXPECT_EQ(Get("kept").state_hash(), step.state_hash());
}

TEST_F(Imports, FaultsNameFileLineAndRemedy) {
  std::string broken = kArm;
  broken.replace(broken.find("link=\"upper\""), 12, "link=\"lower\"");
  ExpectRefused(Import("w", {{"arm.urdf", broken}, {"upper.obj", kCube}}), "\narm.urdf:9: ");
  ExpectRefused(Import("w", {{"arm.urdf", kArm}}),
                "\"package://my_arm/meshes/upper.obj\": no such file, and no single one of this "
                "name, was given with the robot; add it");
  ExpectRefused(Import("w", {{"scene.yaml", "bodies: []\ntime_step: -1\n"}}), "scene.yaml:2:12: ");
  ExpectRefused(Import("w", {{"notes.stl", "hello"}}), "notes.stl: ");
  ExpectRefused(Import("w", {{"a.txt", "hello"}, {"b.txt", "you"}}),
                "a.txt, b.txt: neither a scene (YAML) nor a robot");
  ExpectRefused(Import("w", {{"a.yaml", kScene}, {"b/b.yaml", kScene}}),
                "a.yaml, b/b.yaml: several scenes");
  ExpectRefused(Import("w", {{"a.obj", kCube}}, {"b.obj"}),
                "imported.files[0]: \"b.obj\" is not among `files`");
  ExpectRefused(Import("w", {}), "files: missing");
  EXPECT_TRUE(Create("w").ok()) << "the id is free";
}

TEST_F(Imports, FilesReachNothingOutsideTheUploads) {
  // a surface elsewhere on this machine, by an absolute path and by a path upwards
  const std::string secret = folder_.Write("secret.obj", kCube);
  for (const std::string& path : {secret, std::string("../../../../secret.obj")}) {
    std::string robot = kArm;
    robot.replace(robot.find("package://my_arm/meshes/upper.obj"), 33, path);
    ExpectRefused(Import("w", {{"arm.urdf", robot}}), "leaves the folder that may be read");
  }
  ExpectRefused(Import("w", {{"../arm.urdf", kArm}}), "\"../arm.urdf\" is not allowed");
}

TEST_F(Imports, MoreThanAHundredAreRefused) {
  Files files;
  for (int i = 0; i <= 100; ++i) files["part" + std::to_string(i) + ".obj"] = kCube;
  ExpectRefused(Import("w", files), "imported.files: 101 robots and meshes are too many");
}

class WithoutDataFolder : public Imports {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    objects_ = v1::ObjectService::NewStub(channel_);
  }
};

TEST_F(WithoutDataFolder, UploadsLastAsLongAsTheServer) {
  const auto count = [] {
    std::size_t found = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
      found += std::filesystem::exists(entry.path() / "objects" / CalcSha256(kCube));
    return found;
  };
  const std::size_t before = count();
  ASSERT_TRUE(Import("part", {{"part.obj", kCube}}).ok());
  EXPECT_EQ(world_.size().deformables(), 1);
  EXPECT_EQ(count(), before + 1);
  server_.reset();
  EXPECT_EQ(count(), before);
}

TEST_F(WithoutDataFolder, UploadsKeepToTheirQuota) {
  Quotas quotas = quotas_;
  quotas.uploads = 100;
  server_->handlers().SetQuotas(quotas);
  const grpc::Status status = Upload(kCube);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("bytes, and the server has 100"));
}

}  // namespace
}  // namespace pliant::server
