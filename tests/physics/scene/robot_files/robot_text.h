#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "physics/scene/robot_files/parts/link_checks.h"
#include "physics/scene/robot_files/robot_description.h"

namespace pliant::physics {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Tolerance for products of a few rotations of numbers near 1.
inline constexpr double kUlps = 4e-15;

// Reads a robot from a text that needs no other file. The test fails if it is rejected.
inline RobotDescription ReadGood(const std::string& text, const RobotFileOptions& options = {}) {
  RobotFileResult result = ReadRobotText(text, "robot.xml", options);
  for (const RobotFileMessage& message : result.messages) {
    EXPECT_FALSE(message.error) << message.line << ": " << message.text;
  }
  if (!result.robot.has_value()) {
    ADD_FAILURE() << "refused";
    return RobotDescription();
  }
  return *std::move(result.robot);
}

// All errors, or all warnings, as "12: text".
inline std::vector<std::string> SayAll(const RobotFileResult& result, bool error) {
  std::vector<std::string> said;
  for (const RobotFileMessage& message : result.messages) {
    if (message.error == error) said.push_back(absl::StrCat(message.line, ": ", message.text));
  }
  return said;
}
inline std::vector<std::string> ErrorsOf(const std::string& text,
                                         const RobotFileOptions& options = {}) {
  return SayAll(ReadRobotText(text, "robot.xml", options), true);
}
inline std::vector<std::string> WarningsOf(const std::string& text,
                                           const RobotFileOptions& options = {}) {
  return SayAll(ReadRobotText(text, "robot.xml", options), false);
}

inline int FindLink(const RobotDescription& robot, const std::string& name) {
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    if (robot.links[i].name == name) return static_cast<int>(i);
  }
  ADD_FAILURE() << "no link " << name;
  return 0;
}
inline const RobotLink& LinkOf(const RobotDescription& robot, const std::string& name) {
  return robot.links[FindLink(robot, name)];
}
inline const Joint& JointOf(const RobotDescription& robot, const std::string& name) {
  for (const RobotLink& link : robot.links) {
    if (link.joint.name == name) return link.joint;
  }
  ADD_FAILURE() << "no joint " << name;
  return robot.links.at(0).joint;
}
inline RigidTransform PoseOf(const RobotDescription& robot, const std::string& link) {
  return CalcLinkPoses(robot.links)[FindLink(robot, link)];
}

// A folder for the files of one test, removed afterwards.
class RobotFolder {
 public:
  RobotFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pliant_robot_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = std::filesystem::canonical(pattern).string();
  }
  ~RobotFolder() { std::filesystem::remove_all(path_); }
  RobotFolder(const RobotFolder&) = delete;
  RobotFolder& operator=(const RobotFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

 private:
  std::string path_;
};

// A cube from 0 to `size` as OBJ; `open` omits one face.
inline std::string CubeObj(double size, bool open = false) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    absl::StrAppend(&text, "v ", size * (i & 1), " ", size * (i >> 1 & 1), " ", size * (i >> 2),
                    "\n");
  absl::StrAppend(&text, "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\n");
  if (!open) absl::StrAppend(&text, "f 2 4 8 6\n");
  return text;
}

// A frame of four bars of width 1 around a square hole, 4 × 4 × 1 outside: far from its convex
// hull.
inline std::string WindowObj() {
  std::string text;
  const double outer[4][2] = {{-2, -2}, {2, -2}, {2, 2}, {-2, 2}};
  const double inner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  for (const double z : {0.0, 1.0}) {
    for (const auto& p : outer) absl::StrAppend(&text, "v ", p[0], " ", p[1], " ", z, "\n");
    for (const auto& p : inner) absl::StrAppend(&text, "v ", p[0], " ", p[1], " ", z, "\n");
  }
  // vertices 1–4 are outer and 5–8 inner at the bottom, 9–12 and 13–16 at the top
  for (int i = 0; i < 4; ++i) {
    const int j = (i + 1) % 4;
    absl::StrAppend(&text, "f ", 1 + i, " ", 1 + j, " ", 9 + j, " ", 9 + i, "\n");
    absl::StrAppend(&text, "f ", 5 + j, " ", 5 + i, " ", 13 + i, " ", 13 + j, "\n");
    absl::StrAppend(&text, "f ", 1 + j, " ", 1 + i, " ", 5 + i, " ", 5 + j, "\n");
    absl::StrAppend(&text, "f ", 9 + i, " ", 9 + j, " ", 13 + j, " ", 13 + i, "\n");
  }
  return text;
}

}  // namespace pliant::physics
