#include "server/record/file/mcap_reader.h"

#include <fstream>
#include <optional>
#include <utility>
#include <zstd.h>

#include "absl/strings/str_cat.h"

#include "server/record/file/mcap_format.h"

namespace pliant::server {
namespace {

constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{1} << 30;

struct Record {
  McapOpcode opcode{};
  std::string contents;
};

// The records of a file, one after the other.
class RecordReader {
 public:
  explicit RecordReader(const std::string& path) : file_(path, std::ios::binary) {
    if (!file_) return;
    file_.seekg(0, std::ios::end);
    rest_ = file_.tellg();
    file_.seekg(0);
  }

  bool is_open() const { return file_.is_open(); }

  bool ReadMagic() {
    const std::optional<std::string> bytes = Read(kMcapMagic.size());
    return bytes && *bytes == kMcapMagic;
  }

  // Returns none if the file ends within the record.
  std::optional<Record> Next() {
    const std::optional<std::string> head = Read(9);
    if (!head) return std::nullopt;
    McapReaderFields fields(*head);
    const auto opcode = fields.Number<McapOpcode>();
    std::optional<std::string> contents = Read(fields.Number<std::uint64_t>());
    if (!contents) return std::nullopt;
    return Record{opcode, *std::move(contents)};
  }

  bool EndsWithMagic() {
    file_.clear();
    file_.seekg(-static_cast<std::streamoff>(kMcapMagic.size()), std::ios::end);
    std::string bytes(kMcapMagic.size(), '\0');
    return file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) &&
           bytes == kMcapMagic;
  }

 private:
  std::optional<std::string> Read(std::uint64_t size) {
    if (size > static_cast<std::uint64_t>(rest_)) return std::nullopt;
    std::string bytes(size, '\0');
    if (!file_.read(bytes.data(), static_cast<std::streamsize>(size))) return std::nullopt;
    rest_ -= static_cast<std::int64_t>(size);
    return bytes;
  }

  std::ifstream file_;
  std::int64_t rest_ = 0;
};

// Reads the records in a chunk.
class ChunkReader {
 public:
  explicit ChunkReader(const std::function<absl::Status(const McapMessage&)>& take) : take_(take) {}

  // Returns the damage, empty if there is none, or an error of `take`.
  absl::StatusOr<std::string> Read(std::string_view chunk) {
    McapReaderFields fields(chunk);
    fields.Number<std::uint64_t>();
    fields.Number<std::uint64_t>();
    const auto size = fields.Number<std::uint64_t>();
    const auto crc = fields.Number<std::uint32_t>();
    const std::string_view compression = fields.Text();
    std::string_view records = fields.Bytes(fields.Number<std::uint64_t>());
    if (compression == kMcapCompression) {
      if (!Decompress(records, size)) return "a chunk cannot be decompressed";
      records = decompressed_;
    } else if (!compression.empty()) {
      return absl::StrCat("a chunk is compressed by ", std::string(compression),
                          "; expected zstd or nothing");
    }
    if (!fields.ok() || records.size() != size) return "a chunk has the wrong size";
    if (CalcMcapCrc(records) != crc) return "the checksum of a chunk does not match";
    McapReaderFields rest(records);
    while (rest.ok() && !rest.rest().empty()) {
      const auto opcode = rest.Number<McapOpcode>();
      const std::string_view contents = rest.Bytes(rest.Number<std::uint64_t>());
      if (!rest.ok()) break;
      if (absl::Status status = ReadRecord(opcode, contents); !status.ok()) return status;
    }
    return rest.ok() ? "" : "a record of a chunk is cut short";
  }

 private:
  bool Decompress(std::string_view bytes, std::uint64_t size) {
    // a size beyond that of any chunk is damage
    if (size > kMaxChunkBytes) return false;
    decompressed_.resize(size);
    return ZSTD_decompress(decompressed_.data(), size, bytes.data(), bytes.size()) == size;
  }

  absl::Status ReadRecord(McapOpcode opcode, std::string_view contents) {
    McapReaderFields fields(contents);
    const auto number = fields.Number<std::uint16_t>();
    if (opcode == McapOpcode::kChannel) {
      fields.Number<std::uint16_t>();
      topics_[number] = fields.Text();
    } else if (opcode == McapOpcode::kMessage) {
      fields.Number<std::uint32_t>();
      const auto log_time = fields.Number<std::uint64_t>();
      fields.Number<std::uint64_t>();
      if (fields.ok()) return take_({topics_[number], log_time, fields.rest()});
    }
    return absl::OkStatus();
  }

  const std::function<absl::Status(const McapMessage&)>& take_;
  std::map<std::uint16_t, std::string> topics_;
  std::string decompressed_;
};

// Returns none if the record is damaged.
std::optional<McapAttachment> ReadAttachment(std::string_view record) {
  McapReaderFields fields(record);
  fields.Number<std::uint64_t>();
  fields.Number<std::uint64_t>();
  McapAttachment attachment;
  attachment.name = fields.Text();
  fields.Text();
  attachment.contents = fields.Bytes(fields.Number<std::uint64_t>());
  const auto crc = fields.Number<std::uint32_t>();
  if (!fields.ok()) return std::nullopt;
  // a file of another writer may have no checksum
  const bool is_whole =
      crc == 0 || crc == CalcMcapCrc(record.substr(0, record.size() - sizeof crc));
  return is_whole ? std::optional(attachment) : std::nullopt;
}

absl::Status NoMcap(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": not a recording (an MCAP file)"));
}

}  // namespace

absl::StatusOr<McapEnd> ReadMcap(const std::string& path,
                                 const std::function<absl::Status(const McapMessage&)>& take,
                                 const std::function<void(const McapAttachment&)>& attach) {
  RecordReader records(path);
  if (!records.is_open()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  if (!records.ReadMagic()) return NoMcap(path);
  ChunkReader chunks(take);
  while (const std::optional<Record> record = records.Next()) {
    if (record->opcode == McapOpcode::kDataEnd) return McapEnd{records.EndsWithMagic(), ""};
    if (record->opcode == McapOpcode::kAttachment && attach) {
      const std::optional<McapAttachment> attachment = ReadAttachment(record->contents);
      if (!attachment) return McapEnd{false, "an attachment is damaged"};
      attach(*attachment);
    }
    if (record->opcode != McapOpcode::kChunk) continue;
    absl::StatusOr<std::string> damage = chunks.Read(record->contents);
    if (!damage.ok()) return damage.status();
    if (!damage->empty()) return McapEnd{false, *std::move(damage)};
  }
  return McapEnd{};
}

absl::StatusOr<McapSummary> ReadMcapSummary(const std::string& path) {
  RecordReader records(path);
  if (!records.is_open()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  if (!records.ReadMagic()) return NoMcap(path);
  McapSummary summary;
  records.Next();  // the header
  if (const std::optional<Record> record = records.Next();
      record && record->opcode == McapOpcode::kMetadata) {
    McapReaderFields fields(record->contents);
    fields.Text();
    McapReaderFields pairs(fields.Text());
    while (pairs.ok() && !pairs.rest().empty()) {
      const std::string key(pairs.Text());
      summary.metadata[key] = pairs.Text();
    }
  }
  summary.is_complete = records.EndsWithMagic();
  return summary;
}

}  // namespace pliant::server
