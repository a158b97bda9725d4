// The joint of docs/extending.md is registered; the tests of all joints cover it.

#include <gtest/gtest.h>

#include "physics/rigid/compound_joint.h"

namespace pliant::physics {

TEST(Chapter, AddsAJoint) {
  JointType type;
  EXPECT_NE(FindCompoundJoint("cylindrical", &type), nullptr);
}

}  // namespace pliant::physics
