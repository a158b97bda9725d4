#include "server/stream/fields.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"

#include "physics/world/body_motion.h"
#include "physics/world/probes.h"

namespace pliant::server {
namespace {

struct Measure {
  v1::FieldMeasure number;
  std::optional<physics::FieldMeasure> of_elements;  // none: of the nodes themselves
  int components;
  const char* unit;
};

constexpr std::array kMeasures{
    Measure{v1::FIELD_MEASURE_VON_MISES_STRAIN, physics::FieldMeasure::kVonMisesStrain, 1, ""},
    Measure{v1::FIELD_MEASURE_VON_MISES_STRESS, physics::FieldMeasure::kVonMisesStress, 1, "Pa"},
    Measure{v1::FIELD_MEASURE_VOLUME_RATIO, physics::FieldMeasure::kVolumeRatio, 1, ""},
    Measure{v1::FIELD_MEASURE_PRINCIPAL_STRETCH, physics::FieldMeasure::kPrincipalStretch, 1, ""},
    Measure{v1::FIELD_MEASURE_GREEN_STRAIN, physics::FieldMeasure::kGreenStrain, 6, ""},
    Measure{v1::FIELD_MEASURE_PRINCIPAL_STRETCHES, physics::FieldMeasure::kPrincipalStretches, 3,
            ""},
    Measure{v1::FIELD_MEASURE_CONTACT_PRESSURE, physics::FieldMeasure::kContactPressure, 1, "Pa"},
    Measure{v1::FIELD_MEASURE_CONTACT_TRACTION, physics::FieldMeasure::kContactTraction, 3, "Pa"},
    Measure{v1::FIELD_MEASURE_VELOCITY, std::nullopt, 3, "m/s"},
    Measure{v1::FIELD_MEASURE_CAUCHY_STRESS, physics::FieldMeasure::kCauchyStress, 6, "Pa"},
};

const Measure* FindMeasure(int number) {
  const auto found = std::ranges::find(kMeasures, number, &Measure::number);
  return found == kMeasures.end() ? nullptr : &*found;
}

}  // namespace

absl::StatusOr<v1::FieldMeasure> CheckMeasure(int number) {
  const Measure* measure = FindMeasure(number);
  if (measure != nullptr) return measure->number;
  return absl::InvalidArgumentError(
      absl::StrCat("subscription.fields: ", number, " is not a measure known to this server; ",
                   "expected 1 to ", static_cast<int>(kMeasures.back().number)));
}

int CountComponents(v1::FieldMeasure measure) {
  return FindMeasure(measure)->components;
}

const char* FindUnit(v1::FieldMeasure measure) {
  return FindMeasure(measure)->unit;
}

bool IsOfContact(v1::FieldMeasure number) {
  const Measure* measure = FindMeasure(number);
  return measure->of_elements && physics::IsOfContact(*measure->of_elements);
}

std::vector<double> CalcSurfaceField(const physics::Snapshot& snapshot, int index,
                                     v1::FieldMeasure number) {
  const physics::Model& model = *snapshot.model;
  const physics::Body& body = model.bodies[index];
  const Measure& measure = *FindMeasure(number);
  const std::size_t components = measure.components;
  std::vector<double> values;
  values.reserve(components * body.surface.vertices.size());
  if (!measure.of_elements) {
    for (const int vertex : body.surface.vertices) {
      const Eigen::Vector3d v = physics::CalcVertexVelocity(model, snapshot.state, index, vertex);
      values.insert(values.end(), v.data(), v.data() + 3);
    }
    return values;
  }
  const std::vector<double> all = physics::CalcVertexField(
      model, snapshot.state, snapshot.report, index, *measure.of_elements, model.time_step);
  for (const std::size_t vertex : body.surface.vertices) {
    for (std::size_t c = 0; c < components; ++c) values.push_back(all[components * vertex + c]);
  }
  return values;
}

}  // namespace pliant::server
