#pragma once

#include <vector>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/surface/background_lattice.h"
#include "physics/geometry/meshing/surface/sharp_features.h"

namespace pliant::physics {

// Chooses shorter edges where sharp curves bend so much that chords of the edge length, between
// points of the curve, would be farther from it than `tolerance` [m].
std::vector<SizeSample> ChooseSizesOfBends(const SharpFeatures& features, double edge_length,
                                           double tolerance, double min_edge);

// Samples of the curves, at most a tenth of the edge length apart, that are farther than
// `tolerance` [m] from the mesh edges along the curves.
struct DeviatingPoint {
  int curve;
  Eigen::Vector3d point;
};
std::vector<DeviatingPoint> FindDeviatingPoints(const SharpFeatures& features,
                                                const FeatureMap& map, const TetrahedralMesh& mesh,
                                                double edge_length, double tolerance);

// Points of the chains that are no curves, at most a tenth of the edge length apart, that are
// farther than `tolerance` [m] from the mesh's boundary.
std::vector<Eigen::Vector3d> FindDeviatingChains(const SharpFeatures& features,
                                                 const TetrahedralMesh& mesh, double edge_length,
                                                 double tolerance);

// Points of the mesh's boundary that are farther than `tolerance` [m] from the region's: among the
// centres of its triangles and the middles of their edges.
std::vector<Eigen::Vector3d> FindDeviatingBoundary(const SurfaceRegion& region,
                                                   const TetrahedralMesh& mesh, double tolerance);

// Chooses edges half as long as those of the mesh, but from `min_edge` to `max_edge` [m], around
// each point.
std::vector<SizeSample> HalveSizes(const std::vector<Eigen::Vector3d>& points,
                                   const TetrahedralMesh& mesh, double edge_length, double min_edge,
                                   double max_edge);

}  // namespace pliant::physics
