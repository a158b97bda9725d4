#include "physics/contact/pairs/flat_overlap.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "physics/contact/pairs/contact_key.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

// Shapes with more faces are nearly round, and touch a triangle at one point at a time.
constexpr int kMaxFaces = 256;
// Cosine of the angle up to which a triangle and a face count as opposite each other.
constexpr double kOpposite = 0.3;
// Cosine of the angle to the axis of a cylinder or capsule up to which its side is towards a
// direction rather than its end.
constexpr double kSideways = 0.7;
// Sine of the angle below which two sides count as parallel, which cross nowhere in particular.
constexpr double kMinCrossing = 1e-3;

double Cross(const Vector2d& a, const Vector2d& b) {
  return a.x() * b.y() - a.y() * b.x();
}

}  // namespace

// The corners in place of a disc stay where they are on it, so a tilted disc touches when it is up
// to 2 % deeper than its lowest corner.
FlatOverlap::FlatOverlap(const TriangleSurface& surface, const PlacedShape& placed)
    : surface_(surface), shape_(*placed.shape), R_SW_(placed.X_WS.R.transpose()) {
  const Geometry& geometry = shape_.shape->geometry;
  if (const auto* capsule = std::get_if<Capsule>(&geometry)) {
    is_round_ = true;
    radius_ = capsule->radius;
    half_length_ = 0.5 * capsule->length;
  } else if (const auto* cylinder = std::get_if<Cylinder>(&geometry)) {
    is_round_ = has_ends_ = true;
    radius_ = cylinder->radius;
    half_length_ = 0.5 * cylinder->length;
    for (int k = 0; k < kDiscCorners; ++k) {
      const SinCos at = CalcSinCos(2 * kPi * k / kDiscCorners);
      disc_[k] = radius_ * Vector2d(at.cos, at.sin);
    }
  }
}

void FlatOverlap::Face::Add(const Vector3d& corner, std::uint64_t number) {
  corners[size] = corner;
  corner_numbers[size] = side_numbers[size] = number;
  is_sharp_corner[size] = is_sharp_side[size] = true;
  ++size;
}

bool FlatOverlap::FindFace(const Vector3d& d, Face* face) const {
  face->size = 0;
  if (is_round_ && std::abs(d.z()) < kSideways) {
    const Vector2d side = d.head<2>() / std::sqrt(d.head<2>().squaredNorm());
    face->normal = Vector3d(side.x(), side.y(), 0);
    face->Add(radius_ * face->normal - Vector3d(0, 0, half_length_), 0);
    face->Add(radius_ * face->normal + Vector3d(0, 0, half_length_), 1);
    face->is_sharp_side[1] = false;  // a line has one side
    return true;
  }
  if (has_ends_) {
    const bool is_upper = d.z() > 0;
    face->normal = Vector3d(0, 0, is_upper ? 1 : -1);
    const std::uint64_t first = is_upper ? 2 : 2 + kDiscCorners;
    for (int k = 0; k < kDiscCorners; ++k) {
      const Vector2d& at = disc_[is_upper ? k : kDiscCorners - 1 - k];
      face->Add(Vector3d(at.x(), at.y(), face->normal.z() * half_length_), first + k);
    }
    return true;
  }
  if (shape_.polyhedron == nullptr || shape_.polyhedron->num_faces() > kMaxFaces) return false;
  const ConvexPolyhedron& polyhedron = *shape_.polyhedron;
  int best = -1;
  double facing = kOpposite;
  for (int f = 0; f < polyhedron.num_faces(); ++f) {
    if (d.dot(polyhedron.normals[f]) < facing) continue;
    facing = d.dot(polyhedron.normals[f]);
    best = f;
  }
  if (best < 0 || polyhedron.face(best).size() > kMaxCorners) return false;
  for (const int v : polyhedron.face(best))
    face->Add(polyhedron.vertices[v], polyhedron.face_starts[best] + face->size);
  face->normal = polyhedron.normals[best];
  return true;
}

bool FlatOverlap::FindMeshFace(int triangle, const Vector3d& d, Face* face) const {
  bool is_sharp[3];
  for (int e = 0; e < 3; ++e) is_sharp[e] = shape_.IsSharp(triangle, e);
  if (!is_sharp[0] && !is_sharp[1] && !is_sharp[2]) return false;
  const auto& t = shape_.bvh->triangle(triangle);
  const Vector3d* x[3];
  for (int k = 0; k < 3; ++k) x[k] = &shape_.mesh->vertices[t[k]];
  face->normal = (*x[1] - *x[0]).cross(*x[2] - *x[0]);
  const double twice_area = std::sqrt(face->normal.squaredNorm());
  if (!(d.dot(face->normal) > kOpposite * twice_area)) return false;
  face->normal /= twice_area;
  face->size = 0;
  for (int k = 0; k < 3; ++k) {
    face->Add(*x[k], t[k]);
    face->is_sharp_corner[k] = is_sharp[k] || is_sharp[(k + 2) % 3];
    face->is_sharp_side[k] = is_sharp[k];
    face->side_numbers[k] = shape_.bvh->edge_index(triangle, k);
  }
  return true;
}

int FlatOverlap::VisitCorners(int triangle, const Vector3d* x, double margin,
                              absl::FunctionRef<void(const Corner&)> visit) const {
  const Vector3d area = (x[1] - x[0]).cross(x[2] - x[0]);
  Base base;
  base.index = triangle;
  base.x = x;
  base.margin = margin;
  base.twice_area = std::sqrt(area.squaredNorm());
  if (!(base.twice_area > 0)) return 0;
  base.outward = area / base.twice_area;
  base.u = (x[1] - x[0]) / std::sqrt((x[1] - x[0]).squaredNorm());
  base.v = base.outward.cross(base.u);
  for (int k = 0; k < 3; ++k) base.corners[k] = {base.u.dot(x[k] - x[0]), base.v.dot(x[k] - x[0])};
  // deeper, the nearest feature may be on the far side
  base.deepest =
      0.5 * std::min({surface_.longest_edge(triangle), surface_.thickness(), shape_.thickness});
  Face face;
  if (shape_.is_convex()) return FindFace(-base.outward, &face) ? VisitFace(base, face, visit) : 0;

  // vertices and edges belong to several triangles of the mesh
  std::vector<std::uint64_t> known;
  const auto visit_once = [&](const Corner& corner) {
    if (std::ranges::find(known, corner.feature) != known.end()) return;
    known.push_back(corner.feature);
    visit(corner);
  };
  AxisAlignedBox box;
  for (int k = 0; k < 3; ++k) box.Include(x[k]);
  box.Grow(std::max(margin, base.deepest));
  int found = 0;
  shape_.bvh->VisitOverlaps(box, [&](int i) {
    if (FindMeshFace(i, -base.outward, &face)) found += VisitFace(base, face, visit_once);
  });
  return found;
}

int FlatOverlap::VisitFace(const Base& base, const Face& face,
                           absl::FunctionRef<void(const Corner&)> visit) const {
  const Vector2d* t = base.corners;
  Vector2d flat[kMaxCorners];
  double heights[kMaxCorners];
  for (int k = 0; k < face.size; ++k) {
    const Vector3d p = face.corners[k] - base.x[0];
    flat[k] = {base.u.dot(p), base.v.dot(p)};
    heights[k] = base.outward.dot(p);
  }
  const auto is_met = [&](double gap) { return gap < base.margin && gap > -base.deepest; };
  int count = 0;
  for (int k = 0; k < face.size; ++k) {
    const Vector2d& a = flat[k];
    const Vector3d weights =
        Vector3d(Cross(t[1] - a, t[2] - a), Cross(t[2] - a, t[0] - a), Cross(t[0] - a, t[1] - a)) /
        base.twice_area;
    if (face.is_sharp_corner[k] && weights.minCoeff() > 0 && is_met(heights[k])) {
      ++count;
      visit({weights, -base.outward, heights[k],
             MixKey({static_cast<std::uint64_t>(TouchKind::kVertexFace),
                     static_cast<std::uint64_t>(base.index), face.corner_numbers[k]})});
    }
    if (!face.is_sharp_side[k]) continue;
    const int next = (k + 1) % face.size;
    const Vector2d along_side = flat[next] - a;
    for (int e = 0; e < 3; ++e) {
      const Vector2d &p = t[e], side = t[(e + 1) % 3] - p;
      const double sine = Cross(side, along_side);
      if (sine * sine < kMinCrossing * kMinCrossing * side.squaredNorm() * along_side.squaredNorm())
        continue;
      const double along = Cross(a - p, along_side) / sine, of_face = Cross(a - p, side) / sine;
      if (!(along > 0 && along < 1 && of_face >= 0 && of_face <= 1)) continue;
      const double gap = (1 - of_face) * heights[k] + of_face * heights[next];
      if (!is_met(gap)) continue;
      ++count;
      Corner corner;
      if (MakeCorner(base.index, {e, along, gap, face.side_numbers[k]}, -base.outward, face.normal,
                     &corner))
        visit(corner);
    }
  }
  return count;
}

// Only the first of a side's triangles that face the shape makes a corner of the crossing. The
// normal is the mean of theirs.
bool FlatOverlap::MakeCorner(int triangle, const Crossing& crossing, const Vector3d& inward,
                             const Vector3d& facing, Corner* corner) const {
  const int e = crossing.e, next = (e + 1) % 3;
  const int from = surface_.triangle(triangle)[e], to = surface_.triangle(triangle)[next];
  int other = -1;
  for (const auto& [around, at] : surface_.around(from)) {
    const auto& t = surface_.triangle(around);
    if (around != triangle && (t[0] == to || t[1] == to || t[2] == to)) other = around;
  }
  corner->n = inward;
  if (other >= 0) {
    const auto& t = surface_.triangle(other);
    const Vector3d p = surface_.position(t[0]);
    const Vector3d theirs =
        R_SW_ * (surface_.position(t[2]) - p).cross(surface_.position(t[1]) - p);
    const double norm = std::sqrt(theirs.squaredNorm());
    if (norm > 0 && theirs.dot(facing) > kOpposite * norm) {
      if (other < triangle) return false;
      corner->n += theirs / norm;
      corner->n /= std::sqrt(corner->n.squaredNorm());
    }
  }
  corner->weights.setZero();
  corner->weights[e] = 1 - crossing.along;
  corner->weights[next] = crossing.along;
  corner->gap = crossing.gap * corner->n.dot(inward);
  corner->feature = MixKey({static_cast<std::uint64_t>(TouchKind::kEdges),
                            static_cast<std::uint64_t>(std::min(from, to)),
                            static_cast<std::uint64_t>(std::max(from, to)), crossing.of_face});
  return true;
}

}  // namespace pliant::physics
