#include "server/service/rate_limit.h"

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

TEST(RateLimit, AdmitsItsRateAndABurstOfOneSecond) {
  RateLimit limit(100);
  SteadyTime now{std::chrono::hours(1)};
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += limit.Admit(1, now);
  EXPECT_EQ(admitted, 100);
  // refused requests do not count
  now += std::chrono::milliseconds(100);
  for (int i = 0; i < 1000; ++i) admitted += limit.Admit(1, now);
  EXPECT_EQ(admitted, 110);
  // a rest saves up one second's worth and no more
  now += std::chrono::hours(1);
  for (int i = 0; i < 1000; ++i) admitted += limit.Admit(1, now);
  EXPECT_EQ(admitted, 210);
}

TEST(RateLimit, CostsCount) {
  RateLimit limit(100);
  const SteadyTime now{std::chrono::hours(1)};
  EXPECT_TRUE(limit.Admit(60, now));
  EXPECT_FALSE(limit.Admit(60, now));
  EXPECT_TRUE(limit.Admit(40, now));
  EXPECT_FALSE(limit.Admit(1, now));
}

}  // namespace
}  // namespace pliant::server
