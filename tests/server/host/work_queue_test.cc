#include "server/host/work_queue.h"

#include <future>
#include <stdexcept>

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

TEST(WorkQueue, ExceptionFailsItsJobAndTheNextOneRuns) {
  WorkQueue queue(&RealTimeline(), 1, 4);
  std::promise<absl::Status> failed;
  queue.Post([] { throw std::runtime_error("no memory"); },
             [&](const absl::Status& status) { failed.set_value(status); });
  const absl::Status status = failed.get_future().get();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "no memory");
  std::promise<void> next;
  queue.Post([&] { next.set_value(); }, [](const absl::Status&) { FAIL(); });
  next.get_future().wait();
}

TEST(WorkQueue, CancelFailsJobsThatWaitAndThoseThatFollow) {
  WorkQueue queue(&RealTimeline(), 1, 1);
  std::promise<void> started, gate;
  queue.Post(
      [&] {
        started.set_value();
        gate.get_future().wait();
      },
      [](const absl::Status&) { FAIL(); });
  started.get_future().wait();
  std::vector<absl::StatusCode> failures;
  const auto fail = [&](const absl::Status& status) { failures.push_back(status.code()); };
  queue.Post([] { FAIL(); }, fail);
  queue.Post([] { FAIL(); }, fail);  // one too many
  queue.Cancel();
  queue.Post([] { FAIL(); }, fail);
  EXPECT_EQ(failures,
            (std::vector{absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable,
                         absl::StatusCode::kUnavailable}));
  gate.set_value();
  queue.Stop();
}

}  // namespace
}  // namespace pliant::server
