#include "physics/geometry/meshing/surface/mesh_improvement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include <Eigen/Geometry>

#include "physics/geometry/meshing/tetrahedron_quality.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A change must raise the worst sine by this much.
constexpr double kMinGain = 1e-3;
constexpr int kMaxRing = 7;
// A boundary edge is flipped only if the cosines between the normals of old and new triangles are
// above this.
constexpr double kFlatCosine = 0.95;
// A search ends after this many rounds, or when its steps have been halved so often.
constexpr int kSearchRounds = 10, kSearchHalvings = 4;
constexpr int kReportInterval = 2000;

class Improver {
 public:
  Improver(const ImprovementInput& input, double target, TetrahedralMesh* mesh)
      : input_(input),
        target_(target),
        x_(mesh->vertices),
        tetrahedra_(mesh->tetrahedra),
        stars_(mesh->vertices.size()),
        changed_(mesh->vertices.size(), 0),
        smoothed_(mesh->vertices.size(), -1) {
    quality_.reserve(tetrahedra_.size());
    for (std::size_t t = 0; t < tetrahedra_.size(); ++t) {
      quality_.push_back(Quality(tetrahedra_[t]));
      for (const int v : tetrahedra_[t]) stars_[v].push_back(static_cast<int>(t));
    }
  }

  bool Run(int passes) {
    for (int pass = 0; pass < passes; ++pass) {
      std::vector<std::pair<double, int>> bad;
      for (std::size_t t = 0; t < tetrahedra_.size(); ++t)
        if (IsAlive(t) && quality_[t] < target_) bad.emplace_back(quality_[t], t);
      std::sort(bad.begin(), bad.end());
      int improved = 0;
      for (std::size_t i = 0; i < bad.size(); ++i) {
        if (i % kReportInterval == 0 && input_.goes_on) {
          const double part = static_cast<double>(i) / static_cast<double>(bad.size());
          if (!input_.goes_on((pass + part) / passes)) return false;
        }
        const int t = bad[i].second;
        if (!IsAlive(t) || !(quality_[t] < target_)) continue;
        // a failed treatment fails again until a vertex around the tetrahedron changes; the first
        // pass omits some treatments
        if (treated_.size() < tetrahedra_.size()) treated_.resize(tetrahedra_.size(), -1);
        if (!HasChangedAround(t)) continue;
        const bool helped = Treat(t, pass);
        improved += helped;
        if (!helped && pass > 0) treated_[t] = clock_;
      }
      if (improved == 0) break;
    }
    std::size_t kept = 0;
    for (std::size_t t = 0; t < tetrahedra_.size(); ++t)
      if (IsAlive(t)) tetrahedra_[kept++] = tetrahedra_[t];
    tetrahedra_.resize(kept);
    return true;
  }

 private:
  bool IsAlive(std::size_t t) const { return tetrahedra_[t][0] >= 0; }
  double Quality(int a, int b, int c, int d) const {
    return CalcMinDihedralSine(x_[a], x_[b], x_[c], x_[d]);
  }
  double Quality(const std::array<int, 4>& t) const { return Quality(t[0], t[1], t[2], t[3]); }
  bool OnBoundary(int v) const { return input_.motion[v] != VertexMotion::kFree; }
  bool Holds(int t, int v) const {
    const auto& c = tetrahedra_[t];
    return c[0] == v || c[1] == v || c[2] == v || c[3] == v;
  }

  // Tries all treatments of a tetrahedron until one helps.
  bool Treat(int t, int pass) {
    const std::array<int, 4> corners = tetrahedra_[t];
    bool any = false;
    for (const int v : corners) any |= Smooth(v);
    if (quality_[t] >= target_) return true;
    if (!(quality_[t] > 0)) return any;  // topological changes need a positive tetrahedron
    for (int i = 0; i < 4; ++i) {
      for (int j = i + 1; j < 4; ++j)
        if (RemoveEdge(corners[i], corners[j])) return true;
    }
    for (int omitted = 0; omitted < 4; ++omitted)
      if (SwapFace(t, omitted)) return true;
    if (pass == 0) return any;  // no coarsening in the first pass
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j)
        if (i != j && Collapse(corners[i], corners[j])) return true;
    }
    return any;
  }

  // True if a vertex joined to a corner of tetrahedron t has changed since all treatments of t
  // failed. Treatments depend on no other vertices.
  bool HasChangedAround(int t) const {
    if (treated_[t] < 0) return true;
    for (const int v : tetrahedra_[t])
      if (HasChangedSince(v, treated_[t])) return true;
    return false;
  }
  // True if v or a vertex joined to it has moved, or gained or lost tetrahedra.
  bool HasChangedSince(int v, std::int64_t time) const {
    for (const int t : stars_[v])
      for (const int w : tetrahedra_[t])
        if (changed_[w] > time) return true;
    return false;
  }

  // Quality of the worst tetrahedron around v, or of any that is not better than `limit`. Tests
  // `*first` first, and sets it to that tetrahedron.
  double WorstAround(int v, double limit, int* first) const {
    double worst = *first >= 0 ? Quality(tetrahedra_[*first]) : 1;
    for (const int t : stars_[v]) {
      if (!(worst > limit)) break;
      const double quality = Quality(tetrahedra_[t]);
      if (!(quality < worst)) continue;
      worst = quality;
      *first = t;
    }
    return worst;
  }

  // Pattern search for the place where the worst tetrahedron around a vertex is best.
  bool Smooth(int v) {
    const VertexMotion motion = input_.motion[v];
    if (motion == VertexMotion::kFixed || stars_[v].empty()) return false;
    if (smoothed_[v] >= 0 && !HasChangedSince(v, smoothed_[v])) return false;
    double worst = 1, size = 0;
    Vector3d mean = Vector3d::Zero();
    int count = 0;
    for (const int t : stars_[v]) {
      worst = std::min(worst, quality_[t]);
      for (const int w : tetrahedra_[t]) {
        if (w == v) continue;
        // a boundary vertex moves along the boundary
        if (motion != VertexMotion::kFree && !OnBoundary(w)) continue;
        mean += x_[w];
        size += (x_[w] - x_[v]).norm();
        ++count;
      }
    }
    if (count == 0) return false;
    mean /= count;
    size /= count;
    const double before = worst;
    const Vector3d from = x_[v];
    Vector3d best = from;
    int limiting = -1;
    const auto attempt = [&](const Vector3d& place) {
      x_[v] = motion == VertexMotion::kFree ? place : input_.project(v, place);
      const double found = WorstAround(v, worst + 1e-4, &limiting);
      if (found > worst + 1e-4) {
        worst = found;
        best = x_[v];
        return true;
      }
      x_[v] = best;
      return false;
    };
    if (!attempt(mean)) attempt(0.5 * (from + mean));
    double step = 0.25 * size;
    int halvings = 0;
    for (int round = 0; round < kSearchRounds && halvings < kSearchHalvings && worst < target_;
         ++round) {
      // along the normal of the opposite face in the worst tetrahedron, then along the axes
      bool moved = false;
      const int t = WorstTetrahedron(v);
      if (t >= 0) {
        Vector3d up = FaceNormal(t, v);
        moved = attempt(best + step * up) || attempt(best - step * up);
      }
      for (int axis = 0; axis < 3 && !moved; ++axis) {
        const Vector3d offset = step * Vector3d::Unit(axis);
        moved = attempt(best + offset) || attempt(best - offset);
      }
      if (moved) continue;
      step *= 0.5;
      ++halvings;
    }
    x_[v] = best;
    if (!(worst > before + kMinGain)) {
      x_[v] = from;
      smoothed_[v] = clock_;
      return false;
    }
    changed_[v] = ++clock_;
    for (const int t : stars_[v]) quality_[t] = Quality(tetrahedra_[t]);
    return true;
  }

  int WorstTetrahedron(int v) const {
    double worst = 2;
    int found = -1;
    for (const int t : stars_[v]) {
      const double quality = Quality(tetrahedra_[t]);
      if (quality < worst) {
        worst = quality;
        found = t;
      }
    }
    return found;
  }

  // Unit normal of the face opposite to v, towards v in a positive tetrahedron.
  Vector3d FaceNormal(int t, int v) const {
    std::array<int, 4> c = tetrahedra_[t];
    // an even permutation that brings v to the end
    const auto at = std::find(c.begin(), c.end(), v) - c.begin();
    if (at != 3) {
      std::swap(c[at], c[3]);
      std::swap(c[0], c[1]);
    }
    const Vector3d normal = (x_[c[1]] - x_[c[0]]).cross(x_[c[2]] - x_[c[0]]);
    const double norm = normal.norm();
    return norm > 0 ? Vector3d(normal / norm) : Vector3d(Vector3d::UnitX());
  }

  bool IsKept(int a, int b) const {
    const auto [low, high] = std::minmax(a, b);
    return std::binary_search(input_.kept_edges.begin(), input_.kept_edges.end(),
                              std::array<int, 2>{low, high});
  }

  // True if every face of the fresh tetrahedra would still have at most two. Among inverted
  // tetrahedra, positive ones can be in each other's way.
  bool KeepsFaces(const std::vector<int>& old, const std::vector<std::array<int, 4>>& fresh) const {
    const auto holds = [](const std::array<int, 4>& t, int v) {
      return std::find(t.begin(), t.end(), v) != t.end();
    };
    for (const auto& t : fresh) {
      for (int omitted = 0; omitted < 4; ++omitted) {
        const int a = t[(omitted + 1) % 4], b = t[(omitted + 2) % 4], c = t[(omitted + 3) % 4];
        int count = 0;
        for (const auto& other : fresh)
          count += holds(other, a) && holds(other, b) && holds(other, c);
        for (const int other : stars_[a]) {
          count += Holds(other, b) && Holds(other, c) &&
                   std::find(old.begin(), old.end(), other) == old.end();
        }
        if (count > 2) return false;
      }
    }
    return true;
  }

  void Replace(const std::vector<int>& old, const std::vector<std::array<int, 4>>& fresh) {
    ++clock_;
    for (const int t : old) {
      for (const int v : tetrahedra_[t]) {
        std::erase(stars_[v], t);
        changed_[v] = clock_;
      }
      tetrahedra_[t][0] = -1;
    }
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      int t;
      if (i < old.size()) {
        t = old[i];
        tetrahedra_[t] = fresh[i];
        quality_[t] = Quality(fresh[i]);
      } else {
        t = static_cast<int>(tetrahedra_.size());
        tetrahedra_.push_back(fresh[i]);
        quality_.push_back(Quality(fresh[i]));
      }
      if (static_cast<std::size_t>(t) < treated_.size()) treated_[t] = -1;
      for (const int v : fresh[i]) {
        stars_[v].push_back(t);
        changed_[v] = clock_;
      }
    }
  }

  // Replaces the tetrahedra around an edge by ones on both sides of a triangulated ring.
  bool RemoveEdge(int a, int b) {
    std::array<int, kMaxRing> around{};
    std::array<std::array<int, 2>, kMaxRing> links{};  // ring edge of each, anticlockwise from b
    int count = 0;
    double before = 1;
    for (const int t : stars_[a]) {
      if (!Holds(t, b)) continue;
      if (count == kMaxRing) return false;
      std::array<int, 2> link{};
      std::array<int, 4> c = tetrahedra_[t];
      // an even permutation to (a, b, ·, ·)
      for (int i = 0; i < 2; ++i) {
        const int wanted = i == 0 ? a : b;
        const auto at = std::find(c.begin(), c.end(), wanted) - c.begin();
        if (at != i) {
          std::swap(c[at], c[i]);
          std::swap(c[2], c[3]);
        }
      }
      link = {c[2], c[3]};
      around[count] = t;
      links[count++] = link;
      before = std::min(before, quality_[t]);
    }
    if (count < 2 || !(before > 0)) return false;

    // order the links to a ring, open for a boundary edge
    std::array<int, kMaxRing + 1> ring{};
    int start = 0;
    bool closed = true;
    for (int i = 0; i < count; ++i) {
      const bool has_previous =
          std::any_of(links.begin(), links.begin() + count,
                      [&](const std::array<int, 2>& link) { return link[1] == links[i][0]; });
      if (has_previous) continue;
      if (!closed) return false;  // two fans
      closed = false;
      start = i;
    }
    int size = 0, at = start;
    ring[size++] = links[at][0];
    for (int step = 0; step + 1 < count; ++step) {
      int next = -1;
      for (int i = 0; i < count; ++i)
        if (links[i][0] == links[at][1]) next = i;
      if (next < 0 || next == start) return false;
      at = next;
      ring[size++] = links[at][0];
    }
    if (closed) {
      if (links[at][1] != ring[0] || size < 3) return false;
    } else {
      ring[size++] = links[at][1];
      if (size < 3 || !MayFlip(a, b, ring[0], ring[size - 1])) return false;
    }

    // best triangulation of the ring, Klincsek 1980: value[i][j] of the part from i to j
    double value[kMaxRing + 1][kMaxRing + 1];
    int apex[kMaxRing + 1][kMaxRing + 1] = {};
    for (int i = 0; i < size; ++i)
      for (int j = i; j < size; ++j) value[i][j] = 1;
    for (int span = 2; span < size; ++span) {
      for (int i = 0; i + span < size; ++i) {
        const int j = i + span;
        value[i][j] = -2;
        apex[i][j] = -1;
        for (int k = i + 1; k < j; ++k) {
          double worst = std::min(value[i][k], value[k][j]);
          if (worst <= std::max(value[i][j], before)) continue;
          worst = std::min(worst, Quality(ring[i], ring[k], ring[j], b));
          if (worst <= std::max(value[i][j], before)) continue;
          worst = std::min(worst, Quality(ring[i], ring[j], ring[k], a));
          if (worst <= value[i][j]) continue;
          value[i][j] = worst;
          apex[i][j] = k;
        }
      }
    }
    if (!(value[0][size - 1] > before + kMinGain)) return false;
    std::vector<std::array<int, 4>> fresh;
    std::vector<std::pair<int, int>> parts = {{0, size - 1}};
    while (!parts.empty()) {
      const auto [i, j] = parts.back();
      parts.pop_back();
      if (j - i < 2) continue;
      const int k = apex[i][j];
      fresh.push_back({ring[i], ring[k], ring[j], b});
      fresh.push_back({ring[i], ring[j], ring[k], a});
      parts.emplace_back(i, k);
      parts.emplace_back(k, j);
    }
    const std::vector<int> old(around.begin(), around.begin() + count);
    if (!KeepsFaces(old, fresh)) return false;
    Replace(old, fresh);
    return true;
  }

  bool AreJoined(int a, int b) const {
    return std::any_of(stars_[a].begin(), stars_[a].end(), [&](int t) { return Holds(t, b); });
  }

  Vector3d UnitNormal(int a, int b, int c) const {
    return (x_[b] - x_[a]).cross(x_[c] - x_[a]).normalized();
  }

  // True if boundary triangles (a, c, b) and (a, b, d) may become (a, c, d) and (b, d, c): the
  // surface is nearly flat there and no sharp edge is lost.
  bool MayFlip(int a, int b, int c, int d) const {
    if (IsKept(a, b) || AreJoined(c, d)) return false;
    const Vector3d old_c = UnitNormal(a, c, b), old_d = UnitNormal(a, b, d);
    const Vector3d new_a = UnitNormal(a, c, d), new_b = UnitNormal(b, d, c);
    return old_c.dot(old_d) > kFlatCosine && new_a.dot(new_b) > kFlatCosine &&
           new_a.dot(old_c) > kFlatCosine && new_b.dot(old_d) > kFlatCosine;
  }

  // Replaces the two tetrahedra on a face by three around the edge between their other corners.
  bool SwapFace(int t, int omitted) {
    std::array<int, 4> c = tetrahedra_[t];
    if (omitted != 3) {
      std::swap(c[omitted], c[3]);
      std::swap(c[0], c[1]);
    }
    int other = -1;
    for (const int s : stars_[c[0]])
      if (s != t && Holds(s, c[1]) && Holds(s, c[2])) other = s;
    if (other < 0) return false;
    int top = -1;
    for (const int v : tetrahedra_[other])
      if (v != c[0] && v != c[1] && v != c[2]) top = v;
    const double before = std::min(quality_[t], quality_[other]);
    if (!(before > 0)) return false;
    // (c0, c1, c2, c3) is positive: `top` is below the face
    std::vector<std::array<int, 4>> fresh;
    for (int i = 0; i < 3; ++i) {
      fresh.push_back({c[i], c[(i + 1) % 3], top, c[3]});
      if (!(Quality(fresh.back()) > before + kMinGain)) return false;
    }
    if (!KeepsFaces({t, other}, fresh)) return false;
    Replace({t, other}, fresh);
    return true;
  }

  // Collapses vertex u into v, if u is free, or if it is on a nearly flat part of the boundary, off
  // features, and v is on the boundary, too.
  bool Collapse(int u, int v) {
    const VertexMotion motion = input_.motion[u];
    if (motion == VertexMotion::kFixed || motion == VertexMotion::kOnCurve) return false;
    if (motion == VertexMotion::kOnSurface && (!OnBoundary(v) || !MayCollapse(u, v))) return false;
    double before = 1;
    std::vector<std::array<int, 4>> fresh;
    for (const int t : stars_[u]) before = std::min(before, quality_[t]);
    if (!(before > 0)) return false;
    for (const int t : stars_[u]) {
      if (Holds(t, v)) continue;
      std::array<int, 4> moved = tetrahedra_[t];
      std::replace(moved.begin(), moved.end(), u, v);
      if (!(Quality(moved) > before + kMinGain)) return false;
      fresh.push_back(moved);
    }
    if (fresh.empty()) return false;
    const std::vector<int> old(stars_[u]);
    if (!KeepsFaces(old, fresh)) return false;
    Replace(old, fresh);
    return true;
  }

  // True if the boundary triangles around u keep their normals when u moves into v.
  bool MayCollapse(int u, int v) const {
    std::vector<int> common;
    bool joined = false;
    for (const int t : stars_[u]) {
      for (int omitted = 0; omitted < 4; ++omitted) {
        std::array<int, 4> c = tetrahedra_[t];
        if (c[omitted] == u) continue;
        if (omitted != 3) {
          std::swap(c[omitted], c[3]);
          std::swap(c[0], c[1]);
        }
        // (c0, c1, c2) faces inwards
        if (!OnBoundary(c[0]) || !OnBoundary(c[1]) || !OnBoundary(c[2])) continue;
        const bool is_boundary = std::none_of(stars_[c[0]].begin(), stars_[c[0]].end(), [&](int s) {
          return s != t && Holds(s, c[1]) && Holds(s, c[2]);
        });
        if (!is_boundary) continue;
        std::array<int, 3> face = {c[0], c[1], c[2]};
        const Vector3d normal = UnitNormal(face[0], face[1], face[2]);
        if (std::find(face.begin(), face.end(), v) != face.end()) {
          joined = true;
          for (const int w : face)
            if (w != u && w != v) common.push_back(w);
          continue;
        }
        std::replace(face.begin(), face.end(), u, v);
        if (!(UnitNormal(face[0], face[1], face[2]).dot(normal) > kFlatCosine)) return false;
      }
    }
    if (!joined || common.size() != 2) return false;
    // no third vertex may be joined to both along the boundary: then the surface would pinch
    int shared = 0;
    for (const int t : stars_[u]) {
      for (const int w : tetrahedra_[t]) {
        if (w == u || w == v || !OnBoundary(w) || w == common[0] || w == common[1]) continue;
        shared += AreJoined(w, v) && !Holds(t, v);
      }
    }
    return shared == 0;
  }

  const ImprovementInput& input_;
  double target_;
  std::vector<Vector3d>& x_;
  std::vector<std::array<int, 4>>& tetrahedra_;
  std::vector<double> quality_;
  std::vector<std::vector<int>> stars_;
  // Number of changes so far, which serves as time, and the times of the last change of each
  // vertex, of its last failed smoothing, and of the last failure of all treatments of a
  // tetrahedron.
  std::int64_t clock_ = 0;
  std::vector<std::int64_t> changed_, smoothed_, treated_;
};

}  // namespace

bool ImproveMesh(const ImprovementInput& input, double target, int passes, TetrahedralMesh* mesh) {
  return Improver(input, target, mesh).Run(passes);
}

}  // namespace pliant::physics
