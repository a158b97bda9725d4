#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "physics/dynamics/model.h"

namespace pliant::server {

// The surface of a deformable body for viewers that need less detail: triangles between some of its
// surface vertices.
struct DecimatedSurface {
  std::vector<std::uint32_t> vertices;   // indices in Body::surface.vertices, ascending
  std::vector<std::uint32_t> triangles;  // indices in `vertices`, three a triangle
};

// Keeps about a quarter of the triangles, chosen so that the shape at rest changes least. The same
// for the same body. Empty for surfaces of fewer than 128 triangles, which need all of them.
DecimatedSurface DecimateSurface(const physics::Body& body);

// About how many vertices that surface has; rather more than fewer.
std::size_t EstimateDecimated(const physics::Body& body);

// The decimated surfaces of a model, each computed when it is first needed.
class SurfaceTiers {
 public:
  const DecimatedSurface& Decimate(const physics::Model& model, int body) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<int, DecimatedSurface> decimated_;  // by body
};

}  // namespace pliant::server
