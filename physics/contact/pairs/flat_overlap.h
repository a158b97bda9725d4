#pragma once

#include <array>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include <Eigen/Core>

#include "physics/contact/geometries/placed_shape.h"
#include "physics/contact/geometries/triangle_surface.h"

namespace pliant::physics {

// The overlap of a surface's triangles with a flat face of a shape, with a straight line of a round
// one, or with the sharp edges of a mesh, seen along the triangle's normal. Its corners are
// vertices of the triangle, vertices of the face, and points where their sides cross. The
// triangle's vertices are contacts of their own; this finds the others. A single contact at the
// deepest point would jump from corner to corner as the face tilts, and rock it.
class FlatOverlap {
 public:
  struct Corner {
    Eigen::Vector3d weights;  // on the triangle
    Eigen::Vector3d n;        // out of the shape, in its frame
    double gap;               // along n [m]
    std::uint64_t feature;
  };

  FlatOverlap(const TriangleSurface& surface, const PlacedShape& placed);

  // Visits the corners with a gap below the margin on a triangle whose vertices are x in the
  // shape's frame, and returns their number. None if the shape has no such face or line towards
  // the triangle.
  int VisitCorners(int triangle, const Eigen::Vector3d* x, double margin,
                   absl::FunctionRef<void(const Corner&)> visit) const;

 private:
  static constexpr int kMaxCorners = 64;
  // A polygon, counter-clockwise seen from its normal's tip, or a line.
  struct Face {
    std::array<Eigen::Vector3d, kMaxCorners> corners;
    int size = 0;
    Eigen::Vector3d normal;
    // Numbers of its corners and of the sides from them, for keys. Other corners and sides than
    // sharp ones are none of the shape.
    std::array<std::uint64_t, kMaxCorners> corner_numbers, side_numbers;
    std::array<bool, kMaxCorners> is_sharp_corner, is_sharp_side;

    void Add(const Eigen::Vector3d& corner, std::uint64_t number);
  };
  // The triangle that is being visited.
  struct Base {
    int index;
    const Eigen::Vector3d* x;
    double margin, deepest;
    Eigen::Vector3d outward, u, v;
    double twice_area;
    Eigen::Vector2d corners[3];  // along u and v, from x[0]
  };
  // A point on side e of the triangle, at the fraction `along` of it.
  struct Crossing {
    int e;
    double along, gap;
    std::uint64_t of_face;  // side of the face
  };
  // Gets what faces the direction d, if anything.
  bool FindFace(const Eigen::Vector3d& d, Face* face) const;
  // Gets a triangle of a mesh if it faces the direction d and has a sharp edge.
  bool FindMeshFace(int triangle, const Eigen::Vector3d& d, Face* face) const;
  int VisitFace(const Base& base, const Face& face,
                absl::FunctionRef<void(const Corner&)> visit) const;
  bool MakeCorner(int triangle, const Crossing& crossing, const Eigen::Vector3d& inward,
                  const Eigen::Vector3d& facing, Corner* corner) const;

  const TriangleSurface& surface_;
  const CollisionShape& shape_;
  Eigen::Matrix3d R_SW_;
  bool is_round_ = false;  // a cylinder or a capsule, along z
  bool has_ends_ = false;
  double radius_ = 0, half_length_ = 0;
  // A polygon takes the place of the discs at the ends of a cylinder.
  static constexpr int kDiscCorners = 16;
  std::array<Eigen::Vector2d, kDiscCorners> disc_;
};

}  // namespace pliant::physics
