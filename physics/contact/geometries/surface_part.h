#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <immintrin.h>
#include <vector>

#include <Eigen/Core>

#include "physics/contact/geometries/triangle_surface.h"

namespace pliant::physics {

// The part of a deforming surface near another, in SIMD lanes of four, so that a vertex or an edge
// is tested against four items at once. The surface's tree must be up to date; memory is kept.

// Four boxes, one per lane.
struct FourBoxes {
  using Lanes = double __attribute__((vector_size(32)));

  void Set(int lane, const AxisAlignedBox& box);
  // Bit mask of the boxes that overlap `box`.
  unsigned FindOverlaps(const AxisAlignedBox& box) const;

  Lanes lower[3], upper[3];
};

// Triangles near a box.
class NearTriangles {
 public:
  void Find(const TriangleSurface& surface, const AxisAlignedBox& box);

  // Triangles that face the unit vector `own` and may be nearer to p than `margin` on their outer
  // side, or than `deepest` on their inner side, with a lower bound of their distance; the smallest
  // bound comes first. Conservative: no such triangle is missed.
  struct Candidate {
    double bound2;  // squared
    int triangle;
  };
  const std::vector<Candidate>& FindFacing(const Eigen::Vector3d& p, const Eigen::Vector3d& own,
                                           double margin, double deepest);

 private:
  using Lanes = double __attribute__((vector_size(32)));
  // planes n·x = offset, and spheres around the triangles
  struct Four {
    Lanes n[3], offset, center[3], radius;
    int triangles[4];
  };
  std::vector<int> found_;
  std::vector<Four> fours_;
  std::vector<Candidate> candidates_;
};

// Triangles near a box with their corners, for facing triangles of another surface.
class FacingTriangles {
 public:
  void Find(const TriangleSurface& surface, const AxisAlignedBox& box);

  // A triangle of another surface with corners x and unit normal n.
  struct Viewer {
    const Eigen::Vector3d* x;
    Eigen::Vector3d n;
    double margin, deepest;
  };
  // Calls visit(triangle) for the triangles whose boxes overlap `box` and that face the viewer, are
  // between `margin` before and `deepest` behind it along the mean of the two normals, and overlap
  // it in that projection. Conservative: none is missed, and few others are visited.
  template <typename Visit>
  void VisitSeen(const Viewer& viewer, const AxisAlignedBox& box, Visit&& visit) const;

 private:
  using Lanes = FourBoxes::Lanes;
  struct Four {
    FourBoxes boxes;
    Lanes n[3], x[3][3];
    int triangles[4];
  };
  unsigned FindSeen(const Four& four, const Viewer& viewer) const;

  std::vector<int> found_;
  std::vector<Four> fours_;
  std::vector<FourBoxes> boxes_;  // each of four of `fours_` in a lane
};

// Edges near a box, by their number in the tree.
class NearEdges {
 public:
  // Edges of triangles near the box, ascending.
  const std::vector<int>& Find(const TriangleSurface& surface, const AxisAlignedBox& box);

  // Keeps the found edges that satisfy `keep`, and places their boxes.
  template <typename Keep>
  void Place(const TriangleSurface& surface, const Keep& keep);
  // Calls visit(edge), ascending, for the kept edges whose boxes overlap `box`.
  template <typename Visit>
  void VisitOverlaps(const AxisAlignedBox& box, Visit&& visit) const;

 private:
  struct Four {
    FourBoxes boxes;
    int edges[4];
  };
  void PlaceBoxes(const TriangleSurface& surface);

  std::vector<std::uint64_t> marks_;  // one bit per edge
  std::vector<int> found_;
  std::vector<Four> fours_;
  std::vector<FourBoxes> boxes_;  // each of four of `fours_` in a lane
};

namespace surface_part {

// Bit mask of the lanes in which a comparison holds.
inline unsigned Bits(long long __attribute__((vector_size(32))) mask) {
  return static_cast<unsigned>(
      _mm256_movemask_pd(_mm256_castsi256_pd(reinterpret_cast<__m256i>(mask))));
}

}  // namespace surface_part

inline unsigned FourBoxes::FindOverlaps(const AxisAlignedBox& box) const {
  unsigned bits = 15;
  for (int i = 0; i < 3; ++i)
    bits &= surface_part::Bits((lower[i] <= box.upper[i]) & (upper[i] >= box.lower[i]));
  return bits;
}

template <typename Visit>
void FacingTriangles::VisitSeen(const Viewer& viewer, const AxisAlignedBox& box,
                                Visit&& visit) const {
  for (std::size_t group = 0; group < boxes_.size(); ++group) {
    for (unsigned near = boxes_[group].FindOverlaps(box); near != 0; near &= near - 1) {
      const Four& four = fours_[4 * group + std::countr_zero(near)];
      unsigned bits = four.boxes.FindOverlaps(box);
      if (bits != 0) bits &= FindSeen(four, viewer);
      for (; bits != 0; bits &= bits - 1) visit(four.triangles[std::countr_zero(bits)]);
    }
  }
}

template <typename Keep>
void NearEdges::Place(const TriangleSurface& surface, const Keep& keep) {
  std::erase_if(found_, [&](int edge) { return !keep(surface.bvh().edges()[edge]); });
  PlaceBoxes(surface);
}

template <typename Visit>
void NearEdges::VisitOverlaps(const AxisAlignedBox& box, Visit&& visit) const {
  for (std::size_t group = 0; group < boxes_.size(); ++group) {
    for (unsigned near = boxes_[group].FindOverlaps(box); near != 0; near &= near - 1) {
      const Four& four = fours_[4 * group + std::countr_zero(near)];
      for (unsigned bits = four.boxes.FindOverlaps(box); bits != 0; bits &= bits - 1)
        visit(four.edges[std::countr_zero(bits)]);
    }
  }
}

}  // namespace pliant::physics
