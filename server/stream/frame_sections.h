#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "physics/world/probes.h"
#include "pliant/v1/stream.pb.h"
#include "server/host/published.h"
#include "server/stream/frame_layout.h"

namespace pliant::server {

// The sections of frames, each a part of a v1.Frame. `layout` is that of the state's model.

// Writes step, time, report with energies, clock, fault, commands.
void WriteState(const Published& published, v1::Frame* frame);

// Poses of all rigid bodies, each serialized as a v1.Frame of its own, by body.
std::vector<std::string> SerializeRigid(const physics::Snapshot& snapshot,
                                        const FrameLayout& layout);

// Some of the drawn nodes of a body, given by their indices in DrawnNodes; empty: all.
using VertexSubset = std::span<const std::uint32_t>;

void WritePositions(const physics::Snapshot& snapshot, const physics::Body& body,
                    VertexSubset subset, v1::Precision precision, v1::DeformableFrame* frame);

// `values`: of CalcDrawnField.
void WriteField(std::span<const double> values, v1::FieldMeasure measure, VertexSubset subset,
                v1::Precision precision, v1::FieldFrame* frame);

// Contacts of the chosen bodies, and the total forces on them.
void WriteContacts(const physics::Snapshot& snapshot, const FrameLayout& layout,
                   const FrameChoice& choice, v1::ContactFrame* frame);
void WriteForces(const physics::Snapshot& snapshot, const FrameLayout& layout,
                 const FrameChoice& choice, v1::ForceFrame* frame);

void WriteProbe(const physics::ProbeValue& value, int probe, v1::ProbeFrame* frame);

}  // namespace pliant::server
