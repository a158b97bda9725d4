#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/block_inputs.h"
#include "physics/fem/elements.h"
#include "physics/fem/materials/material.h"

namespace pliant::physics {

// Uniform internal volumetric stress p in regions of elements, which expands them for p > 0
// (macklin2019 §10.1.4).
//
// On elements that are quadratic in F, P = −p R0 with the R0 of the step. It is constant over the
// step, adds nothing to the tangent, and strains a free body by exactly p / 3K. On other elements
// it acts as an internal pressure, P = −p ∂J/∂F with J = det F and energy −p J. In both cases P Fᵀ
// is symmetric, so the net force and torque vanish.
class Activations {
 public:
  // `regions`: element indices of each region in the mesh.
  Activations(const ElementBatches& elements, const std::vector<std::vector<int>>& regions);

  int size() const { return static_cast<int>(regions_.size()); }

  // Sets p of every lane of every batch [Pa] from the efforts on channels, one channel a region;
  // `pressure` is empty when all are zero. Overlapping regions add up.
  void Spread(std::span<const ChannelEffort> stresses, std::vector<Lane>* pressure) const;

 private:
  struct Share {
    int batch;
    Lane part;  // 1 in lanes that belong to the region, 0 elsewhere
  };
  std::vector<std::vector<Share>> regions_;
  std::size_t num_batches_;
};

// Adds the effect of `pressure` at F to a material's response. The tangent changes only for
// Tangent::kExact, since this term may be indefinite.
void AddPressure(const Lane& pressure, const LaneMatrix3& F, Tangent tangent,
                 MaterialResponse* response);

}  // namespace pliant::physics
