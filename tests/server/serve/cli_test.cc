// The `pliant` command line against a real server: its text and JSON output, and its exit statuses.

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include <sys/wait.h>

#include "tests/server/run/temporary_folder.h"
#include "tests/server/serve/server_test_base.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class CommandLine : public ServerTest {
 protected:
  struct Outcome {
    int status = -1;
    std::string text;  // stdout and stderr
  };
  Outcome Run(const std::string& arguments, const std::string& server) const {
    const fs::path program = fs::canonical("/proc/self/exe").parent_path() / "pliant";
    EXPECT_TRUE(fs::exists(program)) << program << " is not built; build everything";
    const std::string command =
        "'" + program.string() + "' --server " + server + " " + arguments + " 2>&1";
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 4096> part{};
    while (fgets(part.data(), part.size(), pipe) != nullptr) outcome.text += part.data();
    const int status = pclose(pipe);
    if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
    return outcome;
  }
  Outcome Run(const std::string& arguments) const {
    return Run(arguments, server_->grpc_address());
  }
  json RunJson(const std::string& arguments) const {
    const Outcome outcome = Run("--json " + arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << ": " << outcome.text;
    return json::parse(outcome.text, nullptr, false);
  }
  static std::string Write(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(testing::TempDir()) / name;
    std::ofstream(path) << text;
    return path.string();
  }
};

TEST_F(CommandLine, TakesAWorldThroughItsLife) {
  const std::string scene = Write("bench.yaml", kTestScene);
  EXPECT_EQ(RunJson("world create " + scene + " --id bench").at("name"), "worlds/bench");
  const Outcome list = Run("world list");
  EXPECT_EQ(list.status, 0);
  EXPECT_THAT(list.text, HasSubstr("worlds/bench"));
  EXPECT_THAT(Run("world describe bench").text, HasSubstr("ball"));

  ASSERT_EQ(Run("world pause bench").status, 0);
  const auto before = Get("bench").step();
  EXPECT_EQ(Run("world step bench 5").status, 0);
  EXPECT_EQ(Get("bench").step(), before + 5);
  ASSERT_EQ(Run("world speed bench 0.5").status, 0);
  EXPECT_EQ(Get("bench").clock().real_time().factor(), 0.5);
  ASSERT_EQ(Run("world reset bench").status, 0);
  EXPECT_EQ(Run("world delete bench").status, 0);
  EXPECT_THAT(Run("world list").text, testing::Not(HasSubstr("worlds/bench")));
}

class CommandLineWithData : public CommandLine {
 protected:
  void SetUp() override {
    data_dir_ = folder_.File("data");
    CommandLine::SetUp();
    fs::create_directories(scene_ / "robots" / "meshes");
  }
  std::string Place(const std::string& name, const std::string& text) const {
    std::ofstream(scene_ / name) << text;
    return (scene_ / name).string();
  }

  TemporaryFolder folder_;
  const fs::path scene_ = folder_.File("scene");
};

TEST_F(CommandLineWithData, SendsTheFilesThatASceneAndItsRobotsName) {
  const std::string scene = Place("arm.yaml", R"(name: arm
robots:
  - {name: arm, file: robots/arm.urdf}
bodies:
  - {name: wedge, rigid: {motion: FREE, density: 1000, shapes: [{mesh: {file: wedge.obj}}],
     pose: {position: [2, 0, 1]}}}
)");
  Place("robots/arm.urdf", R"(<robot name="arm"><link name="base"/><link name="arm">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="package://robots/meshes/link.stl"/></geometry></visual></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>)");
  Place("robots/meshes/link.stl", R"(solid one
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 0.1 0 0
vertex 0 0.1 0
endloop
endfacet
endsolid one
)");
  Place("wedge.obj", R"(v 0 0 0
v 0.1 0 0
v 0 0.1 0
v 0 0 0.1
f 1 3 2
f 1 2 4
f 2 3 4
f 3 1 4
)");
  Place("secret.txt", "not a part of the scene");
  const Outcome created = Run("world create " + scene + " --id arm");
  ASSERT_EQ(created.status, 0) << created.text;
  EXPECT_EQ(Get("arm").size().joints(), 1);
  std::size_t sent = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.File("data")))
    sent += entry.path().string().find("objects/") != std::string::npos && entry.is_regular_file();
  EXPECT_EQ(sent, 3) << "the robot and two meshes";

  fs::remove(scene_ / "wedge.obj");
  const Outcome missing = Run("world create " + scene + " --id other");
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.text, HasSubstr("wedge.obj"));
}

TEST_F(CommandLineWithData, FetchesACheckpointThatTheServerKeeps) {
  const std::string scene = Place("bench.yaml", kTestScene);
  ASSERT_EQ(Run("world create " + scene + " --id bench --durable").status, 0);
  ASSERT_EQ(Run("world step bench 5").status, 0);
  ASSERT_EQ(Run("world checkpoint bench --name five").status, 0);
  const std::string hash = Get("bench").state_hash();
  ASSERT_EQ(Run("world step bench 5").status, 0);

  const std::string file = folder_.File("five.state");
  const Outcome fetched = Run("world fetch-checkpoint bench five " + file);
  ASSERT_EQ(fetched.status, 0) << fetched.text;
  ASSERT_EQ(Run("world restore bench " + file).status, 0);
  EXPECT_EQ(Get("bench").state_hash(), hash);

  ASSERT_EQ(Run("world delete-checkpoint bench five").status, 0);
  const Outcome gone = Run("world fetch-checkpoint bench five " + file);
  EXPECT_EQ(gone.status, 1);
  EXPECT_THAT(gone.text, HasSubstr("five"));
}

TEST_F(CommandLine, SaysInWordsAndInItsStatusWhatWentWrong) {
  EXPECT_EQ(Run("health").status, 0);
  const Outcome unknown = Run("world pause nowhere");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.text, HasSubstr("nowhere"));
  EXPECT_EQ(Run("world fly bench").status, 2);
  const Outcome invalid =
      Run("world create " + Write("bad.yaml", "time_step: -1\nbodies: []\n") + " --id bad");
  EXPECT_EQ(invalid.status, 3);
  EXPECT_THAT(invalid.text, HasSubstr("bad.yaml:1:12: time_step: -1"));
  EXPECT_EQ(Run("world create /nonexistent.yaml").status, 4);
  EXPECT_EQ(Run("--timeout 2 health", "127.0.0.1:1").status, 4);
}

TEST_F(CommandLine, WatchesAWorldForAWhile) {
  ASSERT_TRUE(Create("bench").ok());
  ASSERT_EQ(Run("world resume bench").status, 0);
  const Outcome watched = Run("watch bench --count 2");
  EXPECT_EQ(watched.status, 0) << watched.text;
  EXPECT_THAT(watched.text, HasSubstr("contacts"));
}

}  // namespace
}  // namespace pliant::server
