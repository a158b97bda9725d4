#include "physics/rigid/compound_joint.h"

namespace pliant::physics {
namespace {

// Two intersecting axes, as in a Cardan joint.
class Universal final : public CompoundJoint {
 public:
  std::string_view name() const override { return "universal"; }
  int num_motions() const override { return 2; }
  std::vector<JointMotion> Motions(const Joint& joint) const override {
    return {{JointMotion::Kind::kTurn, joint.axis}, {JointMotion::Kind::kTurn, joint.axis2}};
  }
};

}  // namespace

const CompoundJoint* UniversalJoint() {
  static const Universal joint;
  return &joint;
}

}  // namespace pliant::physics
