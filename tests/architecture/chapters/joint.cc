// docs/extending.md, "A joint": it is registered; the tests of all joints run on it.

#include <gtest/gtest.h>

#include "physics/rigid/compound_joint.h"

namespace pliant::physics {

TEST(Chapter, AddsAJoint) {
  JointType type;
  EXPECT_NE(FindCompoundJoint("cylindrical", &type), nullptr);
}

}  // namespace pliant::physics
