#pragma once

#include <array>
#include <span>
#include <vector>

#include "physics/fem/elements.h"
#include "solvers/linalg/block_matrix.h"

namespace pliant::physics {

// Linear tetrahedra that do not lock where the material hardly changes its volume: elements of a
// patch resist its change of volume together, by their mean ratio J̄ = Σ V J / Σ V in place of each
// its own. The part κ/2 (J − 1)² of the material's energy becomes κ/2 (J̄ − 1)² (the
// mean-dilatation idea of Nagtegaal, Parks & Rice 1974 on patches of tetrahedra, as de Souza Neto
// et al. 2005), so that there are about as many constraints as nodes, not five times as many.
class MeanDilatation {
 public:
  // Of the elements that are not quadratic; each material must have a volumetric stiffness.
  MeanDilatation(const FemParameters& parameters, const ElementBatches& elements);

  int num_patches() const { return static_cast<int>(patches_.size()); }

  // Nodes that patches couple beyond elements, as elements for MakeBlockPattern.
  std::vector<std::array<int, 4>> couplings() const;
  // Where they lie in a pattern that was made with them. Before AddStiffness.
  void FindSlots(const solvers::BlockPattern& pattern);

  // J̄ of the patches, given F of the batches that are not quadratic.
  void CalcRatios(std::span<const LaneMatrix3> F, std::vector<double>* ratios) const;

  // J̄ of each element of batch k. Its material answers to it with RespondToMean; the tangent lacks
  // what elements of a patch do to each other, which AddStiffness adds.
  Lane MeansOf(std::size_t k, std::span<const double> ratios) const;

  // A += scale · Σ V κ ∇J̄ ∇J̄ᵀ over the patches, given F of the batches. With a `normal` (plane
  // strain) nothing along it. `gradients` is memory to work in.
  void AddStiffness(const ElementBatches& elements, std::span<const LaneMatrix3> F, double scale,
                    const Eigen::Vector3d* normal, std::vector<double>* gradients,
                    solvers::BlockMatrix* A) const;

  // The same applied to velocities: f += scale · Σ V κ ∇J̄ (∇J̄ᵀ v).
  void AddForce(const ElementBatches& elements, std::span<const LaneMatrix3> F, double scale,
                std::span<const double> v, std::vector<double>* gradients,
                std::span<double> f) const;

 private:
  struct Patch {
    std::vector<int> nodes;  // ascending
    std::vector<int> slots;  // of its pairs of nodes a ≥ b, as the lower triangle is stored
    double volume = 0;       // at rest [m³]
    double stiffness = 0;    // κ [Pa]
  };
  // ∇J̄ of the patches' nodes, three numbers each; `starts` of each patch
  void CalcGradients(const ElementBatches& elements, std::span<const LaneMatrix3> F,
                     std::vector<double>* gradients) const;

  std::vector<Patch> patches_;
  std::vector<int> starts_;                 // of each patch's nodes among all patches'
  std::vector<int> patch_of_;               // of each lane; −1: fills its place only
  std::vector<std::array<int, 4>> places_;  // of each lane's nodes among its patch's
  std::vector<Lane> stiffness_, volume_;    // κ, V of each batch
};

// Patches of about `target` elements that share many nodes; elements of different `kinds` do not
// mix. Patch by element.
std::vector<int> FormPatches(std::span<const std::array<int, 4>> tetrahedra,
                             std::span<const int> kinds, int target);

}  // namespace pliant::physics
