#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/surface/winding_number.h"
#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {

// The points that a surface of any kind encloses: those with a winding number above one half.
// Triangles are first turned to agree with their neighbours and each shell to face outwards, unless
// it bounds a cavity of another one.
class SurfaceRegion {
 public:
  // `with_distances` is false where Project and CalcDistance are not called, which saves time.
  //
  // errors  INVALID_ARGUMENT: a vertex is not finite, a corner is missing, there is no triangle
  //         with an area, or the surface encloses nothing
  static absl::StatusOr<SurfaceRegion> Make(TriangleMesh mesh, bool with_distances = true);

  // Repairs of the given surface, a predicate each ("has 3 edges …"); empty for a sound one.
  const std::vector<std::string>& mends() const { return mends_; }
  // True if every edge has exactly two triangles, and the surface has two sides.
  bool closed() const { return closed_; }
  // All triangles, oriented; those between inside and outside; and a tree over the latter.
  const TriangleMesh& mesh() const { return mesh_; }
  const TriangleMesh& boundary() const { return boundary_; }
  const TriangleBvh& boundary_bvh() const { return *bvh_; }
  double area() const { return area_; }  // of the boundary [m²]
  const AxisAlignedBox& bounds() const { return all_bvh_->bounds(); }

  bool IsInside(const Eigen::Vector3d& p) const;

  // Point a + t (b − a) at which the segment from an inner point a to an outer point b leaves the
  // region. `in_hole`: there is no triangle at that point.
  struct Exit {
    double t;
    bool in_hole;
  };
  Exit FindExit(const Eigen::Vector3d& a, const Eigen::Vector3d& b) const;

  // Nearest point of the boundary, or p itself when it is farther than `max_distance`.
  Eigen::Vector3d Project(const Eigen::Vector3d& p, double max_distance) const;
  // The same, faster where `known` is a point of the boundary close to p.
  Eigen::Vector3d Project(const Eigen::Vector3d& p, double max_distance,
                          const Eigen::Vector3d& known) const;

  // Distance from a boundary point along the inward normal to where the region ends;
  // `max_distance` if that is beyond.
  double CalcThickness(const Eigen::Vector3d& p, const Eigen::Vector3d& outward_normal,
                       double max_distance) const;

  // Distance of the boundary from a point [m].
  double CalcDistance(const Eigen::Vector3d& p) const;

  // Sets triangles that close holes, for Project and CalcDistance; they replace those of earlier
  // calls.
  void Patch(const std::vector<std::array<Eigen::Vector3d, 3>>& triangles);

 private:
  // Winding number of a closed surface, as triangles that a ray leaves by, minus those that it
  // enters by. None where rounding decides: p is on a triangle, or the ray meets an edge.
  std::optional<int> CountCrossings(const Eigen::Vector3d& p) const;
  void Orient();
  absl::Status FindBoundary();
  void PrepareNearest();

  TriangleMesh mesh_, boundary_;
  std::size_t patched_from_[2] = {};  // first vertex and triangle of the patches
  bool closed_ = false;
  double area_ = 0;
  std::vector<std::string> mends_;
  std::unique_ptr<WindingNumber> winding_;
  std::shared_ptr<const TriangleBvh> all_bvh_, bvh_;  // the same one where all triangles bound
  // The boundary with its long triangles divided, of which boxes hold much else.
  TriangleMesh pieces_;
  std::shared_ptr<const TriangleBvh> pieces_bvh_;
};

}  // namespace pliant::physics
