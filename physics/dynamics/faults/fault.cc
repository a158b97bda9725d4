#include "physics/dynamics/faults/fault.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

constexpr char kPlaceType[] = "type.pliant.dev/FaultPlace";

absl::Status Attach(const FaultPlace& place, const absl::Status& error, const std::string& who) {
  absl::Status placed(error.code(), absl::StrCat(who, error.message()));
  const absl::string_view bytes(reinterpret_cast<const char*>(&place), sizeof(place));
  placed.SetPayload(kPlaceType, absl::Cord(bytes));
  return placed;
}

}  // namespace

absl::Status FailAtBlock(const Model& model, int block, const absl::Status& error) {
  FaultPlace place{.block = block};
  const auto body = std::ranges::find(model.bodies, block, &Body::block);
  if (body == model.bodies.end()) return Attach(place, error, "");
  place.body = static_cast<int>(body - model.bodies.begin());
  return Attach(place, error, absl::StrCat("body \"", body->name, "\": "));
}

absl::Status FailAtContact(const Model& model, int body_a, int body_b, const absl::Status& error) {
  const Body &a = model.bodies[body_a], &b = model.bodies[body_b];
  return Attach({.block = a.block, .body = body_a, .other = body_b}, error,
                absl::StrCat("bodies \"", a.name, "\" and \"", b.name, "\": "));
}

FaultPlace PlaceOf(const absl::Status& error) {
  FaultPlace place;
  const auto bytes = error.GetPayload(kPlaceType);
  if (bytes) std::memcpy(&place, std::string(*bytes).data(), sizeof(place));
  return place;
}

}  // namespace pliant::physics
