#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <immintrin.h>
#include <vector>

#include <Eigen/Core>

#include "physics/contact/geometries/triangle_surface.h"

namespace pliant::physics {

// What a deforming surface has near another, four side by side: a vertex or an edge is tried
// against all of it at once. The surface's tree must be up to date; memory is kept.

// Boxes, a lane each.
struct FourBoxes {
  using Lanes = double __attribute__((vector_size(32)));

  void Set(int lane, const AxisAlignedBox& box);
  // Those that meet `box`, as bits.
  unsigned FindOverlaps(const AxisAlignedBox& box) const;

  Lanes lower[3], upper[3];
};

// Triangles near a box.
class NearTriangles {
 public:
  void Find(const TriangleSurface& surface, const AxisAlignedBox& box);

  // Those that look against the unit vector `own` and may be nearer to p than `margin` on their
  // outer side, or than `deepest` on their inner, with a bound below their distance; the one with
  // the least bound first. None that are is left out.
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

// Triangles near a box with their corners, for triangles of another surface that look at them.
class FacingTriangles {
 public:
  void Find(const TriangleSurface& surface, const AxisAlignedBox& box);

  // A triangle of another surface with corners x and unit normal n.
  struct Viewer {
    const Eigen::Vector3d* x;
    Eigen::Vector3d n;
    double margin, deepest;
  };
  // Calls visit(triangle) for those whose boxes meet `box`, that look against the viewer, reach
  // from below `margin` before it to above `deepest` behind, seen along the mean of the two
  // normals, and are beyond none of its sides, seen so. None that is so is left out, and few others
  // are visited.
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
  // Those of triangles near the box, ascending.
  const std::vector<int>& Find(const TriangleSurface& surface, const AxisAlignedBox& box);

  // Chooses among those found, and places the boxes around them.
  template <typename Keep>
  void Place(const TriangleSurface& surface, const Keep& keep);
  // Calls visit(edge), ascending, for the chosen ones whose boxes meet `box`.
  template <typename Visit>
  void VisitOverlaps(const AxisAlignedBox& box, Visit&& visit) const;

 private:
  struct Four {
    FourBoxes boxes;
    int edges[4];
  };
  void PlaceBoxes(const TriangleSurface& surface);

  std::vector<std::uint64_t> marks_;  // a bit an edge
  std::vector<int> found_;
  std::vector<Four> fours_;
  std::vector<FourBoxes> boxes_;  // each of four of `fours_` in a lane
};

namespace surface_part {

// The lanes of a comparison that hold, as bits.
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
