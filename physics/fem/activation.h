#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/block_inputs.h"
#include "physics/fem/elements.h"
#include "physics/fem/materials/material.h"

namespace pliant::physics {

// Uniform internal volumetric stress p of regions, which pushes their elements apart (macklin2019
// §10.1.4).
//
// On elements that are quadratic in F it is P = −p R0 with the R0 of the step: constant through the
// step, so that it adds nothing to the tangent, and a free body strains by p / 3K, no more and no
// less. On others it is what an inner pressure does to the deformed shape, P = −p ∂J/∂F with J =
// det F, of energy −p J. Both are without force and torque in all: P Fᵀ is symmetric.
class Activations {
 public:
  // `regions`: the elements of each, by their number in the mesh.
  Activations(const ElementBatches& elements, const std::vector<std::vector<int>>& regions);

  int size() const { return static_cast<int>(regions_.size()); }

  // p of every lane of every batch [Pa], from efforts on channels, which are the regions; empty
  // where all are zero. Where regions overlap they add up.
  void Spread(std::span<const ChannelEffort> stresses, std::vector<Lane>* pressure) const;

 private:
  struct Share {
    int batch;
    Lane part;  // 1 in lanes that belong to the region, 0 elsewhere
  };
  std::vector<std::vector<Share>> regions_;
  std::size_t num_batches_;
};

// Adds what `pressure` does at F to a material's response: to the tangent only where that is exact,
// as it may be indefinite.
void AddPressure(const Lane& pressure, const LaneMatrix3& F, Tangent tangent,
                 MaterialResponse* response);

}  // namespace pliant::physics
