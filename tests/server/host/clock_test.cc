#include "server/host/clock.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kStep = 0.01;  // [s]

SteadyTime At(double seconds) {
  return SteadyTime() + std::chrono::duration_cast<SteadyTime::duration>(Seconds(seconds));
}

double ToSeconds(SteadyTime at) {
  return Seconds(at.time_since_epoch()).count();
}

TEST(Pacer, SmallDelaysDoNotAddUp) {
  Pacer pacer;
  pacer.Restart(At(0), 0, 1);
  for (int step = 0; step < 1000; ++step) pacer.Begin(At(step * kStep + 0.004), step * kStep);
  EXPECT_NEAR(ToSeconds(pacer.CalcDue(10)), 10, 1e-9);
  EXPECT_NEAR(pacer.lag(), 0.004, 1e-9);
}

TEST(Pacer, FactorStretchesTime) {
  Pacer pacer;
  pacer.Restart(At(5), 2, 0.5);
  EXPECT_NEAR(ToSeconds(pacer.CalcDue(3)), 7, 1e-9);
}

TEST(Pacer, SlowWorldSlowsDownEvenlyAndNeverSpirals) {
  // for a second each step takes twice its simulated time; then steps are instantaneous
  Pacer pacer;
  pacer.Restart(At(0), 0, 1);
  double now = 0, time = 0;
  const auto begin_next = [&](double cost) {
    now = std::max(now, ToSeconds(pacer.CalcDue(time)));
    pacer.Begin(At(now), time);
    const double began = now;
    now += cost;
    time += kStep;
    return began;
  };
  double last = begin_next(2 * kStep);
  for (int step = 1; step < 50; ++step) {
    const double began = begin_next(2 * kStep);
    EXPECT_NEAR(began - last, 2 * kStep, 1e-6);
    last = began;
  }
  EXPECT_NEAR(pacer.lag(), 49 * kStep, 1e-6);

  // it catches up by the slack and no more
  int hurried = 0;
  for (int step = 0; step < 50; ++step) {
    const double began = begin_next(0);
    if (began - last < 0.9 * kStep) ++hurried;
    last = began;
  }
  EXPECT_LE(hurried, Pacer::kSlack / kStep + 2);
}

TEST(RateMeter, MeasuresTheLastSecondAndForgetsBefore) {
  RateMeter meter;
  meter.Restart(At(0), 0);
  double now = 0, time = 0;
  for (int step = 0; step < 500; ++step) meter.Add(At(now += 0.01), time += 0.01);
  EXPECT_NEAR(meter.rate(), 1, 1e-6);
  for (int step = 0; step < 200; ++step) meter.Add(At(now += 0.02), time += 0.01);
  EXPECT_NEAR(meter.rate(), 0.5, 0.01);
}

}  // namespace
}  // namespace pliant::server
