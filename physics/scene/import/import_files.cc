#include "physics/scene/import/import_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include <Eigen/Geometry>

#include "physics/geometry/meshing/surface/surface_thickness.h"
#include "physics/scene/import/imported_robot.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/parts/companion_files.h"
#include "physics/scene/robot_files/robot_description.h"

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;
using Eigen::Vector3d;

constexpr std::size_t kHead = 4096;  // bytes from which the kind of a file is found
// The edge length of tetrahedra that fill a surface is its size / kEdgesPerSize, or larger if this
// gives more tetrahedra than two cores step in real time, or shorter where the body is thin.
constexpr double kEdgesPerSize = 100;
// Edges are shortened further, where the surface has sharp edges, up to this many tetrahedra.
constexpr int kMaxTetrahedra = 10'000;
// The surface of the file itself is drawn if a page without a GPU draws it within seconds.
constexpr std::size_t kMaxShownTriangles = 50'000;
// Time steps of soft bodies alone, and with robots, which need shorter ones [s].
constexpr double kSoftTimeStep = 0.01, kRobotTimeStep = 0.005;
constexpr double kMaxSize = 5;       // larger meshes are taken to be in millimetres [m]
constexpr double kClearance = 0.02;  // above the floor, and beside each other: share of size

// A quoted string of YAML.
std::string InQuotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Short(double x) {
  return absl::StrFormat("%.3g", x);
}

std::string PoseText(const Vector3d& p) {
  return absl::StrCat("{position: [", Short(p.x()), ", ", Short(p.y()), ", ", Short(p.z()), "]}");
}

// A regular expression that matches only this name.
std::string PatternOf(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (std::string_view("^$\\.*+?()[]{}|").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Why a file is neither imported as a robot nor as a mesh.
std::string ExplainNone(const std::string& file) {
  const std::string ending = fs::path(file).extension().string();
  if (ending == ".yaml" || ending == ".yml")
    return "is a scene already; only robots and meshes are put together. Start one scene, and add "
           "worlds of others with `pliant world create`";
  return "is neither a robot (URDF, SDF, MJCF, xacro) nor a mesh (OBJ, STL, PLY, glTF, COLLADA; "
         "Gmsh, legacy VTK, Medit, Abaqus); expected one of these";
}

class SceneWriter {
 public:
  SceneWriter(std::string folder, std::string jail)
      : folder_(std::move(folder)), jail_(std::move(jail)) {}

  void Add(const std::string& file) {
    std::error_code error;
    if (!fs::exists(file, error)) {
      errors_.push_back(absl::StrCat(file, ": no such file"));
      return;
    }
    switch (FindImportKind(file)) {
      case ImportKind::kRobot:
        return AddRobot(file);
      case ImportKind::kVolume:
        return AddVolume(file);
      case ImportKind::kSurface:
        return AddSurface(file);
      case ImportKind::kNone:
        errors_.push_back(absl::StrCat(file, ": ", ExplainNone(file)));
    }
  }

  absl::StatusOr<ImportedScene> Finish(const std::vector<std::string>& files) const {
    if (!errors_.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
    std::vector<std::string> names;
    for (const std::string& file : files) names.push_back(fs::path(file).filename().string());
    std::string text =
        absl::StrCat("# A world made of ", absl::StrJoin(names, ", "),
                     ". All of it may be changed; docs/scenes.md lists the fields.\n",
                     "name: ", InQuotes(fs::path(files[0]).stem().string()),
                     "\ntime_step: ", robots_.empty() ? kSoftTimeStep : kRobotTimeStep, "\n",
                     "contact: {friction: 0.6}\n");
    if (!has_floor_ || !bodies_.empty()) absl::StrAppend(&text, "bodies:\n");
    if (!has_floor_) {
      absl::StrAppend(&text,
                      "  - name: floor\n    rigid: {motion: FIXED, shapes: [{half_space: {}}]}\n");
    }
    absl::StrAppend(&text, bodies_);
    if (!robots_.empty()) absl::StrAppend(&text, "robots:\n", robots_);
    ImportedScene scene{std::move(text), {}};
    const std::size_t first = has_floor_ ? 0 : 1;
    for (std::size_t i = 0; i < body_files_.size(); ++i)
      scene.files[absl::StrCat("bodies[", first + i, "]")] = body_files_[i];
    for (std::size_t i = 0; i < robot_files_.size(); ++i)
      scene.files[absl::StrCat("robots[", i, "]")] = robot_files_[i];
    return scene;
  }

 private:
  // A unique name in the scene.
  std::string NameFor(const std::string& file) {
    std::string stem;
    for (const char c : fs::path(file).stem().string())
      stem += absl::ascii_isalnum(c) || c == '-' ? c : '_';
    if (stem.empty() || stem == "world" || stem == "floor") stem += "_1";
    std::string name = stem;
    for (int k = 2; !names_.insert(name).second; ++k) name = absl::StrCat(stem, "_", k);
    return name;
  }

  std::string PathOf(const std::string& file) const {
    std::error_code error;
    const fs::path path = fs::absolute(file, error).lexically_normal();
    const fs::path near = path.lexically_relative(
        fs::absolute(folder_.empty() ? "." : folder_, error).lexically_normal());
    // files beside the scene move with it
    const bool beside = !near.empty() && *near.begin() != "..";
    return InQuotes((beside ? near : path).string());
  }

  // Position of the origin of an object with these bounds: on the floor, beside earlier objects.
  Vector3d Place(const AxisAlignedBox& bounds, double clearance, bool keep_height) {
    const Vector3d center = 0.5 * (bounds.lower + bounds.upper);
    const double gap = kClearance * 10 * (bounds.upper - bounds.lower).maxCoeff();
    Vector3d p(0, 0, keep_height ? std::max(0.0, -bounds.lower.z()) : clearance - bounds.lower.z());
    if (!keep_height) p.x() = -center.x();
    if (any_) {
      p.y() = end_ + gap - bounds.lower.y();
    } else if (!keep_height) {
      p.y() = -center.y();
    }
    any_ = true;
    end_ = p.y() + bounds.upper.y();
    return p;
  }

  void AddRobot(const std::string& file) {
    RobotFileOptions options;
    options.jail = jail_;
    const RobotFileResult read = ReadRobotFile(file, options);
    for (const RobotFileMessage& message : read.messages) {
      if (!message.error) continue;
      errors_.push_back(absl::StrCat(message.file,
                                     message.line > 0 ? absl::StrCat(":", message.line) : "", ": ",
                                     message.text));
    }
    if (!read.robot.has_value()) return;
    const RobotDescription& robot = *read.robot;
    const bool own_floor = HasFloor(robot);
    has_floor_ = has_floor_ || own_floor;
    const Vector3d p = own_floor ? Vector3d(0, 0, 0) : Place(CalcRestBounds(robot), 0, true);
    robot_files_.push_back(file);
    absl::StrAppend(&robots_, "  - name: ", NameFor(file), "\n    file: ", PathOf(file), "\n");
    if (HasLooseBase(robot))
      absl::StrAppend(&robots_, "    base: FIXED   # or FREE: it stands, rolls or falls\n");
    absl::StrAppend(&robots_, "    pose: ", PoseText(p), "\n");
    AddDrives(robot);
    AddTips(robot);
  }

  void AddDrives(const RobotDescription& robot) {
    const std::vector<ImportedDrive> drives = ChooseDrives(robot);
    if (drives.empty()) return;
    absl::StrAppend(&robots_, "    actuators:   # they hold the rest pose, and the weight\n");
    for (const ImportedDrive& drive : drives) {
      absl::StrAppend(
          &robots_, "      - {joint: ", InQuotes(PatternOf(drive.joint)),
          ", pd: {stiffness: ", Short(drive.stiffness), ", damping: ", Short(drive.damping),
          ", gravity_compensation: true}",
          drive.effort_limit > 0 ? absl::StrCat(", effort_limit: ", Short(drive.effort_limit)) : "",
          "}\n");
    }
  }

  void AddTips(const RobotDescription& robot) {
    const std::vector<std::string> tips = FindTips(robot);
    if (tips.empty()) return;
    absl::StrAppend(&robots_, "    controllers:   # drag the link, and its joints follow\n");
    for (const std::string& tip : tips) {
      // names of controllers follow that of their robot and a /
      const std::string name = absl::StrReplaceAll(tip, {{"/", "_"}});
      absl::StrAppend(&robots_, "      - {name: ", InQuotes(name),
                      ", differential_ik: {link: ", InQuotes(tip), "}}\n");
    }
  }

  void AddVolume(const std::string& file) {
    const absl::StatusOr<std::string> bytes = ReadMeshFileBytes(file);
    if (!bytes.ok()) return Refuse(bytes.status());
    const absl::StatusOr<VolumeMeshFile> read = ReadVolumeMesh(*bytes, file);
    if (!read.ok()) return Refuse(read.status());
    AddSoftBody(file, read->mesh.vertices, nullptr, false);
  }

  void AddSurface(const std::string& file) {
    const absl::StatusOr<std::string> bytes = ReadMeshFileBytes(file);
    if (!bytes.ok()) return Refuse(bytes.status());
    const absl::StatusOr<SurfaceMeshFile> read =
        ReadVisualSurface(*bytes, file, ServeCompanions(file, jail_));
    if (!read.ok()) return Refuse(read.status());
    const absl::StatusOr<SurfaceMeshFile> closed = CloseSurfaceMesh(*read, file);
    AddSoftBody(file, read->mesh.vertices, closed.ok() ? &closed->mesh : &read->mesh,
                !read->parts.empty());
  }

  // `surface`: to be filled; null: the file has tetrahedra. `has_colors`: the surface itself is
  // shown.
  void AddSoftBody(const std::string& file, const std::vector<Vector3d>& vertices,
                   const TriangleMesh* surface, bool has_colors) {
    AxisAlignedBox bounds;
    for (const Vector3d& p : vertices) bounds.Include(p);
    const double given = (bounds.upper - bounds.lower).maxCoeff();
    if (vertices.empty() || !(given > 0)) {
      errors_.push_back(absl::StrCat(file, ": has no extent; expected a solid"));
      return;
    }
    const double scale = given > kMaxSize ? 0.001 : 1;
    bounds.lower *= scale;
    bounds.upper *= scale;
    const double size = scale * given;
    body_files_.push_back(file);
    std::string mesh = absl::StrCat("file: ", PathOf(file));
    if (scale != 1) absl::StrAppend(&mesh, ", scale: ", Short(scale));
    std::string visual = has_colors ? absl::StrCat("\n      visual: {", mesh, "}") : "";
    if (surface != nullptr) {
      const absl::StatusOr<double> chosen =
          ChooseEdgeLength(*surface, {.shortest = given / kEdgesPerSize});
      if (!chosen.ok()) {
        errors_.push_back(absl::StrCat(file, ": ", chosen.status().message()));
        return;
      }
      const double edge = *chosen;
      if (!has_colors && surface->triangles.size() <= kMaxShownTriangles)
        visual = absl::StrCat("\n      visual: {", mesh, "}   # the fine surface, which is drawn");
      absl::StrAppend(&mesh, ", edge_length: ", Short(scale * edge),
                      ", max_tetrahedra: ", kMaxTetrahedra);
    }
    absl::StrAppend(
        &bodies_, "  - name: ", NameFor(file), "\n    deformable:\n      mesh: {", mesh, "}",
        scale != 1 ? absl::StrCat("   # ", Short(given), " m if it were in metres") : "", visual,
        "\n      pose: ", PoseText(Place(bounds, kClearance * size, false)),
        "\n      # rubber\n      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e6, "
        "poissons_ratio: 0.45, density: 1100}\n      damping: {beta: 0.005}\n");
  }

  void Refuse(const absl::Status& status) { errors_.emplace_back(status.message()); }

  std::string folder_, jail_;
  std::string bodies_, robots_;
  std::vector<std::string> body_files_, robot_files_;
  std::vector<std::string> errors_;
  std::set<std::string> names_;
  bool has_floor_ = false;
  bool any_ = false;
  double end_ = 0;  // upper end of the last object along y
};

}  // namespace

ImportKind FindImportKind(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return ImportKind::kNone;
  std::ifstream stream(path, std::ios::binary);
  std::string head(kHead, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  std::string extension = fs::path(path).extension().string();
  absl::AsciiStrToLower(&extension);
  if (IsVolumeMesh(head)) return ImportKind::kVolume;
  const std::size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string::npos && head[first] == '<') {
    if (head.find("<COLLADA") != std::string::npos || extension == ".dae")
      return ImportKind::kSurface;
    const bool robot = head.find("<robot") != std::string::npos ||
                       head.find("<sdf") != std::string::npos ||
                       head.find("<mujoco") != std::string::npos;
    const std::set<std::string> kinds = {".urdf", ".sdf", ".xacro", ".xml", ".mjcf"};
    return robot || (kinds.contains(extension) && head.find("<VTKFile") == std::string::npos)
               ? ImportKind::kRobot
               : ImportKind::kNone;
  }
  if (extension == ".yaml" || extension == ".yml") return ImportKind::kNone;
  if (GuessFileKind(head).ends_with("surface")) return ImportKind::kSurface;
  // A binary STL cannot be recognised by its first bytes. Any other file whose content does not
  // match its extension is passed to the reader of that extension, whose error message explains the
  // fault.
  const std::set<std::string> surfaces = {".stl", ".obj", ".ply", ".gltf", ".glb", ".dae"},
                              robots = {".urdf", ".sdf", ".mjcf", ".xacro"};
  if (surfaces.contains(extension)) return ImportKind::kSurface;
  return robots.contains(extension) ? ImportKind::kRobot : ImportKind::kNone;
}

absl::StatusOr<ImportedScene> WriteSceneOf(const std::vector<std::string>& files,
                                           const std::string& folder, const std::string& jail) {
  if (files.empty()) return absl::InvalidArgumentError("names no file; expected robots or meshes");
  SceneWriter writer(folder, jail);
  for (const std::string& file : files) writer.Add(file);
  return writer.Finish(files);
}

void ReferToFiles(const std::map<std::string, std::string>& files,
                  std::vector<SceneMessage>* messages) {
  for (SceneMessage& message : *messages) {
    const std::size_t end = message.path.find('.');
    const auto found = files.find(message.path.substr(0, end));
    if (found == files.end()) continue;
    message.file = found->second;
    message.line = message.column = 0;
    message.path = end == std::string::npos || message.path.ends_with(".file")
                       ? ""
                       : message.path.substr(end + 1);
    // messages about robots begin with a place in the file, FILE:LINE:
    std::string_view text = message.message;
    if (!text.starts_with(message.file + ":")) continue;
    text.remove_prefix(message.file.size() + 1);
    int line = 0;
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (digits > 0 && digits != std::string_view::npos && text[digits] == ':' &&
        absl::SimpleAtoi(absl::string_view(text.data(), digits), &line)) {
      message.line = line;
      text.remove_prefix(digits + 1);
    }
    const std::size_t begin = text.find_first_not_of(' ');
    message.message = std::string(text.substr(std::min(begin, text.size())));
  }
}

}  // namespace pliant::physics
