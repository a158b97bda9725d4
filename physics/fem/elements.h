#pragma once

#include <array>
#include <span>
#include <vector>

#include "physics/fem/fem_block.h"
#include "physics/fem/polar_rotation.h"

namespace pliant::physics {

// Four linear tetrahedra side by side (the last batch repeats its last element with zero volume).
struct ElementBatch {
  std::array<std::array<int, 4>, kLanes> nodes;  // of each lane
  Lane gradients[4][3];                          // G_a = ∂N_a/∂X at rest [1/m]
  Lane volume;                                   // at rest [m³]
  Lane density;                                  // [kg/m³]
  Lane lame_mu, lame_lambda;                     // [Pa]
  Lane corotates;                                // 1: R0 = polar(F); 0: R0 = I
};

// Splits a mesh with its materials into batches. `rest` are the rest positions in the body frame.
std::vector<ElementBatch> MakeElementBatches(const FemParameters& parameters);

// Deformation gradient F = Σ x_a G_aᵀ, or the velocity's gradient, column-major. x: 3 numbers a node.
LaneMatrix CalcGradient(const ElementBatch& batch, std::span<const double> x);

// R0 (han2023 §V-B), the identity for elements that do not corotate.
LaneMatrix CalcReferenceRotation(const ElementBatch& batch, const LaneMatrix& F);

// Lagged linear corotational stress P = R0 (2 μ ε + λ tr(ε) I), ε = sym(R0ᵀ F) − I [Pa] (han2023 §V-B). With
// `increment` the −I is left out: the derivative of P in the direction F.
LaneMatrix CalcStress(const ElementBatch& batch, const LaneMatrix& R0, const LaneMatrix& F,
                      bool increment);

// f_a = −V P G_a [N]: force on the nodes, (node, axis).
void CalcForces(const ElementBatch& batch, const LaneMatrix& P, Lane forces[4][3]);

// K_ab = −∂f_a/∂x_b = V [λ h_a h_bᵀ + μ h_b h_aᵀ + μ (G_a·G_b) I], h_a = R0 G_a [N/m], column-major 3 × 3.
LaneMatrix CalcStiffness(const ElementBatch& batch, const LaneMatrix& R0, int a, int b);

// ½-weighted energy of the material V (μ ε:ε + λ/2 tr(ε)²) [J].
Lane CalcEnergy(const ElementBatch& batch, const LaneMatrix& R0, const LaneMatrix& F);

}  // namespace pliant::physics
