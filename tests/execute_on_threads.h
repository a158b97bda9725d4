#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace pliant {

// Calls f() with the given number of threads, which may exceed that of this machine.
template <typename F>
auto ExecuteOnThreads(int threads, const F& f) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(threads);
  return arena.execute(f);
}

}  // namespace pliant
