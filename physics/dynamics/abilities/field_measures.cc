#include "physics/dynamics/abilities/field_measures.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "physics/spatial/demand.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;

// Von Mises measure √(factor · dev:dev) of a symmetric tensor.
double VonMises(const Matrix3d& T, double factor) {
  const Matrix3d deviator = T - T.trace() / 3 * Matrix3d::Identity();
  return std::sqrt(factor * deviator.squaredNorm());
}

// Cauchy stress σ = P Fᵀ / J.
Matrix3d CauchyStress(const Matrix3d& F, const Matrix3d& P) {
  const Matrix3d sigma = P * F.transpose() / F.determinant();
  return 0.5 * (sigma + sigma.transpose());
}

void WriteSymmetric(const Matrix3d& T, std::span<double> values) {
  const double six[] = {T(0, 0), T(1, 1), T(2, 2), T(0, 1), T(1, 2), T(0, 2)};
  for (int i = 0; i < 6; ++i) values[i] = six[i];
}

}  // namespace

void CalcMeasure(FieldMeasure measure, const Matrix3d& F, const Matrix3d& P,
                 std::span<double> values) {
  PLIANT_DEMAND(static_cast<int>(values.size()) == CountComponents(measure));
  switch (measure) {
    case FieldMeasure::kVonMisesStrain:
      values[0] = VonMises(0.5 * (F.transpose() * F - Matrix3d::Identity()), 2.0 / 3);
      return;
    case FieldMeasure::kVonMisesStress:
      values[0] = VonMises(CauchyStress(F, P), 1.5);
      return;
    case FieldMeasure::kCauchyStress:
      WriteSymmetric(CauchyStress(F, P), values);
      return;
    case FieldMeasure::kPressure:
      values[0] = -CauchyStress(F, P).trace() / 3;
      return;
    case FieldMeasure::kVolumeRatio:
      values[0] = F.determinant();
      return;
    case FieldMeasure::kPrincipalStretch: {
      const Eigen::SelfAdjointEigenSolver<Matrix3d> eigen(F.transpose() * F,
                                                          Eigen::EigenvaluesOnly);
      values[0] = std::sqrt(eigen.eigenvalues()[2]);
      return;
    }
    case FieldMeasure::kGreenStrain:
      WriteSymmetric(0.5 * (F.transpose() * F - Matrix3d::Identity()), values);
      return;
    case FieldMeasure::kLeftCauchyGreen:
      WriteSymmetric(F * F.transpose(), values);
      return;
    case FieldMeasure::kPrincipalStretches:
    case FieldMeasure::kPrincipalDirections: {
      double six[6];
      WriteSymmetric(F * F.transpose(), six);
      CalcPrincipal(measure, six, values);
      return;
    }
    case FieldMeasure::kContactPressure:
    case FieldMeasure::kContactTraction:
    case FieldMeasure::kPlasticStrain:
    case FieldMeasure::kSpeed:
      PLIANT_DEMAND(false);  // not measures of deformation
  }
}

void CalcPrincipal(FieldMeasure measure, std::span<const double> b, std::span<double> values) {
  Matrix3d tensor;
  tensor << b[0], b[3], b[5], b[3], b[1], b[4], b[5], b[4], b[2];
  const Eigen::SelfAdjointEigenSolver<Matrix3d> eigen(tensor);
  for (int i = 0; i < 3; ++i) {
    // Eigen sorts in ascending order
    if (measure == FieldMeasure::kPrincipalStretches) {
      values[i] = std::sqrt(std::max(eigen.eigenvalues()[2 - i], 0.0));
    } else {
      for (int r = 0; r < 3; ++r) values[3 * i + r] = eigen.eigenvectors()(r, 2 - i);
    }
  }
}

}  // namespace pliant::physics
