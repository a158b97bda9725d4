#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::server {

// Fields on the drawn nodes of deformable bodies, as streams send them.

// INVALID_ARGUMENT for a measure that streams do not carry.
absl::StatusOr<v1::FieldMeasure> CheckMeasure(int measure);

int CountComponents(v1::FieldMeasure measure);  // numbers per vertex
const char* FindUnit(v1::FieldMeasure measure);
bool IsOfContact(v1::FieldMeasure measure);  // such fields may change while the body rests

// True if a deformable body has a field. Bodies of points have no area, and so no contact fields.
bool HasField(const physics::Model& model, const physics::Body& body, v1::FieldMeasure measure);

// All fields that the body has, ascending.
std::vector<v1::FieldMeasure> ListFields(const physics::Model& model, const physics::Body& body);

// Components at each drawn node of a body that has the field, in the order of DrawnNodes.
std::vector<double> CalcDrawnField(const physics::Snapshot& snapshot, int body,
                                   v1::FieldMeasure measure);

}  // namespace pliant::server
