#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/surface/surface_region.h"

namespace pliant::physics {

// Smallest thickness that tetrahedra resolve, in edge lengths.
inline constexpr double kResolvedThickness = 0.7;
// A body counts as thin where at least this share of its surface is.
inline constexpr double kThinShare = 0.01;

// A point of a surface, the area it stands for, and the body's thickness behind it [m].
struct ThicknessSample {
  Eigen::Vector3d point, normal;
  double area, thickness;
};

// Samples the thickness, up to `max_thickness`, at points about `spacing` apart on the surface, or
// farther apart if there would be too many. Thinnest first.
std::vector<ThicknessSample> SampleThickness(const SurfaceRegion& region, double spacing,
                                             double max_thickness);

// The thickness [m] below which this share of the surface lies; `samples`: thinnest first.
double FindThickness(const std::vector<ThicknessSample>& samples, double share);

struct EdgeChoice {
  double shortest = 0;          // [m]
  double tetrahedra = 5'000;    // about as many
  double if_thin = 10'000;      // at most, where a hundredth of the surface is thinner than edges
  double if_a_sheet = 100'000;  // at most, where half of it is
};

// Chooses the edge length [m] of the tetrahedra that fill a surface: by their number, and shorter
// for a thin body.
//
// errors  INVALID_ARGUMENT: what SurfaceRegion::Make refuses
absl::StatusOr<double> ChooseEdgeLength(TriangleMesh surface, const EdgeChoice& choice);

}  // namespace pliant::physics
