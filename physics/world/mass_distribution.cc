#include "physics/world/mass_distribution.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Calls visit(center, mass) for the elements of a body.
template <typename Visit>
void VisitElements(const Model& model, const State& state, int index, const Visit& visit) {
  const Body& body = model.bodies[index];
  const BlockAbilities abilities = model.abilities_of(body);
  const IndexRange elements = abilities.elements->elements_of(body.part);
  const std::span<const double> q = model.Positions(state, body.block);
  const int node = abilities.nodes->nodes_of(body.part).first;

  std::span<const double> masses = abilities.elements->element_masses();
  double density = 1;
  if (masses.empty()) {
    masses = abilities.elements->element_volumes();
    double volume = 0;
    for (int e = 0; e < elements.count; ++e) volume += masses[elements.first + e];
    density = model.blocks[body.block]->mass(body.part) / volume;
  }
  for (int e = 0; e < elements.count; ++e) {
    Vector3d center = Vector3d::Zero();
    if (abilities.elements->are_points(body.part)) {
      center = VectorAt(q, 3 * (node + e));
    } else {
      for (const int corner : body.mesh.tetrahedra[e])
        center += 0.25 * VectorAt(q, 3 * (node + corner));
    }
    visit(center, density * masses[elements.first + e]);
  }
}

}  // namespace

double CalcExtent(const Model& model, const State& state, int body, const Vector3d& direction,
                  double quantile) {
  std::vector<std::pair<double, double>> along;  // coordinate, mass
  double total = 0;
  VisitElements(model, state, body, [&](const Vector3d& center, double mass) {
    along.emplace_back(direction.dot(center), mass);
    total += mass;
  });
  std::ranges::sort(along);
  double below = 0;
  for (const auto& [coordinate, mass] : along) {
    below += mass;
    if (below >= quantile * total) return coordinate;
  }
  return along.back().first;  // rounding of the sum
}

double CalcMassWithin(const Model& model, const State& state, int body, const RigidTransform& X_WF,
                      const Vector3d& half_size) {
  const RigidTransform X_FW = X_WF.Inverse();
  double sum = 0;
  VisitElements(model, state, body, [&](const Vector3d& center, double mass) {
    if (((X_FW * center).cwiseAbs().array() <= half_size.array()).all()) sum += mass;
  });
  return sum;
}

}  // namespace pliant::physics
