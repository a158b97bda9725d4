#include "server/stream/ack_window.h"

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

SteadyTime At(int ms) {
  return SteadyTime() + milliseconds(ms);
}

TEST(AckWindow, DoesNotLimitAViewerThatNeverAcknowledges) {
  AckWindow window;
  for (int frame = 1; frame <= 5000; ++frame) {
    EXPECT_FALSE(window.IsFull(At(frame)));
    window.Send(frame, At(frame));
  }
}

TEST(AckWindow, HasTwoFramesUnderWayOnALongLine) {
  // every acknowledgement takes 100 ms, however many frames are under way
  AckWindow window;
  window.Send(1, At(0));
  EXPECT_DOUBLE_EQ(*window.Acknowledge(1, At(100)), 0.1);
  window.Send(2, At(100));
  window.Send(3, At(120));
  EXPECT_TRUE(window.IsFull(At(121)));
  window.Acknowledge(2, At(200));
  window.Acknowledge(3, At(220));
  window.Send(4, At(220));
  EXPECT_FALSE(window.IsFull(At(221)));
}

TEST(AckWindow, HasOneFrameUnderWayWhereTheSecondWaitsForTheFirst) {
  // the line carries one frame in 100 ms
  AckWindow window;
  window.Send(1, At(0));
  window.Acknowledge(1, At(100));
  window.Send(2, At(100));
  window.Send(3, At(101));
  window.Acknowledge(2, At(200));
  window.Acknowledge(3, At(300));
  window.Send(4, At(300));
  EXPECT_TRUE(window.IsFull(At(301)));

  // after two seconds, it tries two again
  window.Acknowledge(4, At(400));
  window.Send(5, At(2400));
  EXPECT_FALSE(window.IsFull(At(2401)));
}

TEST(AckWindow, OneAcknowledgementCountsForAllFramesBeforeIt) {
  AckWindow window;
  window.Send(1, At(0));
  window.Acknowledge(1, At(1));
  window.Send(2, At(1));
  window.Send(3, At(2));
  window.Acknowledge(3, At(3));
  EXPECT_FALSE(window.IsFull(At(3)));
  EXPECT_FALSE(window.Acknowledge(3, At(4)).has_value());
}

}  // namespace
}  // namespace pliant::server
