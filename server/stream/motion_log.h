#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/host/published.h"

namespace pliant::server {

// The version of the publication in which each body last moved, as of the latest one. A body that
// sleeps keeps every bit of its block, so that viewers need not be sent it again.
class MotionLog {
 public:
  // Records a publication later than all before.
  void Add(const std::shared_ptr<const Published>& published);
  const std::vector<std::uint64_t>& moved() const { return moved_; }  // by body

 private:
  std::shared_ptr<const Published> last_;
  std::vector<std::uint64_t> moved_;
};

}  // namespace pliant::server
