#include "solvers/linalg/memory.h"

#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

TEST(ScratchPool, GivesWhatCameBackLast) {
  ScratchPool<double> pool;
  double* first = pool.Take(1000);
  double* second = pool.Take(1000);
  EXPECT_NE(first, second);
  pool.Give(first, 1000);
  pool.Give(second, 1000);
  // of about the same size too
  EXPECT_EQ(pool.Take(1020), second);
  EXPECT_EQ(pool.Take(600), first);
}

TEST(ScratchPool, KeepsPiecesOfOtherSizesApart) {
  ScratchPool<float> pool;
  float* large = pool.Take(100'000);
  pool.Give(large, 100'000);
  float* small = pool.Take(10);
  EXPECT_NE(small, large);
  small[9] = 1;
  EXPECT_EQ(pool.Take(100'000), large);
  large[99'999] = 1;
}

TEST(ScratchPool, TakesEverythingBack) {
  ScratchPool<double> pool;
  const double* lost = pool.Take(50);
  pool.Reset();
  EXPECT_EQ(pool.Take(50), lost);
  EXPECT_NE(pool.Take(50), lost);
}

}  // namespace
}  // namespace pliant::solvers
