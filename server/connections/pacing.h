#pragma once

#include <chrono>
#include <thread>

namespace pliant::server {

// Batches the events of many viewers. Frames are sent at one time, and each viewer acknowledges its
// own a little later; a thread that is woken for each acknowledgement spends more time on waking
// than on the event. While clients only watch and drive, the thread pauses after each batch of
// events. Used on one thread.
class Pacing {
 public:
  // A client waits for a reply, and will probably send further requests.
  void OnRequest() { last_request_ = Clock::now(); }

  bool MayRest() const { return Clock::now() > last_request_ + kQuietTime; }
  static void Rest() { std::this_thread::sleep_for(kRest); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kQuietTime{100};
  // Maximum delay of an event, a hundredth of what is noticeable in teleoperation.
  static constexpr std::chrono::microseconds kRest{500};

  Clock::time_point last_request_ = Clock::now();
};

}  // namespace pliant::server
