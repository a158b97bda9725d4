#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/v1/control.pb.h"

namespace pliant {

class Client;

struct LeaseOptions {
  bool takeover = false;  // end the lease of another client, unless its priority is higher
  int priority = 0;       // 0 to 100; above 50 for admins
};

// The right to command one target, held until this object is destroyed: a thread renews it three
// times a second. The server drops it one second after the last renewal or command. A lease that
// was lost, because of a takeover or of a broken connection, is not acquired again. Thread-safe.
class Lease {
 public:
  // `world` is the full name. FAILED_PRECONDITION while another client holds the target, naming it.
  static absl::StatusOr<std::unique_ptr<Lease>> Acquire(std::shared_ptr<Client> client,
                                                        const std::string& world,
                                                        const std::string& target,
                                                        const LeaseOptions& options = {});
  ~Lease();  // releases it
  Lease(const Lease&) = delete;

  const std::string& world() const;
  const std::string& target() const;
  const std::string& id() const;
  const std::shared_ptr<Client>& client() const;

  // OK while it is held, then the reason why it was lost. CANCELLED after Release.
  absl::Status status() const;
  // Called at most once when the lease is lost, on a thread of the lease; at once if it is already
  // lost. The callback must not destroy the lease.
  void OnLost(std::function<void(const absl::Status&)> callback);

  // Releases the lease; the target ramps to rest.
  absl::Status Release();

 private:
  friend class CommandStream;
  class Keeper;
  explicit Lease(std::unique_ptr<Keeper> keeper);
  // A command renews the lease as well.
  void NoteCommand();
  void Check();  // asks the server whether it still holds
  void Lose(const absl::Status& reason);

  const std::unique_ptr<Keeper> keeper_;
};

}  // namespace pliant
