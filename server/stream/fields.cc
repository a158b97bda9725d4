#include "server/stream/fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"

#include "physics/world/body_motion.h"
#include "physics/world/probes.h"
#include "server/stream/surface_tiers.h"

namespace pliant::server {
namespace {

struct Measure {
  v1::FieldMeasure number;
  std::optional<physics::FieldMeasure> of_elements;  // none: from nodal velocities
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
    Measure{v1::FIELD_MEASURE_PLASTIC_STRAIN, physics::FieldMeasure::kPlasticStrain, 1, ""},
    Measure{v1::FIELD_MEASURE_PRESSURE, physics::FieldMeasure::kPressure, 1, "Pa"},
    Measure{v1::FIELD_MEASURE_SPEED, std::nullopt, 1, "m/s"},
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

bool HasField(const physics::Model& model, const physics::Body& body, v1::FieldMeasure number) {
  const Measure& measure = *FindMeasure(number);
  if (!measure.of_elements) return true;
  if (physics::IsOfContact(*measure.of_elements)) return !body.surface.triangles.empty();
  const physics::ElementSet* elements = model.abilities_of(body).elements;
  return elements != nullptr && elements->HasField(*measure.of_elements, body.part);
}

std::vector<v1::FieldMeasure> ListFields(const physics::Model& model, const physics::Body& body) {
  std::vector<v1::FieldMeasure> fields;
  for (const Measure& measure : kMeasures) {
    if (HasField(model, body, measure.number)) fields.push_back(measure.number);
  }
  return fields;
}

std::vector<double> CalcDrawnField(const physics::Snapshot& snapshot, int index,
                                   v1::FieldMeasure number) {
  const physics::Model& model = *snapshot.model;
  const physics::Body& body = model.bodies[index];
  const Measure& measure = *FindMeasure(number);
  const std::size_t components = measure.components;
  const DrawnNodes drawn(model, body);
  std::vector<double> values;
  values.reserve(components * drawn.size());
  if (!measure.of_elements) {
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const Eigen::Vector3d v = physics::CalcVertexVelocity(model, snapshot.state, index, drawn[i]);
      if (components == 1) {
        values.push_back(std::sqrt(v.squaredNorm()));
      } else {
        values.insert(values.end(), v.data(), v.data() + 3);
      }
    }
    return values;
  }
  const std::vector<double> all = physics::CalcVertexField(
      model, snapshot.state, snapshot.report, index, *measure.of_elements, model.time_step);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto of_node = all.begin() + static_cast<std::ptrdiff_t>(components * drawn[i]);
    values.insert(values.end(), of_node, of_node + static_cast<std::ptrdiff_t>(components));
  }
  return values;
}

}  // namespace pliant::server
