#include "server/stream/motion_log.h"

#include <algorithm>

#include "physics/dynamics/model.h"

namespace pliant::server {

void MotionLog::Add(const std::shared_ptr<const Published>& published) {
  const physics::Snapshot& snapshot = *published->snapshot;
  const physics::Model& model = *snapshot.model;
  if (last_ == nullptr || last_->epoch != published->epoch) {
    moved_.assign(model.bodies.size(), published->version);
  } else if (last_->snapshot != published->snapshot) {
    std::vector<bool> still(model.blocks.size());
    const physics::State& before = last_->snapshot->state;
    for (int block = 0; block < static_cast<int>(model.blocks.size()); ++block) {
      const physics::BlockState a = model.StateOf(before, block);
      const physics::BlockState b = model.StateOf(snapshot.state, block);
      still[block] = std::ranges::equal(a.q, b.q) && std::ranges::equal(a.v, b.v) &&
                     std::ranges::equal(a.internals, b.internals);
    }
    for (std::size_t body = 0; body < model.bodies.size(); ++body) {
      const int block = model.bodies[body].block;
      if (block != physics::kWorldBlock && !still[block]) moved_[body] = published->version;
    }
  }
  last_ = published;
}

}  // namespace pliant::server
