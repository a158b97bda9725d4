#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pliant/v1/record.pb.h"
#include "server/record/file/mcap_format.h"
#include "server/record/file/mcap_reader.h"
#include "server/record/file/mcap_writer.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// "topic time data" of each message that can be read.
std::vector<std::string> ReadMessages(const std::string& path, McapEnd* end = nullptr) {
  std::vector<std::string> messages;
  const auto result = ReadMcap(path, [&](const McapMessage& message) {
    messages.push_back(std::string(message.topic) + " " + std::to_string(message.log_time) + " " +
                       std::string(message.data));
    return absl::OkStatus();
  });
  EXPECT_TRUE(result.ok()) << result.status();
  if (end != nullptr && result.ok()) *end = *result;
  return messages;
}

// A file with two messages in one chunk and a third in another.
std::string WriteFile(const TemporaryFolder& folder, bool finish) {
  const std::string path = folder.File("file.mcap");
  auto writer = McapWriter::Create(path, {{"world", "worlds/a"}, {"version", "1"}});
  EXPECT_TRUE(writer.ok()) << writer.status();
  const auto a = writer->AddChannel("/a", *v1::RecordedState::descriptor());
  const auto b = writer->AddChannel("/b", *v1::RecordedSteps::descriptor());
  EXPECT_TRUE(writer->Write(a, 10, 100, "one").ok());
  EXPECT_TRUE(writer->Write(b, 20, 200, "two").ok());
  EXPECT_TRUE(writer->Flush().ok());
  EXPECT_TRUE(writer->Write(a, 30, 300, "three").ok());
  EXPECT_TRUE((finish ? writer->Finish() : writer->Flush()).ok());
  return path;
}

TEST(Mcap, CrcIsThatOfTheSpecification) {
  // the check value of CRC-32/ISO-HDLC
  EXPECT_EQ(CalcMcapCrc("123456789"), 0xcbf43926);
}

TEST(Mcap, MessagesComeBackInOrderAndTheFileIsComplete) {
  const TemporaryFolder folder;
  const std::string path = WriteFile(folder, true);
  McapEnd end;
  EXPECT_THAT(ReadMessages(path, &end), ElementsAre("/a 10 one", "/b 20 two", "/a 30 three"));
  EXPECT_TRUE(end.is_complete);
  const auto summary = ReadMcapSummary(path);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->metadata.at("world"), "worlds/a");
  EXPECT_TRUE(summary->is_complete);
}

TEST(Mcap, AFileThatIsCutOffAnywhereIsReadableUpToTheCut) {
  const TemporaryFolder folder;
  const std::string path = WriteFile(folder, true);
  const std::string bytes = TemporaryFolder::Read(path);
  const std::vector<std::string> all = ReadMessages(path);
  std::size_t most = 0;
  for (std::size_t size = kMcapMagic.size();
       size<bytes.size(); size += size + 300> bytes.size() ? 1 : 199) {
    const std::string cut = folder.Write("cut.mcap", bytes.substr(0, size));
    McapEnd end;
    const std::vector<std::string> messages = ReadMessages(cut, &end);
    EXPECT_TRUE(std::equal(messages.begin(), messages.end(), all.begin())) << size;
    EXPECT_GE(messages.size(), most) << size;
    most = messages.size();
    EXPECT_FALSE(end.is_complete) << size;
    EXPECT_EQ(end.damage, "") << size;
  }
  EXPECT_EQ(most, all.size());
}

TEST(Mcap, ADamagedChunkIsNotRead) {
  const TemporaryFolder folder;
  std::string bytes = TemporaryFolder::Read(WriteFile(folder, true));
  bytes[bytes.find("three")] = 'T';
  McapEnd end;
  EXPECT_THAT(ReadMessages(folder.Write("damaged.mcap", bytes), &end),
              ElementsAre("/a 10 one", "/b 20 two"));
  EXPECT_THAT(end.damage, testing::HasSubstr("checksum"));
}

TEST(Mcap, AttachmentsComeBackAndDamagedOnesDoNot) {
  const TemporaryFolder folder;
  const std::string path = folder.File("attached.mcap");
  auto writer = McapWriter::Create(path, {});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Attach("meshes/a.vtk", std::string("bytes\0", 6)).ok());
  ASSERT_TRUE(writer->Attach("empty", "").ok());
  const auto channel = writer->AddChannel("/a", *v1::RecordedState::descriptor());
  ASSERT_TRUE(writer->Write(channel, 1, 1, "one").ok());
  ASSERT_TRUE(writer->Finish().ok());

  std::vector<std::string> read;
  const auto take = [&](const McapMessage& message) {
    read.push_back(std::string(message.data));
    return absl::OkStatus();
  };
  const auto attach = [&](const McapAttachment& attachment) {
    read.push_back(std::string(attachment.name) + "=" + std::string(attachment.contents));
  };
  ASSERT_TRUE(ReadMcap(path, take, attach).ok());
  EXPECT_THAT(read, ElementsAre("meshes/a.vtk=" + std::string("bytes\0", 6), "empty=", "one"));
  std::string bytes = TemporaryFolder::Read(path);
  bytes[bytes.find("bytes")] = 'B';
  read.clear();
  const auto end = ReadMcap(folder.Write("damaged.mcap", bytes), take, attach);
  ASSERT_TRUE(end.ok());
  EXPECT_THAT(end->damage, testing::HasSubstr("attachment"));
  EXPECT_TRUE(read.empty());
}

TEST(Mcap, ChunksAreCompressed) {
  const TemporaryFolder folder;
  const std::string path = folder.File("large.mcap");
  auto writer = McapWriter::Create(path, {});
  ASSERT_TRUE(writer.ok()) << writer.status();
  const auto channel = writer->AddChannel("/a", *v1::RecordedState::descriptor());
  const std::string message(300'000, 'x');
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(writer->Write(channel, i, i, message).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_LT(fs::file_size(path), 100'000);  // of 3 MB, and the schemas
  EXPECT_EQ(static_cast<std::int64_t>(fs::file_size(path)), writer->size());
  const std::vector<std::string> messages = ReadMessages(path);
  ASSERT_EQ(messages.size(), 10);
  EXPECT_EQ(messages[9], "/a 9 " + message);
}

TEST(Mcap, AChunkThatClaimsAnotherSizeIsDamaged) {
  const TemporaryFolder folder;
  const std::string bytes = TemporaryFolder::Read(WriteFile(folder, true));
  // after the header and the metadata; the size follows two times
  const std::size_t chunk = bytes.find("zstd") - 4 - 4 - 8;
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
    std::string other = bytes;
    std::memcpy(other.data() + chunk, &size, sizeof size);
    McapEnd end;
    EXPECT_TRUE(ReadMessages(folder.Write("damaged.mcap", other), &end).empty());
    EXPECT_THAT(end.damage, testing::HasSubstr("decompressed"));
  }
}

TEST(Mcap, OtherFilesAreRefused) {
  const TemporaryFolder folder;
  const auto ignore = [](const McapMessage&) { return absl::OkStatus(); };
  EXPECT_EQ(ReadMcap(folder.Write("text", "no recording at all"), ignore).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadMcap(folder.File("missing"), ignore).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace pliant::server
