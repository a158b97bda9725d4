#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include "physics/rigid/joint_tree.h"

namespace pliant::physics {

// One motion of a joint, with a position and a velocity of its own.
struct JointMotion {
  enum class Kind { kTurn, kSlide };  // about the axis [rad], along it [m]
  Kind kind;
  Eigen::Vector3d axis;  // unit, in F as the motions before have turned it
};

// A kind of joint that is made of motions about or along one axis each, the first next to the
// parent: at least two, since joints of one velocity are built in. Kinematics and dynamics follow
// from them.
class CompoundJoint {
 public:
  virtual ~CompoundJoint() = default;
  virtual std::string_view name() const = 0;  // in robot files
  virtual int num_motions() const = 0;
  virtual std::vector<JointMotion> Motions(const Joint& joint) const = 0;
};

// Those that are registered, and their types one by one.
std::span<const CompoundJoint* const> AllCompoundJoints();
JointType TypeOfCompound(int index);
const CompoundJoint* FindCompoundJoint(JointType type);  // nullptr: it is none
const CompoundJoint* FindCompoundJoint(std::string_view name, JointType* type);

}  // namespace pliant::physics
