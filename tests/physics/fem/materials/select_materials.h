#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physics/fem/materials/material.h"

namespace pliant::physics {

// The registered materials whose kind satisfies a predicate, as parameters of a test.
template <typename Predicate>
auto SelectMaterials(const Predicate& has_kind) {
  std::vector<const Material*> selected;
  std::ranges::copy_if(AllMaterials(), std::back_inserter(selected),
                       [&](const Material* material) { return has_kind(material->kind()); });
  return testing::ValuesIn(selected);
}

// A linear material does not follow rotations.
inline bool IsRotationInvariant(Material::Kind kind) {
  return kind != Material::Kind::kLinear;
}

inline std::string NameOfMaterial(const testing::TestParamInfo<const Material*>& info) {
  return std::string(info.param->name());
}

}  // namespace pliant::physics
