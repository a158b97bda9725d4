#pragma once

#include <variant>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"

namespace pliant::physics {

// A torus about z, centred at the origin [m].
struct Torus {
  double ring_radius;  // of the tube's centre line
  double tube_radius;  // less than ring_radius
};

// A bounded volume, in its own frame.
class Solid {
 public:
  explicit Solid(Geometry geometry);  // not a half-space
  explicit Solid(const Torus& torus);
  // The volume inside the boundary of a mesh, every edge of which has two triangles.
  explicit Solid(const TetrahedralMesh& mesh);

  double volume() const { return volume_; }                 // [m³]
  const AxisAlignedBox& bounds() const { return bounds_; }  // [m]
  double CalcMaxArea() const;                               // upper bound of the surface area [m²]
  double CalcThickness() const;                             // of its thinnest part, see shape.h [m]
  // Signed distance to the surface [m], negative inside.
  double CalcDistance(const Eigen::Vector3d& p) const;

  // Calls visit(shape) with the shape as its own type.
  template <typename Visit>
  decltype(auto) VisitShape(const Visit& visit) const {
    if (const Torus* torus = std::get_if<Torus>(&shape_)) return visit(*torus);
    return std::visit(visit, std::get<Geometry>(shape_));
  }

 private:
  std::variant<Geometry, Torus> shape_;
  double volume_;
  AxisAlignedBox bounds_;
};

}  // namespace pliant::physics
