#include "physics/scene/robot_files/sdf/sdf_link.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/geometry/convex_hull.h"
#include "physics/scene/robot_files/parts/defects.h"
#include "physics/scene/robot_files/parts/drake_tags.h"
#include "physics/scene/robot_files/parts/link_checks.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr int kConeSides = 48;
constexpr double kNeverReached = 1e3;  // as an approach speed [m/s]
constexpr int kAllBits = 0xffff;       // default of collide_bitmask

double ReadSize(const XmlElement& element, const char* child, RobotLog* log) {
  double size = 1;
  const XmlValue value = TextOfChild(element, child);
  if (value.text == nullptr) {
    log->Error(element.place, absl::StrCat("<", element.name, ">: <", child,
                                           "> is missing; expected a length in metres"));
  }
  ReadNumber(value, &size, log, Range::kSizeOrZero);
  return size;
}

// Cone with its base at −length/2 and its tip at length/2.
ConvexMesh MakeCone(double radius, double length) {
  TriangleMesh cone;
  for (int i = 0; i < kConeSides; ++i) {
    const SinCos angle = CalcSinCos(2 * kPi * i / kConeSides);
    cone.vertices.push_back({radius * angle.cos, radius * angle.sin, -0.5 * length});
  }
  cone.vertices.push_back({0, 0, 0.5 * length});
  for (int i = 0; i < kConeSides; ++i) {
    const int next = (i + 1) % kConeSides;
    cone.triangles.push_back({i, next, kConeSides});
    if (i > 0 && next > 0) cone.triangles.push_back({0, next, i});
  }
  return {std::make_shared<const TriangleMesh>(std::move(cone))};
}

class LinkReader {
 public:
  LinkReader(const XmlElement& element, const std::string& folder, bool fixed, RobotMeshes* meshes,
             RobotLog* log)
      : element_(element), folder_(folder), fixed_(fixed), meshes_(meshes), log_(log) {}

  void Read(const RobotFileOptions& options, RobotLink* link) {
    link->has_inertia = false;
    for (const XmlElement& child : element_.children) {
      if (child.name == "collision" || child.name == "visual") {
        std::vector<RobotShape> shapes = ReadShape(child);
        auto& all = child.name == "collision" ? link->collisions : link->visuals;
        for (RobotShape& shape : shapes) all.push_back(std::move(shape));
      } else if (child.name == "gravity") {
        bool has_weight = true;
        ReadBool(TextOf(child), &has_weight, log_);
        link->gravity_scale = has_weight ? 1 : 0;
      } else if (child.name == "kinematic" || child.name == "self_collide" ||
                 child.name == "enable_wind") {
        bool on = false;
        if (ReadBool(TextOf(child), &on, log_) && on)
          log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a link"));
      } else if (!IsOneOf(child.name, {"pose", "inertial", "must_be_base_link"})) {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a link"));
      }
    }
    ReadInertial(options, link);
  }

  // Reads the shapes of a <collision> or <visual>.
  std::vector<RobotShape> ReadShape(const XmlElement& element) {
    const bool collision = element.name == "collision";
    RobotShape shape;
    shape.name = element.Get("name");
    shape.shape.X_BS = ReadSdfPose(element, log_);
    if (const XmlElement* material = element.Child("material")) ReadColor(*material, &shape);
    const XmlElement* geometry = element.Child("geometry");
    if (geometry == nullptr || geometry->children.empty()) {
      log_->Error(element.place,
                  absl::StrCat(element_.Label(), ": ", element.Label(),
                               " has no geometry; expected <geometry> with a shape"));
      return {};
    }
    std::vector<RobotShape> shapes;
    if (const XmlElement* mesh = geometry->Child("mesh")) {
      const MeshRequest request = ReadMesh(*mesh, element);
      if (collision) {
        shapes = meshes_->MakeCollisions(request, shape, fixed_);
      } else {
        shapes = meshes_->MakeVisuals(request, shape);
      }
    } else if (ReadPrimitive(*geometry, &shape.shape) &&
               !LeaveOutWithoutVolume(shape.shape.geometry, geometry->place,
                                      absl::StrCat(element_.Label(), ": ", element.Label()),
                                      log_)) {
      shapes.push_back(std::move(shape));
    }
    if (collision) {
      ReadSurface(element, &shapes);
      ReadProximity(element, &shapes, log_);
    }
    for (const XmlElement& child : element.children) {
      if (!IsOneOf(child.name,
                   {"pose", "geometry", "surface", "material", "drake:proximity_properties",
                    "density", "laser_retro", "max_contacts", "cast_shadows", "transparency",
                    "visibility_flags", "drake:perception_properties", "meta",
                    "drake:illustration_properties", "drake:visual"})) {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a ", element.name));
      }
    }
    return shapes;
  }

  MeshRequest ReadMesh(const XmlElement& mesh, const XmlElement& shape) {
    MeshRequest request;
    const XmlElement* uri = mesh.Child("uri");
    if (uri != nullptr) request.uri = uri->text;
    request.folder = folder_;
    request.place = mesh.place;
    request.what = absl::StrCat(element_.Label(), ": ", shape.name, " mesh");
    const XmlValue scale = TextOfChild(mesh, "scale");
    if (ReadVector(scale, &request.scale, log_) && (request.scale.array() == 0).any()) {
      log_->Error(scale.owner->place, absl::StrCat("<scale>: \"", *scale.text,
                                                   "\" is not allowed; expected no factor 0"));
      request.scale = Vector3d::Ones();
    }
    if (mesh.Child("submesh") != nullptr)
      log_->LeftOut(mesh.place, "<submesh>", "the whole mesh is used");
    const std::string simplify = mesh.Get("optimization");
    if (mesh.Child("drake:declare_convex") != nullptr || simplify == "convex_hull")
      request.use = MeshUse::kHull;
    if (simplify == "convex_decomposition") {
      request.use = MeshUse::kDecomposition;
      if (const XmlElement* settings = mesh.Child("convex_decomposition"))
        ReadInteger(TextOfChild(*settings, "max_convex_hulls"), &request.max_pieces, log_, 1, 256);
    }
    return request;
  }

  bool ReadPrimitive(const XmlElement& geometry, Shape* shape) {
    Geometry& out = shape->geometry;
    if (const XmlElement* box = geometry.Child("box")) {
      Vector3d size = Vector3d::Ones();
      const XmlValue value = TextOfChild(*box, "size");
      if (value.text == nullptr)
        log_->Error(box->place, "<box>: <size> is missing; expected three lengths in metres");
      ReadVector(value, &size, log_, Range::kSizeOrZero);
      out = Box{0.5 * size};
      return true;
    }
    if (const XmlElement* sphere = geometry.Child("sphere")) {
      out = Sphere{ReadSize(*sphere, "radius", log_)};
      return true;
    }
    if (const XmlElement* cylinder = geometry.Child("cylinder")) {
      out = Cylinder{ReadSize(*cylinder, "radius", log_), ReadSize(*cylinder, "length", log_)};
      return true;
    }
    if (const XmlElement* cone = geometry.Child("cone")) {
      const Cylinder hull{ReadSize(*cone, "radius", log_), ReadSize(*cone, "length", log_)};
      out = hull;
      if (!HasNoVolume(hull)) out = MakeCone(hull.radius, hull.length);
      return true;
    }
    if (const XmlElement* ellipsoid = geometry.Child("ellipsoid")) {
      Vector3d radii = Vector3d::Ones();
      ReadVector(TextOfChild(*ellipsoid, "radii"), &radii, log_, Range::kSizeOrZero);
      out = Ellipsoid{radii};
      return true;
    }
    if (const XmlElement* plane = geometry.Child("plane")) {
      Vector3d normal = Vector3d::UnitZ();
      ReadAxis(TextOfChild(*plane, "normal"), &normal, log_, AxisLength::kAny);
      shape->X_BS.R = shape->X_BS.R * FrameFromNormal(normal);
      out = HalfSpace{};
      return true;
    }
    if (ReadDrakeGeometry(geometry, &out, log_)) return true;
    const std::string& name = geometry.children[0].name;
    if (name == "empty") return false;
    if (IsOneOf(name, {"heightmap", "image", "polyline", "drake:ellipsoid"})) {
      log_->LeftOut(geometry.place, absl::StrCat("geometry <", name, ">"),
                    "it is neither shown nor in contact");
    } else {
      log_->Mended(geometry.place,
                   absl::StrCat(element_.Label(), ": geometry <", name,
                                "> is unknown, and left out; expected box, sphere, cylinder, "
                                "capsule, cone, ellipsoid, plane or mesh"));
    }
    return false;
  }

 private:
  void ReadColor(const XmlElement& material, RobotShape* shape) {
    std::vector<double> color;
    if (!ReadNumbers(TextOfChild(material, "diffuse"), 3, 4, &color, log_) &&
        !ReadNumbers(TextOfChild(material, "ambient"), 3, 4, &color, log_)) {
      return;
    }
    if (color.size() == 3) color.push_back(1);
    shape->color = Eigen::Vector4d(color[0], color[1], color[2], color[3]).cwiseMax(0).cwiseMin(1);
  }

  void ReadSurface(const XmlElement& collision, std::vector<RobotShape>* shapes) {
    int bits = kAllBits;
    double friction = -1, stiffness = -1, restitution = -1;
    if (const XmlElement* surface = collision.Child("surface")) {
      const XmlElement* contact = surface->Child("contact");
      if (contact != nullptr) {
        ReadBits(*contact, &bits);
        if (const XmlElement* ode = contact->Child("ode"))
          ReadContactStiffness(TextOfChild(*ode, "kp"), &stiffness, log_);
      }
      if (const XmlElement* given = surface->Child("friction")) {
        if (const XmlElement* ode = given->Child("ode")) {
          double other = -1;
          ReadNumber(TextOfChild(*ode, "mu"), &friction, log_, Range::kNotNegative);
          if (ReadNumber(TextOfChild(*ode, "mu2"), &other, log_, Range::kNotNegative) &&
              friction >= 0 && other != friction) {
            log_->WarnOnce(ode->place,
                           "<mu2> differs from <mu>; friction is the same in all "
                           "directions, and <mu> is used");
          }
        }
        double torsion = 0;
        const XmlElement* torsional = given->Child("torsional");
        if (torsional != nullptr &&
            ReadNumber(TextOfChild(*torsional, "surface_radius"), &torsion, log_) && torsion != 0) {
          log_->LeftOut(torsional->place, "<torsional> friction");
        }
      }
      if (const XmlElement* given = surface->Child("bounce")) ReadBounce(*given, &restitution);
    }
    for (RobotShape& shape : *shapes) {
      shape.contact_type = shape.contact_affinity = bits;
      if (friction >= 0) shape.shape.friction = friction;
      if (restitution > 0) shape.shape.restitution = restitution;
      if (stiffness > 0) shape.shape.stiffness = stiffness;
    }
  }

  // Bodies bounce above a threshold speed only. The default of SDF, 1e5 m/s, is never reached.
  void ReadBounce(const XmlElement& bounce, double* restitution) {
    double given = 0, threshold = kNeverReached;
    if (!ReadRestitution(TextOfChild(bounce, "restitution_coefficient"), &given, log_)) return;
    ReadNumber(TextOfChild(bounce, "threshold"), &threshold, log_, Range::kNotNegative);
    if (threshold < kNeverReached) {
      *restitution = given;
    } else if (given > 0) {
      log_->LeftOut(bounce.place, "<bounce>",
                    "a <threshold> of at least 1000 m/s, and the default is 1e5, lets nothing "
                    "bounce. Give a lower one");
    }
  }

  void ReadBits(const XmlElement& contact, int* bits) {
    const XmlValue value = TextOfChild(contact, "collide_bitmask");
    if (value.text == nullptr) return;
    int number = 0, digits = 0;
    const bool hex = value.text->starts_with("0x") || value.text->starts_with("0X");
    for (const char c : value.text->substr(hex ? 2 : 0)) {
      const bool decimal = c >= '0' && c <= '9';
      const bool letter = hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
      if ((!decimal && !letter) || ++digits > 9) {
        log_->Error(value.owner->place, absl::StrCat("<collide_bitmask>: \"", *value.text,
                                                     "\" is not allowed; expected bits such as "
                                                     "0x01"));
        return;
      }
      number = (number * (hex ? 16 : 10) + (decimal ? c - '0' : (c | 0x20) - 'a' + 10)) & 0xffffff;
    }
    *bits = number;
  }

  void ReadInertial(const RobotFileOptions& options, RobotLink* link) {
    const XmlElement* inertial = element_.Child("inertial");
    const Eigen::Matrix3d unit = Eigen::Matrix3d::Identity();
    if (inertial == nullptr) {
      link->mass = 1;
      link->inertia = unit;
      if (!options.recompute_inertia) {
        log_->WarnOnce(
            element_.place,
            "link without <inertial>: 1 kg and 1 kg·m² about each axis are assumed, as the format "
            "specifies. Give an <inertial>, or set `recompute_inertia: true`");
      }
      return;
    }
    bool automatic = false;
    ReadBool(AttributeOf(*inertial, "auto"), &automatic, log_);
    if (automatic) {
      ReadAutomaticInertia(*inertial, options, link);
      return;
    }
    link->has_inertia = true;
    link->mass = 1;
    ReadNumber(TextOfChild(*inertial, "mass"), &link->mass, log_, Range::kNotNegative);
    const RigidTransform X_BI = ReadSdfPose(*inertial, log_);
    link->p_BoBcm = X_BI.p;
    double I[6] = {1, 1, 1, 0, 0, 0};
    if (const XmlElement* inertia = inertial->Child("inertia")) {
      const char* names[] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
      for (int i = 0; i < 6; ++i) ReadNumber(TextOfChild(*inertia, names[i]), &I[i], log_);
    } else if (link->mass > 0) {
      log_->WarnOnce(inertial->place,
                     "<inertial> without <inertia>: 1 kg·m² about each axis is assumed, as the "
                     "format specifies");
    } else {
      I[0] = I[1] = I[2] = 0;
    }
    if (inertial->Child("fluid_added_mass") != nullptr)
      log_->LeftOut(inertial->place, "<fluid_added_mass>");
    Eigen::Matrix3d tensor;
    tensor << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
    link->inertia = X_BI.R * tensor * X_BI.R.transpose();
  }

  void ReadAutomaticInertia(const XmlElement& inertial, const RobotFileOptions& options,
                            RobotLink* link) {
    double density = options.default_density;
    ReadNumber(TextOfChild(inertial, "density"), &density, log_, Range::kPositive);
    for (const XmlElement& child : element_.children) {
      double own = density;
      if (child.name == "collision" &&
          ReadNumber(TextOfChild(child, "density"), &own, log_, Range::kPositive) &&
          own != density) {
        log_->LeftOut(child.place, "<density> of a single collision",
                      "give it in <inertial> for the whole link");
      }
    }
    if (TakeInertiaFromShapes(density, link)) {
      link->has_inertia = true;
      return;
    }
    log_->Error(inertial.place, absl::StrCat(element_.Label(),
                                             ": <inertial auto=\"true\"> needs collision shapes "
                                             "that enclose a volume. Add one, or give the mass"));
  }

  const XmlElement& element_;
  const std::string& folder_;
  bool fixed_;
  RobotMeshes* meshes_;
  RobotLog* log_;
};

}  // namespace

RigidTransform ReadSdfPose(const XmlElement& parent, RobotLog* log) {
  RigidTransform X;
  const XmlElement* pose = parent.Child("pose");
  if (pose == nullptr || pose->text.empty()) return X;
  const std::string format = pose->Get("rotation_format");
  std::vector<double> x;
  if (format == "quat_xyzw") {
    if (!ReadNumbers(TextOf(*pose), 7, 7, &x, log, Range::kLength)) return X;
    X.R = ReadUnitQuaternion(TextOf(*pose), x[6], x[3], x[4], x[5], log);
  } else {
    if (!format.empty() && format != "euler_rpy") {
      log->Error(pose->place, absl::StrCat("<pose> rotation_format: \"", format,
                                           "\" is unknown; expected euler_rpy or quat_xyzw"));
      return X;
    }
    if (!ReadNumbers(TextOf(*pose), 6, 6, &x, log, Range::kLength)) return X;
    bool degrees = false;
    ReadBool(AttributeOf(*pose, "degrees"), &degrees, log);
    Vector3d rpy(x[3], x[4], x[5]);
    if (!(rpy.cwiseAbs().maxCoeff() <= 1e5)) {
      log->Error(pose->place, "<pose>: expected angles of at most 1e5 in magnitude");
      return X;
    }
    if (degrees) rpy *= kPi / 180;
    X.R = RotationFromRollPitchYaw(rpy).toRotationMatrix();
  }
  X.p = {x[0], x[1], x[2]};
  return X;
}

void ReadSdfLink(const XmlElement& element, const std::string& folder, bool fixed,
                 const RobotFileOptions& options, RobotMeshes* meshes, RobotLink* link,
                 RobotLog* log) {
  LinkReader(element, folder, fixed, meshes, log).Read(options, link);
}

bool ReadSdfDeformable(const XmlElement& element, const std::string& folder, RobotMeshes* meshes,
                       RobotDeformable* body, RobotLog* log) {
  ReadDeformableProperties(*element.Child("drake:deformable_properties"), body, log);
  const XmlElement* collision = nullptr;
  for (const XmlElement& child : element.children) {
    if (child.name == "collision") {
      if (collision != nullptr) {
        log->Error(child.place, absl::StrCat(element.Label(),
                                             ": a deformable link has one "
                                             "collision, found two. Remove one"));
        return false;
      }
      collision = &child;
    } else if (child.name == "inertial") {
      log->Error(child.place, absl::StrCat(element.Label(),
                                           ": a deformable link takes its mass from "
                                           "<drake:mass_density>. Remove <inertial>"));
    } else if (child.name != "pose" && child.name != "visual" &&
               child.name != "drake:deformable_properties") {
      log->LeftOut(child.place, absl::StrCat("<", child.name, "> of a deformable link"));
    }
  }
  const XmlElement* geometry = collision == nullptr ? nullptr : collision->Child("geometry");
  if (geometry == nullptr || geometry->children.empty()) {
    log->Error(element.place, absl::StrCat(element.Label(),
                                           ": a deformable link needs a "
                                           "<collision> with its shape or mesh"));
    return false;
  }
  LinkReader reader(element, folder, false, meshes, log);
  const RigidTransform X_BG = ReadSdfPose(*collision, log);
  body->X_WB = body->X_WB * X_BG;
  std::vector<RobotShape> surface(1);
  if (const XmlElement* mesh = geometry->Child("mesh")) {
    const RobotMeshes::Volume volume = meshes->ReadVolume(reader.ReadMesh(*mesh, *collision));
    body->mesh = volume.mesh;
    body->mesh_file = volume.path;
    if (body->mesh == nullptr) return false;
    surface[0].shape.geometry = HalfSpace{};  // only for its friction
  } else {
    Shape shape;
    if (!reader.ReadPrimitive(*geometry, &shape)) return false;
    if (std::holds_alternative<HalfSpace>(shape.geometry) ||
        std::holds_alternative<ConvexMesh>(shape.geometry) || HasNoVolume(shape.geometry)) {
      log->Error(geometry->place,
                 absl::StrCat(element.Label(), ": <", geometry->children[0].name,
                              "> cannot be deformable; expected a mesh, box, sphere, cylinder, "
                              "capsule or ellipsoid, with a size above 0"));
      return false;
    }
    body->primitive = shape.geometry;
    surface[0].shape.geometry = shape.geometry;
    if (const XmlElement* properties = collision->Child("drake:proximity_properties")) {
      ReadNumber(DrakeValue(*properties, "drake:mesh_resolution_hint"), &body->edge_length, log,
                 Range::kSize);
    }
  }
  ReadProximity(*collision, &surface, log);
  body->friction = surface[0].shape.friction;
  return true;
}

}  // namespace pliant::physics
