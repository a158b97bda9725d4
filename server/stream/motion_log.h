#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/host/published.h"

namespace pliant::server {

// Versions of publications in which bodies last changed, by body; empty: unknown.
struct LastChanges {
  std::vector<std::uint64_t> moved;
  // The contact forces on the surface of a deformable body, which its fields of contact depend on
  // besides its motion.
  std::vector<std::uint64_t> touched;
};

// The last changes of each body, as of the latest publication. A body that sleeps keeps every bit
// of its block and of its contact forces, so that viewers need not be sent it again.
class MotionLog {
 public:
  // Records a publication later than all before.
  void Add(const std::shared_ptr<const Published>& published);
  const LastChanges& changes() const { return changes_; }

 private:
  std::shared_ptr<const Published> last_;
  LastChanges changes_;
  std::vector<std::uint64_t> touches_;  // hash of the contact forces on each body
};

}  // namespace pliant::server
