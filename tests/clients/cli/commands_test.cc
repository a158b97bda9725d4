// The `pliant` command line against a real pliantd: its output, its exit status, and its clean-up
// when it is interrupted.

#include <array>
#include <fstream>
#include <regex>

#include "nlohmann/json.hpp"

#include "tests/clients/pliantd.h"
#include "tests/gltf_in_two_files.h"

namespace pliant {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr char kCubeObj[] =
    "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0.1 0.1 0\nv 0 0 0.1\nv 0.1 0 0.1\nv 0 0.1 0.1\n"
    "v 0.1 0.1 0.1\nf 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";

class Commands : public PliantdTest {
 protected:
  struct Outcome {
    int status = -1;
    std::string text;  // stdout and stderr
  };

  static std::string Program() {
    return (fs::canonical("/proc/self/exe").parent_path() / "pliant").string();
  }

  // Runs a shell command, in which $P is the path of the program.
  Outcome Shell(const std::string& line) const {
    const std::string command = "export P='" + Program() +
                                "' PLIANT_CLIENT_CONFIG=/nonexistent XDG_CONFIG_HOME='" + folder_ +
                                "'; unset PLIANT_SERVER PLIANT_TOKEN; " + line;
    Outcome outcome;
    FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
    std::array<char, 4096> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr) outcome.text += part.data();
    const int status = pclose(pipe);
    if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
    return outcome;
  }
  Outcome Run(const std::string& arguments) const {
    return Shell("\"$P\" --server " + address() + " " + arguments);
  }

  // True if the process has exited or is a zombie.
  static bool HasEnded(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.empty() || text.find(") Z") != text.npos;
  }

  // Starts the program in the background and waits for its first output.
  struct Running {
    pid_t pid = -1;
    std::string out;  // file
  };
  Running Begin(const std::string& arguments) const {
    Running running;
    running.out = folder_ + "/out.txt";
    const Outcome shell = Shell("\"$P\" --server " + address() + " " + arguments + " > '" +
                                running.out + "' 2>&1 & echo $!");
    running.pid = std::stoi(shell.text);
    EXPECT_TRUE(
        WaitUntil([&] { return fs::exists(running.out) && fs::file_size(running.out) > 0; }));
    return running;
  }
};

TEST_F(Commands, TheClockHasPauseRunAndSpeedAndSaysWhatTheOldWordMeans) {
  const World world = Create("lab");
  ASSERT_EQ(Run("world run lab").status, 0);
  EXPECT_TRUE(world.Get()->clock().has_real_time());
  ASSERT_EQ(Run("world pause lab").status, 0);
  EXPECT_TRUE(world.Get()->clock().has_paused());
  const Outcome old = Run("world resume lab");
  EXPECT_EQ(old.status, 0);
  EXPECT_THAT(old.text, HasSubstr("called `world run` now"));
  EXPECT_TRUE(world.Get()->clock().has_real_time());
  ASSERT_EQ(Run("world speed lab 0.25").status, 0);
  EXPECT_EQ(world.Get()->clock().real_time().factor(), 0.25);
}

TEST_F(Commands, WorldsAreChosenByTheirLabels) {
  const std::string scene = WriteFile("lab.yaml", kScene);
  ASSERT_EQ(Run("world create " + scene + " --id a --label run=1 --label by=me").status, 0);
  ASSERT_EQ(Run("world create " + scene + " --id b --label run=2").status, 0);
  const Outcome list = Run("world list --label run=1");
  EXPECT_THAT(list.text, HasSubstr("worlds/a"));
  EXPECT_THAT(list.text, HasSubstr("by=me"));
  EXPECT_THAT(list.text, Not(HasSubstr("worlds/b")));
  EXPECT_EQ(Run("world list --label run").status, 2);
}

TEST_F(Commands, RobotsAndMeshesBecomeAWorld) {
  // a robot in its package, whose mesh lies outside of the folder of the robot, and a solid
  fs::create_directories(folder_ + "/pack/urdf");
  fs::create_directories(folder_ + "/pack/meshes");
  WriteFile("pack/package.xml", "<package><name>pack</name></package>");
  WriteFile("pack/meshes/rod.obj", kCubeObj);
  const std::string shape =
      "<link name=\"rod\"><collision><geometry><mesh filename=\"../meshes/rod.obj\"/></geometry>"
      "</collision>";
  const std::string robot =
      WriteFile("pack/urdf/arm.urdf",
                std::regex_replace(std::string(kArm), std::regex("<link name=\"rod\">"), shape));
  const std::string part = WriteFile("part.obj", kCubeObj);
  const Outcome both = Run("world create " + robot + " " + part + " --id both");
  ASSERT_EQ(both.status, 0) << both.text;
  const auto world = client_->GetWorld("both").Get();
  ASSERT_TRUE(world.ok()) << world.status();
  EXPECT_EQ(world->size().deformables(), 1);
  EXPECT_GE(world->size().joints(), 1);
  // errors have the form of scene errors
  const Outcome broken = Run("world create " + WriteFile("broken.urdf", "<robot><link/></robot>"));
  EXPECT_EQ(broken.status, 3);
  EXPECT_THAT(broken.text, HasSubstr("broken.urdf:1: <link>: has no name"));
}

TEST_F(Commands, GltfBringsItsBuffers) {
  WriteFile("the toy.bin", GltfBuffer());
  WriteFile("other.bin", "nobody needs it");
  const std::string toy = WriteFile("toy.gltf", GltfNaming("the%20toy.bin"));
  const std::string scene = WriteFile(
      "toy.yaml",
      "bodies: [{name: toy, deformable: {mesh: {file: toy.gltf, edge_length: 0.03}, material: "
      "{youngs_modulus: 1e5, poissons_ratio: 0.4, density: 1000}}}]\n");
  for (const std::string& file : {toy, scene}) {
    const Outcome made = Run("world create " + file);
    EXPECT_EQ(made.status, 0) << made.text;
  }
  const auto named = FindImportedFiles({"toy.gltf"}, folder_);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_THAT(*named, testing::ElementsAre("the toy.bin", "toy.gltf"));
}

TEST_F(Commands, WhatWasMendedIsPrinted) {
  std::string open = kCubeObj;
  open.resize(open.rfind("f "));
  const Outcome made = Run("world create " + WriteFile("open.obj", open));
  EXPECT_EQ(made.status, 0) << made.text;
  EXPECT_THAT(made.text, HasSubstr("warning: open.obj: has 4 edges with one triangle; closed by"));
}

TEST_F(Commands, ProbesBecomeATable) {
  Create("lab");
  const std::string csv = folder_ + "/probes.csv";
  const Outcome outcome = Run("world probe lab cube_p strain --every 2 --count 5 --csv " + csv);
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  std::ifstream file(csv);
  std::string header, line;
  std::getline(file, header);
  EXPECT_EQ(header, "time,cube_p.x,cube_p.y,cube_p.z,strain");
  int rows = 0;
  while (std::getline(file, line)) ++rows;
  EXPECT_EQ(rows, 6);
  EXPECT_EQ(client_->GetWorld("lab").Get()->step(), 10);
  const Outcome unknown = Run("world probe lab cube_q");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.text, HasSubstr("cube_q"));
}

TEST_F(Commands, EveryCommandPrintsItsOneSchema) {
  Create("lab", kScene, true);
  const auto keys = [&](const std::string& arguments) {
    const Outcome outcome = Run("--json " + arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << ": " << outcome.text;
    const json parsed = json::parse(outcome.text, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << arguments << ": " << outcome.text;
    return parsed;
  };
  for (const char* world : {"world get lab", "world pause lab", "world reset lab", "world run lab",
                            "world pause lab", "world fork lab --id copy"}) {
    const json shown = keys(world);
    for (const char* key : {"name", "step", "time", "state_hash", "clock", "labels", "owner"})
      EXPECT_TRUE(shown.contains(key)) << world << ": " << key;
  }
  EXPECT_TRUE(keys("world list").contains("worlds"));
  EXPECT_TRUE(keys("top --count 1").contains("worlds"));
  EXPECT_TRUE(keys("world step lab").contains("state_hash"));
  EXPECT_TRUE(keys("world probe lab").contains("probes"));
  EXPECT_TRUE(keys("world describe lab").contains("rigid_bodies"));
  EXPECT_TRUE(keys("world checkpoint lab --name one").contains("state_hash"));
  EXPECT_TRUE(keys("world checkpoint lab " + folder_ + "/state").contains("state_hash"));
  EXPECT_TRUE(keys("world restore lab --name one").contains("name"));
  EXPECT_TRUE(keys("record start lab --id take").contains("state"));
  EXPECT_TRUE(keys("record stop take").contains("size"));
  EXPECT_TRUE(keys("record fetch take " + folder_ + "/take.mcap").contains("size"));
  EXPECT_TRUE(keys("record replay take").contains("compared"));
  EXPECT_TRUE(
      keys("record export take --fields-rate -1 --out " + folder_ + "/out").contains("file"));
  EXPECT_TRUE(keys("bench --seconds 0.05 --worlds 2").contains("lockstep"));
  EXPECT_TRUE(keys("watch lab --count 1").contains("frame"));
  EXPECT_TRUE(keys("health").contains("status"));
  EXPECT_TRUE(keys("doctor").contains("checks"));
  EXPECT_TRUE(keys("stop lab").empty());
  EXPECT_TRUE(keys("resume lab").empty());
  EXPECT_TRUE(keys("world delete copy").empty());
}

TEST_F(Commands, TopCountsViewersAndNamesControllers) {
  const World world = CreateArm("arm");
  EXPECT_THAT(Run("top --count 1").text, ContainsRegex("arm .* 0 -"));
  const auto watched = world.Subscribe({});
  ASSERT_TRUE(watched.ok()) << watched.status();
  const auto lease = world.Acquire("arm");
  ASSERT_TRUE(lease.ok()) << lease.status();
  Frame frame;
  ASSERT_TRUE((*watched)->WaitForFrame(&frame, std::chrono::seconds(5)).ok());
  EXPECT_TRUE(WaitUntil([&] { return world.Get()->viewers() == 1; }));
  EXPECT_TRUE(WaitUntil([&] { return world.Get()->controllers_size() == 1; }));
  EXPECT_THAT(Run("top --count 1").text, ContainsRegex("arm .* 1 [^-]"));
}

TEST_F(Commands, ARecordingIsExportedWithPliantd) {
  const World world = Create("lab", kScene, true);
  ASSERT_EQ(Run("record start lab --id take").status, 0);
  ASSERT_TRUE(world.Step(20).ok());
  ASSERT_EQ(Run("record stop take").status, 0);
  const Outcome outcome = Run("record export take --out " + folder_ + "/out");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(ReadBytes(folder_ + "/out/probes.csv"), HasSubstr("cube_p"));
  EXPECT_EQ(Run("record export none --out " + folder_ + "/other").status, 1);
}

TEST_F(Commands, BenchMeasuresAndLeavesNoWorldBehind) {
  const Outcome outcome = Run("bench --seconds 0.05 --worlds 3");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  for (const char* row :
       {"call ", "create ", "lockstep ", "lockstep_stream ", "worlds ", "stream ", "commands "})
    EXPECT_THAT(outcome.text, HasSubstr(row));
  EXPECT_EQ(client_->ListWorlds()->size(), 0u);
  // an interrupted run leaves none either
  const Running running = Begin("bench --seconds 1 --worlds 3");
  EXPECT_TRUE(WaitUntil([&] { return client_->ListWorlds()->size() == 3u; }));
  kill(running.pid, SIGINT);
  EXPECT_TRUE(WaitUntil([&] { return HasEnded(running.pid); }));
  EXPECT_EQ(client_->ListWorlds()->size(), 0u);
}

TEST_F(Commands, AnInterruptedLeaseIsGivenBack) {
  const World world = CreateArm("arm");
  for (const int number : {SIGINT, SIGTERM}) {
    const Running running = Begin("lease hold arm arm");
    EXPECT_FALSE(world.Acquire("arm").ok());
    kill(running.pid, number);
    EXPECT_TRUE(WaitUntil([&] { return HasEnded(running.pid); }));
    // at once, without waiting until it expires
    EXPECT_TRUE(world.Acquire("arm").ok());
  }
}

TEST_F(Commands, EndWith130WhenTheyAreInterrupted) {
  const World world = Create("lab");
  ASSERT_TRUE(world.Run().ok());
  const auto interrupted = [&](const std::string& arguments) {
    return Shell("timeout --preserve-status -s INT 1 \"$P\" --server " + address() + " " +
                 arguments + " > /dev/null; echo status $?")
        .text;
  };
  EXPECT_THAT(interrupted("watch lab"), HasSubstr("status 130"));
  EXPECT_THAT(interrupted("top"), HasSubstr("status 130"));
  ASSERT_TRUE(world.Pause().ok());
  EXPECT_THAT(interrupted("world step lab 10000000"), HasSubstr("status 130"));
  EXPECT_THAT(interrupted("lease hold lab cube"), HasSubstr("status 130"));
}

TEST_F(Commands, GiveUpLongCallsAfterTheTimeoutTheyAreGiven) {
  Create("lab");
  // a limit beyond the timeout, in case that has no effect
  const Outcome step =
      Shell("timeout 30 \"$P\" --server " + address() + " --timeout 0.2 world step lab 10000000");
  EXPECT_EQ(step.status, 1) << step.text;
  EXPECT_THAT(step.text, HasSubstr("pliant: "));
}

TEST_F(Commands, EndWithoutAWordWhenTheirReaderHasGone) {
  const World world = Create("lab");
  ASSERT_TRUE(world.Run().ok());
  const Outcome outcome = Shell("{ \"$P\" --server " + address() +
                                " watch lab --rate 100; echo status $? >&2; } | head -n 1");
  EXPECT_THAT(outcome.text, HasSubstr("status 141"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("pliant:")));
}

TEST_F(Commands, TakeTheirOptionsFromFlagEnvironmentAndFileInThatOrder) {
  const std::string file = WriteFile("config", "# of the lab\nserver = 127.0.0.1:1\n");
  const std::string with_file = "PLIANT_CLIENT_CONFIG='" + file + "' ";
  EXPECT_EQ(Shell(with_file + "\"$P\" --timeout 5 health").status, 4);
  EXPECT_EQ(Shell(with_file + "PLIANT_SERVER=" + address() + " \"$P\" health").status, 0);
  EXPECT_EQ(Shell(with_file + "PLIANT_SERVER=127.0.0.1:1 \"$P\" --server " + address() + " health")
                .status,
            0);
  const std::string bad = WriteFile("bad", "servr = 127.0.0.1:1\n");
  const Outcome wrong = Shell("PLIANT_CLIENT_CONFIG='" + bad + "' \"$P\" health");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.text, HasSubstr("bad:1: \"servr"));
}

TEST_F(Commands, ATokenIsNoArgument) {
  const Outcome outcome = Run("--token secret health");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("--token-file"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("secret")));
}

TEST_F(Commands, DoctorSaysWhatIsWrongWithTheAddress) {
  const Outcome well = Run("doctor");
  EXPECT_EQ(well.status, 0) << well.text;
  EXPECT_THAT(well.text, HasSubstr("latency"));
  const Outcome http = Shell("\"$P\" --server 127.0.0.1:" + http_port_ + " doctor");
  EXPECT_NE(http.status, 0);
  EXPECT_THAT(http.text, HasSubstr("--grpc-port"));
  const Outcome portless = Shell("\"$P\" --server localhost world list");
  EXPECT_EQ(portless.status, 4);
  EXPECT_THAT(portless.text, HasSubstr("HOST:PORT"));
}

TEST_F(Commands, HelpBecomesCompletionAndAManPage) {
  const Outcome bash = Shell("\"$P\" completion bash > '" + folder_ + "/c'; bash -c '. " + folder_ +
                             "/c; COMP_WORDS=(pliant world chec); COMP_CWORD=2; _pliant; "
                             "echo ${COMPREPLY[@]}'");
  EXPECT_THAT(bash.text, HasSubstr("checkpoint checkpoints"));
  EXPECT_THAT(Shell("\"$P\" completion fish").text, HasSubstr("complete -c pliant"));
  EXPECT_EQ(Shell("\"$P\" completion tcsh").status, 2);
  const std::string man = Shell("\"$P\" man").text;
  EXPECT_THAT(man, HasSubstr(".SS pliant world create"));
  EXPECT_THAT(man, HasSubstr("\\-\\-idle\\-timeout"));
  EXPECT_THAT(man, Not(HasSubstr("world resume")));
}

TEST_F(Commands, UnknownThingsAreNamedWithWhatThereIs) {
  CreateArm("arm");
  const Outcome robot = Run("robot show arm amr");
  EXPECT_EQ(robot.status, 1);
  EXPECT_THAT(robot.text, HasSubstr("it has arm"));
}

}  // namespace
}  // namespace pliant
