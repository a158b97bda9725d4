// Deformable bodies: mesh and materials.

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/scene/compiler.h"
#include "physics/scene/mesh_files/meshed_surface_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "physics/spatial/trig.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

constexpr double kMinDensity = 1e-6;
constexpr double kDefaultBeta = 0.01;  // [s]
// Sizes of a body above and below which its unit is doubted [m].
constexpr double kHugeBody = 50;
constexpr double kTinyBody = 1e-3;

// A primitive before it is meshed.
struct Primitive {
  absl::StatusOr<TetrahedralMesh> (*mesh)(const v1::VolumeMesh&, double edge_length,
                                          const IsCancelled&) = nullptr;
  double smallest_extent = 0;  // [m]
  double volume = 0;           // [m³]
};

Eigen::Vector3d Size(const v1::Box& box) {
  return {box.size(0), box.size(1), box.size(2)};
}

absl::StatusOr<TetrahedralMesh> MeshBoxOf(const v1::VolumeMesh& mesh, double edge_length,
                                          const IsCancelled& is_cancelled) {
  return MeshBox(Size(mesh.box()), edge_length, is_cancelled);
}
absl::StatusOr<TetrahedralMesh> MeshSphereOf(const v1::VolumeMesh& mesh, double edge_length,
                                             const IsCancelled& is_cancelled) {
  return MeshSphere(mesh.sphere().radius(), edge_length, is_cancelled);
}
absl::StatusOr<TetrahedralMesh> MeshCylinderOf(const v1::VolumeMesh& mesh, double edge_length,
                                               const IsCancelled& is_cancelled) {
  return MeshCylinder(mesh.cylinder().radius(), mesh.cylinder().length(), edge_length,
                      is_cancelled);
}
absl::StatusOr<TetrahedralMesh> MeshCapsuleOf(const v1::VolumeMesh& mesh, double edge_length,
                                              const IsCancelled& is_cancelled) {
  return MeshCapsule(mesh.capsule().radius(), mesh.capsule().length(), edge_length, is_cancelled);
}
absl::StatusOr<TetrahedralMesh> MeshTorusOf(const v1::VolumeMesh& mesh, double edge_length,
                                            const IsCancelled& is_cancelled) {
  return MeshTorus(mesh.torus().ring_radius(), mesh.torus().tube_radius(), edge_length,
                   mesh.torus().slices(), is_cancelled);
}

absl::StatusOr<TetrahedralMesh> MeshHollowSphereOf(const v1::VolumeMesh& mesh, double edge_length,
                                                   const IsCancelled& is_cancelled) {
  const v1::HollowSphere& sphere = mesh.hollow_sphere();
  return MeshHollowSphere(sphere.radius(), sphere.wall_thickness(), edge_length, is_cancelled);
}

// Checks the sizes of a primitive; returns nothing when one is wrong.
std::optional<Primitive> ReadPrimitive(const v1::VolumeMesh& mesh, const std::string& path,
                                       SceneLog* log) {
  const auto check = [&](const char* at, bool given, double value, const char* noun) {
    return CheckLength(absl::StrCat(path, ".", at), given, value, noun, log);
  };
  switch (mesh.source_case()) {
    case v1::VolumeMesh::kBox: {
      const auto& size = mesh.box().size();
      const std::string at = path + ".box.size";
      if (mesh.box().has_pose()) {
        log->Error(path + ".box.pose", "is not allowed here; expected the `pose` of the body");
        return std::nullopt;
      }
      if (size.empty()) Missing(at, "3 numbers in metres, each a full length", log);
      Eigen::Vector3d lengths;
      bool ok =
          !size.empty() && ReadVector(at, size, "full length in metres", kMaxLength, log, &lengths);
      for (int i = 0; i < size.size(); ++i) {
        ok &= CheckLength(absl::StrCat(at, "[", i, "]"), true, size[i], "full length", log);
      }
      if (!ok) return std::nullopt;
      return Primitive{MeshBoxOf, lengths.minCoeff(), lengths.prod()};
    }
    case v1::VolumeMesh::kSphere: {
      const double r = mesh.sphere().radius();
      if (!check("sphere.radius", mesh.sphere().has_radius(), r, "radius")) return std::nullopt;
      return Primitive{MeshSphereOf, 2 * r, 4.19 * r * r * r};
    }
    case v1::VolumeMesh::kHollowSphere: {
      const v1::HollowSphere& s = mesh.hollow_sphere();
      const double r = s.radius(), wall = s.wall_thickness();
      bool ok = check("hollow_sphere.radius", s.has_radius(), r, "radius");
      ok &= check("hollow_sphere.wall_thickness", s.has_wall_thickness(), wall, "thickness");
      if (!ok) return std::nullopt;
      if (wall >= r) {
        log->Error(
            path + ".hollow_sphere.wall_thickness",
            absl::StrCat(NumberText(wall), " is not allowed; expected less than the radius, ",
                         NumberText(r), ". A solid one: use `sphere`"));
        return std::nullopt;
      }
      return Primitive{MeshHollowSphereOf, std::min(2 * r, 5 * wall),
                       4.19 * (r * r * r - (r - wall) * (r - wall) * (r - wall))};
    }
    case v1::VolumeMesh::kCylinder: {
      const v1::Cylinder& c = mesh.cylinder();
      bool ok = check("cylinder.radius", c.has_radius(), c.radius(), "radius");
      ok &= check("cylinder.length", c.has_length(), c.length(), "length");
      if (!ok) return std::nullopt;
      return Primitive{MeshCylinderOf, std::min(2 * c.radius(), c.length()),
                       3.15 * c.radius() * c.radius() * c.length()};
    }
    case v1::VolumeMesh::kCapsule: {
      const v1::Capsule& c = mesh.capsule();
      bool ok = check("capsule.radius", c.has_radius(), c.radius(), "radius");
      ok &= check("capsule.length", c.has_length(), c.length(), "length");
      if (!ok) return std::nullopt;
      return Primitive{MeshCapsuleOf, 2 * c.radius(),
                       3.15 * c.radius() * c.radius() * (c.length() + 1.34 * c.radius())};
    }
    case v1::VolumeMesh::kTorus: {
      const v1::Torus& t = mesh.torus();
      if (!CheckTorus(path + ".torus", t, log)) return std::nullopt;
      return Primitive{MeshTorusOf, 2 * t.tube_radius(),
                       19.8 * t.ring_radius() * t.tube_radius() * t.tube_radius()};
    }
    default:
      return std::nullopt;
  }
}

bool HasVolumetricStiffness(const FemMaterial& of) {
  Lane parameters[kMaxParameters] = {};
  for (std::size_t i = 0; i < of.parameters.size(); ++i) parameters[i] = Splat(of.parameters[i]);
  return of.material->CalcVolumetricStiffness(parameters)[0] > 0;
}

}  // namespace

void SceneCompiler::DraftDeformableBody(const v1::DeformableBody& given, const std::string& path,
                                        BodyDraft* draft) {
  Body& body = draft->body;
  FemParameters& fem = draft->fem;
  if (given.has_velocity()) {
    ReadVelocity(given.velocity(), path + ".velocity", &fem.linear_velocity, &fem.angular_velocity);
  }
  const std::optional<FemMaterial> material =
      ReadMaterial(given.material(), nullptr, path + ".material");
  if (material.has_value()) {
    fem.materials.push_back(*material);
    const RestModuli moduli = CalcRestModuli(*material->material, material->parameters);
    const bool has_moduli = material->material->parameters().data() == YoungAndPoisson().data();
    body.youngs_modulus = has_moduli ? material->parameters[0] : moduli.youngs_modulus();
    body.poissons_ratio = has_moduli ? material->parameters[1] : moduli.poissons_ratio();
    body.density = material->density;
  }

  const v1::RayleighDamping& damping = given.damping();
  fem.rayleigh_beta = damping.has_beta() ? damping.beta() : kDefaultBeta;
  fem.rayleigh_alpha = damping.alpha();
  CheckNotNegative(path + ".damping.alpha", fem.rayleigh_alpha, "rate in 1/s", &log_, 1e9);
  CheckNotNegative(path + ".damping.beta", fem.rayleigh_beta, "time in seconds", &log_, 1e3);

  fem.plane_strain = given.plane_strain();
  fem.mean_dilatation = given.mean_dilatation();
  if (model_->method.is_maximal() && fem.mean_dilatation) {
    log_.Error(path + ".mean_dilatation",
               "is not supported in maximal coordinates yet; leave it out, or set "
               "method.nonsmooth.coordinates: REDUCED");
  }
  const v1::Newton& newton = given.newton();
  if (newton.has_tolerance() &&
      CheckPositive(path + ".newton.tolerance", newton.tolerance(), "relative tolerance", &log_, 1))
    fem.newton.tolerance = newton.tolerance();
  if (newton.has_max_iterations()) {
    if (newton.max_iterations() < 0) {
      log_.Error(path + ".newton.max_iterations",
                 absl::StrCat(newton.max_iterations(), " is not allowed; expected at least 0"));
    }
    fem.newton.max_iterations = newton.max_iterations();
  }
  if (newton.has_projection()) fem.newton.projection = newton.projection();

  if (given.has_drive()) ReadDriveLimits(given.drive(), path + ".drive", &body.drive);
  body.self_contact = given.self_contact();
  std::optional<TetrahedralMesh> mesh =
      ReadVolumeMesh(given.mesh(), path + ".mesh", &draft->vertex_of_file);
  if (mesh.has_value() && ShouldContinue()) {
    fem.mesh = *std::move(mesh);
    body.mesh = fem.mesh;
    body.surface = ExtractBoundary(fem.mesh);
    if (given.has_visual()) EmbedVisual(given.visual(), path + ".visual", &body);
  }
  ReadRegions(given, path, draft);
  ReadActivations(given, path, draft);
  for (const FemMaterial& of : fem.materials) {
    if (!fem.mean_dilatation || HasVolumetricStiffness(of)) continue;
    log_.Error(path + ".mean_dilatation",
               absl::StrCat("needs a material with its own volumetric stiffness, which ",
                            std::string(of.material->name()),
                            " does not have; expected NEO_HOOKEAN or MOONEY_RIVLIN"));
    break;
  }
  ReadAttachments(given, path, draft);
}

void SceneCompiler::DraftCustomBody(const v1::CustomBody& given, const std::string& path,
                                    BodyDraft* draft) {
  draft->kind = FindBodyKind(given.kind());
  if (draft->kind == nullptr) {
    std::string names;
    for (const BodyKind* one : AllBodyKinds())
      absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(one->name()));
    log_.Error(path + ".kind",
               absl::StrCat(Quoted(given.kind()), " is not a kind of body; ",
                            names.empty() ? "this program has no custom kinds; use `deformable`"
                                          : absl::StrCat("expected one of ", names)));
    return;
  }
  BodyDescription& custom = draft->custom;
  for (const BodyParameter& parameter : draft->kind->parameters()) {
    const std::string name(parameter.name), at = absl::StrCat(path, ".parameters.", name);
    const auto found = given.parameters().find(name);
    if (found == given.parameters().end()) {
      Missing(at, std::string(parameter.expected), &log_);
    } else if (!(found->second >= parameter.min && found->second <= parameter.max)) {
      log_.Error(at, absl::StrCat(NumberText(found->second), " is not allowed; expected ",
                                  std::string(parameter.expected)));
    } else {
      custom.parameters.push_back(found->second);
    }
  }
  const std::map<std::string, double> all(given.parameters().begin(), given.parameters().end());
  for (const auto& [name, value] : all) {
    const auto is_taken = [&name = name](const BodyParameter& one) { return one.name == name; };
    if (std::ranges::any_of(draft->kind->parameters(), is_taken)) continue;
    log_.Error(absl::StrCat(path, ".parameters.", name),
               absl::StrCat("is not a parameter of ", given.kind(), ". Remove it"));
  }
  custom.density = given.density();
  CheckPositive(path + ".density", custom.density, "density in kg/m³", &log_, 1e6);
  if (given.has_velocity())
    ReadVelocity(given.velocity(), path + ".velocity", &custom.linear_velocity,
                 &custom.angular_velocity);
  Body& body = draft->body;
  body.density = custom.density;
  body.self_contact = given.self_contact();
  std::optional<TetrahedralMesh> mesh =
      ReadVolumeMesh(given.mesh(), path + ".mesh", &draft->vertex_of_file);
  if (!mesh.has_value() || !ShouldContinue()) return;
  body.mesh = custom.mesh = *std::move(mesh);
  body.surface = ExtractBoundary(body.mesh);
  body.points = draft->kind->MakePoints(custom);
}

// Finds the material that a scene names; LINEAR_COROTATIONAL when it names none.
const Material* SceneCompiler::ReadMaterialModel(const v1::Material& given,
                                                 const v1::Material* defaults,
                                                 const std::string& path) {
  const bool said = given.model() != v1::Material::MODEL_UNSPECIFIED;
  if (said && !given.custom_model().empty()) {
    log_.Error(path + ".custom_model", "conflicts with `model`; expected only one of the two");
    return nullptr;
  }
  if (!given.custom_model().empty()) {
    const Material* material = FindMaterial(given.custom_model());
    if (material != nullptr) return material;
    std::string names;
    for (const Material* one : AllMaterials())
      absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(one->name()));
    log_.Error(path + ".custom_model", absl::StrCat(Quoted(given.custom_model()),
                                                    " is not a material; expected one of ", names));
    return nullptr;
  }
  if (said) return FindMaterial(v1::Material::Model_Name(given.model()).substr(6));
  // an error in the body's own choice has been reported already
  if (defaults != nullptr) return ReadMaterialModel(*defaults, nullptr, path);
  return FindMaterial("LINEAR_COROTATIONAL");
}

namespace {

// Value of a material parameter: the field of its name, or an entry of `parameters`.
std::optional<double> FindParameter(const v1::Material& given, const std::string& name) {
  if (given.GetDescriptor()->FindFieldByName(name) != nullptr) return FindNumber(given, name);
  const auto entry = given.parameters().find(name);
  if (entry == given.parameters().end()) return std::nullopt;
  return entry->second;
}

std::string TakenBy(const Material& material) {
  std::string names;
  for (const MaterialParameter& parameter : material.parameters())
    absl::StrAppend(&names, std::string(parameter.name), ", ");
  return absl::StrCat("is not a parameter of ", std::string(material.name()), "; expected ", names,
                      "density. Remove it");
}

}  // namespace

std::optional<FemMaterial> SceneCompiler::ReadMaterial(const v1::Material& given,
                                                       const v1::Material* defaults,
                                                       const std::string& path) {
  FemMaterial result;
  result.material = ReadMaterialModel(given, defaults, path);
  if (result.material == nullptr) return std::nullopt;
  const v1::Material none;
  const v1::Material& from = defaults != nullptr ? *defaults : none;
  bool ok = true;

  const auto taken = [&](const std::string& name) {
    const auto parameters = result.material->parameters();
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const MaterialParameter& parameter) { return parameter.name == name; });
  };
  for (const char* name : {"youngs_modulus", "poissons_ratio", "c1", "c2", "bulk_modulus"}) {
    if (taken(name) || !FindParameter(given, name).has_value()) continue;
    log_.Error(absl::StrCat(path, ".", name), TakenBy(*result.material));
    ok = false;
  }
  std::map<std::string, double> others(given.parameters().begin(), given.parameters().end());
  for (const auto& [name, value] : others) {
    if (taken(name) && given.GetDescriptor()->FindFieldByName(name) == nullptr) continue;
    log_.Error(absl::StrCat(path, ".parameters.", name),
               taken(name) ? "is a field of the material itself; expected it there"
                           : TakenBy(*result.material));
    ok = false;
  }

  for (const MaterialParameter& parameter : result.material->parameters()) {
    const std::string name(parameter.name);
    const bool is_field = given.GetDescriptor()->FindFieldByName(name) != nullptr;
    const std::string at = absl::StrCat(path, is_field ? "." : ".parameters.", name);
    const std::optional<double> own = FindParameter(given, name);
    const std::optional<double> value = own.has_value() ? own : FindParameter(from, name);
    if (!value.has_value()) {
      ok = Missing(at, std::string(parameter.expected), &log_);
      continue;
    }
    result.parameters.push_back(*value);
    if (!own.has_value()) continue;
    if (name == "poissons_ratio") {
      if (*value > -1 && *value < 0.5) continue;
      log_.Error(at,
                 absl::StrCat(NumberText(*value), " is not allowed; expected a number in (-1, 0.5)",
                              *value >= 0.5 ? ". A nearly incompressible body: use 0.49" : ""));
      ok = false;
    } else if (name == "youngs_modulus") {
      ok &= CheckPositive(at, *value, "modulus in pascals", &log_, parameter.largest,
                          parameter.smallest);
    } else if (!(*value >= parameter.smallest && *value <= parameter.largest)) {
      log_.Error(at, absl::StrCat(NumberText(*value), " is not allowed; expected ",
                                  std::string(parameter.expected)));
      ok = false;
    }
  }

  result.density = given.has_density() ? given.density() : from.density();
  if (!given.has_density() && !from.has_density()) {
    ok = Missing(path + ".density", "a positive density in kg/m³. Water has 1000", &log_);
  } else if (given.has_density()) {
    ok &= CheckPositive(path + ".density", result.density, "density in kg/m³", &log_, kMaxDensity,
                        kMinDensity);
  }
  if (!ok) return std::nullopt;

  // stability at rest depends on all parameters together
  const RestModuli moduli = CalcRestModuli(*result.material, result.parameters);
  if (!(moduli.mu > 0 && moduli.lambda + 2 * moduli.mu / 3 > 0 && std::isfinite(moduli.lambda))) {
    log_.Error(path,
               absl::StrCat("is not stable at rest: shear modulus ", NumberText(moduli.mu),
                            " Pa, bulk modulus ", NumberText(moduli.lambda + 2 * moduli.mu / 3),
                            " Pa; expected both to be positive"));
    return std::nullopt;
  }
  return result;
}

std::optional<TetrahedralMesh> SceneCompiler::ReadVolumeMesh(const v1::VolumeMesh& given,
                                                             const std::string& path,
                                                             std::vector<int>* vertex_of_file) {
  if (given.source_case() == v1::VolumeMesh::SOURCE_NOT_SET) {
    Missing(path + ".file", "box, sphere, hollow_sphere, cylinder, capsule, torus or a file",
            &log_);
    return std::nullopt;
  }
  const bool from_file = given.has_file();
  bool ok = true;
  if (given.has_edge_length()) {
    ok &= CheckLength(path + ".edge_length", true, given.edge_length(), "length", &log_);
  }
  if (given.has_scale()) {
    ok &= CheckPositive(path + ".scale", given.scale(), "factor", &log_, 1e9);
    if (!from_file) {
      log_.Error(path + ".scale", "applies to files only; a primitive has its own size. Remove it");
      ok = false;
    }
  }

  if (!from_file && (given.refine() || given.has_sharp_angle() || given.has_max_tetrahedra())) {
    log_.Error(path + (given.refine()            ? ".refine"
                       : given.has_sharp_angle() ? ".sharp_angle"
                                                 : ".max_tetrahedra"),
               "applies to files of surfaces only. Remove it");
    ok = false;
  }
  if (given.has_sharp_angle())
    ok &= CheckPositive(path + ".sharp_angle", given.sharp_angle(), "angle in degrees", &log_, 180);
  if (given.has_max_tetrahedra()) {
    ok &= CheckPositive(path + ".max_tetrahedra", static_cast<double>(given.max_tetrahedra()),
                        "number", &log_, 1e9);
  }

  absl::StatusOr<TetrahedralMesh> mesh;
  if (from_file) {
    if (!ok) return std::nullopt;
    std::optional<TetrahedralMesh> read = ReadVolumeFile(given, path);
    if (!read.has_value()) return std::nullopt;
    mesh = *std::move(read);
  } else {
    const std::optional<Primitive> primitive = ReadPrimitive(given, path, &log_);
    if (!primitive.has_value() || !ok) return std::nullopt;
    const double edge =
        given.has_edge_length() ? given.edge_length() : primitive->smallest_extent / 5;
    // refuse huge meshes before building them: about six tetrahedra to a cube of this edge
    const double estimate = 6 * primitive->volume / (edge * edge * edge);
    if (estimate + static_cast<double>(tetrahedra_) >
        4.0 * static_cast<double>(options_.limits.max_tetrahedra)) {
      log_.Error(path + ".edge_length",
                 absl::StrCat(NumberText(edge), " m would give about ", absl::StrCat(estimate),
                              " tetrahedra; expected at most ", options_.limits.max_tetrahedra,
                              " in the scene. Use a longer edge"));
      return std::nullopt;
    }
    if (log_.failed()) return std::nullopt;
    mesh = primitive->mesh(given, edge, [this] { return !ShouldContinue(); });
    if (is_cancelled_) return std::nullopt;
    if (!mesh.ok()) {
      log_.Error(path + ".edge_length", std::string(mesh.status().message()));
      return std::nullopt;
    }
  }
  return CheckMesh(*std::move(mesh), given.repair() || options_.repair_meshes,
                   from_file ? path + ".file" : path + ".edge_length", vertex_of_file);
}

std::optional<TetrahedralMesh> SceneCompiler::ReadVolumeFile(const v1::VolumeMesh& given,
                                                             const std::string& path) {
  const std::optional<MeshFile> file = ReadMeshFile(given.file(), path + ".file");
  if (!file.has_value()) return std::nullopt;
  std::optional<TetrahedralMesh> mesh;
  if (IsSurfaceFile(file->bytes, given.file())) {
    mesh = MeshSurfaceOf(given, *file, path);
    if (!mesh.has_value()) return std::nullopt;
  } else {
    for (const auto& [is_given, name] :
         {std::pair(given.has_edge_length(), ".edge_length"), std::pair(given.refine(), ".refine"),
          std::pair(given.has_sharp_angle(), ".sharp_angle"),
          std::pair(given.has_max_tetrahedra(), ".max_tetrahedra")}) {
      if (!is_given) continue;
      log_.Error(path + name,
                 "applies to primitives and surfaces only; the file has its own edges. Remove it");
      return std::nullopt;
    }
    absl::StatusOr<VolumeMeshFile> read = physics::ReadVolumeMesh(file->bytes, given.file());
    if (!read.ok()) {
      log_.Error(path + ".file", std::string(read.status().message()));
      return std::nullopt;
    }
    for (const std::string& warning : read->warnings) log_.Warning(path + ".file", warning);
    mesh = std::move(read->mesh);
    for (Eigen::Vector3d& p : mesh->vertices) p *= given.has_scale() ? given.scale() : 1.0;
  }
  if (mesh->vertices.empty()) return mesh;

  // very large and very small bodies are often given in another unit
  Eigen::Vector3d lower = mesh->vertices[0], upper = lower;
  for (const Eigen::Vector3d& p : mesh->vertices) {
    lower = lower.cwiseMin(p);
    upper = upper.cwiseMax(p);
  }
  WarnOfUnits((upper - lower).maxCoeff(), given.has_scale() ? given.scale() : 1, path);
  return mesh;
}

void SceneCompiler::WarnOfUnits(double size, double scale, const std::string& path) {
  if (size > kHugeBody) {
    log_.Warning(path + ".file",
                 absl::StrCat("is ", NumberText(size),
                              " m long. If its lengths are millimetres, give scale: ",
                              NumberText(0.001 * scale)));
  } else if (size > 0 && size < kTinyBody) {
    log_.Warning(path + ".file", absl::StrCat("is only ", NumberText(size),
                                              " m long. If it was scaled twice, give scale: ",
                                              NumberText(1000 * scale)));
  }
}

std::optional<TetrahedralMesh> SceneCompiler::MeshSurfaceOf(const v1::VolumeMesh& given,
                                                            const MeshFile& file,
                                                            const std::string& path) {
  if (log_.failed()) return std::nullopt;
  SurfaceFileMeshing options;
  options.scale = given.has_scale() ? given.scale() : 1.0;
  options.max_length = kMaxLength;
  options.meshing.edge_length = given.edge_length();
  options.meshing.refine = given.refine();
  if (given.has_sharp_angle()) options.meshing.sharp_angle = given.sharp_angle() * kPi / 180;
  if (given.has_max_tetrahedra())
    options.meshing.max_refined = static_cast<double>(given.max_tetrahedra());
  options.meshing.max_tetrahedra = std::min(
      kMaxPrimitiveTetrahedra, static_cast<double>(options_.limits.max_tetrahedra - tetrahedra_));
  options.meshing.progress = [this, start = share_](double done) {
    return ShouldContinue(start + body_share_ * done);
  };
  absl::StrAppend(&mesh_hashes_, kMesherVersion, ";");
  absl::StatusOr<MeshedSurfaceFile> made = MeshSurfaceFile(
      file.bytes, given.file(), file.companions, options, MeshCache(options_.mesh_cache));
  if (is_cancelled_) return std::nullopt;
  if (!made.ok()) {
    log_.Error(path + ".file", std::string(made.status().message()));
    return std::nullopt;
  }
  for (const std::string& warning : made->warnings) log_.Warning(path + ".file", warning);
  return std::move(made->mesh);
}

std::optional<TetrahedralMesh> SceneCompiler::CheckMesh(TetrahedralMesh mesh, bool repair,
                                                        const std::string& path,
                                                        std::vector<int>* vertex_of_file) {
  if (mesh.tetrahedra.empty()) {
    log_.Error(path, "contains no tetrahedra; expected a volume mesh");
    return std::nullopt;
  }
  const std::size_t given_vertices = mesh.vertices.size();
  const auto keep = [&](MeshRepair repaired) {
    mesh = std::move(repaired.mesh);
    if (repaired.dropped_vertices == 0) return;
    vertex_of_file->assign(given_vertices, -1);
    for (std::size_t i = 0; i < repaired.vertices.size(); ++i)
      (*vertex_of_file)[repaired.vertices[i]] = static_cast<int>(i);
  };
  if (repair) {
    MeshRepair repaired = RepairMesh(mesh);
    if (repaired.changed()) log_.Warning(path, absl::StrCat("repaired: ", Describe(repaired)));
    keep(std::move(repaired));
  }

  if (!ShouldContinue()) return std::nullopt;
  bool sound = true, unused = false;
  for (const MeshDefect& defect : FindDefects(mesh)) {
    if (defect.harmless()) {
      unused |= defect.kind == MeshDefectKind::kUnusedVertex;
      log_.Warning(path,
                   absl::StrCat("has ", Describe(defect),
                                defect.kind == MeshDefectKind::kUnusedVertex ? "; left out" : ""));
      continue;
    }
    // one message for each kind of defect, all at the same place
    const char* mend =
        defect.repairable() ? ". Give the mesh `repair: true`, or fix the file" : ". Fix the file";
    log_.AlsoError(path, absl::StrCat("has ", Describe(defect), "; expected none", mend));
    sound = false;
  }
  if (!sound) return std::nullopt;
  if (unused) keep(RepairMesh(mesh));
  if (mesh.tetrahedra.empty()) {
    log_.Error(path, "contains no tetrahedra after the repair; expected a volume mesh");
    return std::nullopt;
  }

  tetrahedra_ += static_cast<std::int64_t>(mesh.tetrahedra.size());
  if (tetrahedra_ > options_.limits.max_tetrahedra) {
    log_.Error(path,
               absl::StrCat("brings the scene to ", tetrahedra_, " tetrahedra; expected at most ",
                            options_.limits.max_tetrahedra, ". Use a coarser mesh"));
    return std::nullopt;
  }
  for (const Eigen::Vector3d& p : mesh.vertices) {
    if ((p.cwiseAbs().array() <= kMaxLength).all()) continue;
    log_.Error(path, absl::StrCat("has a vertex beyond ", NumberText(kMaxLength),
                                  " metres; expected less. Is the scale right?"));
    return std::nullopt;
  }
  const double volume = CalcVolume(mesh);
  if (!(volume > 1e-18) || !std::isfinite(volume)) {
    log_.Error(path,
               absl::StrCat("encloses ", NumberText(volume),
                            " m³, which is beyond what can be computed. Is the scale right?"));
    return std::nullopt;
  }
  return mesh;
}

}  // namespace pliant::physics
