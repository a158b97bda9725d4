#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/robot_files/mjcf/mjcf_model.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

std::string StemOf(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

// Reads vertices, and faces if there are any.
std::optional<TriangleMesh> ReadInlined(const XmlElement& mesh, RobotLog* log) {
  TriangleMesh result;
  std::vector<double> numbers;
  if (!ReadNumbers(AttributeOf(mesh, "vertex"), 12, kMaxNumbers, &numbers, log, Range::kLength))
    return std::nullopt;
  const auto refuse = [&](const char* why) {
    log->Error(mesh.place, absl::StrCat(mesh.Label(), ": ", why));
    return std::nullopt;
  };
  if (numbers.size() % 3 != 0) return refuse("vertex: expected three numbers each");
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 3)
    result.vertices.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  if (mesh.Find("face") == nullptr) return result;
  if (!ReadNumbers(AttributeOf(mesh, "face"), 3, kMaxNumbers, &numbers, log, Range::kNotNegative))
    return std::nullopt;
  if (numbers.size() % 3 != 0) return refuse("face: expected three vertex numbers each");
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
    std::array<int, 3> triangle;
    for (int k = 0; k < 3; ++k) {
      const double v = numbers[i + k];
      if (!(v < static_cast<double>(result.vertices.size())) || v != std::floor(v))
        return refuse("face: names a vertex that does not exist");
      triangle[k] = static_cast<int>(v);
    }
    result.triangles.push_back(triangle);
  }
  return result;
}

void ReadMesh(const XmlElement& source, MjcfModel* model) {
  RobotLog* log = model->log;
  const XmlElement mesh = model->defaults.Apply(source, "", log);
  MjcfMesh asset;
  asset.place = mesh.place;
  std::string file = mesh.Get("file");
  std::string name = mesh.Get("name");
  if (name.empty()) name = StemOf(file);
  if (source.Child("plugin") != nullptr || mesh.Find("builtin") != nullptr) {
    log->LeftOut(mesh.place,
                 source.Child("plugin") != nullptr ? "<plugin> of a mesh" : "<mesh> with builtin");
    asset.supported = false;
  } else if (mesh.Find("vertex") != nullptr) {
    asset.inlined = ReadInlined(mesh, log);
    asset.supported = asset.inlined.has_value();
  } else if (file.empty()) {
    log->Error(mesh.place, absl::StrCat(mesh.Label(), ": has no file; expected file=\"…\""));
    return;
  }
  if (model->settings.strip_paths) file = std::filesystem::path(file).filename().string();
  const std::string& folder = model->settings.mesh_folder;
  asset.request.uri = std::filesystem::path(file).is_absolute() || folder.empty()
                          ? file
                          : (std::filesystem::path(folder) / file).string();
  asset.request.folder = model->folder;
  asset.request.place = mesh.place;
  asset.request.use = MeshUse::kHull;
  asset.request.what = absl::StrCat("mesh \"", name, "\"");
  asset.request.if_flat = "it is shown, touches nothing and has no mass";

  const XmlValue inertia = AttributeOf(mesh, "inertia");
  if (inertia.text != nullptr) {
    if (const auto known = ParseMeshInertia(*inertia.text)) {
      asset.inertia = *known;
    } else {
      log->Error(mesh.place,
                 absl::StrCat(inertia.Name(), ": \"", *inertia.text,
                              "\" is unknown; expected legacy, exact, convex or shell"));
    }
  }

  // vertices of the file are moved by −refpos, turned by the inverse of refquat, and scaled
  Vector3d scale = Vector3d::Ones();
  const XmlValue given_scale = AttributeOf(mesh, "scale");
  if (ReadVector(given_scale, &scale, log) && (scale.array() == 0).any()) {
    log->Error(mesh.place, absl::StrCat(given_scale.Name(), ": \"", *given_scale.text,
                                        "\" is not allowed; expected no factor 0"));
    scale = Vector3d::Ones();
  }
  asset.request.scale = scale;
  Vector3d reference = Vector3d::Zero();
  ReadVector(AttributeOf(mesh, "refpos"), &reference, log, Range::kLength);
  std::vector<double> q;
  if (ReadNumbers(AttributeOf(mesh, "refquat"), 4, 4, &q, log)) {
    const auto R = RotationFromQuaternion(q[0], q[1], q[2], q[3]);
    const bool uniform = scale.x() == scale.y() && scale.y() == scale.z();
    if (R.has_value() && uniform) {
      asset.X.R = R->transpose();
    } else {
      log->LeftOut(mesh.place, "refquat of a <mesh>",
                   "it is zero, or the scale differs between the axes");
    }
  }
  asset.X.p = -(asset.X.R * scale.cwiseProduct(reference));
  if (!model->mesh_assets.emplace(name, std::move(asset)).second) {
    log->Error(mesh.place,
               absl::StrCat("mesh \"", name, "\": the name is already taken. Give a name"));
  }
}

}  // namespace

void ReadMjcfAssets(const XmlElement& section, MjcfModel* model) {
  for (const XmlElement& child : section.children) {
    if (child.name == "mesh") {
      ReadMesh(child, model);
    } else if (child.name == "material") {
      const XmlElement material = model->defaults.Apply(child, "", model->log);
      std::vector<double> color;
      if (ReadNumbers(AttributeOf(material, "rgba"), 4, 4, &color, model->log)) {
        model->materials[material.Get("name")] =
            Eigen::Vector4d(color[0], color[1], color[2], color[3]).cwiseMax(0).cwiseMin(1);
      }
    } else if (child.name == "model") {
      std::optional<MjcfSubmodel> submodel =
          ReadMjcfSubmodel(child, model->files, model->folder, model->log);
      if (!submodel.has_value()) continue;
      std::string name = child.Get("name");
      if (name.empty()) name = submodel->root.Get("model");
      if (!model->submodels.emplace(name, *std::move(submodel)).second) {
        model->log->Error(child.place, absl::StrCat("model \"", name,
                                                    "\": the name is already taken. Give a name"));
      }
    } else if (child.name != "texture") {
      model->log->LeftOut(child.place, absl::StrCat("<", child.name, "> of the assets"));
    }
  }
}

}  // namespace pliant::physics
