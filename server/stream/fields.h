#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::server {

// Fields on the surfaces of deformable bodies, as streams send them.

// INVALID_ARGUMENT for a measure that streams do not carry.
absl::StatusOr<v1::FieldMeasure> CheckMeasure(int measure);

int CountComponents(v1::FieldMeasure measure);  // numbers per vertex
const char* FindUnit(v1::FieldMeasure measure);
bool IsOfContact(v1::FieldMeasure measure);  // and so may change while the body rests

// Components of each surface vertex of the body, in the order of Body::surface.vertices.
std::vector<double> CalcSurfaceField(const physics::Snapshot& snapshot, int body,
                                     v1::FieldMeasure measure);

}  // namespace pliant::server
