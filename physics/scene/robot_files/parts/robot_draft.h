#pragma once

#include <string>
#include <vector>

#include "physics/scene/robot_files/parts/robot_log.h"
#include "physics/scene/robot_files/robot_description.h"

namespace pliant::physics {

// A joint between two links of a draft, as URDF and SDF list them.
struct JointDraft {
  FilePlace place;
  int parent = -1;  // −1: the world
  int child = -1;
  Joint joint;
};

// A robot while its file is read: a RobotDescription with links in any order, and their places in
// the file.
struct RobotDraft {
  RobotDescription robot;
  std::vector<FilePlace> places;  // of the links
  std::vector<JointDraft> joints;
  std::vector<bool> fixed;  // links that the file fixes on the world
  bool sorted = false;      // parents first, so that the links can be checked
};

// Links that cannot move: fixed to the world by the file, by fixed joints, or through a base that
// will be fixed.
std::vector<bool> FindFixedLinks(const RobotDraft& draft, bool fixed_base);

inline constexpr int kMaxLinks = 100'000;

// Connects the links by the draft's joints and sorts them, parents first, each link's descendants
// right after it in file order. All link indices are renumbered. Links without a joint become
// roots: fixed, or free with an unnamed joint at the pose in `X_WB`.
//
// errors  a link with two parents; a cycle; `one_root` and several; more than kMaxLinks
bool BuildLinkTree(const std::vector<RigidTransform>& X_WB, bool one_root, RobotDraft* draft,
                   RobotLog* log);

}  // namespace pliant::physics
