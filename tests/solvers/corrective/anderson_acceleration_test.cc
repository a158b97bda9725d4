#include "solvers/corrective/anderson_acceleration.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

// Two linear iterations side by side, x ← 1 + s (x − 1): one that cycles and one that is repelled.
// Two points more than the number of eigenvalues give the fixed point, up to rounding that the
// repelled one amplifies.
TEST(AndersonAcceleration, FindsTheFixedPointOfACycleAndOfARepulsion) {
  const std::array slopes{-1.0, 3.0};
  AndersonAcceleration acceleration;
  acceleration.Restart();
  std::array<double, 2> x{0.5, 0.7};
  for (int k = 0; k < 4; ++k) {
    std::array<double, 2> image, residual;
    for (int i = 0; i < 2; ++i) {
      image[i] = 1 + slopes[i] * (x[i] - 1);
      residual[i] = image[i] - x[i];
    }
    acceleration.Accelerate(residual, residual, image);
    x = image;
  }
  EXPECT_NEAR(x[0], 1, 1e-6);
  EXPECT_NEAR(x[1], 1, 1e-6);
}

}  // namespace
}  // namespace pliant::solvers
