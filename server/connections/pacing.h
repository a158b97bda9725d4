#pragma once

#include <chrono>
#include <thread>

namespace pliant::server {

// Lets the events of many viewers come in together. Frames leave at one time, and each viewer
// acknowledges its own a little later; a thread that is woken for each of them spends more on
// waking than on the event. While clients do nothing but watch and drive, it rests for a moment
// after it has handled what there was. Used on one thread.
class Pacing {
 public:
  // A client waits for an answer, and will probably ask again.
  void OnRequest() { last_request_ = Clock::now(); }

  bool MayRest() const { return Clock::now() > last_request_ + kPatience; }
  static void Rest() { std::this_thread::sleep_for(kRest); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPatience{100};
  // An event waits for so long at most; teleoperation notices a hundred times as much.
  static constexpr std::chrono::microseconds kRest{500};

  Clock::time_point last_request_ = Clock::now();
};

}  // namespace pliant::server
