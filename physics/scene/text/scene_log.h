#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "physics/scene/text/scene_message.h"

namespace pliant::physics {

// Location of a field. Line and column count from 1; 0 where there is no text.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

// Collects errors and warnings about a scene, and stores the place of each field in its text, so
// that a check of a protobuf message can still report line and column.
class SceneLog {
 public:
  // `file` names the scene in messages about fields without text.
  explicit SceneLog(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }

  // Remembers that the field at `path` is written at `line`, `column` of the scene's file.
  void Mark(std::string path, int line, int column);

  // Remembers that the field at `path`, and all below it, comes from `source` instead of the
  // scene's file.
  void MarkOverride(const std::string& path, const std::string& source);

  // The place of a field, or of the nearest field around it that has one.
  Place Find(std::string_view path) const;

  // Adds a finding of a check. Error ignores fields that already have an error, and those that
  // contain them or lie below them: it would be the same fault again.
  void Error(const std::string& path, std::string text);
  void Warning(const std::string& path, std::string text);

  // As Error, for a further fault of the same field.
  void AlsoError(const std::string& path, std::string text);

  // As Error, for a missing field. Ignored if a sibling field could not be read, since that may be
  // the one meant.
  void Missing(const std::string& path, std::string text);

  // Adds an error of the reader at a place in the text.
  void ErrorAt(Place place, std::string path, std::string text);

  bool failed() const { return errors_ > 0; }

  // Maximum number of errors; further ones rarely add information.
  static constexpr int kMaxErrors = 100;
  bool full() const { return errors_ >= kMaxErrors; }

  // All messages in the order of the text.
  std::vector<SceneMessage> TakeMessages();

 private:
  void Add(Place place, std::string path, std::string text, bool error);
  bool IsRefused(const std::string& path) const;

  struct Spot {
    int line, column;
    int source = -1;  // index in sources_; −1: the scene's file
  };
  std::string file_;
  std::map<std::string, Spot, std::less<>> spots_;
  std::vector<std::string> sources_;
  std::set<std::string, std::less<>> refused_;  // paths of errors
  std::set<std::string, std::less<>> misread_;  // messages with a field that could not be read
  std::vector<SceneMessage> messages_;
  int errors_ = 0;
};

}  // namespace pliant::physics
