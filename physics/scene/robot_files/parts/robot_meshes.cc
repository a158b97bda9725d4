#include "physics/scene/robot_files/parts/robot_meshes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "physics/geometry/convex_decomposition.h"
#include "physics/geometry/convex_hull.h"
#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/parts/coarse_surface.h"
#include "physics/scene/textures/image_file.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kConcave = 0.1;  // a hull larger than its mesh by more cannot replace it
constexpr std::size_t kTrianglesToCut = 3000;
constexpr int kMaxTrianglesToCut = 200'000;
constexpr double kMaxCoordinate = 1e6;  // [m]

// glTF meshes have y up.
bool HasYUp(std::string_view bytes) {
  return GuessFileKind(bytes) == "a glTF surface";
}

std::shared_ptr<const TriangleMesh> Scale(const TriangleMesh& mesh, const Vector3d& scale) {
  auto scaled = std::make_shared<TriangleMesh>(mesh);
  for (Vector3d& p : scaled->vertices) p = p.cwiseProduct(scale) + Vector3d::Zero();
  // mirroring turns triangles inside out
  if (scale.prod() < 0) {
    for (auto& t : scaled->triangles) std::swap(t[1], t[2]);
  }
  return scaled;
}

bool IsTooFar(const TriangleMesh& mesh) {
  for (const Vector3d& p : mesh.vertices) {
    if (!(p.cwiseAbs().maxCoeff() <= kMaxCoordinate)) return true;
  }
  return false;
}

// Formats 0.48 as "48 %".
std::string Percent(double fraction) {
  return absl::StrCat(std::round(100 * fraction), " %");
}

}  // namespace

absl::StatusOr<std::string> RobotMeshes::Find(const MeshRequest& request) const {
  if (request.uri.empty())
    return absl::InvalidArgumentError("names no file; expected a path, or package://NAME/PATH");
  std::string uri = request.uri;
  for (const char* scheme : {"package://", "model://"}) {
    const std::size_t rest = std::string_view(scheme).size();
    if (!absl::StartsWith(uri, scheme)) continue;
    const std::size_t first = std::min(uri.find_first_not_of('/', rest), uri.size());
    if (first == rest) continue;
    uri.erase(rest, first - rest);
    log_->Mended(request.place, absl::StrCat(scheme, " is followed by another /, which is left out",
                                             " to find the package"));
  }
  const absl::StatusOr<std::string> found = files_->Find(uri, request.folder);
  if (!absl::IsNotFound(found.status())) return found;
  const auto moved = files_->FindMoved(uri, request.folder);
  if (!moved.has_value()) return found;
  log_->Mended(request.place,
               absl::StrCat("files at \"", moved->beginning, "\" are not there and are read from ",
                            moved->place, ". Correct their path, or give `package_paths`"));
  return moved->path;
}

absl::StatusOr<std::string> RobotMeshes::ReadCompanion(const std::string& path,
                                                       const std::string& name, bool is_image) {
  if (std::filesystem::path(name).is_absolute())
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": names ", name, "; expected a path relative to its own folder"));
  const absl::StatusOr<std::string> found = files_->Find(name, RobotFiles::FolderOf(path));
  if (!found.ok()) return found.status();
  // materials and images do not affect the motion
  if (is_image) return files_->Read(*found, kMaxImageBytes, "image", false);
  return files_->Read(*found, kMaxMeshFileBytes, "mesh", !name.ends_with(".mtl"));
}

absl::StatusOr<std::shared_ptr<const SurfaceMeshFile>> RobotMeshes::ReadSurface(
    const std::string& path) {
  const auto known = surfaces_.find(path);
  if (known != surfaces_.end()) return known->second;
  const auto read = [&]() -> absl::StatusOr<std::shared_ptr<const SurfaceMeshFile>> {
    const absl::StatusOr<std::string> bytes = files_->Read(path, kMaxMeshFileBytes);
    if (!bytes.ok()) return bytes.status();
    if (IsVolumeMesh(*bytes)) {
      const absl::StatusOr<VolumeMeshFile> file = ReadVolumeMesh(*bytes, path);
      if (!file.ok()) return file.status();
      const TetrahedralMesh mesh = RepairMesh(file->mesh).mesh;
      for (const MeshDefect& defect : FindDefects(mesh)) {
        if (!defect.harmless())
          return absl::InvalidArgumentError(absl::StrCat(path, ": has ", Describe(defect)));
      }
      auto made = std::make_shared<SurfaceMeshFile>();
      TriangleMesh* surface = &made->mesh;
      const BoundarySurface boundary = ExtractBoundary(mesh);
      std::vector<int> number(mesh.vertices.size(), -1);
      for (const int v : boundary.vertices) {
        number[v] = static_cast<int>(surface->vertices.size());
        surface->vertices.push_back(mesh.vertices[v]);
      }
      for (const auto& t : boundary.triangles)
        surface->triangles.push_back({number[t[0]], number[t[1]], number[t[2]]});
      return made;
    }
    const auto companions = [&](const std::string& name) {
      return ReadCompanion(path, name, false);
    };
    absl::StatusOr<SurfaceMeshFile> file = ReadVisualSurface(*bytes, path, companions);
    if (!file.ok()) return file.status();
    if (HasYUp(*bytes)) TurnUpright(&*file);
    return std::make_shared<const SurfaceMeshFile>(*std::move(file));
  };
  return surfaces_.emplace(path, read()).first->second;
}

std::shared_ptr<const SurfaceMeshFile> RobotMeshes::FindSurface(const MeshRequest& request) {
  const absl::StatusOr<std::string> path = Find(request);
  if (!path.ok()) return nullptr;
  const auto surface = ReadSurface(*path);
  return surface.ok() ? *surface : nullptr;
}

std::vector<RobotShape> RobotMeshes::MakeCollisions(const MeshRequest& request,
                                                    const RobotShape& shape, bool fixed) {
  const absl::StatusOr<std::string> path = Find(request);
  if (!path.ok()) {
    log_->Error(request.place, absl::StrCat(request.what, ": ", path.status().message()));
    return {};
  }
  const Scaled scaled{*path, request.scale.x(), request.scale.y(), request.scale.z()};
  auto [entry, fresh] = collisions_.emplace(
      std::tuple(scaled, request.use, request.max_pieces, fixed), std::vector<RobotShape>());
  if (fresh) {
    const auto mesh = ReadSurface(*path);
    if (!mesh.ok()) {
      log_->Error(request.place, absl::StrCat(request.what, ": ", mesh.status().message()));
      return {};
    }
    entry->second =
        MakePieces(*Scale((*mesh)->mesh, request.scale), *path, request, RobotShape(), fixed);
  }
  std::vector<RobotShape> shapes = entry->second;
  for (RobotShape& piece : shapes) {
    const Geometry geometry = piece.shape.geometry;
    RobotShape own = shape;
    own.piece = piece.piece;
    if (own.piece > 0) absl::StrAppend(&own.name, "_piece", own.piece);
    own.surface = piece.surface;
    own.shape.geometry = geometry;
    own.mesh_file = *path;
    piece = std::move(own);
  }
  return shapes;
}

std::vector<RobotShape> RobotMeshes::MakeCollisions(const TriangleMesh& mesh,
                                                    const MeshRequest& request,
                                                    const RobotShape& shape, bool fixed) {
  return MakePieces(*Scale(mesh, request.scale), request.what, request, shape, fixed);
}

std::vector<RobotShape> RobotMeshes::MakePieces(const TriangleMesh& mesh, const std::string& name,
                                                const MeshRequest& request, const RobotShape& shape,
                                                bool fixed) {
  if (IsTooFar(mesh)) {
    log_->Error(request.place,
                absl::StrCat(request.what, ": ", name, " extends beyond ", kMaxCoordinate,
                             " m. Give a `scale` that converts it to metres"));
    return {};
  }
  const auto with = [&](Geometry geometry) {
    RobotShape made = shape;
    made.shape.geometry = std::move(geometry);
    return made;
  };

  std::optional<SurfaceMesh> surface;
  std::string open;
  if (!mesh.triangles.empty()) {
    absl::StatusOr<SurfaceMeshFile> closed = CloseSurfaceMesh({mesh, {}}, name);
    if (closed.ok()) {
      SurfaceMesh made;
      made.mesh = std::make_shared<const TriangleMesh>(std::move(closed->mesh));
      made.bvh = std::make_shared<const TriangleBvh>(*made.mesh);
      surface = std::move(made);
      for (const std::string& warning : closed->warnings) log_->WarnOnce(request.place, warning);
    } else {
      open = std::string(closed.status().message());
      // advice is given below
      open = open.substr(0, open.find(". Close it"));
    }
  }
  if (fixed && surface.has_value() && request.use != MeshUse::kHull) return {with(*surface)};

  absl::StatusOr<TriangleMesh> hull = CalcConvexHull(mesh.vertices);
  if (!hull.ok()) {
    log_->Mended(request.place, absl::StrCat(request.what, ": ", name, " encloses no volume (",
                                             hull.status().message(), "); ", request.if_flat,
                                             ". Give a solid, or a primitive such as a thin box"));
    return {};
  }
  if (!surface.has_value() && !mesh.triangles.empty() && request.use != MeshUse::kHull) {
    log_->WarnOnce(request.place,
                   absl::StrCat(request.what, ": ", open,
                                ". Its convex hull is used; close it to use its true shape"));
  }
  const ConvexMesh convex{std::make_shared<const TriangleMesh>(*std::move(hull))};
  if (surface.has_value() && request.use != MeshUse::kHull) {
    const double volume = CalcMassProperties(*surface).volume;
    const double hull_volume = CalcMassProperties(convex).volume;
    if (request.use == MeshUse::kDecomposition || hull_volume > (1 + kConcave) * volume) {
      std::vector<RobotShape> pieces = Decompose(*surface, hull_volume, request, shape);
      if (!pieces.empty()) return pieces;
    }
  }
  std::vector<RobotShape> shapes = {with(convex)};
  shapes[0].surface = std::move(surface);
  return shapes;
}

std::vector<RobotShape> RobotMeshes::Decompose(const SurfaceMesh& surface, double hull_volume,
                                               const MeshRequest& request,
                                               const RobotShape& shape) {
  const double volume = CalcMassProperties(surface).volume;
  const std::string larger = Percent(hull_volume / volume - 1);
  if (surface.mesh->triangles.size() > kMaxTrianglesToCut) {
    log_->WarnOnce(
        request.place,
        absl::StrCat(request.what, ": is concave, and with ", surface.mesh->triangles.size(),
                     " triangles too fine to cut into convex pieces; its hull, which is ", larger,
                     " larger, is used. Give a coarser mesh, or primitives"));
    return {};
  }
  // the time to cut a surface grows with its triangles, of which few tell where to cut
  const std::optional<TriangleMesh> coarse = MakeCoarseSurface(*surface.mesh, kTrianglesToCut);
  const auto parts = DecomposeConvex(coarse.has_value() ? *coarse : *surface.mesh,
                                     {.tolerance = kConcave, .max_pieces = request.max_pieces});
  if (!parts.ok()) return {};
  std::vector<RobotShape> shapes;
  for (const TriangleMesh& piece : parts->pieces) {
    RobotShape made = shape;
    made.piece = static_cast<int>(shapes.size());
    made.shape.geometry = ConvexMesh{std::make_shared<const TriangleMesh>(piece)};
    if (made.piece == 0) made.surface = surface;
    shapes.push_back(std::move(made));
  }
  if (shapes.size() > 1) {
    log_->WarnOnce(request.place,
                   absl::StrCat(request.what, ": is concave, its hull would be ", larger,
                                " larger: cut into ", shapes.size(), " convex pieces, ",
                                Percent(std::max(parts->excess, 0.0)), " larger together"));
  }
  return shapes;
}

std::vector<RobotShape> RobotMeshes::MakeVisuals(const MeshRequest& request,
                                                 const RobotShape& shape) {
  const auto leave_out = [&](absl::string_view why) {
    log_->Mended(request.place,
                 absl::StrCat(request.what, ": ", std::string(why), ". It will not be shown"));
    return std::vector<RobotShape>();
  };
  const absl::StatusOr<std::string> path = Find(request);
  if (!path.ok()) return leave_out(path.status().message());
  const Scaled scaled{*path, request.scale.x(), request.scale.y(), request.scale.z()};
  const auto file = ReadSurface(*path);
  if (!file.ok()) return leave_out(file.status().message());
  const bool as_in_file = !shape.color.has_value();
  std::vector<DressedPart>& parts = visuals_[{scaled, as_in_file}];
  if (parts.empty()) {
    if (as_in_file) {
      std::vector<std::string> warnings;
      const auto read = [&](const std::string& name) { return ReadCompanion(*path, name, true); };
      parts = DressParts(**file, *path, read, &warnings);
      for (const std::string& warning : warnings) log_->WarnOnce(request.place, warning);
    } else {
      parts.push_back({std::make_shared<const TriangleMesh>((*file)->mesh), std::nullopt, nullptr});
    }
    for (DressedPart& part : parts) part.mesh = Scale(*part.mesh, request.scale);
  }
  std::vector<RobotShape> shapes;
  for (const DressedPart& part : parts) {
    RobotShape& made = shapes.emplace_back(shape);
    made.shape.geometry = SurfaceMesh{part.mesh, nullptr};
    made.mesh_file = *path;
    if (part.color.has_value()) made.color = part.color;
    made.appearance = part.appearance;
  }
  return shapes;
}

RobotMeshes::Volume RobotMeshes::ReadVolume(const MeshRequest& request) {
  const auto refuse = [&](absl::string_view why) {
    log_->Error(request.place, absl::StrCat(request.what, ": ", std::string(why)));
    return Volume();
  };
  const absl::StatusOr<std::string> path = Find(request);
  if (!path.ok()) return refuse(path.status().message());
  Volume& volume = volumes_[{*path, request.scale.x(), request.scale.y(), request.scale.z()}];
  if (volume.mesh != nullptr) return volume;
  const absl::StatusOr<std::string> bytes = files_->Read(*path, kMaxMeshFileBytes);
  if (!bytes.ok()) return refuse(bytes.status().message());
  absl::StatusOr<VolumeMeshFile> file = ReadVolumeMesh(*bytes, *path);
  if (!file.ok()) return refuse(file.status().message());
  for (Vector3d& p : file->mesh.vertices) p = p.cwiseProduct(request.scale);
  MeshRepair repair = RepairMesh(file->mesh);
  for (const MeshDefect& defect : FindDefects(repair.mesh)) {
    if (!defect.harmless()) return refuse(absl::StrCat(*path, ": has ", Describe(defect)));
  }
  if (repair.mesh.tetrahedra.empty()) return refuse(absl::StrCat(*path, ": has no tetrahedra"));
  if (repair.changed()) log_->WarnOnce(request.place, absl::StrCat(*path, ": ", Describe(repair)));
  volume.mesh = std::make_shared<const TetrahedralMesh>(std::move(repair.mesh));
  volume.path = *path;
  volume.vertices = std::move(repair.vertices);
  return volume;
}

}  // namespace pliant::physics
