#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "physics/scene/robot_files/robot_description.h"

namespace pliant::physics {

// A place in a robot file; line 0 is the whole file.
struct FilePlace {
  std::shared_ptr<const std::string> file;
  int line = 0;
};

// Messages about a robot file, in the order in which they were found.
class RobotLog {
 public:
  // `strict`: defects that would be repaired are errors.
  explicit RobotLog(bool strict = false) : strict_(strict) {}

  void Error(const FilePlace& place, std::string text);
  void Warning(const FilePlace& place, std::string text);

  // Warns once for all places with this text: "text (3 times)" at the first.
  void WarnOnce(const FilePlace& place, const std::string& text);

  // Warns, once for all places with this text, of a defect and how it was repaired.
  void Mended(const FilePlace& place, const std::string& text);

  // Warns about an unsupported element or attribute: "<bounce> is left out", with `why` after it.
  void LeftOut(const FilePlace& place, const std::string& what, const std::string& why = "");

  bool ok() const { return errors_ == 0; }
  int errors() const { return errors_; }
  bool left_something_out() const { return left_something_out_; }

  std::vector<RobotFileMessage> TakeMessages();

 private:
  struct Repeated {
    std::size_t message;
    int count;
  };

  void Add(const FilePlace& place, std::string text, bool error);

  bool strict_;
  std::vector<RobotFileMessage> messages_;
  std::map<std::string, Repeated> repeated_;
  int errors_ = 0;
  int warnings_ = 0;
  bool left_something_out_ = false;
};

}  // namespace pliant::physics
