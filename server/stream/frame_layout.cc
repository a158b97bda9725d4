#include "server/stream/frame_layout.h"

#include <algorithm>

namespace pliant::server {

bool FrameChoice::Has(int body) const {
  return bodies.empty() || std::ranges::binary_search(bodies, body);
}

FrameLayout::FrameLayout(const physics::Model& model) {
  std::uint32_t rigid = 0, deformable = 0;
  for (const physics::Body& body : model.bodies) {
    is_deformable.push_back(model.abilities_of(body).nodes != nullptr);
    indices.push_back(is_deformable.back() ? deformable++ : rigid++);
    bodies.emplace(body.name, static_cast<int>(indices.size()) - 1);
  }
  numbers = indices;
  for (std::size_t body = 0; body < numbers.size(); ++body) {
    if (is_deformable[body]) numbers[body] += rigid;
  }
  for (int probe = 0; probe < static_cast<int>(model.probes.size()); ++probe)
    probes.emplace(model.probes[probe].name, probe);
}

}  // namespace pliant::server
