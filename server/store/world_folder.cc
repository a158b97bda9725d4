#include "server/store/world_folder.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "server/files/files.h"
#include "server/store/checkpoint_file.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".checkpoint";

// Names of the files in a folder, without `prefix` and `suffix`, of those that have them.
std::vector<std::string> ListNames(const std::string& folder, const std::string& prefix,
                                   const std::string& suffix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
        name.ends_with(suffix))
      names.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string WorldFolder::automatic(std::int64_t number) const {
  return absl::StrCat(path_, "/auto-", number, kSuffix);
}

std::string WorldFolder::log(std::int64_t number) const {
  return absl::StrCat(path_, "/log-", number);
}

std::vector<std::int64_t> WorldFolder::ListNumbers(const std::string& prefix,
                                                   const std::string& suffix) const {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : ListNames(path_, prefix, suffix)) {
    if (std::int64_t number = 0; absl::SimpleAtoi(name, &number) && number > 0)
      numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<std::int64_t> WorldFolder::ListAutomatic() const {
  return ListNumbers("auto-", kSuffix);
}

std::vector<std::int64_t> WorldFolder::ListLogs() const {
  return ListNumbers("log-", "");
}

std::vector<std::string> WorldFolder::ListNamed() const {
  return ListNames(path_ + "/named", "", kSuffix);
}

v1::CheckpointHead WorldFolder::NextHead(bool is_automatic) const {
  std::int64_t last = 0;
  const auto count = [&last](const std::string& path) {
    const auto head = ReadCheckpointHead(path);
    if (head.ok()) last = std::max(last, head->first.sequence());
  };
  for (const std::int64_t number : ListAutomatic()) count(automatic(number));
  for (const std::string& id : ListNamed()) count(named(id));
  v1::CheckpointHead next;
  next.set_automatic(is_automatic);
  next.set_sequence(last + 1);
  return next;
}

absl::StatusOr<v1::WorldRecord> WorldFolder::ReadRecord() const {
  const absl::StatusOr<std::string> bytes = ReadWholeFile(record());
  if (!bytes.ok()) return bytes.status();
  v1::WorldRecord record_message;
  if (!record_message.ParseFromString(*bytes))
    return absl::InvalidArgumentError(absl::StrCat(record(), ": damaged"));
  return record_message;
}

void WorldFolder::Prune(int count) const {
  const std::vector<std::int64_t> checkpoints = ListAutomatic();
  if (static_cast<int>(checkpoints.size()) <= count) return;
  const std::int64_t oldest = checkpoints[checkpoints.size() - count];
  std::error_code ignored;  // files that cannot be removed are tried again next time
  for (const std::int64_t number : checkpoints) {
    if (number < oldest) fs::remove(automatic(number), ignored);
  }
  for (const std::int64_t number : ListLogs()) {
    if (number < oldest) fs::remove(log(number), ignored);
  }
}

}  // namespace pliant::server
