#include "physics/mpm/materials/particle_material.h"

namespace pliant::physics {

double ParticleMaterial::RespondOnLine(const double* p, const ParticleStart& start,
                                       const Eigen::Matrix3d& H, const Eigen::Matrix3d& D,
                                       ParticleResponse* response) const {
  Respond(p, start, H, ParticleTangent::kConvex, response);
  const Eigen::Map<const Eigen::Matrix<double, 9, 1>> along(D.data());
  return along.dot(response->tangent * along);
}

// All particle materials by name; each is defined in its own file.
#define PLIANT_PARTICLE_MATERIALS(ADD) \
  ADD(LinearCorotational)              \
  ADD(VonMises)                        \
  ADD(Liquid)                          \
  ADD(NeoHookean)

#define PLIANT_DECLARE(NAME) const ParticleMaterial* NAME##Particles();
#define PLIANT_CALL(NAME) NAME##Particles(),
PLIANT_PARTICLE_MATERIALS(PLIANT_DECLARE)

std::span<const ParticleMaterial* const> AllParticleMaterials() {
  static const ParticleMaterial* const kAll[] = {PLIANT_PARTICLE_MATERIALS(PLIANT_CALL)};
  return kAll;
}
#undef PLIANT_DECLARE
#undef PLIANT_CALL
#undef PLIANT_PARTICLE_MATERIALS

const ParticleMaterial* FindParticleMaterial(std::string_view name) {
  for (const ParticleMaterial* material : AllParticleMaterials()) {
    if (material->name() == name) return material;
  }
  return nullptr;
}

}  // namespace pliant::physics
