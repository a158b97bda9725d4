// Rigid bodies: shapes, mass and motion.

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include <Eigen/Eigenvalues>

#include "physics/geometry/convex_hull.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/scene/compiler.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

constexpr double kMaxMass = 1e15;  // [kg]

// Volume, centre, and rotational inertia about it, of several shapes of density 1.
MassProperties Unite(const std::vector<Shape>& shapes) {
  MassProperties whole;
  std::vector<MassProperties> parts;
  for (const Shape& shape : shapes) {
    MassProperties part = CalcMassProperties(shape.geometry);
    part.center = shape.X_BS * part.center;
    part.inertia = shape.X_BS.R * part.inertia * shape.X_BS.R.transpose();
    whole.volume += part.volume;
    whole.center += part.volume * part.center;
    parts.push_back(part);
  }
  if (!(whole.volume > 0)) return MassProperties();
  whole.center /= whole.volume;
  for (const MassProperties& part : parts) {
    const Eigen::Vector3d r = part.center - whole.center;
    whole.inertia += part.inertia + part.volume * (r.squaredNorm() * Eigen::Matrix3d::Identity() -
                                                   r * r.transpose());
  }
  return whole;
}

// Checks that a body can have this tensor: positive principal moments, none larger than the sum of
// the other two.
bool CheckInertia(const std::string& path, const Eigen::Matrix3d& inertia, SceneLog* log) {
  const Eigen::Vector3d moments =
      Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  if (!(moments[0] > 0)) {
    log->Error(
        path,
        absl::StrCat(
            "is not physical: its smallest principal moment is ", NumberText(moments[0]),
            " kg·m²; expected all three positive. Leave it out to compute it from the shapes"));
    return false;
  }
  const double excess = moments[2] - moments[0] - moments[1];
  if (excess > 1e-9 * moments[2]) {
    log->Error(
        path,
        absl::StrCat(
            "is not physical: one principal moment exceeds the sum of the other two by ",
            NumberText(excess),
            " kg·m²; expected at most their sum. Leave it out to compute it from the shapes"));
    return false;
  }
  return true;
}

}  // namespace

void SceneCompiler::DraftRigidBody(const v1::RigidBody& rigid, const std::string& path,
                                   BodyDraft* draft) {
  Body& body = draft->body;
  switch (rigid.motion()) {
    case v1::RigidBody::MOTION_FIXED:
      body.motion = Motion::kFixed;
      break;
    case v1::RigidBody::MOTION_KINEMATIC:
      body.motion = Motion::kKinematic;
      break;
    case v1::RigidBody::MOTION_FREE:
      body.motion = Motion::kFree;
      break;
    default:
      Missing(path + ".motion", "FIXED, KINEMATIC or FREE", &log_);
  }
  ReadPose(path + ".pose", rigid.pose(), &log_, &body.X_WB);

  bool shapes_ok = true;
  for (int i = 0; i < rigid.shapes_size(); ++i) {
    std::optional<Shape> shape = ReadShape(rigid.shapes(i), absl::StrCat(path, ".shapes[", i, "]"));
    shapes_ok &= shape.has_value();
    if (shape.has_value()) body.shapes.push_back(*std::move(shape));
  }
  if (rigid.has_visual()) body.visuals = ReadVisual(rigid.visual(), path + ".visual");
  if (rigid.shapes().empty())
    log_.Warning(path + ".shapes", "are missing: nothing can touch this body");

  if (rigid.has_velocity()) {
    const v1::Velocity& velocity = rigid.velocity();
    ReadVelocity(velocity, path + ".velocity", &draft->rigid.linear_velocity,
                 &draft->rigid.angular_velocity);
    const bool moves =
        !draft->rigid.linear_velocity.isZero(0) || !draft->rigid.angular_velocity.isZero(0);
    if (moves && rigid.motion() == v1::RigidBody::MOTION_FIXED) {
      log_.Error(path + ".velocity",
                 "is given to a FIXED body, which stays where it is. Make it FREE or KINEMATIC, "
                 "or remove the velocity");
    } else if (moves && rigid.motion() == v1::RigidBody::MOTION_KINEMATIC) {
      log_.Error(path + ".velocity",
                 "is given to a KINEMATIC body, whose motion is prescribed. Script its pose, or "
                 "remove the velocity");
    }
  }
  if (rigid.has_drive()) {
    ReadDriveLimits(rigid.drive(), path + ".drive", &body.drive);
    if (body.motion == Motion::kFixed) {
      log_.Error(path + ".drive",
                 "is given to a FIXED body, which nothing can drive. Make it FREE or KINEMATIC, or "
                 "remove it");
    }
  }
  ReadMass(rigid, path, shapes_ok, draft);
}

void SceneCompiler::ReadMass(const v1::RigidBody& rigid, const std::string& path, bool shapes_ok,
                             BodyDraft* draft) {
  bool ok = true;
  if (rigid.has_density()) {
    ok &= CheckPositive(path + ".density", rigid.density(), "density in kg/m³", &log_, kMaxDensity);
  }
  if (rigid.has_mass())
    ok &= CheckPositive(path + ".mass", rigid.mass(), "mass in kilograms", &log_, kMaxMass);
  if (rigid.has_density() && rigid.has_mass()) {
    log_.Error(path + ".density", "conflicts with `mass`; expected only one of the two");
    ok = false;
  }
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
  if (!rigid.inertia().empty()) {
    const auto& I = rigid.inertia();
    if (I.size() != 6) {
      log_.Error(path + ".inertia",
                 absl::StrCat(I.size(), I.size() == 1 ? " number is" : " numbers are",
                              " given; expected 6: ixx, iyy, izz, ixy, ixz and iyz"));
      return;
    }
    inertia << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
    if (!inertia.allFinite()) return;
    ok &= CheckInertia(path + ".inertia", inertia, &log_);
    if (!rigid.has_mass()) {
      log_.Error(path + ".inertia",
                 "is given without `mass`; expected both. Or give `density` alone");
      ok = false;
    }
  }
  if (draft->body.motion != Motion::kFree || !ok) return;

  if (!rigid.has_density() && !rigid.has_mass()) {
    Missing(path + ".density", "a density in kg/m³, or a mass in kilograms: the body is FREE",
            &log_);
    return;
  }
  if (!shapes_ok) return;
  const MassProperties shapes = Unite(draft->body.shapes);
  const bool given = !rigid.inertia().empty();
  if (!given && !(shapes.volume > 0)) {
    log_.Error(path + (rigid.has_density() ? ".density" : ".mass"),
               "cannot be spread over the shapes: they enclose no volume. Give `mass` and "
               "`inertia`, or a closed shape");
    return;
  }
  for (std::size_t i = 0; i < draft->body.shapes.size(); ++i) {
    if (given || !std::holds_alternative<HalfSpace>(draft->body.shapes[i].geometry)) continue;
    log_.Error(
        absl::StrCat(path, ".shapes[", i, "].half_space"),
        "is unbounded, so no mass can be spread over it. Make the body FIXED, or give `mass` "
        "and `inertia`");
    return;
  }

  RigidBodyParameters& parameters = draft->rigid;
  parameters.p_BoBcm = shapes.center;
  parameters.mass = rigid.has_density() ? rigid.density() * shapes.volume : rigid.mass();
  parameters.inertia =
      given ? inertia : Eigen::Matrix3d(shapes.inertia * (parameters.mass / shapes.volume));
  draft->body.p_BoBcm = shapes.center;
  draft->body.mass = parameters.mass;
  draft->body.inertia = parameters.inertia;
  if (rigid.has_density()) draft->body.density = rigid.density();

  // values that underflow or overflow suggest wrong units
  const double smallest = parameters.inertia.diagonal().minCoeff();
  if (parameters.mass >= 1e-15 && smallest >= 1e-30 && parameters.mass <= kMaxMass &&
      parameters.inertia.allFinite()) {
    return;
  }
  log_.Error(path + (rigid.has_density() ? ".density" : ".mass"),
             absl::StrCat("gives a mass of ", NumberText(parameters.mass),
                          " kg and a smallest moment of inertia of ", NumberText(smallest),
                          " kg·m², which is beyond what can be computed. Are the units right?"));
}

std::optional<Shape> SceneCompiler::ReadShape(const v1::Shape& given, const std::string& path) {
  Shape shape;
  bool ok = ReadPose(path + ".pose", given.pose(), &log_, &shape.X_BS);
  if (given.has_friction()) {
    ok &= CheckNotNegative(path + ".friction", given.friction(), "number", &log_, kMaxFriction);
    shape.friction = given.friction();
  }
  if (given.has_stiffness()) {
    ok &= CheckPositive(path + ".stiffness", given.stiffness(), "stiffness in N/m", &log_);
    shape.stiffness = given.stiffness();
  }
  if (given.has_restitution()) {
    ok &= CheckNotNegative(path + ".restitution", given.restitution(), "number", &log_, 1);
    shape.restitution = given.restitution();
  }

  const auto length = [&](const std::string& at, bool has, double value, const char* noun) {
    ok &= CheckLength(at, has, value, noun, &log_);
    return value;
  };
  const auto lengths = [&](const std::string& at, const auto& numbers, const char* noun) {
    Eigen::Vector3d sizes = Eigen::Vector3d::Ones();
    if (numbers.empty()) {
      ok &= Missing(at, absl::StrCat("3 numbers in metres, each a ", noun), &log_);
      return sizes;
    }
    ok &= ReadVector(at, numbers, absl::StrCat(noun, " in metres"), kMaxLength, &log_, &sizes);
    for (int i = 0; i < numbers.size(); ++i)
      length(absl::StrCat(at, "[", i, "]"), true, numbers[i], noun);
    return sizes;
  };

  switch (given.geometry_case()) {
    case v1::Shape::kBox:
      shape.geometry = Box{0.5 * lengths(path + ".box.size", given.box().size(), "full length")};
      if (given.box().has_pose()) {
        log_.Error(path + ".box.pose", "is not allowed here; expected the `pose` beside `box`");
        ok = false;
      }
      break;
    case v1::Shape::kSphere:
      shape.geometry = Sphere{length(path + ".sphere.radius", given.sphere().has_radius(),
                                     given.sphere().radius(), "radius")};
      break;
    case v1::Shape::kCapsule: {
      const v1::Capsule& c = given.capsule();
      shape.geometry =
          Capsule{length(path + ".capsule.radius", c.has_radius(), c.radius(), "radius"),
                  length(path + ".capsule.length", c.has_length(), c.length(), "length")};
      break;
    }
    case v1::Shape::kCylinder: {
      const v1::Cylinder& c = given.cylinder();
      shape.geometry =
          Cylinder{length(path + ".cylinder.radius", c.has_radius(), c.radius(), "radius"),
                   length(path + ".cylinder.length", c.has_length(), c.length(), "length")};
      break;
    }
    case v1::Shape::kEllipsoid:
      shape.geometry =
          Ellipsoid{lengths(path + ".ellipsoid.radii", given.ellipsoid().radii(), "radius")};
      break;
    case v1::Shape::kHalfSpace:
      shape.geometry = HalfSpace{};
      break;
    case v1::Shape::kMesh: {
      std::optional<Geometry> surface = ReadSurfaceMesh(given.mesh(), path + ".mesh");
      if (!surface.has_value()) return std::nullopt;
      shape.geometry = *std::move(surface);
      break;
    }
    case v1::Shape::GEOMETRY_NOT_SET:
      log_.Error(path,
                 "has no geometry; expected box, sphere, capsule, cylinder, ellipsoid, half_space "
                 "or mesh");
      return std::nullopt;
  }
  if (!ok) return std::nullopt;
  return shape;
}

std::optional<Geometry> SceneCompiler::ReadSurfaceMesh(const v1::SurfaceMesh& given,
                                                       const std::string& path) {
  const double scale = given.has_scale() ? given.scale() : 1.0;
  const bool ok = !given.has_scale() || CheckPositive(path + ".scale", scale, "factor", &log_, 1e9);
  const std::optional<MeshFile> file = ReadMeshFile(given.file(), path + ".file");
  if (!file.has_value() || !ok) return std::nullopt;

  // any points have a hull; a surface must be closed
  absl::StatusOr<SurfaceMeshFile> read =
      given.convex() ? ReadOpenSurfaceMesh(file->bytes, given.file(), file->companions)
                     : physics::ReadSurfaceMesh(file->bytes, given.file(), file->companions);
  if (!read.ok()) {
    log_.Error(path + ".file", std::string(read.status().message()));
    return std::nullopt;
  }
  for (const std::string& warning : read->warnings) log_.Warning(path + ".file", warning);
  for (Eigen::Vector3d& p : read->mesh.vertices) p *= scale;
  for (const Eigen::Vector3d& p : read->mesh.vertices) {
    if ((p.cwiseAbs().array() <= kMaxLength).all()) continue;
    log_.Error(path + ".file", absl::StrCat("has a vertex beyond ", NumberText(kMaxLength),
                                            " metres; expected less. Is the scale right?"));
    return std::nullopt;
  }
  if (!given.convex()) {
    auto mesh = std::make_shared<const TriangleMesh>(std::move(read->mesh));
    auto bvh = std::make_shared<const TriangleBvh>(*mesh);
    return SurfaceMesh{std::move(mesh), std::move(bvh)};
  }
  absl::StatusOr<TriangleMesh> hull = CalcConvexHull(read->mesh.vertices);
  if (!hull.ok()) {
    log_.Error(path + ".file",
               absl::StrCat("has no convex hull: ", std::string(hull.status().message())));
    return std::nullopt;
  }
  return ConvexMesh{std::make_shared<const TriangleMesh>(*std::move(hull))};
}

}  // namespace pliant::physics
