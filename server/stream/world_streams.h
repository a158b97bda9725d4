#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"

#include "pliant/v1/stream.pb.h"
#include "server/host/world_host.h"
#include "server/stream/frame_stream.h"
#include "server/stream/motion_log.h"
#include "server/stream/task_pool.h"

namespace pliant::server {

// All streams of one world. They are visited together, when a state is published for which one of
// them waits, so that they share its encoded sections. Worlds take turns on the threads of the
// pool.
class WorldStreams : public TaskPool::Task,
                     public PublicationListener,
                     public std::enable_shared_from_this<WorldStreams> {
 public:
  // The parts of the server that it uses; all outlive it.
  struct Parts {
    TaskPool* pool;
    StreamCounters* counters;
    Timeline* timeline;
  };

  WorldStreams(const Parts& parts, std::shared_ptr<WorldHost> host);

  const std::shared_ptr<const FrameLayout>& layout() const { return layout_; }
  const WorldHost& host() const { return *host_; }

  void Add(std::shared_ptr<FrameStream> stream);
  void Remove(const FrameStream& stream);
  void Wake();  // a stream has changed
  int CountStreams();

  void OnPublish() override;
  SteadyTime Run(SteadyTime now) override;

 private:
  const Parts parts_;
  const std::shared_ptr<WorldHost> host_;
  const std::shared_ptr<const FrameLayout> layout_;
  const SteadyTime origin_;         // of the times at which streams are due
  std::atomic<SteadyTime> wanted_;  // publications before this time need no visit

  std::mutex mutex_;
  std::vector<std::shared_ptr<FrameStream>> streams_;

  // used by Run only
  std::unique_ptr<EncodedState> state_;  // the latest
  MotionLog motions_;
};

// The worlds that have streams.
class StreamHub {
 public:
  explicit StreamHub(Timeline* timeline, int threads = 2);

  // INVALID_ARGUMENT for a rate that is not a number in [0, 1000], a body or a probe that the world
  // does not have, or a field, a precision or a tier that is unknown.
  absl::StatusOr<Subscription> Read(const v1::Subscription& message,
                                    std::shared_ptr<WorldHost> host);

  // Returns the number of open streams of this world.
  int CountStreams(const WorldHost& host);

  // A stream that is not open yet. The sink must outlive its Close.
  std::shared_ptr<FrameStream> MakeStream(FrameSink* sink, Subscription subscription);

  const StreamCounters& counters() const { return counters_; }
  void Stop() { pool_.Stop(); }

 private:
  std::shared_ptr<WorldStreams> Of(std::shared_ptr<WorldHost> host);

  Timeline* const timeline_;
  StreamCounters counters_;
  std::mutex mutex_;
  std::map<const WorldHost*, std::weak_ptr<WorldStreams>> worlds_;
  TaskPool pool_;
};

}  // namespace pliant::server
