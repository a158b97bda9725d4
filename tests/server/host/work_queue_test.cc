#include "server/host/work_queue.h"

#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <vector>

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

// Workers without threads: a test runs their jobs.
class ManualTimeline : public Timeline {
 public:
  SteadyTime Now() const override { return {}; }
  std::unique_ptr<Worker> Start(std::function<SteadyTime()> job, Thread /*thread*/) override {
    jobs.push_back(std::move(job));
    return std::make_unique<ManualWorker>(this, static_cast<int>(jobs.size()) - 1);
  }

  std::vector<std::function<SteadyTime()>> jobs;
  std::vector<int> woken;

 private:
  class ManualWorker : public Worker {
   public:
    ManualWorker(ManualTimeline* timeline, int index) : timeline_(timeline), index_(index) {}
    void Wake() override { timeline_->woken.push_back(index_); }
    void Stop() override {}

   private:
    ManualTimeline* timeline_;
    int index_;
  };
};

TEST(WorkQueue, WakesOneIdleWorkerForEachJob) {
  ManualTimeline timeline;
  WorkQueue queue(&timeline, 3, 10);
  int done = 0;
  const auto post = [&] { queue.Post([&] { ++done; }, [](const absl::Status&) { FAIL(); }); };
  post();  // before any worker waits: the first one to run finds it
  EXPECT_EQ(timeline.jobs[0](), timeline.Now());
  for (const int worker : {1, 2, 0}) EXPECT_EQ(timeline.jobs[worker](), kNever);
  EXPECT_EQ(timeline.woken, std::vector<int>());
  post();
  post();
  EXPECT_EQ(timeline.woken, (std::vector{0, 2}));  // those that began to wait last
  EXPECT_EQ(timeline.jobs[0](), timeline.Now());
  EXPECT_EQ(timeline.jobs[0](), timeline.Now());  // quicker than the other one
  EXPECT_EQ(timeline.jobs[2](), kNever);
  post();
  EXPECT_EQ(timeline.woken, (std::vector{0, 2, 2}));
  EXPECT_EQ(timeline.jobs[2](), timeline.Now());
  EXPECT_EQ(done, 4);
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
