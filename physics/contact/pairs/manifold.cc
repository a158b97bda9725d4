#include "physics/contact/pairs/manifold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "physics/contact/pairs/contact_key.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr std::size_t kMaxPoints = 8;

// Points that only a larger turn about another one would bring into contact count less [rad].
constexpr double kTurnWithinStep = 0.2;

// A separating direction within 1.8° of a face's normal is replaced by that normal if the
// separation along it is smaller by at most this share of the margin.
constexpr double kAlongFace = 0.9995;
constexpr double kRimSlack = 0.25;
// Height, in extents of a body, within which the ends of an edge count as equally far.
constexpr double kEdgeTilt = 1e-4;
// Error of touching points, in extents of the bodies.
constexpr double kPointError = 1e-7;

// Corners of the octagon that represents a cylinder's cap.
constexpr double kHalfRoot = 0.70710678118654752440;
constexpr double kOctagon[8][2] = {
    {1, 0},  {kHalfRoot, kHalfRoot},   {0, 1},  {-kHalfRoot, kHalfRoot},
    {-1, 0}, {-kHalfRoot, -kHalfRoot}, {0, -1}, {kHalfRoot, -kHalfRoot}};

std::uint64_t VertexKey(bool is_of_a, std::uint32_t id) {
  return MixKey(
      {static_cast<std::uint64_t>(is_of_a ? TouchKind::kVertexOfA : TouchKind::kVertexOfB), id});
}

// Code of an edge by its vertices, the same in both directions.
std::uint64_t EdgeCode(const SupportFeature& feature, int edge) {
  const std::uint32_t from = feature.ids[edge], to = feature.ids[(edge + 1) % feature.ids.size()];
  return std::uint64_t{std::min(from, to)} << 32 | std::max(from, to);
}

// Code of the edge of a polyhedron that is furthest along d_W, or of the vertex; 0 for a face, and
// for other bodies.
std::uint64_t FurthestCode(const ConvexBody& body, const Vector3d& d_W) {
  if (body.kind != ConvexBody::Kind::kPolyhedron) return 0;
  const Vector3d d = body.X_WS.R.transpose() * d_W;
  const std::vector<Vector3d>& vertices = body.polyhedron->vertices;
  double heights[3];
  std::uint32_t ids[3] = {};
  std::ranges::fill(heights, -std::numeric_limits<double>::infinity());
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const double height = d.dot(vertices[v]);
    if (height <= heights[2]) continue;
    int k = 2;
    for (; k > 0 && height > heights[k - 1]; --k) {
      heights[k] = heights[k - 1];
      ids[k] = ids[k - 1];
    }
    heights[k] = height;
    ids[k] = static_cast<std::uint32_t>(v);
  }
  const double as_far = heights[0] - kEdgeTilt * body.extent;
  if (heights[2] >= as_far) return 0;
  if (heights[1] < as_far) return std::uint64_t{1} << 63 | ids[0];
  return std::uint64_t{std::min(ids[0], ids[1])} << 32 | std::max(ids[0], ids[1]);
}

// Key of the only contact of two bodies, with the normal n from A into B.
std::uint64_t KeyAlong(const ConvexBody& a, const ConvexBody& b, const Vector3d& n) {
  const std::uint64_t of_a = FurthestCode(a, n), of_b = FurthestCode(b, -n);
  if (of_a == 0 && of_b == 0) return MixKey({static_cast<std::uint64_t>(TouchKind::kWhole)});
  return MixKey({static_cast<std::uint64_t>(TouchKind::kEdges), of_a, of_b});
}

ManifoldPoint Witness(const ConvexBody& a, const ConvexBody& b, const ConvexDistance& d) {
  const Vector3d on_a = d.p_A + a.rounding * d.nhat_AB_W, on_b = d.p_B - b.rounding * d.nhat_AB_W;
  return {0.5 * (on_a + on_b), d.nhat_AB_W, d.separation - a.rounding - b.rounding,
          KeyAlong(a, b, d.nhat_AB_W)};
}

// The face of `body` towards `direction` whose plane separates it furthest from the other body, if
// that is by at least `min_separation`. `of_other` is a point of the other body.
struct BestFace {
  Vector3d normal_W = Vector3d::Zero();
  double separation = -std::numeric_limits<double>::infinity();
};
BestFace FindBestFace(const ConvexBody& body, const ConvexBody& other, const Vector3d& direction,
                      const Vector3d& of_other, double min_separation) {
  BestFace best;
  const double error = kPointError * (body.extent + other.extent);
  const auto consider = [&](const Vector3d& n, double height) {
    if (n.dot(direction) < 0.3) return;
    // no plane separates the body further than from a point of it
    if (n.dot(of_other) - height + error < std::max(best.separation, min_separation)) return;
    // the face's plane is exact, unlike a support point
    const double separation = n.dot(other.FindSupport(-n)) - height;
    if (separation > best.separation) best = {n, separation};
  };
  if (body.kind == ConvexBody::Kind::kPolyhedron) {
    for (int f = 0; f < body.polyhedron->num_faces(); ++f) {
      const Vector3d n = body.X_WS.R * body.polyhedron->normals[f];
      consider(n, n.dot(body.X_WS * body.polyhedron->vertices[body.polyhedron->face(f)[0]]));
    }
  } else if (body.kind == ConvexBody::Kind::kCylinder) {
    for (double side : {1.0, -1.0}) {
      const Vector3d n = side * body.X_WS.R.col(2);
      consider(n, n.dot(body.X_WS.p) + body.size.z());
    }
  }
  return best;
}

// Appends contacts at the two ends of the overlap of nearly parallel segments; false if the
// features are not segments, not parallel or do not overlap.
bool CollideParallel(const SupportFeature& a, const SupportFeature& b, const Vector3d& n,
                     double rounding, double margin, std::vector<ManifoldPoint>* points) {
  if (a.points.size() != 2 || b.points.size() != 2) return false;
  const Vector3d u = a.points[1] - a.points[0], v = b.points[1] - b.points[0];
  const double uu = u.squaredNorm(), vv = v.squaredNorm();
  if (!(uu > 0) || !(vv > 0) || u.cross(v).squaredNorm() > 1e-4 * uu * vv) return false;
  double from = u.dot(b.points[0] - a.points[0]) / uu, to = u.dot(b.points[1] - a.points[0]) / uu;
  const bool is_reversed = from > to;
  if (is_reversed) std::swap(from, to);
  const double low = std::max(from, 0.0), high = std::min(to, 1.0);
  if (!(low < high)) return false;
  for (int end = 0; end < 2; ++end) {
    const double s = end == 0 ? low : high;
    double t = (s - from) / (to - from);
    if (is_reversed) t = 1 - t;
    const Vector3d on_a = a.points[0] + s * u, on_b = b.points[0] + t * v;
    const double gap = n.dot(on_b - on_a) - rounding;
    if (gap >= margin) continue;
    const std::uint64_t feature = MixKey(
        {static_cast<std::uint64_t>(TouchKind::kAlongAxis), static_cast<std::uint64_t>(end)});
    points->push_back({0.5 * (on_a + on_b), n, gap, feature});
  }
  return true;
}

}  // namespace

int ReduceManifold(std::size_t first, std::size_t most, std::vector<ManifoldPoint>* points) {
  const std::size_t n = points->size();
  if (n - first <= most) return 0;
  auto begin = points->begin() + static_cast<std::ptrdiff_t>(first);
  const auto deepest = std::min_element(begin, points->end(),
                                        [](const auto& x, const auto& y) { return x.gap < y.gap; });
  std::iter_swap(begin, deepest);
  const double min_gap = (*points)[first].gap;
  for (std::size_t kept = first + 1; kept < first + most; ++kept) {
    std::size_t best = kept;
    double best_score = -std::numeric_limits<double>::infinity();
    for (std::size_t i = kept; i < n; ++i) {
      double nearest = std::numeric_limits<double>::infinity();
      for (std::size_t k = first; k < kept; ++k)
        nearest = std::min(nearest, ((*points)[i].p_W - (*points)[k].p_W).squaredNorm());
      const double score = std::sqrt(nearest) - ((*points)[i].gap - min_gap) / kTurnWithinStep;
      if (score > best_score) {
        best_score = score;
        best = i;
      }
    }
    std::swap((*points)[kept], (*points)[best]);
  }
  points->resize(first + most);
  return static_cast<int>(n - first - most);
}

void ManifoldBuilder::FindSupportFeature(const ConvexBody& body, const Vector3d& d,
                                         SupportFeature* feature) {
  feature->Clear();
  const RigidTransform& X = body.X_WS;
  switch (body.kind) {
    case ConvexBody::Kind::kPoint:
      feature->Add(X.p, 0);
      break;
    case ConvexBody::Kind::kSegment:
      feature->Add(X * Vector3d(-body.size), 0);
      feature->Add(X * body.size, 1);
      break;
    case ConvexBody::Kind::kEllipsoid:
      feature->Add(body.FindSupport(d), 0);
      break;
    case ConvexBody::Kind::kPolyhedron: {
      const Vector3d d_S = X.R.transpose() * d;
      int best = 0;
      for (int f = 1; f < body.polyhedron->num_faces(); ++f)
        if (body.polyhedron->normals[f].dot(d_S) > body.polyhedron->normals[best].dot(d_S))
          best = f;
      for (int v : body.polyhedron->face(best)) feature->Add(X * body.polyhedron->vertices[v], v);
      feature->normal_W = X.R * body.polyhedron->normals[best];
      break;
    }
    case ConvexBody::Kind::kCylinder: {
      const Vector3d d_S = X.R.transpose() * d;
      const double radius = body.size.x(), half = body.size.z();
      const double rho = std::sqrt(d_S.x() * d_S.x() + d_S.y() * d_S.y());
      if (rho > std::abs(d_S.z())) {
        // a straight line on the wall
        const Vector3d rim(radius * d_S.x() / rho, radius * d_S.y() / rho, half);
        feature->Add(X * Vector3d(rim.x(), rim.y(), -half), 0);
        feature->Add(X * rim, 1);
        break;
      }
      // a cap: an octagon, plus its lowest point once it tilts
      const bool is_upper = d_S.z() > 0;
      const std::uint32_t base = is_upper ? 16 : 0;
      const bool has_lowest = rho > 1e-4;
      const Vector3d lowest =
          has_lowest ? Vector3d(d_S.x() / rho, d_S.y() / rho, 0) : Vector3d::Zero();
      bool was_added = !has_lowest;
      for (int k = 0; k < 8; ++k) {
        // opposite orders, so that both caps are counter-clockwise from outside
        const int i = is_upper ? k : 7 - k, next = is_upper ? (k + 1) % 8 : (14 - k) % 8;
        const Vector3d here(kOctagon[i][0], kOctagon[i][1], 0),
            there(kOctagon[next][0], kOctagon[next][1], 0);
        feature->Add(X * Vector3d(radius * here.x(), radius * here.y(), is_upper ? half : -half),
                     base + i);
        const double turn = is_upper ? 1 : -1;
        if (!was_added && turn * here.cross(lowest).z() >= 0 &&
            turn * lowest.cross(there).z() > 0 && here.dot(lowest) > 0) {
          was_added = true;
          if (here.dot(lowest) < 1 - 1e-6 && there.dot(lowest) < 1 - 1e-6)
            feature->Add(
                X * Vector3d(radius * lowest.x(), radius * lowest.y(), is_upper ? half : -half),
                base + 8);
        }
      }
      feature->normal_W = is_upper ? Vector3d(X.R.col(2)) : Vector3d(-X.R.col(2));
      break;
    }
  }
}

void ManifoldBuilder::ClipPolygon(const SupportFeature& reference, const SupportFeature& incident) {
  polygon_.clear();
  const int n = static_cast<int>(incident.points.size());
  for (int i = 0; i < n; ++i)
    polygon_.push_back({incident.points[i], {false, (i + n - 1) % n}, {false, i}});

  const int sides = static_cast<int>(reference.points.size());
  for (int side = 0; side < sides && !polygon_.empty(); ++side) {
    const Vector3d& from = reference.points[side];
    const Vector3d edge = reference.points[(side + 1) % sides] - from;
    const Vector3d outward = edge.cross(reference.normal_W);
    const double length = std::sqrt(outward.squaredNorm());
    if (!(length > 0)) continue;
    // corners on the side's plane count as inside and keep their identity
    const double tolerance = 1e-9 * length;
    const auto height = [&](const ClipVertex& v) { return outward.dot(v.p - from) / length; };

    clipped_.clear();
    const int count = static_cast<int>(polygon_.size());
    for (int i = 0; i < count; ++i) {
      const ClipVertex &u = polygon_[i], &w = polygon_[(i + 1) % count];
      const double of_u = height(u), of_w = height(w);
      const bool keeps_u = of_u <= tolerance, keeps_w = of_w <= tolerance;
      if (keeps_u) clipped_.push_back(u);
      if (count == 1) break;
      if (keeps_u == keeps_w) continue;
      // a segment is traversed in both directions: cut it once
      if (count == 2 && i == 1) continue;
      const Vector3d p = u.p + std::clamp(of_u / (of_u - of_w), 0.0, 1.0) * (w.p - u.p);
      if (keeps_u) {
        clipped_.push_back({p, u.out, {true, side}});
      } else {
        clipped_.push_back({p, {true, side}, u.out});
      }
    }
    polygon_.swap(clipped_);
  }
}

void ManifoldBuilder::ClipToFace(const SupportFeature& reference, const SupportFeature& incident,
                                 bool reference_is_a, double rounding, double margin,
                                 std::vector<ManifoldPoint>* points) {
  ClipPolygon(reference, incident);
  const std::size_t first = points->size();
  const Vector3d n = reference_is_a ? reference.normal_W : Vector3d(-reference.normal_W);
  const int incident_count = static_cast<int>(incident.points.size());
  const int sides = static_cast<int>(reference.points.size());
  for (const ClipVertex& v : polygon_) {
    const double height = reference.normal_W.dot(v.p - reference.points[0]);
    const double gap = height - rounding;
    if (gap >= margin) continue;
    std::uint64_t feature = 0;
    if (!v.in.is_reference && !v.out.is_reference) {
      feature = VertexKey(!reference_is_a, incident.ids[v.out.index % incident_count]);
    } else if (v.in.is_reference && v.out.is_reference) {
      const bool follows = (v.in.index + 1) % sides == v.out.index;
      const int corner = follows ? v.out.index : v.in.index;
      feature = VertexKey(reference_is_a, reference.ids[corner]);
    } else {
      const int side = v.in.is_reference ? v.in.index : v.out.index;
      const int edge = v.in.is_reference ? v.out.index : v.in.index;
      std::uint64_t of_a = EdgeCode(reference, side), of_b = EdgeCode(incident, edge);
      if (!reference_is_a) std::swap(of_a, of_b);
      feature = MixKey({static_cast<std::uint64_t>(TouchKind::kEdges), of_a, of_b});
    }
    points->push_back({v.p - (height - 0.5 * gap) * reference.normal_W, n, gap, feature});
  }
  points_dropped_ += ReduceManifold(first, kMaxPoints, points);
}

namespace {

// Appends the contact of an edge of box A along its axis i with one of B along its axis j, where
// the boxes are `gap` apart. Returns false if the edges do not cross within their lengths, or if
// `may_be_rim` and the direction is nearly a face's normal. R and t are the pose of B in A.
bool CollideBoxEdges(const ConvexBody& a, const ConvexBody& b, const Eigen::Matrix3d& R,
                     const Vector3d& t, int i, int j, double gap, bool may_be_rim,
                     std::vector<ManifoldPoint>* points) {
  const Vector3d along_a = Vector3d::Unit(i), along_b = R.col(j);
  Vector3d n = along_a.cross(along_b);
  n *= (n.dot(t) < 0 ? -1 : 1) / std::sqrt(n.squaredNorm());

  // midpoints of the edges furthest towards the other box
  const Vector3d n_B = R.transpose() * n;
  const double along_face = std::max(n.cwiseAbs().maxCoeff(), n_B.cwiseAbs().maxCoeff());
  if (may_be_rim && along_face > kAlongFace) return false;
  Vector3d on_a = Vector3d::Zero(), on_b = t;
  for (int k = 0; k < 3; ++k) {
    if (k != i) on_a[k] = n[k] < 0 ? -a.size[k] : a.size[k];
    if (k != j) on_b += (n_B[k] < 0 ? b.size[k] : -b.size[k]) * R.col(k);
  }
  // closest points of the two edges
  const Vector3d between = on_b - on_a;
  const double cosine = R(i, j), of_b = along_b.dot(between);
  const double s = (between[i] - cosine * of_b) / (1 - cosine * cosine), u = s * cosine - of_b;
  if (std::abs(s) > a.size[i] || std::abs(u) > b.size[j]) return false;
  on_a += s * along_a;
  on_b += u * along_b;
  const Vector3d n_W = a.X_WS.R * n;
  points->push_back({a.X_WS * Vector3d(0.5 * (on_a + on_b)), n_W, gap, KeyAlong(a, b, n_W)});
  return true;
}

// Largest overlap that is a sliver, relative to the smaller half length of two boxes.
constexpr double kSliver = 1e-3;

double CalcMedian(const Vector3d& x) {
  return std::max(std::min(x[0], x[1]), std::min(std::max(x[0], x[1]), x[2]));
}

}  // namespace

bool ManifoldBuilder::CollideBoxes(const ConvexBody& a, const ConvexBody& b, double margin,
                                   std::vector<ManifoldPoint>* points) {
  const Eigen::Matrix3d R = a.X_WS.R.transpose() * b.X_WS.R, spread = R.cwiseAbs();
  const Vector3d t = a.X_WS.R.transpose() * (b.X_WS.p - a.X_WS.p), t_B = R.transpose() * t;
  const Vector3d of_a = t.cwiseAbs() - a.size - spread * b.size;
  const Vector3d of_b = t_B.cwiseAbs() - b.size - spread.transpose() * a.size;
  int axis_a = 0, axis_b = 0;
  const double face_a = of_a.maxCoeff(&axis_a), face_b = of_b.maxCoeff(&axis_b);
  if (face_a >= margin || face_b >= margin) return true;
  // Two boxes have no clear direction of separation where they overlap by almost nothing along two
  // axes, or pass each other that closely. An edge there would stop a box that slides over the seam
  // of two others.
  const double sliver = kSliver * std::min(a.size.minCoeff(), b.size.minCoeff());
  const bool is_sliver = std::abs(CalcMedian(of_a)) < sliver || std::abs(CalcMedian(of_b)) < sliver;

  // edge–edge axes; nearly parallel edges separate the boxes no further than faces do
  double edges = -std::numeric_limits<double>::infinity();
  int edge_a = 0, edge_b = 0;
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const double squared = 1 - R(i, j) * R(i, j);
      if (squared < 1e-6) continue;
      const double reach = a.size[i1] * spread(i2, j) + a.size[i2] * spread(i1, j) +
                           b.size[j1] * spread(i, j2) + b.size[j2] * spread(i, j1);
      const double apart =
          (std::abs(t[i2] * R(i1, j) - t[i1] * R(i2, j)) - reach) / std::sqrt(squared);
      if (apart <= edges) continue;
      edges = apart;
      edge_a = i;
      edge_b = j;
    }
  }
  if (edges >= margin) return true;
  const double tolerance = 1e-7 * std::min(a.extent, b.extent);
  const double face = std::max(face_a, face_b);
  if (edges > face + tolerance) {
    const bool may_be_rim = face >= edges - kRimSlack * margin;
    if (!CollideBoxEdges(a, b, R, t, edge_a, edge_b, edges, may_be_rim, points)) return false;
    points->back().is_sliver = is_sliver;
    return true;
  }

  const bool use_a = face_a >= face_b - tolerance;
  const Vector3d n = use_a ? Vector3d((t[axis_a] < 0 ? -1 : 1) * a.X_WS.R.col(axis_a))
                           : Vector3d((t_B[axis_b] < 0 ? 1 : -1) * b.X_WS.R.col(axis_b));
  FindSupportFeature(use_a ? a : b, n, &reference_);
  FindSupportFeature(use_a ? b : a, -n, &incident_);
  const std::size_t first = points->size();
  const int dropped_before = points_dropped_;
  ClipToFace(reference_, incident_, use_a, 0, margin, points);
  // separated boxes may be nearest elsewhere than over the face
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t i = first; i < points->size(); ++i)
    nearest = std::min(nearest, (*points)[i].gap);
  if (nearest <= std::max(face, 0.0) + tolerance) {
    for (std::size_t i = first; is_sliver && i < points->size(); ++i) (*points)[i].is_sliver = true;
    return true;
  }
  points->resize(first);
  points_dropped_ = dropped_before;
  return false;
}

void ManifoldBuilder::CollideConvex(const ConvexBody& a, const ConvexBody& b, double margin,
                                    std::vector<ManifoldPoint>* points) {
  const auto is_box = [](const ConvexBody& body) {
    return body.kind == ConvexBody::Kind::kPolyhedron && body.size.x() > 0;
  };
  if (is_box(a) && is_box(b) && CollideBoxes(a, b, margin, points)) return;
  const double rounding = a.rounding + b.rounding;
  const ConvexDistance d = CalcConvexDistance(a, b, margin + rounding);
  if (d.separation - rounding >= margin) return;

  // a face's normal is exact and continuous through touching: use it wherever it is the direction
  // of separation
  const double scale =
      a.extent > 0 && b.extent > 0 ? std::min(a.extent, b.extent) : std::max(a.extent, b.extent);
  const double tolerance = 1e-7 * scale;
  const double min_separation = d.separation - std::max(tolerance, kRimSlack * margin);
  const BestFace of_a = FindBestFace(a, b, d.nhat_AB_W, d.p_B, min_separation);
  const BestFace of_b = FindBestFace(b, a, -d.nhat_AB_W, d.p_A, min_separation);
  // an edge almost parallel to a face is slightly better separated from an edge of the face's rim,
  // but that gives one contact, which jumps between its ends; the face gives both
  const auto separates = [&](const BestFace& face, double cosine) {
    return face.separation >= d.separation - tolerance ||
           (cosine > kAlongFace && face.separation >= d.separation - kRimSlack * margin);
  };
  const bool a_separates = separates(of_a, of_a.normal_W.dot(d.nhat_AB_W));
  const bool b_separates = separates(of_b, -of_b.normal_W.dot(d.nhat_AB_W));
  const bool use_a =
      a_separates && (!b_separates || of_a.separation >= of_b.separation - tolerance);
  const bool use_b = !use_a && b_separates;

  const std::size_t first = points->size();
  if (use_a || use_b) {
    const ConvexBody &owner = use_a ? a : b, &other = use_a ? b : a;
    const BestFace& face = use_a ? of_a : of_b;
    FindSupportFeature(owner, face.normal_W, &reference_);
    FindSupportFeature(other, -face.normal_W, &incident_);
    ClipToFace(reference_, incident_, use_a, other.rounding, margin, points);
    if (points->size() > first) return;
    ConvexDistance along = d;
    if (face.separation >= d.separation - tolerance) {
      along.nhat_AB_W = use_a ? face.normal_W : Vector3d(-face.normal_W);
      along.separation = face.separation;
    }
    if (along.separation - rounding < margin) points->push_back(Witness(a, b, along));
    return;
  }

  FindSupportFeature(a, d.nhat_AB_W, &reference_);
  FindSupportFeature(b, -d.nhat_AB_W, &incident_);
  if (CollideParallel(reference_, incident_, d.nhat_AB_W, rounding, margin, points)) {
    if (points->size() > first) return;
  }
  points->push_back(Witness(a, b, d));
}

void ManifoldBuilder::CollideWithPlane(const Vector3d& origin, const Vector3d& n,
                                       const ConvexBody& b, double margin,
                                       std::vector<ManifoldPoint>* points) {
  const std::size_t first = points->size();
  const auto add = [&](const Vector3d& p, std::uint32_t id) {
    const double height = n.dot(p - origin), gap = height - b.rounding;
    if (gap < margin)
      points->push_back({p - (height - 0.5 * gap) * n, n, gap, VertexKey(false, id)});
  };
  if (b.kind == ConvexBody::Kind::kPolyhedron) {
    // all vertices of downward faces, but not those of the far side of a thin plate
    const ConvexPolyhedron& polyhedron = *b.polyhedron;
    const Vector3d down = b.X_WS.R.transpose() * -n;
    is_downward_.assign(polyhedron.vertices.size(), 0);
    for (int f = 0; f < polyhedron.num_faces(); ++f) {
      if (polyhedron.normals[f].dot(down) < 1e-3) continue;
      for (int v : polyhedron.face(f)) is_downward_[v] = 1;
    }
    for (std::size_t v = 0; v < is_downward_.size(); ++v)
      if (is_downward_[v]) add(b.X_WS * polyhedron.vertices[v], static_cast<std::uint32_t>(v));
  } else {
    FindSupportFeature(b, -n, &incident_);
    for (std::size_t i = 0; i < incident_.points.size(); ++i)
      add(incident_.points[i], incident_.ids[i]);
  }
  points_dropped_ += ReduceManifold(first, kMaxPoints, points);
}

}  // namespace pliant::physics
