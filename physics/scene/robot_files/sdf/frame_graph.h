#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "physics/scene/robot_files/parts/robot_log.h"
#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// The frames of an SDF file: models, links, joints and <frame>s, each posed relative to another and
// attached to a link. Names are looked up in the scope of the model that contains them: "a::b::"
// for the model b in the model a.
class FrameGraph {
 public:
  static constexpr int kWorld = 0;
  static constexpr int kNone = -1;

  struct Frame {
    std::string name;  // with its scope
    std::string scope;
    std::string what;  // `link "wrist"`, for messages
    FilePlace place;
    RigidTransform X;         // relative to …
    std::string relative_to;  // … this frame of the scope; empty:
    int parent = kWorld;      // … this one
    std::string attached_to;  // empty: as `attachment`
    int attachment = kNone;   // a frame; of a link itself it is kNone
    int link = -1;            // of a link
    std::string placement;    // of a model: the frame, in its own scope, that X places
    std::string own_scope;    // of a model
  };

  FrameGraph();

  // Adds a frame under its name; kNone with an error when the name is taken.
  int Add(Frame frame, RobotLog* log);
  // Another name of a frame.
  void AddName(const std::string& name, int frame) { numbers_.emplace(name, frame); }

  Frame& frame(int i) { return frames_[i]; }
  int size() const { return static_cast<int>(frames_.size()); }

  // kNone when there is none of that name.
  int Find(const std::string& name, const std::string& scope) const;

  // Poses of all frames in the world.
  //
  // errors  a frame relative to one that does not exist, or in a cycle
  bool Resolve(RobotLog* log);

  // After Resolve.
  const RigidTransform& X_WF(int frame) const { return X_WF_[frame]; }

  // The link that a frame moves with; −1: the world; −2, with an error: none.
  int FindLink(int frame, RobotLog* log);

 private:
  int FindParent(int i, RobotLog* log) const;
  bool CalcPlacement(int model, RobotLog* log);

  std::vector<Frame> frames_;
  std::unordered_map<std::string, int> numbers_;
  std::vector<RigidTransform> X_WF_;
  std::vector<int> link_of_;
};

}  // namespace pliant::physics
