#include "physics/scene/text/scene_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

// Path of the enclosing field: a.b[1] → a.b → a → "".
std::string_view Parent(std::string_view path) {
  const std::size_t cut = path.find_last_of(".[");
  return path.substr(0, cut == std::string_view::npos ? 0 : cut);
}

bool IsWithin(std::string_view path, std::string_view around) {
  if (!path.starts_with(around)) return false;
  const std::string_view rest = path.substr(around.size());
  return around.empty() || rest.empty() || rest.front() == '.' || rest.front() == '[';
}

}  // namespace

std::string Format(const SceneMessage& message) {
  std::string out = message.file;
  if (message.line > 0) absl::StrAppend(&out, ":", message.line);
  if (message.column > 0) absl::StrAppend(&out, ":", message.column);
  absl::StrAppend(&out, ": ");
  if (!message.error) absl::StrAppend(&out, "warning: ");
  if (!message.path.empty()) absl::StrAppend(&out, message.path, ": ");
  return out + message.message;
}

void SceneLog::Mark(std::string path, int line, int column) {
  spots_.insert_or_assign(std::move(path), Spot{line, column});
}

void SceneLog::MarkOverride(const std::string& path, const std::string& source) {
  // forget the positions of the fields below, which no longer exist
  auto spot = spots_.lower_bound(path);
  while (spot != spots_.end() && spot->first.starts_with(path)) {
    spot = IsWithin(spot->first, path) ? spots_.erase(spot) : std::next(spot);
  }
  sources_.push_back(source);
  spots_.insert_or_assign(path, Spot{0, 0, static_cast<int>(sources_.size()) - 1});
}

Place SceneLog::Find(std::string_view path) const {
  while (true) {
    if (const auto spot = spots_.find(path); spot != spots_.end()) {
      const Spot& at = spot->second;
      return {at.source < 0 ? file_ : sources_[at.source], at.line, at.column};
    }
    if (path.empty()) return {file_, 0, 0};
    path = Parent(path);
  }
}

bool SceneLog::IsRefused(const std::string& path) const {
  for (std::string_view around = path;; around = Parent(around)) {
    if (refused_.contains(around)) return true;
    if (around.empty()) break;
  }
  const auto below = refused_.lower_bound(path);
  return below != refused_.end() && IsWithin(*below, path);
}

void SceneLog::Error(const std::string& path, std::string text) {
  if (!IsRefused(path)) Add(Find(path), path, std::move(text), true);
}

void SceneLog::AlsoError(const std::string& path, std::string text) {
  Add(Find(path), path, std::move(text), true);
}

void SceneLog::Missing(const std::string& path, std::string text) {
  if (!misread_.contains(Parent(path))) Error(path, std::move(text));
}

void SceneLog::Warning(const std::string& path, std::string text) {
  Add(Find(path), path, std::move(text), false);
}

void SceneLog::ErrorAt(Place place, std::string path, std::string text) {
  misread_.emplace(Parent(path));
  Add(std::move(place), std::move(path), std::move(text), true);
}

void SceneLog::Add(Place place, std::string path, std::string text, bool error) {
  if (full()) return;
  if (error) {
    ++errors_;
    refused_.insert(path);
  }
  messages_.push_back(
      {std::move(place.file), place.line, place.column, std::move(path), std::move(text), error});
}

std::vector<SceneMessage> SceneLog::TakeMessages() {
  // sort by position in the text; messages without a line keep the order in which they were found
  std::stable_sort(messages_.begin(), messages_.end(),
                   [](const SceneMessage& a, const SceneMessage& b) {
                     return std::pair(a.line, a.column) < std::pair(b.line, b.column);
                   });
  if (full()) {
    SceneMessage last;
    last.file = file_;
    last.message = absl::StrCat("stopped after ", kMaxErrors, " errors; fix these first");
    messages_.push_back(std::move(last));
  }
  return std::exchange(messages_, {});
}

}  // namespace pliant::physics
