#include "physics/contact/geometries/surface_part.h"

#include <algorithm>
#include <cmath>

namespace pliant::physics {

using Eigen::Vector3d;

void NearTriangles::Find(const TriangleSurface& surface, const AxisAlignedBox& box) {
  found_.clear();
  surface.bvh().VisitOverlaps(box, [&](int i) { found_.push_back(i); });
  const std::size_t count = found_.size();
  fours_.resize((count + 3) / 4);
  for (std::size_t slot = 0; slot < 4 * fours_.size(); ++slot) {
    Four& four = fours_[slot / 4];
    const int l = static_cast<int>(slot % 4);
    if (slot >= count) {
      // padding, near nothing
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

void FourBoxes::Set(int lane, const AxisAlignedBox& box) {
  for (int r = 0; r < 3; ++r) {
    lower[r][lane] = box.lower[r];
    upper[r][lane] = box.upper[r];
  }
}

void FacingTriangles::Find(const TriangleSurface& surface, const AxisAlignedBox& box) {
  found_.clear();
  surface.bvh().VisitOverlaps(box, [&](int i) { found_.push_back(i); });
  const std::size_t count = found_.size();
  fours_.resize((count + 3) / 4);
  boxes_.resize((fours_.size() + 3) / 4);
  for (std::size_t f = 0; f < 4 * boxes_.size(); ++f) {
    AxisAlignedBox of_four;  // stays empty for padding, and overlaps nothing
    for (int l = 0; l < 4 && f < fours_.size(); ++l) {
      Four& four = fours_[f];
      AxisAlignedBox of_triangle;
      if (4 * f + l < count) {
        const int i = four.triangles[l] = found_[4 * f + l];
        const Vector3d& n = surface.face_normal(i);
        for (int r = 0; r < 3; ++r) four.n[r][l] = n[r];
        for (int k = 0; k < 3; ++k) {
          const Vector3d x = surface.position(surface.triangle(i)[k]);
          of_triangle.Include(x);
          for (int r = 0; r < 3; ++r) four.x[k][r][l] = x[r];
        }
      } else {
        for (int r = 0; r < 3; ++r) {
          four.n[r][l] = 0;
          for (int k = 0; k < 3; ++k) four.x[k][r][l] = 0;
        }
      }
      four.boxes.Set(l, of_triangle);
      of_four.Include(of_triangle);
    }
    boxes_[f / 4].Set(static_cast<int>(f % 4), of_four);
  }
}

unsigned FacingTriangles::FindSeen(const Four& four, const Viewer& viewer) const {
  // tolerance for round-off
  constexpr double kSlack = 1e-9;
  const auto dot = [](const Lanes* a, const auto& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  };
  const Vector3d& n = viewer.n;
  const Lanes facing = dot(four.n, n);
  unsigned bits = surface_part::Bits(facing < -0.1 + kSlack);
  if (bits == 0) return 0;

  // heights over the viewer's plane; `slope` converts gaps along the mean normal to heights
  const Lanes slope = _mm256_sqrt_pd(0.5 * (1 - facing));
  const double slack = kSlack * std::max(viewer.margin, viewer.deepest);
  Lanes from_start[3][3];
  Lanes least, most;
  for (int k = 0; k < 3; ++k) {
    for (int r = 0; r < 3; ++r) from_start[k][r] = four.x[k][r] - viewer.x[0][r];
    const Lanes height = dot(from_start[k], n);
    least = k == 0 ? height : (height < least ? height : least);
    most = k == 0 ? height : (height > most ? height : most);
  }
  bits &= surface_part::Bits((least < viewer.margin * slope + slack) &
                             (most > -viewer.deepest * slope - slack));
  if (bits == 0) return 0;

  // reject triangles beyond one of the viewer's sides, seen along the mean normal
  Lanes along[3];
  for (int r = 0; r < 3; ++r) along[r] = n[r] - four.n[r];
  for (int side = 0; side < 3; ++side) {
    const Vector3d start = viewer.x[side] - viewer.x[0],
                   edge = viewer.x[(side + 1) % 3] - viewer.x[side];
    const Lanes outward[3] = {edge[1] * along[2] - edge[2] * along[1],
                              edge[2] * along[0] - edge[0] * along[2],
                              edge[0] * along[1] - edge[1] * along[0]};
    const double nothing = kSlack * edge.squaredNorm();
    const Lanes at_start = dot(outward, start);
    Lanes is_inside{};
    for (int k = 0; k < 3; ++k) {
      const Lanes outside = dot(outward, from_start[k]) - at_start;
      is_inside = outside < nothing ? Lanes{} + 1 : is_inside;
    }
    bits &= surface_part::Bits(is_inside > 0);
  }
  return bits;
}

const std::vector<int>& NearEdges::Find(const TriangleSurface& surface, const AxisAlignedBox& box) {
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

void NearEdges::PlaceBoxes(const TriangleSurface& surface) {
  const std::size_t count = found_.size();
  fours_.resize((count + 3) / 4);
  boxes_.resize((fours_.size() + 3) / 4);
  for (std::size_t f = 0; f < 4 * boxes_.size(); ++f) {
    AxisAlignedBox of_four;  // stays empty for padding, and overlaps nothing
    for (std::size_t l = 0; l < 4 && f < fours_.size(); ++l) {
      AxisAlignedBox of_edge;
      if (4 * f + l < count) {
        const int edge = fours_[f].edges[l] = found_[4 * f + l];
        for (const int node : surface.bvh().edges()[edge].vertices)
          of_edge.Include(VertexAt(surface.positions(), node));
      }
      fours_[f].boxes.Set(static_cast<int>(l), of_edge);
      of_four.Include(of_edge);
    }
    boxes_[f / 4].Set(static_cast<int>(f % 4), of_four);
  }
}

}  // namespace pliant::physics
