#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {

// Positions of the particles of a body [m].
inline std::vector<Eigen::Vector3d> ParticlesOf(const World& world, const std::string& name) {
  const Model& model = world.model();
  const auto body = std::ranges::find(model.bodies, name, &Body::name);
  const std::span<const double> q = model.Positions(world.state(), body->block);
  std::vector<Eigen::Vector3d> positions;
  for (std::size_t k = 0; k < body->points.nodes.size(); ++k) {
    if (body->points.radii[k] == 0) continue;  // a point on the surface
    const std::size_t i = 3 * static_cast<std::size_t>(body->points.nodes[k]);
    positions.push_back({q[i], q[i + 1], q[i + 2]});
  }
  return positions;
}

// Shares of the particles in connected parts, the largest first. Particles are connected if they
// are in the same or in neighbouring cells of a grid.
inline std::vector<double> FindParts(const std::vector<Eigen::Vector3d>& positions,
                                     double cell_size) {
  std::map<std::array<int, 3>, std::vector<int>> cells;
  const auto cell_of = [&](const Eigen::Vector3d& p) {
    std::array<int, 3> cell;
    for (int i = 0; i < 3; ++i) cell[i] = static_cast<int>(std::floor(p[i] / cell_size));
    return cell;
  };
  for (int i = 0; i < static_cast<int>(positions.size()); ++i)
    cells[cell_of(positions[i])].push_back(i);
  std::vector<double> shares;
  while (!cells.empty()) {
    std::vector<std::array<int, 3>> open = {cells.begin()->first};
    std::size_t count = cells.begin()->second.size();
    cells.erase(cells.begin());
    while (!open.empty()) {
      const std::array<int, 3> at = open.back();
      open.pop_back();
      for (int k = 0; k < 27; ++k) {
        const auto found =
            cells.find({at[0] + k / 9 - 1, at[1] + k / 3 % 3 - 1, at[2] + k % 3 - 1});
        if (found == cells.end()) continue;
        count += found->second.size();
        open.push_back(found->first);
        cells.erase(found);
      }
    }
    shares.push_back(static_cast<double>(count) / static_cast<double>(positions.size()));
  }
  std::ranges::sort(shares, std::greater());
  return shares;
}

}  // namespace pliant::physics
