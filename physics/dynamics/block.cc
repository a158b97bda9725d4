#include "physics/dynamics/block.h"

#include "physics/spatial/demand.h"

namespace pliant::physics {

RigidTransform DynamicsBlock::CalcFramePose(std::span<const double>, int) const {
  PLIANT_DEMAND(!"this block has no frames");
  return {};
}

double DynamicsBlock::CalcElasticEnergy(std::span<const double>) const {
  return 0;
}

void DynamicsBlock::CalcElementField(FieldMeasure, std::span<const double>,
                                     std::span<double>) const {
  PLIANT_DEMAND(!"this block has no elements");
}

double DynamicsBlock::CalcVolume(std::span<const double>) const {
  return 0;
}

}  // namespace pliant::physics
