#pragma once

#include <algorithm>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#ifdef PLIANT_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace pliant::solvers {

// Calls f(i) for 0 ≤ i < count in parallel, in chunks of at least `grain`. Returns when all are
// done. The results of f must depend on i alone.
template <typename F>
void ParallelFor(int count, int grain, const F& f) {
#ifdef PLIANT_THREAD_SANITIZER
  // Debian's TBB is not built for this sanitizer: declare the order of events to it
  char begin, end;
  __tsan_release(&begin);
  const auto body = [&](int i) {
    __tsan_acquire(&begin);
    f(i);
    __tsan_release(&end);
  };
#else
  const F& body = f;
#endif
  tbb::parallel_for(tbb::blocked_range<int>(0, count, grain), [&](const auto& range) {
    for (int i = range.begin(); i < range.end(); ++i) body(i);
  });
#ifdef PLIANT_THREAD_SANITIZER
  __tsan_acquire(&end);
#endif
}

// Threads that ParallelFor may use here.
inline int CountThreads() {
  const auto most = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return std::min(static_cast<int>(most), tbb::this_task_arena::max_concurrency());
}

// ParallelFor inside a task that runs in parallel with others. The waiting thread takes no outside
// tasks, so its thread-local data stay unchanged.
template <typename F>
void ParallelForWithin(int count, int grain, const F& f) {
  tbb::this_task_arena::isolate([&] { ParallelFor(count, grain, f); });
}

}  // namespace pliant::solvers
