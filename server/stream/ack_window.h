#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "server/host/timeline.h"

namespace pliant::server {

// How many frames one viewer may have under way. A viewer that acknowledges frames has at most two:
// the second fills the line while the acknowledgement of the first returns. Where the second only
// waits behind the first, because some hop to this viewer is slower than its rate, there is one:
// frames then arrive as often and half as old. A viewer that never acknowledges is not limited.
class AckWindow {
 public:
  static constexpr std::size_t kMaxUnacknowledged = 2;

  bool IsFull(SteadyTime now) const;
  void Send(std::uint64_t frame, SteadyTime now);

  // Returns the time from sending `frame` to this acknowledgement [s], if it was under way. Frames
  // before it count as received, too.
  std::optional<double> Acknowledge(std::uint64_t frame, SteadyTime now);

 private:
  struct UnderWay {
    std::uint64_t frame;
    SteadyTime sent;
    bool alone;  // nothing else was under way when it was sent
  };

  void Adapt(const UnderWay& received, double lag, SteadyTime now);

  std::deque<UnderWay> under_way_;
  bool acknowledges_ = false;
  double lag_alone_ = 0;  // of the last frame that was sent alone [s]
  SteadyTime single_until_ = SteadyTime::min();
};

}  // namespace pliant::server
