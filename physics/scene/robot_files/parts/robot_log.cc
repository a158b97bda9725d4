#include "physics/scene/robot_files/parts/robot_log.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

// limit for errors, and for warnings; more would not help
constexpr int kMaxMessages = 100;

}  // namespace

void RobotLog::Add(const FilePlace& place, std::string text, bool error) {
  int& count = error ? errors_ : warnings_;
  if (++count > kMaxMessages) return;
  messages_.push_back(
      {place.file ? *place.file : std::string(), place.line, std::move(text), error});
}

void RobotLog::Error(const FilePlace& place, std::string text) {
  Add(place, std::move(text), true);
}

void RobotLog::Warning(const FilePlace& place, std::string text) {
  Add(place, std::move(text), false);
}

void RobotLog::WarnOnce(const FilePlace& place, const std::string& text) {
  const auto found = repeated_.find(text);
  if (found != repeated_.end()) {
    ++found->second.count;
    return;
  }
  const std::size_t message = messages_.size();
  Add(place, text, false);
  if (messages_.size() > message) repeated_[text] = {message, 1};
}

void RobotLog::Mended(const FilePlace& place, const std::string& text) {
  if (strict_) {
    Error(place, text + " (`strict` is set)");
  } else {
    WarnOnce(place, text);
  }
}

void RobotLog::LeftOut(const FilePlace& place, const std::string& what, const std::string& why) {
  left_something_out_ = true;
  WarnOnce(place, absl::StrCat(what, " is left out", why.empty() ? "" : ": ", why));
}

std::vector<RobotFileMessage> RobotLog::TakeMessages() {
  for (const auto& [text, repeated] : repeated_) {
    if (repeated.count > 1)
      absl::StrAppend(&messages_[repeated.message].text, " (", repeated.count, " times)");
  }
  const auto say_rest = [&](int count, const char* kind, bool error) {
    if (count <= kMaxMessages) return;
    const std::string file = messages_.empty() ? std::string() : messages_[0].file;
    messages_.push_back(
        {file, 0, absl::StrCat("and ", count - kMaxMessages, " more ", kind), error});
  };
  say_rest(errors_, "errors", true);
  say_rest(warnings_, "warnings", false);
  repeated_.clear();
  return std::exchange(messages_, {});
}

}  // namespace pliant::physics
