#include "physics/fem/volume/volume_law.h"

namespace pliant::physics {

// All laws by name; each is defined in its own file.
#define PLIANT_VOLUME_LAWS(ADD) ADD(Quadratic) ADD(Liquid) ADD(IdealGas)

#define PLIANT_DECLARE(NAME) const VolumeLaw* NAME##Law();
#define PLIANT_CALL(NAME) NAME##Law(),
PLIANT_VOLUME_LAWS(PLIANT_DECLARE)

std::span<const VolumeLaw* const> AllVolumeLaws() {
  static const VolumeLaw* const kAll[] = {PLIANT_VOLUME_LAWS(PLIANT_CALL)};
  return kAll;
}
#undef PLIANT_DECLARE
#undef PLIANT_CALL
#undef PLIANT_VOLUME_LAWS

const VolumeLaw* FindVolumeLaw(std::string_view name) {
  for (const VolumeLaw* law : AllVolumeLaws()) {
    if (law->name() == name) return law;
  }
  return nullptr;
}

std::span<const VolumeParameter> BulkModulus() {
  static constexpr VolumeParameter kBulkModulus[] = {
      {"bulk_modulus", "a positive modulus in pascals. Air has 1.01e5, water 2.2e9", 1e-6, 1e15,
       2e5},
  };
  return kBulkModulus;
}

}  // namespace pliant::physics
