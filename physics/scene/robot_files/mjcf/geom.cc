#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/robot_files/mjcf/mjcf_model.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kDensity = 1000;     // [kg/m³], by default
constexpr int kLastVisibleGroup = 2;  // others are drawn on request

class GeomReader {
 public:
  GeomReader(const XmlElement& geom, const std::string& name, const RigidTransform& X_BF,
             MjcfModel* model)
      : geom_(geom), X_BF_(X_BF), model_(model), log_(model->log) {
    shape_.name = name;
  }

  MjcfGeom Read() {
    MjcfGeom result;
    int type = 1, affinity = 1;
    ReadInteger(AttributeOf(geom_, "contype"), &type, log_, 0, 0x7fffffff);
    ReadInteger(AttributeOf(geom_, "conaffinity"), &affinity, log_, 0, 0x7fffffff);
    std::vector<RobotShape> shapes = ReadShapes();
    if (shapes.empty() && !is_flat_) return result;
    ReadInteger(AttributeOf(geom_, "group"), &result.group, log_, 0, 30);
    if (!is_flat_) ReadMass(shapes, &result);
    const double friction = ReadFriction();
    for (RobotShape& shape : shapes) {
      shape.contact_type = type;
      shape.contact_affinity = affinity;
      shape.shape.friction = friction;
    }
    for (const char* solver : {"solref", "solimp", "margin", "gap", "solmix", "priority"}) {
      if (geom_.Find(solver) != nullptr) {
        log_->LeftOut(
            geom_.place, "solref, solimp, solmix, margin, gap or priority of a geom",
            "contacts are as rigid as possible; stiffness and margin are those of the scene");
        break;
      }
    }
    if (geom_.Find("fluidshape") != nullptr) log_->LeftOut(geom_.place, "fluidshape of a geom");
    if (result.group <= kLastVisibleGroup) result.visuals = MakeVisuals(shapes);
    if (type != 0 || affinity != 0) result.collisions = std::move(shapes);
    return result;
  }

 private:
  void Refuse(const std::string& why) {
    log_->Error(geom_.place, absl::StrCat(geom_.Label(), ": ", why));
  }

  std::vector<RobotShape> ReadShapes() {
    std::string type = geom_.Get("type");
    if (type.empty()) type = "sphere";
    shape_.shape.X_BS = X_BF_ * ReadMjcfPose(geom_, model_->settings, log_);
    ReadColor();
    const bool mesh = geom_.Find("mesh") != nullptr;
    if (type == "sdf" || type == "hfield") {
      log_->LeftOut(geom_.place, absl::StrCat("geom of type ", type),
                    "it is neither shown nor in contact");
      return {};
    }
    if (mesh && type != "mesh") {
      log_->LeftOut(geom_.place, "fitting a primitive to the mesh of a geom",
                    "the mesh's hull is used");
    }
    if (type == "mesh" || mesh) return ReadMesh();
    if (type == "plane") {
      shape_.shape.geometry = HalfSpace{};
      return {shape_};
    }
    if (!ReadPrimitive(type)) return {};
    return {shape_};
  }

  // Visual shapes: the mesh itself, not its hull.
  std::vector<RobotShape> MakeVisuals(const std::vector<RobotShape>& shapes) {
    if (mesh_ != nullptr && !mesh_->inlined.has_value()) {
      std::vector<RobotShape> visuals = model_->meshes->MakeVisuals(mesh_->request, shape_);
      if (!visuals.empty()) return visuals;
    }
    return shapes;
  }

  void ReadColor() {
    std::vector<double> color;
    if (ReadNumbers(AttributeOf(geom_, "rgba"), 4, 4, &color, log_)) {
      shape_.color =
          Eigen::Vector4d(color[0], color[1], color[2], color[3]).cwiseMax(0).cwiseMin(1);
      return;
    }
    const auto material = model_->materials.find(geom_.Get("material"));
    if (material != model_->materials.end()) shape_.color = material->second;
  }

  std::vector<RobotShape> ReadMesh() {
    const std::string name = geom_.Get("mesh");
    const auto found = model_->mesh_assets.find(name);
    if (found == model_->mesh_assets.end()) {
      if (log_->left_something_out() && name.empty()) {
        log_->Warning(geom_.place, absl::StrCat(geom_.Label(), ": has no mesh, and is left out"));
      } else {
        Refuse(absl::StrCat("there is no mesh \"", name, "\" among the assets. Define it"));
      }
      return {};
    }
    MjcfMesh& asset = found->second;
    mesh_ = &asset;
    if (!asset.supported) {
      log_->LeftOut(geom_.place, "geom of a mesh that was left out",
                    "it is neither shown nor in contact");
      return {};
    }
    shape_.shape.X_BS = shape_.shape.X_BS * asset.X;
    std::vector<RobotShape> shapes =
        asset.inlined.has_value()
            ? model_->meshes->MakeCollisions(*asset.inlined, asset.request, shape_, false)
            : model_->meshes->MakeCollisions(asset.request, shape_, false);
    is_flat_ = shapes.empty() && log_->ok();
    return shapes;
  }

  // Reads `size`; for a geom given by its end points, the length replaces the last number.
  bool ReadPrimitive(const std::string& type) {
    const bool round = type == "capsule" || type == "cylinder";
    const bool wide = type == "box" || type == "ellipsoid";
    if (!round && !wide && type != "sphere") {
      Refuse(absl::StrCat("type \"", type,
                          "\" is unknown; expected plane, sphere, capsule, ellipsoid, cylinder, "
                          "box or mesh"));
      return false;
    }
    std::vector<double> ends;
    const bool spans = geom_.Find("fromto") != nullptr && type != "sphere";
    std::size_t needed = type == "sphere" ? 1 : round ? 2 : 3;
    if (spans) needed = 1;
    std::vector<double> size;
    const XmlValue given = AttributeOf(geom_, "size");
    if (given.text == nullptr) {
      Refuse(absl::StrCat("has no size; a ", type, " needs ", needed,
                          needed == 1 ? " number" : " numbers"));
      return false;
    }
    // ignore numbers beyond those that the type needs
    if (!ReadNumbers(given, needed, 3, &size, log_, Range::kNotNegative)) return false;
    if (std::find(size.begin(), size.begin() + static_cast<std::ptrdiff_t>(needed), 0.0) !=
        size.begin() + static_cast<std::ptrdiff_t>(needed)) {
      log_->Mended(geom_.place,
                   absl::StrCat(geom_.Label(), ": a geom with a size of 0 is left out"));
      return false;
    }
    for (std::size_t i = 0; i < needed; ++i) {
      if (size[i] <= 1e6) continue;
      Refuse(absl::StrCat("size: \"", *given.text, "\" is not allowed; a ", type, " needs ", needed,
                          needed == 1 ? " number" : " numbers", " above 0 and at most 1e6 m"));
      return false;
    }
    size.resize(3, 0);
    if (spans) {
      if (!ReadNumbers(AttributeOf(geom_, "fromto"), 6, 6, &ends, log_, Range::kLength))
        return false;
      const Vector3d from(ends[0], ends[1], ends[2]), to(ends[3], ends[4], ends[5]);
      const double length = std::sqrt((from - to).squaredNorm());
      if (!(length > 1e-12)) {
        Refuse("fromto: both points are the same; expected two");
        return false;
      }
      shape_.shape.X_BS = X_BF_ * RigidTransform{RotationFromZ(from - to), 0.5 * (from + to)};
      // boxes and ellipsoids have equal widths across the axis
      size = wide ? std::vector{size[0], size[0], 0.5 * length}
                  : std::vector{size[0], 0.5 * length, 0.0};
    }
    Geometry& out = shape_.shape.geometry;
    if (type == "sphere") out = Sphere{size[0]};
    if (type == "capsule") out = Capsule{size[0], 2 * size[1]};
    if (type == "cylinder") out = Cylinder{size[0], 2 * size[1]};
    if (type == "box") out = Box{{size[0], size[1], size[2]}};
    if (type == "ellipsoid") out = Ellipsoid{{size[0], size[1], size[2]}};
    return true;
  }

  double ReadFriction() {
    int dimension = 3;
    ReadInteger(AttributeOf(geom_, "condim"), &dimension, log_, 1, 6);
    std::vector<double> friction = {1};
    ReadNumbers(AttributeOf(geom_, "friction"), 1, 3, &friction, log_, Range::kNotNegative);
    if (dimension > 3)
      log_->LeftOut(geom_.place, "torsional or rolling friction (condim 4 or 6) of a geom");
    return dimension == 1 ? 0 : friction[0];
  }

  // Mass properties for a density of 1, in the frame of the shape.
  MassProperties CalcUnitMass(const Geometry& geometry, std::string* doubt) {
    if (mesh_ == nullptr) return CalcMassProperties(geometry);
    const std::shared_ptr<const SurfaceMeshFile> surface =
        mesh_->inlined.has_value() ? nullptr : model_->meshes->FindSurface(mesh_->request);
    if (surface != nullptr && surface->concave_polygons > 0 &&
        mesh_->inertia != MjcfMeshInertia::kConvex) {
      *doubt = absl::StrCat(mesh_->request.what, ": has ", surface->concave_polygons,
                            " concave polygons, of which other programs may make other "
                            "triangles, and another mass");
    }
    if (!mesh_->unit_mass.has_value()) mesh_->unit_mass = CalcUnitMassOfMesh(surface.get());
    return *mesh_->unit_mass;
  }

  // The same of a mesh, whose triangles are those of a file unless the asset has them.
  MassProperties CalcUnitMassOfMesh(const SurfaceMeshFile* surface) const {
    TriangleMesh mesh;
    if (mesh_->inlined.has_value()) {
      mesh = *mesh_->inlined;
    } else if (surface != nullptr) {
      mesh = surface->mesh;
      mesh.triangles.insert(mesh.triangles.end(), surface->repeated.begin(),
                            surface->repeated.end());
    }
    MassProperties unit = CalcMeshMass(std::move(mesh), mesh_->request.scale, mesh_->inertia);
    if (unit.volume < 0) {
      unit.volume = -unit.volume;
      unit.inertia = -unit.inertia;
    }
    return unit;
  }

  void ReadMass(const std::vector<RobotShape>& shapes, MjcfGeom* result) {
    const RobotShape& shape = shapes[0];
    const MassProperties unit = CalcUnitMass(shape.shape.geometry, &result->doubt);
    double density = kDensity;
    ReadNumber(AttributeOf(geom_, "density"), &density, log_, Range::kNotNegative);
    double mass = density * unit.volume;
    ReadNumber(AttributeOf(geom_, "mass"), &mass, log_, Range::kNotNegative);
    if (geom_.Get("shellinertia") == "true")
      log_->LeftOut(geom_.place, "shellinertia of a geom", "its mass is spread over the volume");
    if (!(unit.volume > 0) || !(mass > 0)) return;
    const RigidTransform& X = shape.shape.X_BS;
    result->mass = mass;
    result->center = X * unit.center;
    result->inertia = mass / unit.volume * (X.R * unit.inertia * X.R.transpose());
  }

  const XmlElement& geom_;
  const RigidTransform& X_BF_;
  MjcfModel* model_;
  RobotLog* log_;
  bool is_flat_ = false;  // a mesh without a volume, which is shown
  RobotShape shape_;
  MjcfMesh* mesh_ = nullptr;
};

}  // namespace

MjcfGeom ReadMjcfGeom(const XmlElement& geom, const std::string& name, const RigidTransform& X_BF,
                      MjcfModel* model) {
  return GeomReader(geom, name, X_BF, model).Read();
}

}  // namespace pliant::physics
