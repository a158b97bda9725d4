#include "physics/scene/robot_files/sdf/frame_graph.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

constexpr int kUnknownLink = -3;

}  // namespace

FrameGraph::FrameGraph() {
  Frame world;
  world.name = world.what = "world";
  frames_.push_back(std::move(world));
  numbers_["world"] = kWorld;
}

int FrameGraph::Add(Frame frame, RobotLog* log) {
  const int number = static_cast<int>(frames_.size());
  const auto [other, fresh] = numbers_.emplace(frame.name, number);
  if (!fresh) {
    const Frame& taken = frames_[other->second];
    log->Error(frame.place,
               absl::StrCat(frame.what, ": the name is already taken by ", taken.what,
                            taken.place.line > 0 ? absl::StrCat(" on line ", taken.place.line) : "",
                            ". Rename one"));
    return kNone;
  }
  frames_.push_back(std::move(frame));
  return number;
}

int FrameGraph::Find(const std::string& name, const std::string& scope) const {
  if (name == "world") return kWorld;
  const auto found = numbers_.find(scope + name);
  return found == numbers_.end() ? kNone : found->second;
}

int FrameGraph::FindParent(int i, RobotLog* log) const {
  const Frame& frame = frames_[i];
  if (frame.relative_to.empty()) return frame.parent;
  const int parent = Find(frame.relative_to, frame.scope);
  if (parent == kNone) {
    log->Error(frame.place,
               absl::StrCat(frame.what, ": is relative to \"", frame.relative_to,
                            "\", which does not exist. Name a frame of the same model"));
  }
  return parent;
}

// Pose of a model placed by one of its frames: X_RM = X_RP X_MP⁻¹. The frame's pose X_MP in the
// model does not depend on it.
bool FrameGraph::CalcPlacement(int model, RobotLog* log) {
  Frame& frame = frames_[model];
  if (frame.placement.empty()) return true;
  int at = Find(frame.placement, frame.own_scope);
  if (at == kNone) {
    log->Error(frame.place, absl::StrCat(frame.what, ": its placement frame \"", frame.placement,
                                         "\" does not exist. Name a frame of the model"));
    return false;
  }
  RigidTransform X_MP;
  std::size_t steps = 0;
  while (at != model) {
    if (at == kWorld || ++steps > frames_.size()) {
      log->Error(frame.place, absl::StrCat(frame.what, ": its placement frame \"", frame.placement,
                                           "\" is not posed relative to the model"));
      return false;
    }
    X_MP = frames_[at].X * X_MP;
    at = FindParent(at, log);
    if (at == kNone) return false;
  }
  frame.X = frame.X * X_MP.Inverse();
  frame.placement.clear();
  return true;
}

bool FrameGraph::Resolve(RobotLog* log) {
  // inner models first: outer placements depend on their poses
  for (std::size_t i = frames_.size(); i-- > 0;) {
    if (!CalcPlacement(static_cast<int>(i), log)) return false;
  }
  enum State : char { kUnknown, kOpen, kKnown };
  std::vector<State> state(frames_.size(), kUnknown);
  X_WF_.assign(frames_.size(), RigidTransform());
  state[kWorld] = kKnown;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    // go up to a frame that is known, then back down
    std::vector<int> path;
    int at = static_cast<int>(i);
    while (state[at] != kKnown) {
      if (state[at] == kOpen) {
        log->Error(frames_[at].place,
                   absl::StrCat(frames_[at].what, ": is posed relative to itself, via ",
                                frames_[path.back()].what, ". Break the cycle of relative_to"));
        return false;
      }
      state[at] = kOpen;
      path.push_back(at);
      at = FindParent(at, log);
      if (at == kNone) return false;
    }
    for (std::size_t k = path.size(); k-- > 0;) {
      X_WF_[path[k]] = X_WF_[at] * frames_[path[k]].X;
      at = path[k];
      state[at] = kKnown;
    }
  }
  return true;
}

int FrameGraph::FindLink(int start, RobotLog* log) {
  link_of_.resize(frames_.size(), kUnknownLink);
  std::vector<int> path;
  int at = start, link = kUnknownLink;
  while (link == kUnknownLink) {
    const Frame& frame = frames_[at];
    if (link_of_[at] != kUnknownLink) {
      link = link_of_[at];
    } else if (at == kWorld) {
      link = -1;
    } else if (frame.link >= 0) {
      link = frame.link;
    } else if (path.size() > frames_.size()) {
      log->Error(frames_[start].place,
                 absl::StrCat(frames_[start].what,
                              ": is attached to itself via other frames. Break the cycle of "
                              "attached_to"));
      link = -2;
    } else {
      path.push_back(at);
      at = frame.attached_to.empty() ? frame.attachment : Find(frame.attached_to, frame.scope);
      if (at != kNone) continue;
      if (frame.attached_to.empty()) {
        log->Error(frame.place,
                   absl::StrCat(frame.what, ": moves with no link: the model has none. Add one"));
      } else {
        log->Error(frame.place,
                   absl::StrCat(frame.what, ": is attached to \"", frame.attached_to,
                                "\", which does not exist. Name a frame of the model"));
      }
      link = -2;
    }
  }
  for (const int frame : path) link_of_[frame] = link;
  return link;
}

}  // namespace pliant::physics
