#include "physics/geometry/convex_distance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "physics/geometry/closest_points.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A point w = a − b of the Minkowski difference, with its points on the two bodies.
struct Vertex {
  Vector3d w, a, b;
};

Vertex FindVertex(const ConvexBody& a, const ConvexBody& b, const Vector3d& d) {
  const Vector3d p_A = a.FindSupport(d), p_B = b.FindSupport(-d);
  return {p_A - p_B, p_A, p_B};
}

// Up to four vertices, and the weights of their point nearest to the origin.
struct Simplex {
  std::array<Vertex, 4> vertices;
  std::array<double, 4> weights{};
  int size = 0;

  Vector3d Combine(Vector3d Vertex::*part) const {
    Vector3d sum = Vector3d::Zero();
    for (int i = 0; i < size; ++i) sum += weights[i] * (vertices[i].*part);
    return sum;
  }

  // Drops vertices without weight.
  void Shrink() {
    int kept = 0;
    for (int i = 0; i < size; ++i) {
      if (weights[i] <= 0) continue;
      vertices[kept] = vertices[i];
      weights[kept++] = weights[i];
    }
    size = kept;
  }
};

void WeighSegment(Simplex* s) {
  const Vector3d ab = s->vertices[1].w - s->vertices[0].w;
  const double length2 = ab.squaredNorm();
  const double t = length2 > 0 ? std::clamp(-s->vertices[0].w.dot(ab) / length2, 0.0, 1.0) : 0;
  s->weights = {1 - t, t, 0, 0};
}

void WeighTriangle(Simplex* s) {
  const TrianglePoint at = FindClosestPointOnTriangle(Vector3d::Zero(), s->vertices[0].w,
                                                      s->vertices[1].w, s->vertices[2].w);
  s->weights = {at.weights[0], at.weights[1], at.weights[2], 0};
}

// Returns whether the origin is inside; if not, sets the weights of the point nearest to it.
bool WeighTetrahedron(Simplex* s) {
  static constexpr int kFaces[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
  bool is_inside = true;
  double best = std::numeric_limits<double>::infinity();
  std::array<double, 4> weights{};
  for (const auto& f : kFaces) {
    const Vector3d &a = s->vertices[f[0]].w, &b = s->vertices[f[1]].w, &c = s->vertices[f[2]].w;
    const Vector3d n = (b - a).cross(c - a), d = s->vertices[f[3]].w - a;
    const double of_origin = -n.dot(a), of_fourth = n.dot(d);
    // a flat tetrahedron has no inside, whatever the signs of round-off
    const bool is_flat = of_fourth * of_fourth <= 1e-24 * n.squaredNorm() * d.squaredNorm();
    if (!is_flat && of_origin * of_fourth > 0) continue;
    is_inside = false;
    const TrianglePoint at = FindClosestPointOnTriangle(Vector3d::Zero(), a, b, c);
    if (at.squared_distance >= best) continue;
    best = at.squared_distance;
    weights = {};
    for (int i = 0; i < 3; ++i) weights[f[i]] = at.weights[i];
  }
  if (!is_inside) s->weights = weights;
  return is_inside;
}

// Distance of separate cores; nullopt if they overlap or are nearer than `touching`.
std::optional<ConvexDistance> FindDistance(const ConvexBody& a, const ConvexBody& b,
                                           double touching, double at_most) {
  Simplex simplex;
  Vector3d direction = b.X_WS.p - a.X_WS.p;
  if (direction.squaredNorm() < 1e-30) direction = Vector3d::UnitX();
  simplex.vertices[0] = FindVertex(a, b, direction);
  simplex.weights[0] = 1;
  simplex.size = 1;
  Vector3d nearest = simplex.vertices[0].w;
  for (int iteration = 0; iteration < 128; ++iteration) {
    const double squared = nearest.squaredNorm();
    if (squared <= touching * touching) return std::nullopt;
    const Vertex vertex = FindVertex(a, b, -nearest);

    // no point of the difference is nearer than this plane
    const double bound = nearest.dot(vertex.w);
    if (bound > 0 && bound * bound > squared * at_most * at_most) break;
    if (squared - bound <= 1e-14 * squared) break;
    bool is_known = false;
    for (int i = 0; i < simplex.size; ++i) is_known |= simplex.vertices[i].w == vertex.w;
    if (is_known) break;

    const Simplex last = simplex;
    simplex.vertices[simplex.size++] = vertex;
    if (simplex.size == 2) WeighSegment(&simplex);
    if (simplex.size == 3) WeighTriangle(&simplex);
    if (simplex.size == 4 && WeighTetrahedron(&simplex)) return std::nullopt;
    simplex.Shrink();
    const Vector3d next = simplex.Combine(&Vertex::w);
    // round-off prevents further progress
    if (!(next.squaredNorm() < squared)) {
      simplex = last;
      break;
    }
    nearest = next;
  }
  const double distance = std::sqrt(nearest.squaredNorm());
  return ConvexDistance{-nearest / distance, distance, simplex.Combine(&Vertex::a),
                        simplex.Combine(&Vertex::b)};
}

// A convex polytope of triangles inside the Minkowski difference, expanded where it is nearest to
// the origin.
class ExpandingPolytope {
 public:
  ExpandingPolytope(const ConvexBody& a, const ConvexBody& b, double size)
      : a_(a), b_(b), size_(size) {}

  ConvexDistance Expand() {
    if (!StartFromTetrahedron()) return flat_;
    int best = FindLowest();
    while (num_vertices_ < kMaxVertices) {
      const Vertex vertex = FindVertex(a_, b_, faces_[best].n);
      const double gain = faces_[best].n.dot(vertex.w) - faces_[best].offset;
      if (gain <= 1e-10 * size_ || !Add(vertex)) break;
      best = FindLowest();
    }
    return Report(best);
  }

 private:
  static constexpr int kMaxVertices = 128;
  // room for replaced and new faces together, while a vertex is added
  static constexpr int kMaxFaces = 4 * kMaxVertices;

  struct Face {
    int v[3];
    Vector3d n;
    double offset;
  };

  // Finds four support points that span a volume; false if the difference is flat, with the result
  // in flat_.
  bool StartFromTetrahedron() {
    const double flat = 1e-9 * size_;
    vertices_[0] = FindVertex(a_, b_, Vector3d::UnitX());
    vertices_[1] =
        FindFurthest({Vector3d::UnitX(), Vector3d::UnitY(), Vector3d::UnitZ()},
                     [&](const Vector3d& w) { return (w - vertices_[0].w).squaredNorm(); });
    const Vector3d line = vertices_[1].w - vertices_[0].w;
    const double length = std::sqrt(line.squaredNorm());
    if (length <= flat) return Flat(Vector3d::UnitZ());
    const Vector3d u = line / length;
    int least = 0;
    u.cwiseAbs().minCoeff(&least);
    const Vector3d v = u.cross(Vector3d::Unit(least)).normalized(), w = u.cross(v);
    vertices_[2] = FindFurthest({v, w, v + w}, [&](const Vector3d& x) {
      return (x - vertices_[0].w).cross(u).squaredNorm();
    });
    Vector3d n = line.cross(vertices_[2].w - vertices_[0].w);
    const double area = std::sqrt(n.squaredNorm());
    if (area <= flat * length) return Flat(v);
    n /= area;
    vertices_[3] = FindFurthest(
        {n, n, n}, [&](const Vector3d& x) { return std::abs(n.dot(x - vertices_[0].w)); });
    const double height = n.dot(vertices_[3].w - vertices_[0].w);
    if (std::abs(height) <= flat) return Flat(n);
    if (height > 0) std::swap(vertices_[1], vertices_[2]);
    num_vertices_ = 4;
    num_faces_ = 0;
    return AddFace(0, 1, 2) && AddFace(0, 3, 1) && AddFace(1, 3, 2) && AddFace(2, 3, 0);
  }

  template <typename Measure>
  Vertex FindFurthest(const std::array<Vector3d, 3>& directions, const Measure& measure) const {
    Vertex best;
    double most = -1;
    for (const Vector3d& d : directions)
      for (double sign : {1.0, -1.0}) {
        const Vertex vertex = FindVertex(a_, b_, sign * d);
        const double here = measure(vertex.w);
        if (here > most) {
          most = here;
          best = vertex;
        }
      }
    return best;
  }

  bool Flat(const Vector3d& n) {
    // of the two sides, take the one with the larger separation
    const double along = CalcSeparation(a_, b_, n), against = CalcSeparation(a_, b_, -n);
    const Vector3d chosen = along >= against ? n : Vector3d(-n);
    const Vertex vertex = FindVertex(a_, b_, chosen);
    flat_ = {chosen, std::max(along, against), vertex.a, vertex.b};
    return false;
  }

  bool AddFace(int i, int j, int k) {
    Face face{
        {i, j, k}, (vertices_[j].w - vertices_[i].w).cross(vertices_[k].w - vertices_[i].w), 0};
    const double area = std::sqrt(face.n.squaredNorm());
    if (!(area > 1e-18 * size_ * size_) || num_faces_ == kMaxFaces) return false;
    face.n /= area;
    face.offset = std::max(
        {face.n.dot(vertices_[i].w), face.n.dot(vertices_[j].w), face.n.dot(vertices_[k].w)});
    faces_[num_faces_++] = face;
    return true;
  }

  int FindLowest() const {
    int lowest = 0;
    for (int f = 1; f < num_faces_; ++f)
      if (faces_[f].offset < faces_[lowest].offset) lowest = f;
    return lowest;
  }

  // Replaces the faces that see the vertex by a fan around it. Returns false, and changes nothing,
  // if that would degenerate.
  bool Add(const Vertex& vertex) {
    const auto sees = [&](const Face& face) {
      return face.n.dot(vertex.w) - face.offset > 1e-13 * size_;
    };
    int num_horizon = 0, num_seen = 0;
    for (int f = 0; f < num_faces_; ++f) {
      if (!sees(faces_[f])) continue;
      ++num_seen;
      // an edge between two replaced faces is not on the horizon
      for (int e = 0; e < 3; ++e) {
        const int from = faces_[f].v[e], to = faces_[f].v[(e + 1) % 3];
        int twin = 0;
        while (twin < num_horizon && !(horizon_[twin].from == to && horizon_[twin].to == from))
          ++twin;
        if (twin < num_horizon) {
          horizon_[twin] = horizon_[--num_horizon];
        } else {
          horizon_[num_horizon++] = {from, to};
        }
      }
    }
    vertices_[num_vertices_] = vertex;
    const int num_before = num_faces_;
    bool is_sound = num_horizon >= 3 && num_seen < num_before;
    for (int e = 0; is_sound && e < num_horizon; ++e)
      is_sound = AddFace(horizon_[e].from, horizon_[e].to, num_vertices_);
    if (!is_sound) {
      num_faces_ = num_before;
      return false;
    }
    // remove the replaced faces
    int kept = 0;
    for (int f = 0; f < num_faces_; ++f) {
      if (f < num_before && sees(faces_[f])) continue;
      if (kept != f) faces_[kept] = faces_[f];
      ++kept;
    }
    num_faces_ = kept;
    ++num_vertices_;
    return true;
  }

  // Reports the separation of the lowest face. Where two edges cross, or faces meet, several faces
  // are equally low, and the touching points lie on the one nearest to the origin.
  ConvexDistance Report(int lowest) const {
    const double same = faces_[lowest].offset + 1e-9 * size_;
    int chosen = lowest;
    TrianglePoint at = FindNearestPoint(faces_[lowest]);
    for (int f = 0; f < num_faces_; ++f) {
      if (f == lowest || faces_[f].offset > same) continue;
      const TrianglePoint here = FindNearestPoint(faces_[f]);
      if (here.squared_distance >= at.squared_distance) continue;
      at = here;
      chosen = f;
    }
    const auto combine = [&](Vector3d Vertex::*part) {
      Vector3d sum = Vector3d::Zero();
      for (int i = 0; i < 3; ++i) sum += at.weights[i] * (vertices_[faces_[chosen].v[i]].*part);
      return sum;
    };
    const Face& face = faces_[lowest];
    return {face.n, -face.offset, combine(&Vertex::a), combine(&Vertex::b)};
  }

  TrianglePoint FindNearestPoint(const Face& face) const {
    return FindClosestPointOnTriangle(Vector3d::Zero(), vertices_[face.v[0]].w,
                                      vertices_[face.v[1]].w, vertices_[face.v[2]].w);
  }

  const ConvexBody& a_;
  const ConvexBody& b_;
  const double size_;
  std::array<Vertex, kMaxVertices + 1> vertices_;
  std::array<Face, kMaxFaces> faces_;
  struct {
    int from, to;
  } horizon_[3 * kMaxFaces];
  int num_vertices_ = 0, num_faces_ = 0;
  ConvexDistance flat_{};
};

bool IsSmooth(const ConvexBody& body) {
  return body.kind == ConvexBody::Kind::kCylinder || body.kind == ConvexBody::Kind::kEllipsoid;
}

}  // namespace

Vector3d ConvexBody::FindSupport(const Vector3d& d_W) const {
  const Vector3d d = X_WS.R.transpose() * d_W;
  Vector3d p = Vector3d::Zero();
  switch (kind) {
    case Kind::kPoint:
      break;
    case Kind::kSegment:
      p.z() = d.z() < 0 ? -size.z() : size.z();
      break;
    case Kind::kPolyhedron: {
      if (size.x() > 0) {
        // a box
        for (int i = 0; i < 3; ++i) p[i] = d[i] < 0 ? -size[i] : size[i];
        break;
      }
      p = polyhedron->vertices[polyhedron->FindSupport(d)];
      break;
    }
    case Kind::kCylinder: {
      const double rho = std::sqrt(d.x() * d.x() + d.y() * d.y());
      if (rho > 1e-150) p = Vector3d(size.x() * d.x() / rho, size.x() * d.y() / rho, 0);
      p.z() = d.z() < 0 ? -size.z() : size.z();
      break;
    }
    case Kind::kEllipsoid: {
      const Vector3d scaled = size.cwiseProduct(d);
      const double norm = std::sqrt(scaled.squaredNorm());
      p = norm > 1e-150 ? Vector3d(size.cwiseProduct(scaled) / norm) : Vector3d(0, 0, size.z());
      break;
    }
  }
  return X_WS * p;
}

double CalcSeparation(const ConvexBody& a, const ConvexBody& b, const Vector3d& n) {
  return n.dot(b.FindSupport(-n) - a.FindSupport(n));
}

ConvexDistance CalcConvexDistance(const ConvexBody& a, const ConvexBody& b, double at_most) {
  const double size = a.extent + b.extent;
  const double least = std::min(std::max(a.extent, 1e-6 * size), std::max(b.extent, 1e-6 * size));
  const auto apart = FindDistance(a, b, 1e-3 * least, at_most);
  if (apart && (apart->separation > at_most || !(IsSmooth(a) || IsSmooth(b)))) return *apart;
  ConvexDistance d = apart ? *apart : ExpandingPolytope(a, b, size).Expand();

  // near touching, the offset is lost in round-off, and the polytope gives poor touching points for
  // large faces. Moved apart along the direction found, the bodies touch at the same points and
  // yield a better direction: repeat while it separates them further
  d.separation = CalcSeparation(a, b, d.nhat_AB_W);
  for (int round = 0; round < 4; ++round) {
    const Vector3d shift = (0.3 * least - d.separation) * d.nhat_AB_W;
    ConvexBody parted = b;
    parted.X_WS.p += shift;
    const auto moved = FindDistance(a, parted, 0, 10 * size);
    if (!moved) break;
    const double separation = CalcSeparation(a, b, moved->nhat_AB_W);
    const bool is_better = separation > d.separation;
    if (is_better || round == 0) {
      d.p_A = moved->p_A;
      d.p_B = moved->p_B - shift;
    }
    if (!is_better) break;
    d.nhat_AB_W = moved->nhat_AB_W;
    d.separation = separation;
  }
  return d;
}

}  // namespace pliant::physics
