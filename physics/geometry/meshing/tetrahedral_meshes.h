#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Returns true if the caller shall stop.
using IsCancelled = std::function<bool()>;

// Tetrahedral meshes of primitives, centred at the origin, bitwise the same on every machine. All
// lengths in metres.
//
// edge_length  desired edge length; the mesh is as coarse as the shape allows when it is
//              larger than that
// returns      positive tetrahedra without unused vertices; boundary vertices lie on the
//              primitive's surface, so the volume of a curved one converges from below with the
//              square of the edge length
// is_cancelled called often while a large mesh is made; empty: never cancelled
// errors       INVALID_ARGUMENT: a size or edge length that is not finite and positive, a torus
//              whose tube reaches its axis, or more than kMaxPrimitiveTetrahedra; CANCELLED
inline constexpr double kMaxPrimitiveTetrahedra = 2e6;

// Cells of six tetrahedra around a main diagonal, mirrored from cell to cell, so that no direction
// is preferred; with even numbers of cells the mesh is its own mirror image. round(size /
// edge_length) cells, at least one.
//
// size  full lengths along x, y, z
absl::StatusOr<TetrahedralMesh> MeshBox(const Eigen::Vector3d& size, double edge_length,
                                        const IsCancelled& is_cancelled = {});

// The twenty tetrahedra between the centre and the faces of an icosahedron, each divided into n³
// and bent to shells, where n = round(radius / edge_length).
absl::StatusOr<TetrahedralMesh> MeshSphere(double radius, double edge_length,
                                           const IsCancelled& is_cancelled = {});

// A sphere with a concentric cavity: the surface of MeshSphere in layers, three tetrahedra to a
// prism; round(wall_thickness / edge_length) layers, at least one.
// errors  also INVALID_ARGUMENT: a wall as thick as the radius
absl::StatusOr<TetrahedralMesh> MeshHollowSphere(double radius, double wall_thickness,
                                                 double edge_length,
                                                 const IsCancelled& is_cancelled = {});

// Discs of n rings with 6, 12, …, 6n vertices, in layers along z. Length is the whole height.
absl::StatusOr<TetrahedralMesh> MeshCylinder(double radius, double length, double edge_length,
                                             const IsCancelled& is_cancelled = {});

// A capsule along z, meshed as a cylinder and closed by two caps. Length is between the centres of
// the caps, 0 allowed.
absl::StatusOr<TetrahedralMesh> MeshCapsule(double radius, double length, double edge_length,
                                            const IsCancelled& is_cancelled = {});

// Discs around the z axis. Edges shrink towards the axis by 1 − tube_radius / ring_radius.
// `slices`: number of discs, even and at least six; 0: from the edge length.
absl::StatusOr<TetrahedralMesh> MeshTorus(double ring_radius, double tube_radius,
                                          double edge_length, int slices = 0,
                                          const IsCancelled& is_cancelled = {});

}  // namespace pliant::physics
