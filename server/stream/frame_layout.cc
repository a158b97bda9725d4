#include "server/stream/frame_layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "server/stream/fields.h"

namespace pliant::server {
namespace {

// Sizes of parts other than vertices: report, clock and energies; pose, or origin and scale.
constexpr std::size_t kStateBytes = 2048;
constexpr std::size_t kBodyBytes = 96;

std::size_t BytesOfCoordinate(v1::Precision precision) {
  if (precision == v1::PRECISION_FLOAT64) return 8;
  return precision == v1::PRECISION_FLOAT32 ? 4 : 2;
}

std::size_t BytesOfValue(v1::Precision precision) {
  return precision == v1::PRECISION_COMPACT ? 1 : BytesOfCoordinate(precision);
}

}  // namespace

bool FrameChoice::Has(int body) const {
  return bodies.empty() || std::ranges::binary_search(bodies, body);
}

FrameLayout::FrameLayout(const physics::Model& model) {
  std::uint32_t rigid = 0, deformable = 0;
  for (const physics::Body& body : model.bodies) {
    is_deformable.push_back(model.abilities_of(body).nodes != nullptr);
    indices.push_back(is_deformable.back() ? deformable++ : rigid++);
    bodies.emplace(body.name, static_cast<int>(indices.size()) - 1);
    vertices.push_back(DrawnNodes(model, body).size());
    decimated.push_back(EstimateDecimated(model, body));
  }
  numbers = indices;
  for (std::size_t body = 0; body < numbers.size(); ++body) {
    if (is_deformable[body]) numbers[body] += rigid;
  }
  for (int probe = 0; probe < static_cast<int>(model.probes.size()); ++probe)
    probes.emplace(model.probes[probe].name, probe);
}

std::size_t FrameLayout::CalcSize(const FrameChoice& choice) const {
  std::size_t of_vertex = 3 * BytesOfCoordinate(choice.precision);
  for (const v1::FieldMeasure measure : choice.fields)
    of_vertex +=
        static_cast<std::size_t>(CountComponents(measure)) * BytesOfValue(choice.precision);
  const std::vector<std::size_t>& counts = choice.tier == v1::TIER_DECIMATED ? decimated : vertices;
  std::size_t size = kStateBytes;
  for (std::size_t body = 0; body < counts.size(); ++body) {
    if (choice.Has(static_cast<int>(body)))
      size += kBodyBytes * (1 + choice.fields.size()) + of_vertex * counts[body];
  }
  return size;
}

absl::Status FrameLayout::CheckSize(const FrameChoice& choice, std::size_t limit) const {
  const std::size_t size = CalcSize(choice);
  if (size <= limit) return absl::OkStatus();
  std::string mend;
  for (const v1::Precision precision : {choice.precision, v1::PRECISION_COMPACT}) {
    for (const v1::Tier tier : {choice.tier, v1::TIER_DECIMATED}) {
      FrameChoice other = choice;
      other.tier = tier;
      other.precision = precision;
      if (CalcSize(other) <= limit && mend.empty())
        mend = absl::StrCat(v1::Tier_Name(tier), " with ", v1::Precision_Name(precision), " fits");
    }
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("subscription: its frames would have ", size, " bytes, and at most ", limit,
                   " are sent at once; ", mend.empty() ? "name fewer bodies or fields" : mend));
}

}  // namespace pliant::server
