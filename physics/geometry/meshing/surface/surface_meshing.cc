#include "physics/geometry/meshing/surface/surface_meshing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

#include "physics/geometry/meshing/primitive_checks.h"
#include "physics/geometry/meshing/surface/background_lattice.h"
#include "physics/geometry/meshing/surface/feature_sizes.h"
#include "physics/geometry/meshing/surface/isosurface_stuffing.h"
#include "physics/geometry/meshing/surface/mesh_improvement.h"
#include "physics/geometry/meshing/surface/sharp_features.h"
#include "physics/geometry/meshing/surface/surface_region.h"
#include "physics/geometry/meshing/surface/surface_thickness.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"
#include "physics/spatial/trig.h"
#include "solvers/linalg/parallel.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kTargetSine = 0.34;  // 20°
constexpr double kWantedDihedral = 10 * kPi / 180;
constexpr int kPasses = 8;
constexpr int kBalancingPasses = 2;
// The mesh is made again with locally shorter edges, at most kMaxRefinements times, if its sharp
// edges or boundary deviate by more than these shares of an edge, or if a body with sharp edges has
// a tetrahedron below kWantedDihedral after kScoutingPasses. Then vertices near such tetrahedra are
// released from sharp edges, at most kMaxReleases times, within balls of kRelease edge lengths that
// double where that is in vain.
constexpr double kMaxDeviation = 0.08;
constexpr double kMaxBoundaryDeviation = 0.18;
constexpr int kMaxRefinements = 4;
constexpr double kLessShort[] = {0, 0.5, 0.7};
constexpr int kScoutingPasses = 3;
constexpr int kMaxReleases = 6;
constexpr double kRelease = 0.15;
// Shares of poor tetrahedra above which the balls start wider, and all sharp edges are released.
constexpr double kManyShare = 0.01, kHopelessShare = 0.1;
constexpr double kWideRelease = 0.6;
// Tetrahedra may be outside by this share of an edge.
constexpr double kMaxOutside = 0.15;
// Sharp edges that deviate by more than this share of an edge get a warning.
constexpr double kKeptWithin = 0.1;
// As the last resort, boundary vertices of poor tetrahedra may leave the surface by this share of
// an edge.
constexpr double kSlack = 0.1;
constexpr int kSlackPasses = 6;
// `refine` shortens edges to this share of the thickness, but not below this share of edge_length.
constexpr double kEdgesAcross = 0.5;
constexpr double kMinRefinement = 0.25;
// Near sharp edges they may at last be as short as this, at up to so many places per tetrahedron.
constexpr double kFinestRefinement = 0.125, kFewPlaces = 0.05;
// Progress at the end of each stage.
constexpr double kAfterRegion = 0.15, kAfterLattice = 0.35, kAfterStuffing = 0.45,
                 kAfterImprovement = 0.95;

// Rounds down to two digits, for advice in messages.
double RoundDown(double x) {
  if (!(x > 0)) return 0;
  double unit = 1;
  while (unit > x) unit /= 10;
  while (10 * unit <= x) unit *= 10;
  return std::floor(10 * x / unit) * unit / 10;
}

std::vector<SizeSample> ChooseSizes(const std::vector<ThicknessSample>& samples,
                                    double edge_length) {
  std::vector<SizeSample> sizes;
  for (const ThicknessSample& sample : samples) {
    const double edge = std::max(kEdgesAcross * sample.thickness, kMinRefinement * edge_length);
    if (edge >= edge_length) continue;
    // also within the body, for the tetrahedra between both sides
    const int count = 1 + static_cast<int>(std::ceil(sample.thickness / edge));
    for (int i = 0; i <= count; ++i)
      sizes.push_back({sample.point - sample.normal * (sample.thickness * i / count), edge});
  }
  return sizes;
}

// Moves boundary vertices along their normals so that the surface of the mesh lies as much outside
// the region as inside. A move must leave every tetrahedron as good as `least` or as it was.
void BalanceVolume(const SurfaceRegion& region, const std::vector<VertexMotion>& motion,
                   double edge_length, double least, TetrahedralMesh* mesh) {
  const BoundarySurface boundary = ExtractBoundary(*mesh);
  std::vector<Vector3d>& x = mesh->vertices;
  std::vector<std::vector<int>> stars(x.size());
  for (std::size_t t = 0; t < mesh->tetrahedra.size(); ++t)
    for (const int v : mesh->tetrahedra[t]) stars[v].push_back(static_cast<int>(t));
  const double reach = 0.5 * edge_length;
  const int count = static_cast<int>(boundary.triangles.size());
  for (int pass = 0; pass < kBalancingPasses; ++pass) {
    // mean height of the region's boundary over each triangle: corners, middles of edges, centre
    std::vector<double> heights(count);
    std::vector<Vector3d> normals(count);
    solvers::ParallelFor(count, 16, [&](int i) {
      const auto& t = boundary.triangles[i];
      normals[i] = (x[t[1]] - x[t[0]]).cross(x[t[2]] - x[t[0]]);
      const Vector3d unit = normals[i].normalized();
      const auto height = [&](const Vector3d& p) {
        return std::clamp((region.Project(p, reach) - p).dot(unit), -reach, reach);
      };
      double sum = 9 * height((x[t[0]] + x[t[1]] + x[t[2]]) / 3);
      for (int k = 0; k < 3; ++k)
        sum += height(x[t[k]]) + 8.0 / 3 * height(0.5 * (x[t[k]] + x[t[(k + 1) % 3]]));
      heights[i] = sum / 20;
    });
    std::vector<Vector3d> directions(x.size(), Vector3d::Zero());
    std::vector<double> sums(x.size(), 0), areas(x.size(), 0);
    for (int i = 0; i < count; ++i) {
      const double area = normals[i].norm();
      for (const int v : boundary.triangles[i]) {
        directions[v] += normals[i];
        sums[v] += area * heights[i];
        areas[v] += area;
      }
    }
    for (const int v : boundary.vertices) {
      if (motion[v] != VertexMotion::kOnSurface || !(areas[v] > 0)) continue;
      const auto worst = [&] {
        double found = 1;
        for (const int t : stars[v]) {
          const auto& c = mesh->tetrahedra[t];
          found = std::min(found, CalcMinDihedralSine(x[c[0]], x[c[1]], x[c[2]], x[c[3]]));
        }
        return found;
      };
      const Vector3d from = x[v];
      const double before = worst();
      x[v] += directions[v].normalized() * (sums[v] / areas[v]);
      if (worst() < std::min(before, least)) x[v] = from;
    }
  }
}

// Freedoms of the vertices. Keeps references to all arguments.
ImprovementInput MakeInput(const SurfaceRegion& region, const SharpFeatures& features,
                           const FeatureMap& map, const std::vector<char>& on_boundary,
                           double edge_length, const TetrahedralMesh* mesh) {
  ImprovementInput input;
  input.motion.assign(mesh->vertices.size(), VertexMotion::kFree);
  for (std::size_t v = 0; v < mesh->vertices.size(); ++v) {
    if (!on_boundary[v]) continue;
    input.motion[v] = map.curve[v] == FeatureMap::kFree     ? VertexMotion::kOnSurface
                      : map.curve[v] == FeatureMap::kCorner ? VertexMotion::kFixed
                                                            : VertexMotion::kOnCurve;
  }
  input.kept_edges = map.segments;
  input.project = [&region, &features, &map, edge_length, mesh](int v,
                                                                const Vector3d& p) -> Vector3d {
    if (map.curve[v] == FeatureMap::kFree) return region.Project(p, edge_length, mesh->vertices[v]);
    const SharpCurve& curve = features.curves[map.curve[v]];
    const SharpCurve::Nearest nearest = curve.FindNearest(p);
    return nearest.distance < edge_length ? curve.PointAt(nearest.arc) : mesh->vertices[v];
  };
  return input;
}

// Centres of the tetrahedra with too small an angle.
std::vector<Vector3d> FindPoorPlaces(const TetrahedralMesh& mesh) {
  std::vector<Vector3d> places;
  const auto& x = mesh.vertices;
  for (const auto& t : mesh.tetrahedra) {
    if (CalcMinDihedral(x[t[0]], x[t[1]], x[t[2]], x[t[3]]) < kWantedDihedral)
      places.push_back(0.25 * (x[t[0]] + x[t[1]] + x[t[2]] + x[t[3]]));
  }
  return places;
}

// Centres of the tetrahedra that sharp edges have moved out of the region by more than `tolerance`
// [m], as where one half of a hole's rim was laid across the hole.
std::vector<Vector3d> FindOutsidePlaces(const SurfaceRegion& region,
                                        const std::vector<char>& on_boundary,
                                        const TetrahedralMesh& mesh, double tolerance) {
  const int count = static_cast<int>(mesh.tetrahedra.size());
  std::vector<char> is_outside(count, 0);
  std::vector<Vector3d> centers(count);
  solvers::ParallelFor(count, 64, [&](int i) {
    const auto& t = mesh.tetrahedra[i];
    if (std::count_if(t.begin(), t.end(), [&](int v) { return on_boundary[v]; }) < 3) return;
    centers[i] = 0.25 * (mesh.vertices[t[0]] + mesh.vertices[t[1]] + mesh.vertices[t[2]] +
                         mesh.vertices[t[3]]);
    is_outside[i] = !region.IsInside(centers[i]) && region.CalcDistance(centers[i]) > tolerance;
  });
  std::vector<Vector3d> places;
  for (int i = 0; i < count; ++i)
    if (is_outside[i]) places.push_back(centers[i]);
  return places;
}

bool HasInverted(const TetrahedralMesh& mesh) {
  const auto& x = mesh.vertices;
  return std::any_of(mesh.tetrahedra.begin(), mesh.tetrahedra.end(), [&](const auto& t) {
    return !(CalcMinDihedralSine(x[t[0]], x[t[1]], x[t[2]], x[t[3]]) > 0);
  });
}

// Number of sharp curves that the mesh does not follow.
int CountLostCurves(const SharpFeatures& features, const FeatureMap& map,
                    const TetrahedralMesh& mesh, double edge_length) {
  const double tolerance = kKeptWithin * edge_length;
  const TriangleMesh surface{mesh.vertices, ExtractBoundary(mesh).triangles};
  const TriangleBvh bvh(surface.triangles, PositionsOf(surface));
  int lost = 0, last = -1;
  for (const auto& [curve, p] : FindDeviatingPoints(features, map, mesh, edge_length, tolerance)) {
    if (curve == last || bvh.FindNearest(PositionsOf(surface), p, tolerance).triangle >= 0)
      continue;
    ++lost;
    last = curve;
  }
  return lost;
}

void DropUnusedVertices(TetrahedralMesh* mesh) {
  std::vector<int> number(mesh->vertices.size(), -1);
  for (const auto& t : mesh->tetrahedra)
    for (const int v : t) number[v] = 0;
  int count = 0;
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] < 0) continue;
    mesh->vertices[count] = mesh->vertices[v];
    number[v] = count++;
  }
  mesh->vertices.resize(count);
  for (auto& t : mesh->tetrahedra)
    for (int& v : t) v = number[v];
}

// Triangles of a mesh over the holes of its surface.
std::vector<std::array<Vector3d, 3>> CollectPatches(const StuffedMesh& stuffed) {
  std::vector<std::array<Vector3d, 3>> patches;
  if (std::find(stuffed.in_hole.begin(), stuffed.in_hole.end(), 1) == stuffed.in_hole.end())
    return patches;
  const auto& x = stuffed.mesh.vertices;
  for (const auto& t : ExtractBoundary(stuffed.mesh).triangles) {
    if (stuffed.in_hole[t[0]] || stuffed.in_hole[t[1]] || stuffed.in_hole[t[2]])
      patches.push_back({x[t[0]], x[t[1]], x[t[2]]});
  }
  return patches;
}

absl::Status Cancelled() {
  return absl::CancelledError("the meshing was cancelled");
}

// Makes one mesh: fills the region, and makes that again with shorter edges where the result is
// poor; then fits it to sharp edges, fewer and fewer of them until no tetrahedron is poor.
class Mesher {
 public:
  Mesher(SurfaceRegion region, const SurfaceMeshing& options)
      : options_(options),
        edge_(options.edge_length),
        max_refined_(std::min(options.max_tetrahedra, options.max_refined)),
        region_(std::move(region)),
        // fitted at the scale of edge_length, even where edges are shorter
        features_(FindSharpFeatures(region_, options.sharp_angle, edge_)) {
    result_.warnings = region_.mends();
  }

  absl::StatusOr<MeshedSurface> Run() {
    if (!GoesOn(kAfterRegion)) return Cancelled();
    if (absl::Status status = Fill(); !status.ok()) return status;
    if (absl::Status status = Fit(); !status.ok()) return status;
    if (absl::Status status = Finish(); !status.ok()) return status;
    return std::move(result_);
  }

 private:
  // Reports progress, and returns false if the meshing is to stop.
  bool GoesOn(double share) {
    reached_ = std::max(reached_, std::min(share, 1.0));
    return !options_.progress || options_.progress(reached_);
  }

  // Fills the region with edges of edge_length, and shorter ones at bends and in thin parts.
  absl::Status Fill() {
    const std::vector<ThicknessSample> thickness = SampleThickness(region_, edge_, 2 * edge_);
    std::vector<SizeSample> wanted =
        ChooseSizesOfBends(features_, edge_, kMaxDeviation * edge_, kMinRefinement * edge_);
    if (options_.refine) {
      const std::vector<SizeSample> thin = ChooseSizes(thickness, edge_);
      wanted.insert(wanted.end(), thin.begin(), thin.end());
    }
    bool is_filled = false;
    if (max_refined_ < options_.max_tetrahedra && !wanted.empty()) {
      const absl::StatusOr<bool> shortened = Shorten(wanted);
      if (!shortened.ok()) return shortened.status();
      is_filled = *shortened;
    } else {
      sizes_ = std::move(wanted);
    }
    if (!is_filled) {
      absl::StatusOr<StuffedMesh> stuffed = Stuff(sizes_, options_.max_tetrahedra);
      if (!stuffed.ok()) return stuffed.status();
      stuffed_ = *std::move(stuffed);
    }
    const double thinnest = FindThickness(thickness, kThinShare);
    const double resolved = RoundDown(thinnest / kResolvedThickness);
    if (stuffed_.mesh.tetrahedra.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("edge_length: ", edge_,
                                                     " m is too long for a body ", thinnest,
                                                     " m thin; expected at most ", resolved, " m"));
    }
    const double min_edge = options_.refine ? kMinRefinement * edge_ : edge_;
    if (thinnest < kResolvedThickness * edge_ && resolved < min_edge) {
      result_.warnings.push_back(absl::StrCat(
          "is thinner than its edge length of ", edge_, " m: ", thinnest,
          " m over a hundredth of its surface. Use edge_length: ", resolved,
          options_.refine ? "" : ", or refine: true for shorter edges in thin parts only"));
    }
    if (stuffed_.dropped_fragments > 0)
      result_.warnings.push_back(absl::StrCat("left out ", stuffed_.dropped_fragments,
                                              " parts of less than half a percent of its size"));
    region_.Patch(CollectPatches(stuffed_));
    return GoesOn(kAfterStuffing) ? absl::OkStatus() : Cancelled();
  }

  absl::StatusOr<StuffedMesh> Stuff(const std::vector<SizeSample>& sizes, double max_tetrahedra) {
    absl::StatusOr<BackgroundLattice> lattice = MakeBackgroundLattice(
        region_, edge_, sizes, max_tetrahedra, [this] { return !GoesOn(kAfterRegion); });
    if (!lattice.ok()) {
      if (absl::IsCancelled(lattice.status())) return lattice.status();
      return absl::InvalidArgumentError(absl::StrCat(
          "edge_length: ", edge_, " m ", lattice.status().message(), ". Use a longer edge"));
    }
    if (!GoesOn(kAfterLattice)) return Cancelled();
    StuffedMesh stuffed = StuffLattice(region_, *std::move(lattice));
    if (static_cast<double>(stuffed.mesh.tetrahedra.size()) > max_tetrahedra) {
      return absl::InvalidArgumentError(
          absl::StrCat("edge_length: ", edge_, " m would give ", stuffed.mesh.tetrahedra.size(),
                       " tetrahedra; expected at most ", max_tetrahedra, ". Use a longer edge"));
    }
    return stuffed;
  }

  // Fills the region again with edges that are shorter in more places, or less short ones if there
  // would be too many tetrahedra. False if those are too many, too.
  absl::StatusOr<bool> Shorten(const std::vector<SizeSample>& shorter) {
    for (const double share : kLessShort) {
      std::vector<SizeSample> tried = sizes_;
      for (SizeSample sample : shorter) {
        sample.edge = std::max(sample.edge, share * edge_);
        tried.push_back(sample);
      }
      absl::StatusOr<StuffedMesh> finer = Stuff(tried, max_refined_);
      if (absl::IsCancelled(finer.status())) return finer.status();
      if (!finer.ok()) continue;
      sizes_ = std::move(tried);
      stuffed_ = *std::move(finer);
      return true;
    }
    return false;
  }

  // The same around places of the mesh. False also if there are none, or if edges are as short as
  // they may be there.
  absl::StatusOr<bool> ShortenAt(const std::vector<Vector3d>& places) {
    if (places.empty()) return false;
    const double shortest = kMinRefinement * edge_;
    for (const double longest : {edge_, shortest}) {
      const std::size_t count = stuffed_.mesh.tetrahedra.size();
      const absl::StatusOr<bool> shortened =
          Shorten(HalveSizes(places, mesh_, edge_, shortest, longest));
      if (!shortened.ok() || !*shortened) return shortened;
      if (stuffed_.mesh.tetrahedra.size() == count) continue;
      region_.Patch(CollectPatches(stuffed_));
      return true;
    }
    return false;
  }

  // The same with still shorter edges, if the places are few.
  absl::StatusOr<bool> ShortenAtFew(const std::vector<Vector3d>& places) {
    const double share =
        static_cast<double>(places.size()) / static_cast<double>(mesh_.tetrahedra.size());
    if (places.empty() || share > kFewPlaces) return false;
    const double finest = kFinestRefinement * edge_;
    const absl::StatusOr<bool> shortened =
        Shorten(HalveSizes(places, mesh_, edge_, finest, finest));
    if (shortened.ok() && *shortened) region_.Patch(CollectPatches(stuffed_));
    return shortened;
  }

  std::vector<Vector3d> FindPlacesForShorterEdges() const {
    std::vector<Vector3d> places =
        FindDeviatingBoundary(region_, mesh_, kMaxBoundaryDeviation * edge_);
    if (features_.curves.empty()) return places;
    const std::vector<Vector3d> poor = FindPoorPlaces(mesh_);
    places.insert(places.end(), poor.begin(), poor.end());
    for (const auto& [curve, p] :
         FindDeviatingPoints(features_, map_, mesh_, edge_, kMaxDeviation * edge_))
      places.push_back(p);
    return places;
  }

  // Moves the mesh onto sharp edges and improves it, until neither shorter edges nor the release of
  // sharp edges helps.
  absl::Status Fit() {
    ReleasedPlaces released;
    bool is_finest = false;
    for (int refinements = 0, releases = 0;;) {
      mesh_ = stuffed_.mesh;
      map_ = FitFeatures(features_, released, edge_, &mesh_);
      const bool may_follow = refinements < kMaxRefinements || releases < kMaxReleases;
      const bool scouts = may_follow && !features_.curves.empty();
      if (!Improve(scouts ? kScoutingPasses : kPasses)) return Cancelled();
      if (refinements < kMaxRefinements) {
        ++refinements;
        absl::StatusOr<bool> shortened = ShortenAt(FindPlacesForShorterEdges());
        // last what no curve can follow, if there may be more tetrahedra
        if (shortened.ok() && !*shortened)
          shortened =
              ShortenAt(FindDeviatingChains(features_, mesh_, edge_, kMaxDeviation * edge_));
        if (!shortened.ok()) return shortened.status();
        if (*shortened) continue;
        refinements = kMaxRefinements;
      }
      if (features_.curves.empty()) return absl::OkStatus();
      if (!is_finest) {
        is_finest = true;
        const absl::StatusOr<bool> shortened = ShortenAtFew(FindPlacesForShorterEdges());
        if (!shortened.ok()) return shortened.status();
        if (*shortened) continue;
      }
      // further passes do not mend tetrahedra that sharp edges have turned inside out
      const bool must_release = releases < kMaxReleases && HasInverted(mesh_);
      if (scouts && !must_release && !Improve(kPasses)) return Cancelled();
      if (releases == kMaxReleases) return absl::OkStatus();
      std::vector<Vector3d> poor = FindPoorPlaces(mesh_);
      // no reason to release all
      if (releases + 1 < kMaxReleases) {
        const std::vector<Vector3d> outside =
            FindOutsidePlaces(region_, stuffed_.on_boundary, mesh_, kMaxOutside * edge_);
        poor.insert(poor.end(), outside.begin(), outside.end());
      }
      if (poor.empty()) return absl::OkStatus();
      ++releases;
      const double share =
          static_cast<double>(poor.size()) / static_cast<double>(mesh_.tetrahedra.size());
      if (releases == kMaxReleases || share > kHopelessShare) {
        releases = kMaxReleases;
        released.ReleaseAll();
      } else {
        released.Widen(poor, (share > kManyShare ? kWideRelease : kRelease) * edge_);
      }
    }
  }

  // False if the meshing is to stop.
  bool Improve(int passes) {
    // each improvement takes half of the remaining progress
    const double begun = improved_, span = 0.5 * (kAfterImprovement - begun);
    input_ = MakeInput(region_, features_, map_, stuffed_.on_boundary, edge_, &mesh_);
    input_.goes_on = [this, begun, span](double share) { return GoesOn(begun + span * share); };
    if (!ImproveMesh(input_, kTargetSine, passes, &mesh_)) return false;
    improved_ += span;
    return true;
  }

  // Improves the worst tetrahedra at the cost of distance, corrects the volume, and says what the
  // mesh lacks.
  absl::Status Finish() {
    const auto project = input_.project;
    input_.project = [this, project](int v, const Vector3d& p) -> Vector3d {
      const Vector3d on = project(v, p), offset = p - on;
      const double distance = offset.norm();
      if (map_.curve[v] != FeatureMap::kFree) return on;
      return distance <= kSlack * edge_ ? p : Vector3d(on + offset * (kSlack * edge_ / distance));
    };
    if (!ImproveMesh(input_, CalcSinCos(1.2 * kWantedDihedral).sin, kSlackPasses, &mesh_))
      return Cancelled();
    BalanceVolume(region_, input_.motion, edge_, CalcSinCos(1.3 * kWantedDihedral).sin, &mesh_);
    const int lost = CountLostCurves(features_, map_, mesh_, edge_);
    DropUnusedVertices(&mesh_);

    result_.min_dihedral = kPi;
    int poor = 0;
    const auto& x = mesh_.vertices;
    for (const auto& t : mesh_.tetrahedra) {
      const double angle = CalcMinDihedral(x[t[0]], x[t[1]], x[t[2]], x[t[3]]);
      poor += angle < kWantedDihedral;
      result_.min_dihedral = std::min(result_.min_dihedral, angle);
    }
    if (poor > 0) {
      result_.warnings.push_back(absl::StrCat(
          "has ", poor, " tetrahedra with a dihedral angle below 10°, the least ",
          std::round(1800 / kPi * result_.min_dihedral) / 10, "°. Use a shorter edge_length"));
    }
    if (lost > 0) {
      result_.warnings.push_back(absl::StrCat(
          lost, " of ", features_.curves.size(),
          " sharp edges are too close to others to be kept. Use a shorter edge_length"));
    }
    result_.mesh = std::move(mesh_);
    return GoesOn(1) ? absl::OkStatus() : Cancelled();
  }

  const SurfaceMeshing& options_;
  const double edge_, max_refined_;
  SurfaceRegion region_;
  const SharpFeatures features_;
  MeshedSurface result_;
  std::vector<SizeSample> sizes_;  // where edges are shorter
  StuffedMesh stuffed_;            // the filled region, off its sharp edges
  TetrahedralMesh mesh_;           // the same on its sharp edges, improved
  FeatureMap map_;
  ImprovementInput input_;
  double reached_ = 0, improved_ = kAfterStuffing;  // progress
};

}  // namespace

absl::StatusOr<MeshedSurface> MeshSurface(TriangleMesh surface, const SurfaceMeshing& options) {
  if (absl::Status status = CheckLengths({{"edge_length", options.edge_length}}); !status.ok())
    return status;
  if (options.progress && !options.progress(0)) return Cancelled();
  absl::StatusOr<SurfaceRegion> region = SurfaceRegion::Make(std::move(surface));
  if (!region.ok()) return region.status();
  return Mesher(*std::move(region), options).Run();
}

}  // namespace pliant::physics
