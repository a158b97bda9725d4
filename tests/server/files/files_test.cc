#include "server/files/files.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

using ::testing::HasSubstr;

TEST(WriteWholeFile, ReplacesTheFileAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("report.json", "old");
  ASSERT_TRUE(WriteWholeFile(path, "new").ok());
  EXPECT_EQ(TemporaryFolder::Read(path), "new");
  EXPECT_EQ(folder.CountFiles(), 1);
}

TEST(WriteWholeFile, AFullDiskKeepsTheDeviceAndNamesTheMend) {
  const absl::Status status = WriteWholeFile("/dev/full", "text");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Free some space"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(WriteWholeFile, FollowsALinkInsteadOfReplacingIt) {
  const TemporaryFolder folder;
  const std::string target = folder.Write("target", "old");
  std::filesystem::create_symlink(target, folder.File("link"));
  ASSERT_TRUE(WriteWholeFile(folder.File("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link")));
  EXPECT_EQ(TemporaryFolder::Read(target), "new");
}

TEST(WriteWholeFile, AMissingFolderIsNamed) {
  const TemporaryFolder folder;
  const absl::Status status = WriteWholeFile(folder.File("no/report.json"), "text");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no/report.json"));
}

TEST(CheckWritable, LeavesNoTrace) {
  const TemporaryFolder folder;
  EXPECT_TRUE(CheckWritable(folder.File("report.json")).ok());
  EXPECT_FALSE(CheckWritable(folder.File("no/report.json")).ok());
  EXPECT_EQ(folder.CountFiles(), 0);
}

TEST(MakeFolder, AFileInTheWayIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", "");
  EXPECT_THAT(std::string(MakeFolder(path + "/sub").message()),
              HasSubstr("is a file, not a folder"));
}

}  // namespace
}  // namespace pliant::server
