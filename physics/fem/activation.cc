#include "physics/fem/activation.h"

#include <algorithm>

#include "physics/spatial/demand.h"

namespace pliant::physics {

Activations::Activations(const ElementBatches& elements,
                         const std::vector<std::vector<int>>& regions)
    : regions_(regions.size()), num_batches_(elements.batches.size()) {
  if (regions.empty()) return;
  std::vector<int> lane_of(elements.elements.size());
  for (std::size_t lane = 0; lane < elements.elements.size(); ++lane)
    if (elements.elements[lane] >= 0) lane_of[elements.elements[lane]] = static_cast<int>(lane);
  for (std::size_t r = 0; r < regions.size(); ++r) {
    std::vector<int> lanes;
    for (const int element : regions[r]) lanes.push_back(lane_of[element]);
    std::sort(lanes.begin(), lanes.end());
    for (const int lane : lanes) {
      const int batch = lane / kLanes;
      if (regions_[r].empty() || regions_[r].back().batch != batch)
        regions_[r].push_back({batch, Lane{}});
      regions_[r].back().part[lane % kLanes] = 1;
    }
  }
}

void Activations::Spread(std::span<const ChannelEffort> stresses,
                         std::vector<Lane>* pressure) const {
  pressure->clear();
  for (const auto& [region, stress] : stresses) {
    if (stress == 0) continue;
    if (pressure->empty()) pressure->assign(num_batches_, Lane{});
    for (const Share& share : regions_[region]) (*pressure)[share.batch] += stress * share.part;
  }
}

void AddPressure(const Lane& pressure, const LaneMatrix3& F, Tangent tangent,
                 MaterialResponse* response) {
  const LaneMatrix3 cofactors = CalcCofactors(F);
  response->energy -= pressure * (F[0] * cofactors[0] + F[1] * cofactors[1] + F[2] * cofactors[2]);
  for (int i = 0; i < 9; ++i) response->stress[i] -= pressure * cofactors[i];
  if (tangent != Tangent::kExact) return;
  // column a of the cofactors is f_b × f_c, with (a, b, c) cyclic
  const auto add_cross = [&](int a, int by, const Lane* f, const Lane& factor) {
    const auto entry = [&](int r, int s) -> Lane& {
      return response->tangent[9 * (3 * by + s) + 3 * a + r];
    };
    entry(0, 1) -= factor * f[2], entry(1, 0) += factor * f[2];
    entry(0, 2) += factor * f[1], entry(2, 0) -= factor * f[1];
    entry(1, 2) -= factor * f[0], entry(2, 1) += factor * f[0];
  };
  for (int a = 0; a < 3; ++a) {
    const int b = (a + 1) % 3, c = (a + 2) % 3;
    add_cross(a, b, &F[3 * c], pressure);   // −p · −[f_c]×
    add_cross(a, c, &F[3 * b], -pressure);  // −p · [f_b]×
  }
}

}  // namespace pliant::physics
