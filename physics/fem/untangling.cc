#include "physics/fem/untangling.h"

#include <Eigen/LU>
#include <Eigen/SVD>

#include "physics/fem/materials/polar_rotation.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Lane CalcDeterminant(const LaneMatrix3& F) {
  const LaneMatrix3 C = CalcCofactors(F);
  return F[0] * C[0] + F[1] * C[1] + F[2] * C[2];
}

}  // namespace

void Untangling::FindNeighbours(std::span<const double> q) {
  around_.assign(model_.num_nodes, Matrix3d::Zero());
  of_body_.setZero();
  for (const ElementBatch& batch : model_.elements.batches) {
    const LaneMatrix3 F = model_.CalcDeformation(batch, q);
    const Lane J = CalcDeterminant(F);
    for (int l = 0; l < kLanes; ++l) {
      if (!(J[l] > 0) || batch.volume[l] == 0) continue;
      const Matrix3d weighed = batch.volume[l] * Extract(F, l);
      of_body_ += weighed;
      for (const int node : batch.nodes[l]) around_[node] += weighed;
    }
  }
}

void Untangling::Turn(const ElementBatch& batch, std::span<const double> q, const LaneMatrix3& F,
                      LaneMatrix3* R0) {
  const auto inverted = CalcDeterminant(F) < 0;
  if (All(inverted == 0)) return;
  for (int l = 0; l < kLanes; ++l) {
    if (!inverted[l] || batch.corotates[l] == 0) continue;
    std::call_once(is_found_, [&] { FindNeighbours(q); });
    Matrix3d mean = Matrix3d::Zero();
    for (const int node : batch.nodes[l]) mean += around_[node];
    if (!(mean.determinant() > 0)) mean = of_body_;
    if (!(mean.determinant() > 0)) continue;
    const Matrix3d of_neighbours = CalcPolarRotation(mean);

    const Eigen::JacobiSVD<Matrix3d> svd(Extract(F, l), Eigen::ComputeFullU | Eigen::ComputeFullV);
    Matrix3d U = svd.matrixU();
    const Matrix3d& V = svd.matrixV();
    // flipping direction k reduces the trace with the neighbours' rotation by 2 m_k
    const Vector3d m = (U.transpose() * of_neighbours * V).diagonal();
    int k = 2;
    for (int i = 1; i >= 0; --i) {
      if (m[i] < m[k]) k = i;
    }
    U.col(k) = -U.col(k);
    Insert(U * V.transpose(), l, R0);
  }
}

}  // namespace pliant::physics
