#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

#include "physics/dynamics/model.h"
#include "pliant/v1/stream.pb.h"
#include "server/stream/surface_tiers.h"

namespace pliant::server {

// Viewer options of a frame; frames of a state with equal options are identical bytes.
struct FrameChoice {
  std::vector<int> bodies;               // ascending indices in Model::bodies; empty: all
  std::vector<v1::FieldMeasure> fields;  // ascending
  bool contacts = false;
  v1::Precision precision = v1::PRECISION_UNSPECIFIED;
  v1::Tier tier = v1::TIER_UNSPECIFIED;
  std::vector<int> probes{};  // ascending indices in Model::probes

  bool Has(int body) const;
  auto operator<=>(const FrameChoice&) const = default;
};

// The parts of a choice that one frame contains.
struct FrameParts {
  // Only bodies that have moved after these versions; 0: all. A frame without fields has no
  // fields_since.
  std::uint64_t positions_since = 0, fields_since = 0;
  bool fields = true, contacts = true, forces = true, joints = true, probes = true;

  auto operator<=>(const FrameParts&) const = default;
};

// Maximum size of a frame, which clients must be able to receive [B].
inline constexpr std::size_t kMaxFrame = 4 << 20;

// Numbers and sizes of the bodies of a model in frames, independent of its state.
struct FrameLayout {
  explicit FrameLayout(const physics::Model& model);

  // Approximate size of a frame [B] without contacts and forces, whose number changes.
  std::size_t CalcSize(const FrameChoice& choice) const;

  // RESOURCE_EXHAUSTED when that is more than `limit`, naming the tier and the precision that fit.
  absl::Status CheckSize(const FrameChoice& choice, std::size_t limit = kMaxFrame) const;

  std::vector<bool> is_deformable;               // of each of Model::bodies
  std::vector<std::uint32_t> indices;            // in the list of its kind of the WorldDescription
  std::vector<std::uint32_t> numbers;            // of both kinds: the rigid ones first
  absl::flat_hash_map<std::string, int> bodies;  // by name
  absl::flat_hash_map<std::string, int> probes;  // by name
  std::vector<std::size_t> vertices, decimated;  // drawn in the two tiers, by body
  SurfaceTiers tiers;
};

}  // namespace pliant::server
