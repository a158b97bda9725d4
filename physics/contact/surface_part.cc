#include "physics/contact/surface_part.h"

#include <algorithm>
#include <cmath>

namespace pliant::physics {

using Eigen::Vector3d;

void NearTriangles::Find(const SoftSurface& surface, const AxisAlignedBox& box) {
  found_.clear();
  surface.bvh().VisitOverlaps(box, [&](int i) { found_.push_back(i); });
  const std::size_t count = found_.size();
  fours_.resize((count + 3) / 4);
  for (std::size_t slot = 0; slot < 4 * fours_.size(); ++slot) {
    Four& four = fours_[slot / 4];
    const int l = static_cast<int>(slot % 4);
    if (slot >= count) {
      // fills its place, and is near nothing
      for (int r = 0; r < 3; ++r) four.n[r][l] = four.center[r][l] = 0;
      four.offset[l] = four.radius[l] = 0;
      continue;
    }
    const int i = four.triangles[l] = found_[slot];
    const auto& t = surface.triangle(i);
    const Vector3d x[3] = {surface.position(t[0]), surface.position(t[1]), surface.position(t[2])};
    const Vector3d& n = surface.face_normal(i);
    const Vector3d center = (x[0] + x[1] + x[2]) / 3;
    double radius2 = 0;
    for (const Vector3d& corner : x) radius2 = std::max(radius2, (corner - center).squaredNorm());
    for (int r = 0; r < 3; ++r) {
      four.n[r][l] = n[r];
      four.center[r][l] = center[r];
    }
    four.offset[l] = n.dot(x[0]);
    four.radius[l] = (1 + 1e-6) * std::sqrt(radius2);
  }
}

const std::vector<NearTriangles::Candidate>& NearTriangles::FindFacing(const Vector3d& p,
                                                                       const Vector3d& own,
                                                                       double margin,
                                                                       double deepest) {
  candidates_.clear();
  const double slack = 1e-6 * std::max(margin, deepest);
  const Lanes outer = Lanes{} + (margin + slack),
              inner = Lanes{} + (std::max(margin, deepest) + slack);
  for (const Four& four : fours_) {
    const Lanes x = four.center[0] - p[0], y = four.center[1] - p[1], z = four.center[2] - p[2];
    const Lanes distance2 = x * x + y * y + z * z, most = four.radius + inner;
    if (surface_part::Bits(distance2 < most * most) == 0) continue;
    const Lanes height = four.n[0] * p[0] + four.n[1] * p[1] + four.n[2] * p[2] - four.offset;
    const Lanes facing = four.n[0] * own[0] + four.n[1] * own[1] + four.n[2] * own[2];
    const Lanes reach = four.radius + (height > slack ? outer : inner);
    unsigned bits = surface_part::Bits((facing < 0) & (height < outer) & (height > -inner) &
                                       (distance2 < reach * reach));
    for (; bits != 0; bits &= bits - 1) {
      const int l = std::countr_zero(bits);
      const double away = std::sqrt(distance2[l]) - four.radius[l];
      const double off = std::max(0.0, std::max(std::abs(height[l]), away) - slack);
      candidates_.push_back({off * off, four.triangles[l]});
      if (candidates_.back().bound2 < candidates_.front().bound2)
        std::swap(candidates_.back(), candidates_.front());
    }
  }
  return candidates_;
}

const std::vector<int>& NearEdges::Find(const SoftSurface& surface, const AxisAlignedBox& box) {
  const TriangleBvh& bvh = surface.bvh();
  marks_.assign(bvh.edges().size() / 64 + 1, 0);
  bvh.VisitOverlaps(box, [&](int triangle) {
    for (int e = 0; e < 3; ++e) {
      const int edge = bvh.edge_index(triangle, e);
      marks_[edge / 64] |= std::uint64_t{1} << (edge % 64);
    }
  });
  found_.clear();
  for (std::size_t word = 0; word < marks_.size(); ++word) {
    for (std::uint64_t bits = marks_[word]; bits != 0; bits &= bits - 1)
      found_.push_back(static_cast<int>(64 * word) + std::countr_zero(bits));
  }
  return found_;
}

void NearEdges::PlaceBoxes(const SoftSurface& surface) {
  const std::size_t count = found_.size();
  fours_.resize((count + 3) / 4);
  for (std::size_t slot = 0; slot < 4 * fours_.size(); ++slot) {
    Four& four = fours_[slot / 4];
    const int l = static_cast<int>(slot % 4);
    AxisAlignedBox box;
    if (slot < count) {
      four.edges[l] = found_[slot];
      for (const int node : surface.bvh().edges()[found_[slot]].vertices)
        box.Include(VertexAt(surface.positions(), node));
    }
    for (int r = 0; r < 3; ++r) {
      four.lower[r][l] = box.lower[r];
      four.upper[r][l] = box.upper[r];
    }
  }
}

}  // namespace pliant::physics
