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
  kPrincipalDirections,  // in W: three unit vectors, in this order, signs arbitrary
  kContactPressure,      // normal force per area of the body's surface [Pa]
  kContactTraction,      // contact force per area, in W [Pa]
  kCauchyStress,         // in W [Pa]
  kPlasticStrain,        // equivalent, accumulated
  kPressure,             // −tr σ / 3 [Pa]
  kSpeed,                // [m/s]
};

// True if a measure needs the stress, which not every caller computes.
constexpr bool IsOfStress(FieldMeasure measure) {
  return measure == FieldMeasure::kVonMisesStress || measure == FieldMeasure::kCauchyStress ||
         measure == FieldMeasure::kPressure;
}

// True if a measure is defined on the body's surface, from the contact forces of a step. The others
// are defined on its elements, from their deformation.
constexpr bool IsOfContact(FieldMeasure measure) {
  return measure == FieldMeasure::kContactPressure || measure == FieldMeasure::kContactTraction;
}

constexpr int CountComponents(FieldMeasure measure) {
  switch (measure) {
    case FieldMeasure::kGreenStrain:
    case FieldMeasure::kLeftCauchyGreen:
    case FieldMeasure::kCauchyStress:
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

// True if CalcMeasure computes a measure: if it follows from the deformation gradient and the
// stress.
constexpr bool IsOfDeformation(FieldMeasure measure) {
  return !IsOfContact(measure) && measure != FieldMeasure::kPlasticStrain &&
         measure != FieldMeasure::kSpeed;
}

// Computes a measure from the deformation gradient F; a measure of stress from the corresponding
// first Piola–Kirchhoff stress P [Pa], too.
void CalcMeasure(FieldMeasure measure, const Eigen::Matrix3d& F, const Eigen::Matrix3d& P,
                 std::span<double> values);

// Principal stretches or directions from the six components of F Fᵀ, for averages, which have no F.
void CalcPrincipal(FieldMeasure measure, std::span<const double> left_cauchy_green,
                   std::span<double> values);

}  // namespace pliant::physics
