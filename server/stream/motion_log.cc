#include "server/stream/motion_log.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "physics/dynamics/model.h"

namespace pliant::server {
namespace {

// Mixes a number into a hash: the finalizer of SplitMix64.
std::uint64_t Mix(std::uint64_t hash, std::uint64_t number) {
  hash = (hash ^ number) + 0x9e3779b97f4a7c15;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}
std::uint64_t Mix(std::uint64_t hash, double number) {
  return Mix(hash, std::bit_cast<std::uint64_t>(number));
}

// Hash of the contact forces on the nodes of each body, in any order; 0 for a body without any.
std::vector<std::uint64_t> HashTouches(const physics::Snapshot& snapshot) {
  std::vector<std::uint64_t> hashes(snapshot.model->bodies.size(), 0);
  for (const physics::ContactForce& contact : snapshot.report.contacts) {
    const auto add = [&](int body, const physics::NodeWeights& nodes, std::uint64_t side) {
      if (nodes.size() == 0) return;
      std::uint64_t hash = side;
      for (int axis = 0; axis < 3; ++axis) {
        hash = Mix(hash, contact.impulse_W[axis]);
        hash = Mix(hash, contact.normal_W[axis]);
      }
      for (int k = 0; k < nodes.size(); ++k)
        hash = Mix(Mix(hash, static_cast<std::uint64_t>(nodes.node(k))), nodes.weight(k));
      hashes[body] += hash;
    };
    add(contact.body_a, contact.nodes_a, 1);
    add(contact.body_b, contact.nodes_b, 2);
  }
  return hashes;
}

}  // namespace

void MotionLog::Add(const std::shared_ptr<const Published>& published) {
  const physics::Snapshot& snapshot = *published->snapshot;
  const physics::Model& model = *snapshot.model;
  if (last_ == nullptr || last_->epoch != published->epoch) {
    changes_.moved.assign(model.bodies.size(), published->version);
    changes_.touched = changes_.moved;
    touches_ = HashTouches(snapshot);
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
      if (block != physics::kWorldBlock && !still[block]) changes_.moved[body] = published->version;
    }
    std::vector<std::uint64_t> touches = HashTouches(snapshot);
    for (std::size_t body = 0; body < touches.size(); ++body) {
      if (touches[body] != touches_[body]) changes_.touched[body] = published->version;
    }
    touches_ = std::move(touches);
  }
  last_ = published;
}

}  // namespace pliant::server
