#include "server/auth/audit_log.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/server/auth/temporary_file.h"

namespace pliant::server {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

class Audit : public FilesTest {
 protected:
  std::unique_ptr<AuditLog> Open(AuditLog::Limits limits = {}) {
    auto log = AuditLog::Open(Path("audit.log"), limits);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  std::vector<json> Lines() {
    std::ifstream file(Path("audit.log"));
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
    return lines;
  }
};

TEST_F(Audit, RecordsWhoDidWhatWhenAndTheResult) {
  const Clock::time_point now{};
  auto log = Open();
  log->Write({"alice", "ws-1", "DeleteWorld", "worlds/w", absl::OkStatus()}, now);
  log->Write({"bob\n\"x", "ws-2", "Hello", "", absl::UnauthenticatedError("unknown")}, now);
  log.reset();
  const std::vector<json> lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].at("who"), "alice");
  EXPECT_EQ(lines[0].at("connection"), "ws-1");
  EXPECT_EQ(lines[0].at("what"), "DeleteWorld");
  EXPECT_EQ(lines[0].at("world"), "worlds/w");
  EXPECT_EQ(lines[0].at("result"), "OK");
  EXPECT_EQ(lines[0].at("time").get<std::string>().size(), 24u);
  EXPECT_EQ(lines[1].at("who"), "bob\n\"x");
  EXPECT_EQ(lines[1].at("result"), "UNAUTHENTICATED");
  EXPECT_EQ(lines[1].at("reason"), "unknown");
}

TEST_F(Audit, RepetitionsAreCountedAndNotWritten) {
  Clock::time_point now{};
  auto log = Open();
  const AuditLog::Entry refused{"eve", "ws-1", "GetWorld", "", absl::UnauthenticatedError("no")};
  for (int i = 0; i < 1000; ++i) log->Write(refused, now);
  now += std::chrono::seconds(2);
  log->Write({"alice", "ws-2", "ResetWorld", "worlds/w", absl::OkStatus()}, now);
  log.reset();
  const std::vector<json> lines = Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_FALSE(lines[0].contains("repeated"));
  EXPECT_EQ(lines[1].at("repeated"), 999);
  EXPECT_EQ(lines[2].at("who"), "alice");
}

TEST_F(Audit, IsBoundedByRotation) {
  const AuditLog::Limits limits{4096, 3};
  auto log = Open(limits);
  // reopening waits for the writing thread, so that no entry is dropped before it is rotated away
  for (int i = 0; i < 5000; ++i) {
    log->Write({absl::StrCat("user-", i), "ws-1", "ResetWorld", "worlds/w", absl::OkStatus()},
               Clock::time_point{} + std::chrono::seconds(2 * i));
    if (i % 1000 == 999) {
      log.reset();
      log = Open(limits);
    }
  }
  log.reset();
  std::uintmax_t bytes = 0;
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    bytes += file.file_size();
    ++files;
  }
  EXPECT_EQ(files, 3);
  EXPECT_LE(bytes, 3 * 4096u);
  EXPECT_EQ(Lines().back().at("who"), "user-4999");
}

TEST_F(Audit, UnwritableFileIsNamed) {
  Write("file", "");
  const auto log = AuditLog::Open(Path("file/audit.log"));
  EXPECT_TRUE(absl::IsUnavailable(log.status()));
  EXPECT_NE(log.status().message().find("--audit-log"), std::string::npos) << log.status();
}

}  // namespace
}  // namespace pliant::server
