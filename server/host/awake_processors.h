#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "server/host/timeline.h"

namespace pliant::server {

// Keeps processors from halting while requests follow each other closely. Client and server of a
// lockstep take turns, and a processor that halts while it waits for the other one takes tens of
// microseconds to wake, in a virtual machine in particular.
//
// A thread of policy SCHED_IDLE, over which every other thread of the machine has precedence, spins
// on each of the first kMaxProcessors processors that this process may use. These threads sleep
// until a request comes within `pause` of the last reply, and again after `pause` without a request
// or a reply.
class AwakeProcessors {
 public:
  static constexpr int kMaxProcessors = 8;

  AwakeProcessors(Timeline* timeline, SteadyTime::duration pause);
  ~AwakeProcessors();
  AwakeProcessors(const AwakeProcessors&) = delete;

  // Callable from any thread; quick.
  void OnRequest();
  void OnReply();

  // Number of processors that are kept awake now.
  int CountAwake() const;

  void Stop();

 private:
  // One processor and its thread, for which the system may refuse the policy SCHED_IDLE.
  struct Spinner {
    enum class State { kNew, kAsleep, kAwake, kRefused };
    int processor = 0;
    std::atomic<State> state{State::kNew};
    std::unique_ptr<Timeline::Worker> worker;
  };

  void StayAwake(SteadyTime now);
  SteadyTime Spin(Spinner* spinner);

  Timeline* const timeline_;
  const SteadyTime::duration pause_;
  std::atomic<SteadyTime> last_reply_, until_;
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Spinner>> spinners_;
};

}  // namespace pliant::server
