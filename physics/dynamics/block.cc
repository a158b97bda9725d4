#include "physics/dynamics/block.h"

#include "physics/spatial/demand.h"

namespace pliant::physics {

void DynamicsBlock::CalcFrames(std::span<const double>, std::span<const double>,
                               std::span<FrameMotion> frames) const {
  PLIANT_DEMAND(frames.empty());
}

Eigen::Vector3d DynamicsBlock::CalcPointVelocity(std::span<const double>, std::span<const double>,
                                                 const Attachment&) const {
  PLIANT_DEMAND(!"this block has no nodes");
  return {};
}

Eigen::Vector3d DynamicsBlock::CalcAngularVelocity(std::span<const double>,
                                                   std::span<const double>) const {
  PLIANT_DEMAND(!"this block has no nodes");
  return {};
}

double DynamicsBlock::CalcElasticEnergy(std::span<const double>) const {
  return 0;
}

double DynamicsBlock::CalcPotentialEnergy(std::span<const double> q,
                                          const Eigen::Vector3d& gravity) const {
  return mass() > 0 ? -mass() * gravity.dot(CalcCenterOfMass(q)) : 0;
}

void DynamicsBlock::CalcElementField(FieldMeasure, std::span<const double>,
                                     std::span<double>) const {
  PLIANT_DEMAND(!"this block has no elements");
}

double DynamicsBlock::CalcVolume(std::span<const double>) const {
  return 0;
}

}  // namespace pliant::physics
