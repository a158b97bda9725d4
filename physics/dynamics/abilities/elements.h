#pragma once

#include <span>

#include "physics/dynamics/abilities/field_measures.h"
#include "physics/dynamics/abilities/nodes.h"
#include "physics/dynamics/block_state.h"

namespace pliant::physics {

// A block whose deformation is described by elements: tetrahedra, triangles, or points that
// represent the volume around them.
class ElementSet {
 public:
  virtual ~ElementSet() = default;
  virtual int num_elements() const = 0;
  virtual IndexRange elements_of(int /*part*/) const { return {0, num_elements()}; }
  // True if the elements of a part are particles: element k of the part is at node k of the part.
  virtual bool are_points(int /*part*/) const { return false; }
  virtual std::span<const double> element_volumes() const = 0;  // at rest [m³]
  // Masses of the elements [kg]; empty if the density of each part is uniform.
  virtual std::span<const double> element_masses() const { return {}; }
  // True if `measure` is defined on the elements of a part.
  virtual bool HasField(FieldMeasure measure, int /*part*/) const {
    return IsOfDeformation(measure);
  }
  // Computes a measure of all elements, in order. Values of parts without it are meaningless.
  virtual void CalcElementField(FieldMeasure measure, const BlockState& state,
                                std::span<double> values) const = 0;
  virtual double CalcVolume(const BlockState& state, int part) const = 0;  // [m³]
};

}  // namespace pliant::physics
