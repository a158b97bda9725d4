#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "server/host/timeline.h"

namespace pliant::server {

// Limits the frames of one viewer in flight. A viewer that acknowledges frames has at most two: the
// second is in transit while the acknowledgement of the first returns. If the second only queues
// behind the first, because the path to this viewer is slower than its rate, the limit is one:
// frames then arrive as often, with half the delay. A viewer that never acknowledges is not
// limited.
class AckWindow {
 public:
  static constexpr std::size_t kMaxUnacknowledged = 2;

  bool IsFull(SteadyTime now) const;
  void Send(std::uint64_t frame, SteadyTime now);

  // Returns the time from sending `frame` to this acknowledgement [s], if it was in flight. Earlier
  // frames count as received, too.
  std::optional<double> Acknowledge(std::uint64_t frame, SteadyTime now);

 private:
  struct UnderWay {
    std::uint64_t frame;
    SteadyTime sent;
    bool alone;  // no other frame was in flight when it was sent
  };

  void Adapt(const UnderWay& received, double lag, SteadyTime now);

  std::deque<UnderWay> under_way_;
  bool acknowledges_ = false;
  double lag_alone_ = 0;  // of the last frame that was sent alone [s]
  SteadyTime single_until_ = SteadyTime::min();
};

}  // namespace pliant::server
