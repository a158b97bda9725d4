#pragma once

#include <span>

#include <Eigen/Core>

namespace pliant::physics {

// Measures of deformation and of contact. Symmetric tensors are six numbers: xx, yy, zz, xy, yz,
// xz.
enum class FieldMeasure {
  kVonMisesStrain,       // of Green's strain
  kVonMisesStress,       // of Cauchy's stress [Pa]
  kVolumeRatio,          // det F
  kPrincipalStretch,     // the largest one
  kGreenStrain,          // ½ (FᵀF − I), in the body's frame at rest
  kLeftCauchyGreen,      // F Fᵀ, in W
  kPrincipalStretches,   // all three, the largest first
  kPrincipalDirections,  // of these, in W: three unit vectors, each up to its sign
  kContactPressure,      // normal force by area on the body's surface [Pa]
  kContactTraction,      // contact force by area, in W [Pa]
};

// Whether a measure is of the body's surface, by the contact forces of a step; the others are of
// its elements, by their deformation.
constexpr bool IsOfContact(FieldMeasure measure) {
  return measure == FieldMeasure::kContactPressure || measure == FieldMeasure::kContactTraction;
}

constexpr int CountComponents(FieldMeasure measure) {
  switch (measure) {
    case FieldMeasure::kGreenStrain:
    case FieldMeasure::kLeftCauchyGreen:
      return 6;
    case FieldMeasure::kPrincipalStretches:
    case FieldMeasure::kContactTraction:
      return 3;
    case FieldMeasure::kPrincipalDirections:
      return 9;
    default:
      return 1;
  }
}

// One measure of a deformation gradient F; kVonMisesStress is taken from the first Piola–Kirchhoff
// stress P that goes with it.
void CalcMeasure(FieldMeasure measure, const Eigen::Matrix3d& F, const Eigen::Matrix3d& P,
                 std::span<double> values);

// Principal stretches or directions from six components of F Fᵀ: averages of it have no F.
void CalcPrincipal(FieldMeasure measure, std::span<const double> left_cauchy_green,
                   std::span<double> values);

}  // namespace pliant::physics
