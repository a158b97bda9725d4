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
  // Whether the elements of a part are points: particles, each of which is at the node that has its
  // number among those of the part.
  virtual bool are_points(int /*part*/) const { return false; }
  virtual std::span<const double> element_volumes() const = 0;  // at rest [m³]
  // [kg]; empty: each part has the same density everywhere.
  virtual std::span<const double> element_masses() const { return {}; }
  // Whether the elements of a part have a measure.
  virtual bool HasField(FieldMeasure measure, int /*part*/) const {
    return IsOfDeformation(measure);
  }
  // A measure of all elements, element by element; only those of parts that have it are meaningful.
  virtual void CalcElementField(FieldMeasure measure, const BlockState& state,
                                std::span<double> values) const = 0;
  virtual double CalcVolume(const BlockState& state, int part) const = 0;  // [m³]
};

}  // namespace pliant::physics
