#include "physics/spatial/cube_root.h"

#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

TEST(CubeRoot, IsExactToRounding) {
  for (const double x : {1e-18, 1e-6, 0.3, 1.0, 8.0, 1e9}) {
    const double root = CalcCubeRoot(x);
    EXPECT_NEAR(root * root * root, x, 8 * 2.3e-16 * x);
  }
}

}  // namespace
}  // namespace pliant::physics
