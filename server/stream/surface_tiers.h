#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "physics/dynamics/model.h"

namespace pliant::server {

// The nodes of a deformable body that frames contain, in the numbers of the body: the vertices of
// its surface and the nodes within that carry its embedded surface, or its points
// (physics::CountPoints).
class DrawnNodes {
 public:
  // `body` must outlive this.
  DrawnNodes(const physics::Model& model, const physics::Body& body)
      : surface_(body.surface.vertices),
        inner_(body.embedded.inner_nodes),
        points_(physics::CountPoints(model, body)) {}

  bool are_points() const { return points_ > 0; }
  std::size_t size() const { return are_points() ? points_ : surface_.size() + inner_.size(); }
  int operator[](std::size_t i) const {
    if (are_points()) return static_cast<int>(i);
    return i < surface_.size() ? surface_[i] : inner_[i - surface_.size()];
  }

 private:
  const std::vector<int>& surface_;
  const std::vector<int>& inner_;
  const std::size_t points_;
};

// A deformable body for viewers that need less detail: some of its drawn nodes, and triangles
// between them, of which a body of points has none.
struct DecimatedSurface {
  std::vector<std::uint32_t> vertices;   // indices in DrawnNodes, ascending
  std::vector<std::uint32_t> triangles;  // indices in `vertices`, three a triangle
};

// Keeps about a quarter of the triangles, chosen to change the shape at rest as little as possible.
// Deterministic. Empty for surfaces of fewer than 128 triangles, and for those that carry an
// embedded one, which need all of them.
DecimatedSurface DecimateSurface(const physics::Body& body);

// One of every four consecutive points, chosen pseudo-randomly so that the rows of a lattice are
// thinned evenly. Depends only on the number of points. Empty for fewer than 512, which are all
// kept.
std::vector<std::uint32_t> DecimatePoints(std::size_t count);

// Approximate number of nodes of a decimated body, more likely too large than too small.
std::size_t EstimateDecimated(const physics::Model& model, const physics::Body& body);

// The decimated bodies of a model, each computed when it is first needed.
class SurfaceTiers {
 public:
  const DecimatedSurface& Decimate(const physics::Model& model, int body) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<int, DecimatedSurface> decimated_;  // by body
};

}  // namespace pliant::server
