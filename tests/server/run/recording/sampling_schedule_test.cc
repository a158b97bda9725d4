#include "server/run/recording/sampling_schedule.h"

#include <vector>

#include <gtest/gtest.h>

namespace pliant::server {
namespace {

TEST(SamplingSchedule, SamplesAtMultiplesOfItsPeriod) {
  // 50 Hz in steps of 3 ms: the first step at or after each multiple of 20 ms
  SamplingSchedule schedule(50, 0, 0.003);
  std::vector<int> due;
  for (int k = 0; k <= 20; ++k) {
    if (schedule.IsDue(0.003 * k)) due.push_back(k);
  }
  EXPECT_EQ(due, (std::vector<int>{0, 7, 14, 20}));
}

TEST(SamplingSchedule, RoundingDoesNotDelayASample) {
  SamplingSchedule schedule(100, 0, 0.01);
  double t = 0;
  for (int k = 0; k < 1000; ++k, t += 0.01) EXPECT_TRUE(schedule.IsDue(t)) << k;
}

TEST(SamplingSchedule, ZeroMeansEveryStep) {
  SamplingSchedule schedule(0, 0, 0.01);
  for (int k = 0; k < 5; ++k) EXPECT_TRUE(schedule.IsDue(0.01 * k));
}

}  // namespace
}  // namespace pliant::server
