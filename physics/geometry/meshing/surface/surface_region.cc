#include "physics/geometry/meshing/surface/surface_region.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

#include "physics/geometry/meshing/divided_surface.h"
#include "solvers/linalg/parallel.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Distance of the probes on both sides of a triangle, relative to the surface's size.
constexpr double kBeside = 1e-6;
// Number of triangles of a closed surface that are probed for inner sheets.
constexpr int kMaxProbedTriangles = 4000;
constexpr int kBisections = 16;
// A ray meets an edge, or begins on a triangle, within these shares of the surface's size.
constexpr double kOnEdge = 1e-12, kOnTriangle = 1e-9;
// For nearest points, triangles are divided until edges are about twice the mean size of so many.
constexpr double kWantedPieces = 25000;
constexpr std::size_t kMaxMorePieces = 100000;

struct DirectedEdge {
  std::pair<int, int> ends;  // ascending
  int triangle;
  bool forward;
};

std::vector<DirectedEdge> SortDirectedEdges(const TriangleMesh& mesh) {
  std::vector<DirectedEdge> edges;
  edges.reserve(3 * mesh.triangles.size());
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    for (int e = 0; e < 3; ++e) {
      const int from = mesh.triangles[i][e], to = mesh.triangles[i][(e + 1) % 3];
      edges.push_back({std::minmax(from, to), static_cast<int>(i), from < to});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const DirectedEdge& a, const DirectedEdge& b) {
    return a.ends != b.ends ? a.ends < b.ends : a.triangle < b.triangle;
  });
  return edges;
}

Vector3d DoubleAreaNormal(const TriangleMesh& mesh, int i) {
  const auto& t = mesh.triangles[i];
  return (mesh.vertices[t[1]] - mesh.vertices[t[0]])
      .cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]);
}

Vector3d Centroid(const TriangleMesh& mesh, int i) {
  const auto& t = mesh.triangles[i];
  return (mesh.vertices[t[0]] + mesh.vertices[t[1]] + mesh.vertices[t[2]]) / 3;
}

// The neighbours of triangles over edges that exactly two triangles share.
struct Neighbors {
  struct Neighbor {
    int triangle;
    bool agrees;  // their sides face alike
  };
  std::vector<std::array<Neighbor, 3>> of;
  std::vector<int> count;     // of each triangle
  int open = 0, crowded = 0;  // edges of one triangle, and of more than two
};

Neighbors FindNeighbors(const TriangleMesh& mesh) {
  const std::vector<DirectedEdge> edges = SortDirectedEdges(mesh);
  Neighbors found;
  found.of.resize(mesh.triangles.size());
  found.count.assign(mesh.triangles.size(), 0);
  for (std::size_t begin = 0, end; begin < edges.size(); begin = end) {
    for (end = begin + 1; end < edges.size() && edges[end].ends == edges[begin].ends;) ++end;
    if (end - begin == 1) ++found.open;
    if (end - begin > 2) ++found.crowded;
    if (end - begin != 2) continue;
    const DirectedEdge &a = edges[begin], &b = edges[begin + 1];
    const bool agrees = a.forward != b.forward;
    found.of[a.triangle][found.count[a.triangle]++] = {b.triangle, agrees};
    found.of[b.triangle][found.count[b.triangle]++] = {a.triangle, agrees};
  }
  return found;
}

void Turn(int triangle, TriangleMesh* mesh) {
  std::swap(mesh->triangles[triangle][1], mesh->triangles[triangle][2]);
}

// Connected triangles.
struct Shell {
  std::vector<int> triangles;
  bool faced_inwards;  // as the majority of its triangles did
};

struct Shells {
  std::vector<Shell> all;
  int turned = 0;  // triangles that did not agree with the majority of their shell
  bool is_one_sided = false;
};

// Turns triangles so that each shell is consistent and encloses a positive volume.
Shells OrientShells(const Neighbors& neighbors, TriangleMesh* mesh) {
  const int n = static_cast<int>(mesh->triangles.size());
  Shells found;
  std::vector<int> turn(n, -1);  // −1: not reached yet
  for (int seed = 0; seed < n; ++seed) {
    if (turn[seed] >= 0) continue;
    turn[seed] = 0;
    std::vector<int> shell{seed};
    int turned = 0;
    for (std::size_t at = 0; at < shell.size(); ++at) {
      const int i = shell[at];
      if (turn[i] == 1) {
        Turn(i, mesh);
        ++turned;
      }
      for (int k = 0; k < neighbors.count[i]; ++k) {
        const auto [neighbor, agrees] = neighbors.of[i][k];
        const int expected = agrees ? turn[i] : 1 - turn[i];
        if (turn[neighbor] < 0) {
          turn[neighbor] = expected;
          shell.push_back(neighbor);
        } else if (turn[neighbor] != expected) {
          found.is_one_sided = true;
        }
      }
    }
    Vector3d origin = Vector3d::Zero();
    for (const int i : shell) origin += Centroid(*mesh, i);
    origin /= static_cast<double>(shell.size());
    double volume = 0;
    for (const int i : shell)
      volume += (Centroid(*mesh, i) - origin).dot(DoubleAreaNormal(*mesh, i));
    const int count = static_cast<int>(shell.size());
    if (volume < 0) {
      for (const int i : shell) Turn(i, mesh);
      turned = count - turned;
    }
    found.turned += std::min(turned, count - turned);
    found.all.push_back({std::move(shell), 2 * turned > count});
  }
  return found;
}

// Parameters at which a segment meets triangles of a tree, ascending.
std::vector<double> FindHits(const TriangleMesh& mesh, const TriangleBvh& bvh, const Vector3d& a,
                             const Vector3d& b) {
  std::vector<double> hits;
  AxisAlignedBox box;
  box.Include(a);
  box.Include(b);
  const Vector3d d = b - a;
  bvh.VisitOverlaps(box, [&](int i) {
    // Möller & Trumbore 1997, with a margin so that no segment slips between two triangles
    const auto& t = mesh.triangles[i];
    const Vector3d& o = mesh.vertices[t[0]];
    const Vector3d e1 = mesh.vertices[t[1]] - o, e2 = mesh.vertices[t[2]] - o, q = d.cross(e2);
    const double det = e1.dot(q);
    if (det == 0) return;
    const Vector3d s = a - o, r = s.cross(e1);
    const double u = s.dot(q) / det, v = d.dot(r) / det, at = e2.dot(r) / det;
    constexpr double kMargin = 1e-9;
    if (u >= -kMargin && v >= -kMargin && u + v <= 1 + kMargin && at >= 0 && at <= 1)
      hits.push_back(at);
  });
  std::sort(hits.begin(), hits.end());
  return hits;
}

}  // namespace

absl::StatusOr<SurfaceRegion> SurfaceRegion::Make(TriangleMesh mesh, bool with_distances) {
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    if (!mesh.vertices[i].allFinite())
      return absl::InvalidArgumentError(absl::StrCat("vertex ", i, " is not finite"));
  }
  std::size_t kept = 0;
  for (const auto& t : mesh.triangles) {
    for (const int v : t) {
      if (v < 0 || static_cast<std::size_t>(v) >= mesh.vertices.size())
        return absl::InvalidArgumentError(
            absl::StrCat("a triangle names vertex ", v, ", which does not exist"));
    }
    const Vector3d normal = (mesh.vertices[t[1]] - mesh.vertices[t[0]])
                                .cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]);
    if (normal.squaredNorm() > 0 && normal.allFinite()) mesh.triangles[kept++] = t;
  }
  mesh.triangles.resize(kept);
  if (kept == 0) return absl::InvalidArgumentError("the surface has no triangle with an area");

  SurfaceRegion region;
  region.mesh_ = std::move(mesh);
  region.Orient();
  if (absl::Status status = region.FindBoundary(); !status.ok()) return status;
  for (std::size_t i = 0; i < region.boundary_.triangles.size(); ++i)
    region.area_ += 0.5 * DoubleAreaNormal(region.boundary_, static_cast<int>(i)).norm();
  if (with_distances) region.PrepareNearest();
  return region;
}

void SurfaceRegion::Orient() {
  const Neighbors neighbors = FindNeighbors(mesh_);
  const Shells shells = OrientShells(neighbors, &mesh_);
  winding_ = std::make_unique<WindingNumber>(mesh_);
  all_bvh_ = std::make_shared<const TriangleBvh>(mesh_.triangles, PositionsOf(mesh_));

  // a shell that faced inwards and lies in another one is the wall of a cavity
  const double beside = kBeside * (all_bvh_->bounds().upper - all_bvh_->bounds().lower).norm();
  int inverted = 0;
  std::vector<const Shell*> cavities;
  for (const Shell& shell : shells.all) {
    if (!shell.faced_inwards) continue;
    int largest = shell.triangles[0];
    for (const int i : shell.triangles) {
      if (DoubleAreaNormal(mesh_, i).squaredNorm() > DoubleAreaNormal(mesh_, largest).squaredNorm())
        largest = i;
    }
    const Vector3d out =
        Centroid(mesh_, largest) + beside * DoubleAreaNormal(mesh_, largest).normalized();
    if (winding_->Calc(out) > 0.5) {
      cavities.push_back(&shell);
    } else {
      ++inverted;
    }
  }
  for (const Shell* cavity : cavities)
    for (const int i : cavity->triangles) Turn(i, &mesh_);
  if (!cavities.empty()) winding_ = std::make_unique<WindingNumber>(mesh_);

  const int open = neighbors.open, crowded = neighbors.crowded;
  closed_ = open == 0 && crowded == 0 && !shells.is_one_sided;
  if (open > 0)
    mends_.push_back(
        absl::StrCat("has ", open, " edges with one triangle; closed by winding number"));
  if (crowded > 0)
    mends_.push_back(
        absl::StrCat("has ", crowded,
                     " edges with more than two triangles; inside is where the winding "
                     "number is above a half"));
  if (shells.is_one_sided) mends_.push_back("is one-sided in part; closed by winding number");
  if (shells.turned > 0)
    mends_.push_back(
        absl::StrCat("turned ", shells.turned, " triangles to agree with their neighbours"));
  if (inverted > 0)
    mends_.push_back(inverted == 1 && shells.all.size() == 1
                         ? "turned inside out, because its triangles faced inwards"
                         : absl::StrCat("turned ", inverted, " of ", shells.all.size(),
                                        " shells that faced inwards"));
}

absl::Status SurfaceRegion::FindBoundary() {
  const int n = static_cast<int>(mesh_.triangles.size());
  const double beside = kBeside * (bounds().upper - bounds().lower).norm();
  std::vector<char> separates(n, 1);
  const auto probe = [&](int i) {
    const Vector3d center = Centroid(mesh_, i),
                   step = beside * DoubleAreaNormal(mesh_, i).normalized();
    separates[i] = IsInside(center - step) != IsInside(center + step);
  };
  // for a closed surface, a sample of triangles is enough, unless one of them is inside
  const int stride = closed_ ? std::max(1, n / kMaxProbedTriangles) : 1;
  solvers::ParallelFor(n / stride, 64, [&](int k) { probe(k * stride); });
  if (stride > 1 && std::find(separates.begin(), separates.end(), 0) != separates.end())
    solvers::ParallelFor(n, 64, probe);
  const auto within = std::count(separates.begin(), separates.end(), 0);
  if (within == n)
    return absl::InvalidArgumentError("the surface encloses nothing; expected one with an inside");
  // a few triangles of sound surfaces are thinner than the probe
  if (within > n / 500)
    mends_.push_back(
        absl::StrCat("meets or holds itself: ", within, " triangles within the body are left out"));
  boundary_ = mesh_;
  bvh_ = all_bvh_;
  patched_from_[0] = boundary_.vertices.size();
  patched_from_[1] = boundary_.triangles.size();
  if (within == 0) return absl::OkStatus();
  boundary_.triangles.clear();
  for (int i = 0; i < n; ++i)
    if (separates[i]) boundary_.triangles.push_back(mesh_.triangles[i]);
  patched_from_[1] = boundary_.triangles.size();
  bvh_ = std::make_shared<const TriangleBvh>(boundary_.triangles, PositionsOf(boundary_));
  return absl::OkStatus();
}

std::optional<int> SurfaceRegion::CountCrossings(const Vector3d& p) const {
  // the ray is parallel to the shortest side of the bounds, towards the nearer end
  const AxisAlignedBox& all = bounds();
  const Vector3d size = all.upper - all.lower;
  int z = 0;
  size.minCoeff(&z);
  const int x = (z + 1) % 3, y = (z + 2) % 3;
  const bool goes_up = all.upper[z] - p[z] < p[z] - all.lower[z];
  AxisAlignedBox ray;
  ray.Include(p);
  Vector3d end = p;
  end[z] = goes_up ? all.upper[z] : all.lower[z];
  ray.Include(end);
  const double length = size.maxCoeff();
  const double min_area = kOnEdge * length * length, min_height = kOnTriangle * length;
  int crossings = 0;
  bool is_certain = true;
  all_bvh_->VisitOverlaps(ray, [&](int i) {
    const Vector3d* corners[3];
    for (int k = 0; k < 3; ++k) corners[k] = &mesh_.vertices[mesh_.triangles[i][k]];
    // doubled areas of the parts of the triangle, seen along the ray from its end
    double areas[3], smallest = std::numeric_limits<double>::infinity(), largest = -smallest;
    for (int k = 0; k < 3; ++k) {
      const Vector3d &a = *corners[(k + 1) % 3], &b = *corners[(k + 2) % 3];
      areas[k] = (a[x] - p[x]) * (b[y] - p[y]) - (a[y] - p[y]) * (b[x] - p[x]);
      smallest = std::min(smallest, areas[k]);
      largest = std::max(largest, areas[k]);
    }
    if (smallest < -min_area && largest > min_area) return;  // beside it
    if (!(smallest > min_area || largest < -min_area)) {
      is_certain = false;
      return;
    }
    const double height =
        (areas[0] * (*corners[0])[z] + areas[1] * (*corners[1])[z] + areas[2] * (*corners[2])[z]) /
            (areas[0] + areas[1] + areas[2]) -
        p[z];
    if (std::abs(height) <= min_height) is_certain = false;
    if ((height > 0) == goes_up) crossings += (smallest > 0) == goes_up ? 1 : -1;
  });
  if (!is_certain) return std::nullopt;
  return crossings;
}

bool SurfaceRegion::IsInside(const Vector3d& p) const {
  if (closed_) {
    const AxisAlignedBox& all = bounds();
    if ((p.array() < all.lower.array()).any() || (p.array() > all.upper.array()).any())
      return false;
    if (const std::optional<int> crossings = CountCrossings(p)) return *crossings > 0;
  }
  return winding_->Calc(p) > 0.5;
}

SurfaceRegion::Exit SurfaceRegion::FindExit(const Vector3d& a, const Vector3d& b) const {
  const std::vector<double> hits = FindHits(mesh_, *all_bvh_, a, b);
  if (hits.size() == 1 && closed_) return {hits[0], false};
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const double next = i + 1 < hits.size() ? hits[i + 1] : 1;
    if (next - hits[i] < 1e-9 && i + 1 < hits.size()) continue;
    if (!IsInside(a + 0.5 * (hits[i] + next) * (b - a))) {
      // the segment may also have left earlier, through a hole
      const double last = i > 0 ? hits[i - 1] : 0;
      if (closed_ || IsInside(a + (0.5 * last + 0.5 * hits[i]) * (b - a))) return {hits[i], false};
      break;
    }
  }
  double inside = 0, outside = 1;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (inside + outside);
    (IsInside(a + middle * (b - a)) ? inside : outside) = middle;
  }
  const double t = 0.5 * (inside + outside);
  const bool at_hit =
      std::any_of(hits.begin(), hits.end(), [&](double hit) { return std::abs(hit - t) < 1e-3; });
  return {t, !at_hit};
}

Vector3d SurfaceRegion::Project(const Vector3d& p, double max_distance) const {
  const TriangleBvh::Nearest nearest =
      pieces_bvh_->FindNearest(PositionsOf(pieces_), p, max_distance);
  return nearest.triangle < 0 ? p : nearest.at.point;
}

Vector3d SurfaceRegion::Project(const Vector3d& p, double max_distance,
                                const Vector3d& known) const {
  // the boundary is no farther than the known point, up to rounding
  const double bound = 1.000001 * (p - known).norm();
  if (bound < max_distance) {
    const TriangleBvh::Nearest nearest = pieces_bvh_->FindNearest(PositionsOf(pieces_), p, bound);
    if (nearest.triangle >= 0) return nearest.at.point;
  }
  return Project(p, max_distance);
}

double SurfaceRegion::CalcDistance(const Vector3d& p) const {
  const TriangleBvh::Nearest nearest =
      pieces_bvh_->FindNearest(PositionsOf(pieces_), p, std::numeric_limits<double>::infinity());
  return std::sqrt(nearest.at.squared_distance);
}

double SurfaceRegion::CalcThickness(const Vector3d& p, const Vector3d& outward_normal,
                                    double max_distance) const {
  const double least = 1e-4 * max_distance;
  const Vector3d a = p - least * outward_normal, b = p - max_distance * outward_normal;
  const std::vector<double> hits = FindHits(boundary_, *bvh_, a, b);
  return hits.empty() ? max_distance : least + hits[0] * (max_distance - least);
}

void SurfaceRegion::Patch(const std::vector<std::array<Vector3d, 3>>& triangles) {
  const bool is_patched = boundary_.triangles.size() > patched_from_[1];
  if (triangles.empty() && !is_patched) return;
  boundary_.vertices.resize(patched_from_[0]);
  boundary_.triangles.resize(patched_from_[1]);
  for (const auto& corners : triangles) {
    const int first = static_cast<int>(boundary_.vertices.size());
    for (const Vector3d& corner : corners) boundary_.vertices.push_back(corner);
    boundary_.triangles.push_back({first, first + 1, first + 2});
  }
  bvh_ = std::make_shared<const TriangleBvh>(boundary_.triangles, PositionsOf(boundary_));
  PrepareNearest();
}

void SurfaceRegion::PrepareNearest() {
  const double n = static_cast<double>(boundary_.triangles.size());
  const double longest = 2 * std::sqrt(area_ / std::max(n, kWantedPieces));
  pieces_ = DivideLongEdges(boundary_, longest, boundary_.triangles.size() + kMaxMorePieces).mesh;
  pieces_bvh_ = pieces_.triangles.size() == boundary_.triangles.size()
                    ? bvh_
                    : std::make_shared<const TriangleBvh>(pieces_.triangles, PositionsOf(pieces_));
}

}  // namespace pliant::physics
