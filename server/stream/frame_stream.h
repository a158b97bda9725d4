#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"

#include "server/host/world_host.h"
#include "server/stream/ack_window.h"
#include "server/stream/frame_encoder.h"

namespace pliant::server {

// Output of a frame stream. Called on a thread of the pool; must not block, nor call back into the
// stream except for Ready().
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // The sink calls Ready() when it can take the next frame.
  virtual void SendFrame(const FrameHead& head, std::shared_ptr<const std::string> body) = 0;
  // The world is gone or the server drains; no call follows.
  virtual void SendEnd(const absl::Status& why) = 0;
};

class WorldStreams;

struct Subscription {
  static constexpr double kDefaultRate = 60;  // [Hz]
  static constexpr double kMaxRate = 1000;
  std::shared_ptr<WorldStreams> world;
  double rate = kDefaultRate;
  std::uint32_t number = 0;
  FrameChoice choice;
  std::size_t max_frame = kMaxFrame;  // a larger one ends the stream [B]
  // Maximum rates of fields, contacts, forces, joints and probes [Hz]; 0: with every frame.
  static constexpr std::size_t kParts = 5;
  std::array<double, kParts> part_rates{};
};

// One pass over the streams of a world.
struct StreamPass {
  const WorldStreams* world;
  Timeline* timeline;
  SteadyTime now;
  SteadyTime origin;           // streams of equal rate are due at the same times, counted from it
  EncodedState* state;         // the latest of the world
  SteadyTime wanted = kNever;  // earliest time from which a stream needs a publication; lowered
};

// Stream to one viewer: the latest state at the viewer's rate, never queued. A viewer that
// acknowledges frames has at most two in flight, whatever the network could buffer. A paused world
// is resent every second.
class FrameStream : public std::enable_shared_from_this<FrameStream> {
 public:
  FrameStream(StreamCounters* counters, FrameSink* sink, Subscription subscription);
  ~FrameStream();

  void Open();                             // starts to send
  void Change(Subscription subscription);  // next frame: a keyframe
  void Ready();
  void Ack(std::uint64_t frame, SteadyTime now);
  // After it returns, the sink is not called. Do not call it while holding a lock that the sink
  // takes.
  void Close();

  // Sends a frame of the latest state if one is due. Streams of equal rate share frames. Returns
  // the time to visit it again if nothing happens before.
  SteadyTime Visit(StreamPass* pass);

  // The world has ended.
  void SendEnd(const WorldStreams* world, const absl::Status& why);

 private:
  std::shared_ptr<WorldStreams> world();
  void Send(SteadyTime::duration early, StreamPass* pass);
  FrameParts TakeParts(SteadyTime::duration time, bool keyframe);

  StreamCounters* const counters_;
  FrameSink* const sink_;

  std::mutex mutex_;
  bool closed_ = false;
  bool ready_ = true;
  bool waiting_ = false;  // a frame is due, and the viewer is not ready for it
  Subscription subscription_;
  std::uint64_t sent_version_ = 0;  // 0: nothing of this subscription yet
  std::uint64_t skipped_version_ = 0;
  std::uint64_t missed_version_ = 0;
  std::uint64_t frame_ = 0;
  SteadyTime next_due_;
  SteadyTime last_sent_;
  std::int64_t keyframe_second_ = 0;                             // counted from the origin
  std::uint64_t fields_version_ = 0;                             // version of the last sent fields
  std::array<std::int64_t, Subscription::kParts> part_slots_{};  // last period of each part
  AckWindow window_;
};

}  // namespace pliant::server
