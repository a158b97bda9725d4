// Mesh files of a scene: where they may be, and their part in the model's hash; visuals.

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/geometry/meshing/divided_surface.h"
#include "physics/geometry/meshing/embedding.h"
#include "physics/scene/compiler.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/parts/companion_files.h"
#include "physics/scene/robot_files/parts/files_by_name.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "physics/scene/textures/dressed_parts.h"
#include "physics/scene/textures/image_file.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {

namespace fs = std::filesystem;

namespace {

constexpr double kMaxFromBody = 0.1;  // of a visual's vertex, relative to the body's size
// Triangles of a visual with edges longer than the body's are divided up to this many.
constexpr std::size_t kMaxDividedTriangles = 20'000;

double CalcMeanEdge(const TetrahedralMesh& mesh, const BoundarySurface& surface) {
  double sum = 0;
  for (const auto& t : surface.triangles)
    for (int e = 0; e < 3; ++e) sum += (mesh.vertices[t[e]] - mesh.vertices[t[(e + 1) % 3]]).norm();
  return sum / (3 * static_cast<double>(surface.triangles.size()));
}

// The appearance of a divided surface: in the middles of edges, the mean of that at their ends.
std::shared_ptr<const Appearance> Divide(const std::shared_ptr<const Appearance>& appearance,
                                         const std::vector<std::array<int, 2>>& ends) {
  if (appearance == nullptr || ends.empty()) return appearance;
  auto divided = std::make_shared<Appearance>(*appearance);
  auto& coordinates = divided->texture_coordinates;
  auto& colors = divided->vertex_colors;
  const bool has_coordinates = !coordinates.empty(), has_colors = !colors.empty();
  for (const auto& [a, b] : ends) {
    if (has_coordinates) {
      coordinates.push_back({0.5F * (coordinates[a][0] + coordinates[b][0]),
                             0.5F * (coordinates[a][1] + coordinates[b][1])});
    }
    if (!has_colors) continue;
    std::array<std::uint8_t, 4> mean{};
    for (int k = 0; k < 4; ++k)
      mean[k] = static_cast<std::uint8_t>((colors[a][k] + colors[b][k] + 1) / 2);
    colors.push_back(mean);
  }
  return divided;
}

}  // namespace

absl::StatusOr<std::string> SceneCompiler::LocateFile(const std::string& file) const {
  if (!options_.allow_files) {
    return absl::PermissionDeniedError(absl::StrCat(
        Quoted(file), " names a file, but files may not be read here. Use a primitive"));
  }
  if (options_.jail.empty()) return (fs::path(folder_) / file).string();
  // resolve symbolic links and ".."
  std::error_code error;
  const fs::path jail = fs::weakly_canonical(options_.jail, error);
  const fs::path resolved = error ? fs::path() : fs::weakly_canonical(jail / file, error);
  const bool is_inside = !error && IsInsideFolder(resolved, jail) && !fs::path(file).is_absolute();
  if (!is_inside || !fs::exists(resolved, error)) {
    // files may have been given without their folders
    const std::optional<std::string> same_name = FindFileByName(file, jail.string());
    if (same_name.has_value()) return *same_name;
  }
  if (!is_inside) {
    return absl::PermissionDeniedError(
        absl::StrCat(Quoted(file), " is outside the scene's folder; expected a path within it"));
  }
  return resolved.string();
}

std::optional<std::string> SceneCompiler::FindFile(const std::string& file,
                                                   const std::string& path) {
  if (file.empty()) {
    Missing(path, "the path of a file", &log_);
    return std::nullopt;
  }
  absl::StatusOr<std::string> found = LocateFile(file);
  if (found.ok()) return *std::move(found);
  log_.Error(path, std::string(found.status().message()));
  return std::nullopt;
}

std::optional<SceneCompiler::MeshFile> SceneCompiler::ReadMeshFile(const std::string& file,
                                                                   const std::string& path) {
  const std::optional<std::string> place = FindFile(file, path);
  if (!place.has_value()) return std::nullopt;
  absl::StatusOr<std::string> bytes = ReadMeshFileBytes(*place);
  if (!bytes.ok()) {
    log_.Error(path, std::string(bytes.status().message()));
    return std::nullopt;
  }
  AppendFileHash(*bytes, &mesh_hashes_);
  const CompanionFiles serve = ServeCompanions(*place, options_.jail);
  return MeshFile{*std::move(bytes), [this, serve](const std::string& name) {
                    absl::StatusOr<std::string> companion = serve(name);
                    if (companion.ok()) AppendFileHash(*companion, &mesh_hashes_);
                    return companion;
                  }};
}

std::vector<VisualShape> SceneCompiler::ReadVisual(const v1::Visual& given,
                                                   const std::string& path) {
  RigidTransform X_BV;
  ReadPose(path + ".pose", given.pose(), &log_, &X_BV);
  const double scale = given.has_scale() ? given.scale() : 1;
  const bool ok = !given.has_scale() || CheckPositive(path + ".scale", scale, "factor", &log_, 1e9);
  const std::optional<MeshFile> mesh_file = ReadMeshFile(given.file(), path + ".file");
  if (!mesh_file.has_value() || !ok) return {};

  // files named by the surface are read from its own folder
  const auto read = [&](const std::string& name,
                        std::int64_t max_bytes) -> absl::StatusOr<std::string> {
    if (fs::path(name).is_absolute()) {
      return absl::PermissionDeniedError(
          absl::StrCat(Quoted(name), " is not relative; expected a path in the file's own folder"));
    }
    const fs::path named = fs::path(given.file()).parent_path() / name;
    const absl::StatusOr<std::string> place = LocateFile(named.lexically_normal().string());
    if (!place.ok()) return place.status();
    absl::StatusOr<std::string> found = ReadMeshFileBytes(*place, max_bytes, "image");
    if (absl::IsNotFound(found.status()))
      return absl::NotFoundError(absl::StrCat(named.string(), ": no such file"));
    if (found.ok()) AppendFileHash(*found, &looks_hashes_);
    return found;
  };
  const auto read_mesh = [&](const std::string& name) { return read(name, kMaxMeshFileBytes); };
  const auto read_image = [&](const std::string& name) { return read(name, kMaxImageBytes); };
  const absl::StatusOr<SurfaceMeshFile> file =
      ReadVisualSurface(mesh_file->bytes, given.file(), read_mesh);
  if (!file.ok()) {
    log_.Error(path + ".file", std::string(file.status().message()));
    return {};
  }
  std::vector<std::string> warnings;
  std::vector<VisualShape> visuals;
  for (const DressedPart& part : DressParts(*file, given.file(), read_image, &warnings)) {
    auto mesh = std::make_shared<TriangleMesh>(*part.mesh);
    for (Eigen::Vector3d& p : mesh->vertices) {
      p *= scale;
      if ((p.cwiseAbs().array() <= kMaxLength).all()) continue;
      log_.Error(path + ".file", absl::StrCat("has a vertex beyond ", NumberText(kMaxLength),
                                              " metres; expected less. Is the scale right?"));
      return {};
    }
    VisualShape& visual = visuals.emplace_back();
    visual.shape.X_BS = X_BV;
    visual.shape.geometry = SurfaceMesh{std::move(mesh), nullptr};
    if (part.color.has_value()) visual.color = *part.color;
    visual.appearance = part.appearance;
  }
  for (const std::string& warning : warnings) log_.Warning(path + ".file", warning);
  return visuals;
}

void SceneCompiler::EmbedVisual(const v1::Visual& given, const std::string& path, Body* body) {
  const std::vector<VisualShape> visuals = ReadVisual(given, path);
  if (visuals.empty() || body->mesh.tetrahedra.empty()) return;
  std::vector<char> is_drawn(body->mesh.vertices.size(), 0), is_inner(is_drawn.size(), 0);
  for (const int v : body->surface.vertices) is_drawn[v] = 1;
  AxisAlignedBox bounds;
  for (const Eigen::Vector3d& p : body->mesh.vertices) bounds.Include(p);
  double farthest = 0;
  const double edge = CalcMeanEdge(body->mesh, body->surface);
  for (const VisualShape& visual : visuals) {
    TriangleMesh mesh = *std::get<SurfaceMesh>(visual.shape.geometry).mesh;
    for (Eigen::Vector3d& p : mesh.vertices) p = visual.shape.X_BS * p;
    DividedSurface divided = DivideLongEdges(std::move(mesh), edge, kMaxDividedTriangles);
    const std::vector<Eigen::Vector3d>& points = divided.mesh.vertices;
    const Embedding embedding = EmbedPoints(points, body->mesh, body->surface);
    farthest = std::max(farthest, embedding.max_distance);
    EmbeddedPart& part = body->embedded.parts.emplace_back();
    part.nodes = embedding.nodes;
    for (const Eigen::Vector4d& w : embedding.weights) {
      part.weights.push_back({static_cast<float>(w[0]), static_cast<float>(w[1]),
                              static_cast<float>(w[2]), static_cast<float>(w[3])});
    }
    part.triangles = std::move(divided.mesh.triangles);
    part.color = visual.color;
    part.appearance = Divide(visual.appearance, divided.ends);
    for (const std::array<int, 4>& nodes : part.nodes)
      for (const int v : nodes) is_inner[v] = !is_drawn[v];
  }
  for (std::size_t v = 0; v < is_inner.size(); ++v)
    if (is_inner[v]) body->embedded.inner_nodes.push_back(static_cast<int>(v));
  const double size = (bounds.upper - bounds.lower).maxCoeff();
  if (farthest > kMaxFromBody * size) {
    log_.Warning(path,
                 absl::StrCat("reaches ", NumberText(farthest), " m beyond the body, which is ",
                              NumberText(size),
                              " m long. Are its pose and its scale those of the body's mesh?"));
  }
}

void SceneCompiler::LimitImages() {
  std::map<std::string_view, bool> shown;          // by content: whether it is within the limit
  std::vector<std::shared_ptr<const Image>> kept;  // images left out, whose bytes `shown` refers to
  std::int64_t pixels = 0;
  int left_out = 0;
  const auto limit = [&](std::shared_ptr<const Appearance>* appearance) {
    if (*appearance == nullptr || (*appearance)->image == nullptr) return;
    const Image& image = *(*appearance)->image;
    const auto [known, fresh] = shown.emplace(image.bytes, true);
    if (fresh) {
      pixels += static_cast<std::int64_t>(image.width) * image.height;
      known->second = pixels <= kMaxImagePixels;
      left_out += !known->second;
    }
    if (known->second) return;
    kept.push_back((*appearance)->image);
    auto without = std::make_shared<Appearance>(**appearance);
    without->image = nullptr;
    without->texture_coordinates.clear();
    *appearance = std::move(without);
  };
  for (Body& body : model_->bodies) {
    for (VisualShape& visual : body.visuals) limit(&visual.appearance);
    for (EmbeddedPart& part : body.embedded.parts) limit(&part.appearance);
  }
  if (left_out == 0) return;
  log_.Warning("bodies", absl::StrCat("have ", pixels, " pixels of textures; expected at most ",
                                      kMaxImagePixels, ". ", left_out,
                                      " images are not shown; make them smaller"));
}

}  // namespace pliant::physics
