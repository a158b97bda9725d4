#include "physics/rigid/compound_joint.h"

namespace pliant::physics {
namespace {

// Slides in a plane and turns about its normal.
class Planar final : public CompoundJoint {
 public:
  std::string_view name() const override { return "planar"; }
  int num_motions() const override { return 3; }
  std::vector<JointMotion> Motions(const Joint& joint) const override {
    const Eigen::Matrix3d across = FrameFromNormal(joint.axis);
    return {{JointMotion::Kind::kSlide, across.col(0)},
            {JointMotion::Kind::kSlide, across.col(1)},
            {JointMotion::Kind::kTurn, joint.axis}};
  }
};

}  // namespace

const CompoundJoint* PlanarJoint() {
  static const Planar joint;
  return &joint;
}

}  // namespace pliant::physics
