#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include "physics/rigid/joint_tree.h"

namespace pliant::physics {

// One motion of a joint, with its own position and velocity.
struct JointMotion {
  enum class Kind { kTurn, kSlide };  // about the axis [rad], along it [m]
  Kind kind;
  Eigen::Vector3d axis;  // unit, in F as turned by the preceding motions
};

// A joint type composed of two or more motions, each about or along one axis, the first next to the
// parent. (Joints of one velocity are built in.) Kinematics and dynamics follow from the motions.
class CompoundJoint {
 public:
  virtual ~CompoundJoint() = default;
  virtual std::string_view name() const = 0;  // in robot files
  virtual int num_motions() const = 0;
  virtual std::vector<JointMotion> Motions(const Joint& joint) const = 0;
};

// All registered compound joints, and the JointType of each by index.
std::span<const CompoundJoint* const> AllCompoundJoints();
JointType TypeOfCompound(int index);
const CompoundJoint* FindCompoundJoint(JointType type);  // nullptr: not compound
const CompoundJoint* FindCompoundJoint(std::string_view name, JointType* type);

}  // namespace pliant::physics
