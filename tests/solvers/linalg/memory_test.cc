#include "solvers/linalg/memory.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/counted_allocations.h"

namespace pliant::solvers {
namespace {

TEST(ScratchPool, GivesWhatCameBackLast) {
  ScratchPool<double> pool;
  double* first = pool.Take(1000);
  double* second = pool.Take(1000);
  EXPECT_NE(first, second);
  pool.Give(first, 1000);
  pool.Give(second, 1000);
  // pieces of about the same size are reused too
  EXPECT_EQ(pool.Take(1020), second);
  EXPECT_EQ(pool.Take(1001), first);
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

TEST(ScratchPool, HasWhatIsReservedWhoeverTakesIt) {
  ScratchPool<double> pool;
  const std::vector<std::size_t> sizes{50, 50, 7'000, 0};
  const double* lost = pool.Take(50);
  for (int repeat = 0; repeat < 3; ++repeat) {
    pool.Reserve(sizes);
    const std::int64_t before = CountAllocations();
    const double* first = pool.Take(50);
    const double* second = pool.Take(50);
    EXPECT_NE(first, second);
    EXPECT_TRUE(first == lost || second == lost);
    double* large = pool.Take(7'000);
    pool.Give(large, 7'000);
    EXPECT_EQ(pool.Take(7'000), large);
    pool.Take(0);
    EXPECT_EQ(CountAllocations() - before, 0);
  }
}

TEST(ScratchPool, GivesUpWhatIsNoLongerReserved) {
  ScratchPool<double> pool;
  pool.Reserve(std::vector<std::size_t>{50, 50, 50, 7'000});
  pool.Reserve(std::vector<std::size_t>{50});
  const std::int64_t before = CountAllocations();
  pool.Take(50);
  EXPECT_EQ(CountAllocations(), before);
  pool.Take(50);
  EXPECT_GT(CountAllocations(), before);
}

}  // namespace
}  // namespace pliant::solvers
