#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/frame.h"
#include "pliant/v1/stream.pb.h"

namespace pliant {

class Client;

// Receives the frames of a world: calls a callback with each, and keeps the latest.
//
// Each subscription has its own thread, on which the callback runs. While the callback is slow, the
// server conflates: the next frame is the latest state, never a queue. A callback that blocks or
// throws affects no other subscription; one that throws ends its own with INTERNAL.
//
// When the connection breaks, the subscription waits for the server and continues. After a frame
// that does not match the description it fetches the description again, once; if frames still do
// not match, it ends with FAILED_PRECONDITION. It also ends when the world is deleted.
//
// All methods may be called by any thread, but the destructor not in the callback.
class Subscription {
 public:
  // The frame and the description are valid during the call.
  using Callback = std::function<void(const Frame&, const Description&)>;

  // Returns once the description has arrived. `request.world` is the full name.
  static absl::StatusOr<std::unique_ptr<Subscription>> Open(std::shared_ptr<Client> client,
                                                            v1::Subscription request,
                                                            Callback on_frame);
  ~Subscription();  // cancels, and waits for the callback to return
  Subscription(const Subscription&) = delete;

  // Copies the latest frame if it is newer than the last one that was taken. False if it is not.
  bool TakeLatest(Frame* frame);
  // Waits for such a frame. DEADLINE_EXCEEDED when none comes in time; the reason when the
  // subscription has ended.
  absl::Status WaitForFrame(Frame* frame, std::chrono::milliseconds timeout);

  // Changes rate, bodies, fields and other choices. The world stays.
  void Change(v1::Subscription request);

  void Cancel();
  // OK while it runs, then the reason why it ended. CANCELLED by Cancel.
  absl::Status status() const;
  // Waits until it has ended.
  absl::Status Wait();

  DescriptionPtr description() const;  // of the latest frame
  int reconnects() const;              // number of reconnections

 private:
  class Worker;
  explicit Subscription(std::unique_ptr<Worker> worker);
  const std::unique_ptr<Worker> worker_;
};

}  // namespace pliant
