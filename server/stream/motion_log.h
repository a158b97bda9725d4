#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/host/published.h"

namespace pliant::server {

// Versions of publications in which bodies last changed, by body; empty: unknown.
struct LastChanges {
  std::vector<std::uint64_t> moved;
  // Versions in which the contact forces on a deformable body last changed, on which its contact
  // fields depend besides its motion.
  std::vector<std::uint64_t> touched;
};

// The last changes of each body, as of the latest publication. A sleeping body keeps every bit of
// its block and of its contact forces, so that it need not be sent to viewers again.
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
