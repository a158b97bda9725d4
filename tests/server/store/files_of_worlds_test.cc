// The formats of checkpoints and logs: damaged contents are refused, intact ones are read.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "server/store/checkpoint_file.h"
#include "server/store/log_file.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const physics::Snapshot> SnapshotAfter(int steps) {
  physics::World world(LoadTestModel());
  for (int i = 0; i < steps; ++i) EXPECT_TRUE(world.Step().ok());
  return world.TakeSnapshot();
}

TEST(CheckpointFile, StateAndHeadComeBack) {
  const auto snapshot = SnapshotAfter(3);
  v1::CheckpointHead head;
  head.set_automatic(true);
  head.set_sequence(7);
  const auto contents = DecodeCheckpoint(EncodeCheckpoint(*snapshot, head));
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->head.step(), 3);
  EXPECT_EQ(contents->head.state_hash(), physics::HashState(snapshot->state));
  EXPECT_TRUE(contents->head.automatic());
  EXPECT_EQ(contents->head.sequence(), 7);
  physics::World world(LoadTestModel());
  ASSERT_TRUE(world.Restore(contents->state).ok());
  EXPECT_EQ(physics::HashState(world.state()), physics::HashState(snapshot->state));
}

TEST(CheckpointFile, AnyDamagedByteAndAnyCutIsRefused) {
  const std::string bytes = EncodeCheckpoint(*SnapshotAfter(1), {});
  for (std::size_t at = 0; at < bytes.size(); at += at < 200 ? 1 : 97) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_FALSE(DecodeCheckpoint(damaged).ok()) << "byte " << at;
    EXPECT_FALSE(DecodeCheckpoint(std::string_view(bytes).substr(0, at)).ok()) << "cut " << at;
  }
  EXPECT_FALSE(DecodeCheckpoint(bytes + "x").ok());
}

TEST(CheckpointFile, AnotherVersionIsNamedAndKept) {
  std::string bytes = EncodeCheckpoint(*SnapshotAfter(0), {});
  bytes[8] = 9;  // after the magic
  const absl::Status status = DecodeCheckpoint(bytes).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 9"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("kept"));
}

std::vector<v1::LogRecord> MakeRecords() {
  std::vector<v1::LogRecord> records(4);
  records[0].set_steps(12);
  records[1].mutable_step()->add_actuators()->set_value(0.25);
  records[2].set_state(std::string(300, 's'));
  records[3].mutable_mark()->set_state_hash("0123");
  return records;
}

std::string MakeLog() {
  std::string bytes = EncodeLogHead();
  for (const v1::LogRecord& record : MakeRecords()) AppendLogRecord(record, &bytes);
  return bytes;
}

// The records of a log that can be read, serialised; none if it is refused.
std::vector<std::string> ReadAll(std::string_view bytes, LogEnd* end = nullptr) {
  std::vector<std::string> records;
  const auto result = ReadLog(bytes, [&](const v1::LogRecord& record) {
    records.push_back(record.SerializeAsString());
    return absl::OkStatus();
  });
  if (end != nullptr && result.ok()) *end = *result;
  return records;
}

TEST(LogFile, ACutAnywhereLeavesTheRecordsBeforeIt) {
  const std::string bytes = MakeLog();
  const std::vector<std::string> all = ReadAll(bytes);
  ASSERT_EQ(all.size(), 4);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    LogEnd end;
    const std::vector<std::string> records = ReadAll(bytes.substr(0, size), &end);
    ASSERT_LT(records.size(), all.size());
    EXPECT_TRUE(std::equal(records.begin(), records.end(), all.begin())) << size;
    EXPECT_EQ(end.damage, "") << size;
  }
}

TEST(LogFile, ADamagedByteEndsItThere) {
  const std::string bytes = MakeLog();
  const std::vector<std::string> all = ReadAll(bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const std::vector<std::string> records = ReadAll(damaged);
    ASSERT_LT(records.size(), all.size()) << at;
    EXPECT_TRUE(std::equal(records.begin(), records.end(), all.begin())) << at;
  }
}

TEST(LogFile, OneThatEndsInsideAnotherVersionIsRefused) {
  const std::string bytes = MakeLog().substr(0, 8) + std::string(1, '\0');
  const auto result = ReadLog(bytes, [](const v1::LogRecord&) { return absl::OkStatus(); });
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("not a log"));
}

TEST(LogFile, AnotherVersionIsRefused) {
  std::string bytes = MakeLog();
  bytes[8] = 9;
  const auto result = ReadLog(bytes, [](const v1::LogRecord&) { return absl::OkStatus(); });
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("version 9"));
}

}  // namespace
}  // namespace pliant::server
