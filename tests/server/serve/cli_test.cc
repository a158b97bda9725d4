// The `pliant` command line against a real server: its text and JSON output, and its exit statuses.

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include <sys/wait.h>

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
