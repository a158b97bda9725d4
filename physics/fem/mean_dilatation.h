#pragma once

#include <array>
#include <span>
#include <vector>

#include "physics/fem/elements.h"
#include "solvers/linalg/block_matrix.h"

namespace pliant::physics {

// Mean dilatation over patches of linear tetrahedra, which avoids volumetric locking. In the term
// κ/2 (J − 1)² of the material's energy, the patch's mean volume ratio J̄ = Σ V J / Σ V replaces
// each element's J (Nagtegaal, Parks & Rice 1974; on patches of tetrahedra as in de Souza Neto et
// al. 2005). There are then about as many constraints as nodes, not five times as many.
class MeanDilatation {
 public:
  // Covers the nonlinear elements; each of their materials must have a volumetric stiffness.
  MeanDilatation(const FemParameters& parameters, const ElementBatches& elements);

  int num_patches() const { return static_cast<int>(patches_.size()); }

  // Couplings between nodes of a patch beyond those within elements, as elements for
  // MakeBlockPattern.
  std::vector<std::array<int, 4>> couplings() const;
  // Locates the couplings in a pattern that includes them. Call before AddStiffness.
  void FindSlots(const solvers::BlockPattern& pattern);

  // J̄ of the patches, given F of the nonlinear batches.
  void CalcRatios(std::span<const LaneMatrix3> F, std::vector<double>* ratios) const;

  // J̄ of each element of batch k, for Material::RespondToMean. That tangent lacks the coupling
  // between elements of a patch, which AddStiffness adds.
  Lane MeansOf(std::size_t k, std::span<const double> ratios) const;

  // A += scale · Σ V κ ∇J̄ ∇J̄ᵀ over the patches, given F of the batches. With a `normal` (plane
  // strain), components along it are left out. `gradients` is scratch memory.
  void AddStiffness(const ElementBatches& elements, std::span<const LaneMatrix3> F, double scale,
                    const Eigen::Vector3d* normal, std::vector<double>* gradients,
                    solvers::BlockMatrix* A) const;

  // The product of that stiffness and velocities: f += scale · Σ V κ ∇J̄ (∇J̄ᵀ v).
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
  // ∇J̄ at the patches' nodes, three numbers each, in the order of starts_
  void CalcGradients(const ElementBatches& elements, std::span<const LaneMatrix3> F,
                     std::vector<double>* gradients) const;

  std::vector<Patch> patches_;
  std::vector<int> starts_;                 // of each patch's nodes among all patches'
  std::vector<int> patch_of_;               // of each lane; −1: padding
  std::vector<std::array<int, 4>> places_;  // of each lane's nodes among its patch's
  std::vector<Lane> stiffness_, volume_;    // κ, V of each batch
};

// Groups elements that share many nodes into patches of about `target`, without mixing `kinds`.
// Returns the patch of each element.
std::vector<int> FormPatches(std::span<const std::array<int, 4>> tetrahedra,
                             std::span<const int> kinds, int target);

}  // namespace pliant::physics
