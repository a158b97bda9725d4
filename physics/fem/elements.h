#pragma once

#include <array>
#include <span>
#include <vector>

#include "physics/fem/fem_block.h"
#include "physics/fem/materials/lanes.h"
#include "physics/fem/materials/material.h"

namespace pliant::physics {

// Four linear tetrahedra side by side (the last batch repeats its last element with zero volume).
struct ElementBatch {
  std::array<std::array<int, 4>, kLanes> nodes;  // of each lane, ascending
  Lane gradients[4][3];                          // G_a = ∂N_a/∂X at rest [1/m]
  Lane volume;                                   // at rest [m³]
  Lane density;                                  // [kg/m³]
  Lane lame_mu, lame_lambda;                     // [Pa]
  Lane corotates;                                // 1: R0 = polar(F); 0: R0 = I
};

// The material of a batch that is not quadratic in F.
struct NonlinearMaterial {
  const Material* material;
  Lane parameters[kMaxParameters];
};

// A mesh with its materials in batches: first the elements that are quadratic in F, in mesh order,
// then the others, sorted by material so that a batch has one material. The last batch of each
// group is padded as above.
struct ElementBatches {
  std::vector<ElementBatch> batches;
  std::vector<int> elements;                 // of each lane of each batch; −1: padding
  int num_quadratic = 0;                     // batches
  std::vector<NonlinearMaterial> nonlinear;  // of the batches from num_quadratic on
};

// Groups the elements of a body's mesh into batches.
ElementBatches MakeElementBatches(const FemParameters& parameters);

// Deformation gradient F = Σ x_a G_aᵀ, or velocity gradient, column-major. x: 3 numbers a node.
LaneMatrix3 CalcGradient(const ElementBatch& batch, std::span<const double> x);

// Von Mises measure √(⅔ dev E : dev E) of Green's strain E = ½ (FᵀF − I).
Lane CalcVonMisesStrain(const LaneMatrix3& F);

// R0 (han2023 §V-B), the identity for elements that do not corotate.
LaneMatrix3 CalcReferenceRotation(const ElementBatch& batch, const LaneMatrix3& F);

// Lagged linear corotational stress P = R0 (2 μ ε + λ tr(ε) I), ε = sym(R0ᵀ F) − I [Pa] (han2023
// §V-B). With `increment` the −I is left out: the derivative of P in the direction F.
LaneMatrix3 CalcStress(const ElementBatch& batch, const LaneMatrix3& R0, const LaneMatrix3& F,
                       bool increment);

// f_a = −V P G_a [N]: force on the nodes, (node, axis).
void CalcForces(const ElementBatch& batch, const LaneMatrix3& P, Lane forces[4][3]);

// scale · K_ab of all a ≥ b, in the order (0,0), (1,0), (1,1), (2,0), …; column-major 3 × 3,
// K_ab = −∂f_a/∂x_b = V [λ h_a h_bᵀ + μ h_b h_aᵀ + μ (G_a·G_b) I], h_a = R0 G_a [N/m].
void CalcStiffness(const ElementBatch& batch, const LaneMatrix3& R0, double scale,
                   LaneMatrix3 K[10]);

// Stiffness blocks K_ab as above from a general tangent ∂P/∂F, unscaled.
void CalcStiffness(const ElementBatch& batch, const std::array<Lane, 81>& tangent,
                   LaneMatrix3 K[10]);

// The change of P due to a change dF, by the tangent ∂P/∂F.
LaneMatrix3 ApplyTangent(const std::array<Lane, 81>& tangent, const LaneMatrix3& dF);

// Energy density of the material, μ ε:ε + λ/2 tr(ε)² [J/m³].
Lane CalcEnergyDensity(const ElementBatch& batch, const LaneMatrix3& R0, const LaneMatrix3& F);

}  // namespace pliant::physics
