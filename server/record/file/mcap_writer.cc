#include "server/record/file/mcap_writer.h"

#include <algorithm>
#include <set>
#include <zlib.h>
#include <zstd.h>

#include "google/protobuf/descriptor.pb.h"

#include "server/record/file/mcap_format.h"

namespace pliant::server {
namespace {

// Adds the file of a message and all that it imports, each after its own imports.
void AddFiles(const google::protobuf::FileDescriptor& file, std::set<std::string>* known,
              google::protobuf::FileDescriptorSet* files) {
  if (!known->insert(file.name()).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddFiles(*file.dependency(i), known, files);
  file.CopyTo(files->add_file());
}

std::string DescribeSchema(const google::protobuf::Descriptor& message) {
  google::protobuf::FileDescriptorSet files;
  std::set<std::string> known;
  AddFiles(*message.file(), &known, &files);
  return files.SerializeAsString();
}

// Uses the fastest level, since the thread that writes serves every recording.
std::string Compress(std::string_view records) {
  constexpr int kLevel = 1;
  std::string bytes(ZSTD_compressBound(records.size()), '\0');
  const std::size_t size =
      ZSTD_compress(bytes.data(), bytes.size(), records.data(), records.size(), kLevel);
  if (ZSTD_isError(size)) return "";
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::uint32_t CalcMcapCrc(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

absl::StatusOr<McapWriter> McapWriter::Create(const std::string& path,
                                              const std::map<std::string, std::string>& metadata) {
  absl::StatusOr<GrowingFile> file = GrowingFile::Create(path);
  if (!file.ok()) return file.status();
  McapFields pairs;
  for (const auto& [key, value] : metadata) pairs.Text(key).Text(value);
  std::string bytes(kMcapMagic);
  bytes += MakeMcapRecord(McapOpcode::kHeader, McapFields().Text("").Text("pliant"));
  bytes += MakeMcapRecord(McapOpcode::kMetadata, McapFields().Text("pliant").Text(pairs.bytes()));
  McapWriter writer(*std::move(file));
  if (absl::Status status = writer.file_.Append(bytes); !status.ok()) return status;
  return writer;
}

absl::Status McapWriter::Attach(const std::string& name, std::string_view contents) {
  constexpr std::string_view kMediaType = "application/octet-stream";
  constexpr std::uint64_t kNoTime = 0;
  const auto start = static_cast<std::uint64_t>(file_.size());
  const std::uint64_t size = contents.size();
  McapFields fields;
  fields.Number(kNoTime).Number(kNoTime).Text(name).Text(kMediaType);
  fields.Number(size).Bytes(contents);
  fields.Number(CalcMcapCrc(fields.bytes()));
  const std::string record = MakeMcapRecord(McapOpcode::kAttachment, fields);
  attachment_indexes_.push_back(
      MakeMcapRecord(McapOpcode::kAttachmentIndex, McapFields()
                                                       .Number(start)
                                                       .Number(std::uint64_t{record.size()})
                                                       .Number(kNoTime)
                                                       .Number(kNoTime)
                                                       .Number(size)
                                                       .Text(name)
                                                       .Text(kMediaType)));
  return file_.Append(record);
}

std::uint16_t McapWriter::AddChannel(const std::string& topic,
                                     const google::protobuf::Descriptor& message) {
  // a schema for each channel, both with the same number
  const auto number = static_cast<std::uint16_t>(channels_.size() + 1);
  Channel& channel = channels_.emplace_back();
  channel.records = MakeMcapRecord(McapOpcode::kSchema, McapFields()
                                                            .Number(number)
                                                            .Text(message.full_name())
                                                            .Text("protobuf")
                                                            .Text(DescribeSchema(message)));
  channel.records += MakeMcapRecord(
      McapOpcode::kChannel,
      McapFields().Number(number).Number(number).Text(topic).Text("protobuf").Text(""));
  return number;
}

absl::Status McapWriter::Write(std::uint16_t number, std::uint64_t log_time,
                               std::uint64_t publish_time, std::string_view message) {
  // the first chunk declares the channels
  if (messages_ == 0) {
    times_.first = log_time;
    for (const Channel& channel : channels_) chunk_ += channel.records;
  }
  Channel& channel = channels_[number - 1];
  const bool is_first =
      std::ranges::all_of(channels_, [](const Channel& other) { return other.index.empty(); });
  if (is_first) chunk_times_.first = log_time;
  chunk_times_.last = times_.last = log_time;
  channel.index.emplace_back(log_time, chunk_.size());
  McapFields fields;
  fields.Number(number).Number(channel.written++).Number(log_time).Number(publish_time);
  AppendMcapRecord(McapOpcode::kMessage, fields.Bytes(message).bytes(), &chunk_);
  ++messages_;
  return chunk_.size() >= kChunkBytes ? Flush() : absl::OkStatus();
}

absl::Status McapWriter::Flush() {
  if (chunk_.empty()) return absl::OkStatus();
  const auto start = static_cast<std::uint64_t>(file_.size());
  const std::uint64_t size = chunk_.size();
  const std::string records = Compress(chunk_);
  if (records.empty()) return absl::ResourceExhaustedError("no memory to compress a chunk");
  const std::uint64_t compressed_size = records.size();
  McapFields fields;
  fields.Number(chunk_times_.first).Number(chunk_times_.last).Number(size);
  fields.Number(CalcMcapCrc(chunk_)).Text(kMcapCompression);
  fields.Number(compressed_size).Bytes(records);
  std::string bytes = MakeMcapRecord(McapOpcode::kChunk, fields);
  const std::uint64_t length = bytes.size();

  McapFields offsets;  // of the index of each channel
  for (std::uint16_t number = 1; number <= channels_.size(); ++number) {
    Channel& channel = channels_[number - 1];
    if (channel.index.empty()) continue;
    offsets.Number(number).Number(start + bytes.size());
    McapFields entries;
    for (const auto& [time, offset] : channel.index) entries.Number(time).Number(offset);
    bytes += MakeMcapRecord(McapOpcode::kMessageIndex,
                            McapFields().Number(number).Text(entries.bytes()));
    channel.index.clear();
  }
  chunk_indexes_.push_back(
      MakeMcapRecord(McapOpcode::kChunkIndex, McapFields()
                                                  .Number(chunk_times_.first)
                                                  .Number(chunk_times_.last)
                                                  .Number(start)
                                                  .Number(length)
                                                  .Text(offsets.bytes())
                                                  .Number(bytes.size() - length)
                                                  .Text(kMcapCompression)
                                                  .Number(compressed_size)
                                                  .Number(size)));
  chunk_.clear();
  if (absl::Status status = file_.Append(bytes); !status.ok()) return status;
  return file_.Sync();
}

absl::Status McapWriter::Finish() {
  if (absl::Status status = Flush(); !status.ok()) return status;
  std::string bytes = MakeMcapRecord(McapOpcode::kDataEnd, McapFields().Number(std::uint32_t{0}));

  // groups of records, and then where each group is
  const auto base = static_cast<std::uint64_t>(file_.size());
  const std::uint64_t summary = base + bytes.size();
  const std::size_t summary_at = bytes.size();
  std::string offsets;
  const auto end_group = [&](McapOpcode opcode, std::size_t begin) {
    const auto length = static_cast<std::uint64_t>(bytes.size() - begin);
    if (length == 0) return;
    offsets += MakeMcapRecord(
        McapOpcode::kSummaryOffset,
        McapFields().Number(opcode).Number(std::uint64_t{base + begin}).Number(length));
  };
  std::string schemas, channels;
  McapFields counts;
  for (std::uint16_t number = 1; number <= channels_.size(); ++number) {
    const Channel& channel = channels_[number - 1];
    std::uint64_t size = 0;
    std::memcpy(&size, channel.records.data() + 1, sizeof size);
    schemas += channel.records.substr(0, 9 + size);
    channels += channel.records.substr(9 + size);
    counts.Number(number).Number(std::uint64_t{channel.written});
  }
  std::size_t begin = bytes.size();
  bytes += schemas;
  end_group(McapOpcode::kSchema, begin);
  begin = bytes.size();
  bytes += channels;
  end_group(McapOpcode::kChannel, begin);
  begin = bytes.size();
  const auto count = static_cast<std::uint16_t>(channels_.size());
  bytes += MakeMcapRecord(McapOpcode::kStatistics,
                          McapFields()
                              .Number(messages_)
                              .Number(count)
                              .Number(std::uint32_t{count})
                              .Number(static_cast<std::uint32_t>(attachment_indexes_.size()))
                              .Number(std::uint32_t{1})
                              .Number(static_cast<std::uint32_t>(chunk_indexes_.size()))
                              .Number(times_.first)
                              .Number(times_.last)
                              .Text(counts.bytes()));
  end_group(McapOpcode::kStatistics, begin);
  begin = bytes.size();
  for (const std::string& index : chunk_indexes_) bytes += index;
  end_group(McapOpcode::kChunkIndex, begin);
  begin = bytes.size();
  for (const std::string& index : attachment_indexes_) bytes += index;
  end_group(McapOpcode::kAttachmentIndex, begin);
  const std::uint64_t summary_offset = base + bytes.size();
  bytes += offsets;

  // the checksum covers the summary and the footer up to itself
  McapFields footer;
  footer.Number(summary).Number(summary_offset).Number(std::uint32_t{0});
  AppendMcapRecord(McapOpcode::kFooter, footer.bytes(), &bytes);
  bytes.resize(bytes.size() - sizeof(std::uint32_t));
  const std::uint32_t crc = CalcMcapCrc(std::string_view(bytes).substr(summary_at));
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  bytes += kMcapMagic;
  if (absl::Status status = file_.Append(bytes); !status.ok()) return status;
  return file_.Sync();
}

}  // namespace pliant::server
