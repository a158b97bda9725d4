#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "pliant/v1/stream.pb.h"
#include "server/host/world_host.h"
#include "server/stream/frame_encoder.h"
#include "server/stream/pump.h"

namespace pliant::server {

struct StreamCounters {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> dropped{
      0};  // states that were due while the viewer could not take them
  std::atomic<std::uint64_t> encoded{0};
  std::atomic<double> encode_seconds{0};  // summed
  std::atomic<std::uint64_t> acked{0};
  std::atomic<double> ack_seconds{0};  // from sending to acknowledgement, summed
  std::atomic<int> open{0};
};

// Recently encoded frames by state and choice, shared by the viewers of a world. Used only on the
// pump's thread.
class FrameCache {
 public:
  explicit FrameCache(StreamCounters* counters) : counters_(counters) {}
  std::shared_ptr<const std::string> Encode(const std::shared_ptr<const Published>& published,
                                            const FrameChoice& choice, SteadyTime now);

 private:
  struct Entry {
    std::shared_ptr<const Published> published;
    FrameChoice choice;
    std::shared_ptr<const std::string> body;
    SteadyTime at;
  };
  StreamCounters* const counters_;
  std::vector<Entry> entries_;
};

// Output of a frame stream. Called on the pump's thread; must not block, nor call back into the
// stream except for Ready().
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // The sink calls Ready() when it can take the next frame.
  virtual void SendFrame(std::shared_ptr<const std::string> body, std::uint64_t frame,
                         bool keyframe) = 0;
  // The world is gone or the server drains; nothing follows.
  virtual void SendEnd(const absl::Status& why) = 0;
};

struct Subscription {
  static constexpr double kDefaultRate = 60;  // [Hz]
  static constexpr double kMaxRate = 1000;
  std::shared_ptr<WorldHost> host;
  double rate = kDefaultRate;
  FrameChoice choice;
};

// INVALID_ARGUMENT for a rate that is not a number in [0, 1000] or an unknown body; `host` is that
// of the subscribed world.
absl::StatusOr<Subscription> ReadSubscription(const v1::Subscription& message,
                                              std::shared_ptr<WorldHost> host);

// Stream to one viewer: the latest state at its own rate, never queued. A viewer that acknowledges
// frames has at most half a second of frames in flight, whatever the network buffers. A paused
// world is resent every second.
class FrameStream : public PumpClient, public std::enable_shared_from_this<FrameStream> {
 public:
  FrameStream(Pump* pump, FrameCache* cache, StreamCounters* counters, FrameSink* sink,
              Subscription subscription);
  ~FrameStream() override;

  void Open();                             // starts to send
  void Change(Subscription subscription);  // next frame: a keyframe
  void Ready();
  void Ack(std::uint64_t frame);
  // After it returns, the sink is not called. Do not call it while holding a lock that the sink
  // takes.
  void Close();

  SteadyTime Visit(SteadyTime now) override;

 private:
  Pump* const pump_;
  FrameCache* const cache_;
  StreamCounters* const counters_;
  FrameSink* const sink_;
  std::atomic<bool> ready_{true};

  std::mutex mutex_;
  bool closed_ = false;
  Subscription subscription_;
  std::uint64_t sent_version_ = 0;  // 0: nothing of this world yet
  std::uint64_t missed_version_ = 0;
  std::uint64_t frame_ = 0;
  SteadyTime next_due_;
  SteadyTime last_sent_;
  SteadyTime last_keyframe_;
  bool acknowledges_ = false;
  std::deque<std::pair<std::uint64_t, SteadyTime>> under_way_;  // not acknowledged yet
};

}  // namespace pliant::server
