#include "server/stream/surface_tiers.h"

#include <algorithm>
#include <meshoptimizer.h>

namespace pliant::server {
namespace {

constexpr std::size_t kMinTriangles = 128;
constexpr std::size_t kReduction = 4;
constexpr float kAnyError = 1;  // relative to the size of the surface
constexpr std::size_t kMinPoints = 512;

// Mixes the bits of a number (the finalizer of MurmurHash3).
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

}  // namespace

DecimatedSurface DecimateSurface(const physics::Body& body) {
  DecimatedSurface result;
  const std::size_t count = body.surface.triangles.size();
  if (count < kMinTriangles || !body.embedded.parts.empty()) return result;

  // number the surface's vertices as descriptions and frames do
  std::vector<std::uint32_t> surface_of(body.mesh.vertices.size());
  std::vector<float> positions;
  for (const int vertex : body.surface.vertices) {
    surface_of[vertex] = static_cast<std::uint32_t>(positions.size() / 3);
    for (int i = 0; i < 3; ++i)
      positions.push_back(static_cast<float>(body.mesh.vertices[vertex][i]));
  }
  std::vector<unsigned int> indices;
  for (const auto& triangle : body.surface.triangles) {
    for (const int vertex : triangle) indices.push_back(surface_of[vertex]);
  }

  std::vector<unsigned int> kept(indices.size());
  kept.resize(meshopt_simplify(kept.data(), indices.data(), indices.size(), positions.data(),
                               positions.size() / 3, 3 * sizeof(float), 3 * (count / kReduction),
                               kAnyError, 0, nullptr));

  result.vertices.assign(kept.begin(), kept.end());
  std::ranges::sort(result.vertices);
  result.vertices.erase(std::unique(result.vertices.begin(), result.vertices.end()),
                        result.vertices.end());
  for (const unsigned int vertex : kept) {
    const auto found = std::ranges::lower_bound(result.vertices, vertex);
    result.triangles.push_back(static_cast<std::uint32_t>(found - result.vertices.begin()));
  }
  return result;
}

std::vector<std::uint32_t> DecimatePoints(std::size_t count) {
  std::vector<std::uint32_t> kept;
  if (count < kMinPoints) return kept;
  for (std::size_t first = 0; first < count; first += kReduction) {
    const std::size_t group = std::min(kReduction, count - first);
    kept.push_back(static_cast<std::uint32_t>(first + Mix(first) % group));
  }
  return kept;
}

std::size_t EstimateDecimated(const physics::Model& model, const physics::Body& body) {
  const DrawnNodes drawn(model, body);
  const std::size_t count = drawn.size();
  if (drawn.are_points()) return count < kMinPoints ? count : (count - 1) / kReduction + 1;
  const std::size_t triangles = body.surface.triangles.size();
  if (triangles < kMinTriangles || !body.embedded.parts.empty()) return count;
  // a closed surface has half as many vertices as triangles, an open one slightly more
  return std::min(count, 5 * triangles / kReduction / 8 + 16);
}

const DecimatedSurface& SurfaceTiers::Decimate(const physics::Model& model, int body) const {
  std::lock_guard lock(mutex_);
  const auto [surface, fresh] = decimated_.try_emplace(body);
  if (!fresh) return surface->second;
  const DrawnNodes drawn(model, model.bodies[body]);
  if (drawn.are_points()) {
    surface->second.vertices = DecimatePoints(drawn.size());
  } else {
    surface->second = DecimateSurface(model.bodies[body]);
  }
  return surface->second;
}

}  // namespace pliant::server
