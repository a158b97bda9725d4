// Bodies of particles, and their background grid.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/scene/compiler.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "physics/spatial/cube_root.h"
#include "physics/stepping/integrators/integrator.h"
#include "physics/stepping/integrators/stage_rule.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kDefaultPerCell = 8;
constexpr double kMaxPerCell = 1000;
constexpr double kMinPerCell = 1e-3;
// Fewer particles in a cell leave gaps in a body that is stretched.
constexpr double kFewPerCell = 4;
constexpr double kMinParticleDensity = 1e-6;  // [kg/m³]
constexpr int kMaxGridNodes = 100'000'000;
// Numbers of cells beyond this would not fit the grid's integers.
constexpr double kMaxCellsFromOrigin = 1e6;
// Bodies nearer than this many cells stick together, since they share grid nodes.
constexpr double kStickingCells = 2;
// Maximum number of pairs of bodies that are named.
constexpr int kMaxPairsNamed = 5;

std::string NamesOf(std::span<const ParticleMaterial* const> materials) {
  std::vector<std::string> names;
  for (const ParticleMaterial* one : materials) names.emplace_back(one->name());
  return JoinWithOr(names);
}

std::string Millimetres(double length) {
  return absl::StrCat(NumberText(std::round(1e4 * length) / 10), " mm");
}

// A fill placed in the world, for tests against other fills.
struct PlacedFill {
  const Solid* solid;
  const ParticleFill* fill;
  double spacing;
  RigidTransform X_WB;
  AxisAlignedBox bounds;  // W
};

// Smallest signed distance between two fills, from their surface points [m]; infinite beyond
// `reach`.
double CalcGap(const PlacedFill& a, const PlacedFill& b, double reach) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [points_of, solid_of] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    AxisAlignedBox near = solid_of->bounds;
    near.Grow(reach);
    const RigidTransform X_SP = solid_of->X_WB.Inverse() * points_of->X_WB;
    for (const Vector3d& p : points_of->fill->surface) {
      const Vector3d p_W = points_of->X_WB * p;
      if (near.Overlaps({p_W, p_W}))
        least = std::min(least, solid_of->solid->CalcDistance(X_SP * p));
    }
  }
  return least <= reach ? least : std::numeric_limits<double>::infinity();
}

}  // namespace

void SceneCompiler::CompileGrid() {
  int first = -1;
  for (int i = scene_.bodies_size() - 1; i >= 0; --i)
    if (scene_.bodies(i).has_particles()) first = i;
  if (!scene_.has_grid()) {
    if (first >= 0) {
      log_.Error(absl::StrCat("bodies[", first, "].particles"),
                 "need a grid that carries them. Give the scene a `grid: {cell_size: …}` in "
                 "metres, about a quarter of the thinnest body");
    }
    return;
  }
  const v1::Grid& given = scene_.grid();
  if (first < 0) log_.Warning("grid", "carries nothing: no body has `particles`. Remove it");

  GridOptions grid;
  bool ok =
      CheckLength("grid.cell_size", given.has_cell_size(), given.cell_size(), "length", &log_);
  grid.cell_size = given.cell_size();
  grid.is_corrected = given.variant() != v1::Grid::VARIANT_PAPER;
  if (given.leaving() == v1::Grid::LEAVING_FREEZE) grid.leaving = GridOptions::Leaving::kFreeze;
  if (given.has_bounds()) {
    for (const auto& [name, numbers, corner] :
         {std::tuple(".lower", &given.bounds().lower(), &grid.lower),
          std::tuple(".upper", &given.bounds().upper(), &grid.upper)}) {
      const std::string at = absl::StrCat("grid.bounds", name);
      if (numbers->empty()) ok = Missing(at, "3 numbers in metres", &log_);
      ok &= ReadVector(at, *numbers, "position in metres", kMaxLength, &log_, corner);
    }
    for (int i = 0; ok && i < 3; ++i) {
      if (grid.upper[i] - grid.lower[i] >= grid.cell_size) continue;
      log_.Error(absl::StrCat("grid.bounds.upper[", i, "]"),
                 absl::StrCat(NumberText(grid.upper[i]),
                              " is not allowed; expected at least a cell_size above the lower ",
                              NumberText(grid.lower[i])));
      ok = false;
    }
  } else if (given.leaving() != v1::Grid::LEAVING_UNSPECIFIED) {
    log_.Warning("grid.leaving", "changes nothing: there are no bounds to leave. Give `bounds`");
  }
  if (given.has_max_nodes()) {
    grid.max_nodes = given.max_nodes();
    if (grid.max_nodes < 1 || grid.max_nodes > kMaxGridNodes) {
      log_.Error("grid.max_nodes",
                 absl::StrCat(grid.max_nodes, " is not allowed; expected a whole number from 1 to ",
                              kMaxGridNodes));
      ok = false;
    }
  }
  if (first >= 0) CheckParticleMethod();
  if (ok) grid_ = grid;
}

// Refuses methods other than implicit Euler in the velocities of the grid.
void SceneCompiler::CheckParticleMethod() {
  const MethodOptions& method = model_->method;
  if (method.is_maximal()) {
    log_.Error("method.nonsmooth.coordinates",
               "MAXIMAL is not supported with particles: their grid is not made of bodies that "
               "rows hold together. Use REDUCED");
  }
  const std::string mend =
      " is not supported with particles: under any but implicit Euler, spinning bodies gain "
      "angular momentum from the grid. Leave it out";
  if (method.kind == MethodKind::kSmooth) {
    const StageRule* rule = method.smooth.integrator;
    if (rule != nullptr && rule->name != "BE")
      log_.Error("method.smooth.integrator", std::string(rule->name) + mend);
    if (method.smooth.damped_start) {
      log_.Error("method.smooth.damped_start",
                 "is not supported with particles, whose grid serves a whole step. Leave it out");
    }
  }
  if (method.kind != MethodKind::kConvex) return;
  if (method.convex.theta != 1 || method.convex.theta_vq != 1) {
    log_.Error("method.convex.theta", absl::StrCat("[", NumberText(method.convex.theta), ", ",
                                                   NumberText(method.convex.theta_vq), "]", mend));
  }
  const Integrator* integrator = method.convex.integrator;
  if (integrator != nullptr && integrator != FindIntegrator("IMPLICIT_EULER"))
    log_.Error("method.convex.integrator", std::string(integrator->name()) + mend);
}

void SceneCompiler::DraftParticles(const v1::ParticleBody& given, const std::string& path,
                                   BodyDraft* draft) {
  ParticleDraft& particles = draft->particles.emplace();
  if (given.has_velocity()) {
    ReadVelocity(given.velocity(), path + ".velocity", &particles.body.linear_velocity,
                 &particles.body.angular_velocity);
  }
  ReadParticleMaterial(given.material(), path + ".material", draft);
  if (given.layout() == v1::PARTICLE_LAYOUT_POISSON_DISK)
    particles.options.layout = FillOptions::Layout::kPoissonDisk;
  if (given.has_seed()) {
    if (particles.options.layout != FillOptions::Layout::kPoissonDisk) {
      log_.Error(path + ".seed", "applies to the layout POISSON_DISK only. Remove it");
    } else if (given.seed() < 0) {
      log_.Error(path + ".seed", absl::StrCat(given.seed(), " is not allowed; expected 0 or more"));
    }
    particles.options.seed = static_cast<std::uint64_t>(given.seed());
  }
  particles.solid = given.fill().source_case() == v1::ParticleFill::kFile
                        ? ReadFillFile(given.fill(), path + ".fill")
                        : ReadFill(given.fill(), path + ".fill");
  if (!ReadSpacing(given, path, &particles) || log_.failed() || !ShouldContinue()) return;

  absl::StatusOr<ParticleFill> fill =
      FillSolid(*particles.solid, particles.options, [this] { return !ShouldContinue(); });
  if (!fill.ok()) return;  // cancelled, which was reported
  particles.fill = *std::move(fill);
  const std::size_t count = particles.fill.positions.size();
  if (count == 0) {
    log_.Error(path + ".fill",
               absl::StrCat("holds no particle: it is too thin for particles every ",
                            Millimetres(particles.options.spacing),
                            ". Use a smaller grid.cell_size, or a larger `per_cell`"));
    return;
  }
  particles_ += static_cast<std::int64_t>(count + particles.fill.surface.size());
  if (particles_ > options_.limits.max_particles) {
    log_.Error(path + ".fill",
               absl::StrCat("brings the scene to ", particles_,
                            " particles and points on their surfaces; expected at most ",
                            options_.limits.max_particles,
                            ". Use a larger grid.cell_size, or fewer particles in a cell"));
    return;
  }
  const double cell = grid_->cell_size * grid_->cell_size * grid_->cell_size;
  const double per_cell = cell / particles.fill.particle_volume;
  if (per_cell < kFewPerCell) {
    log_.Warning(
        path + (given.has_per_cell() ? ".per_cell"
                : given.has_count()  ? ".count"
                                     : ".fill"),
        absl::StrCat("gives ", NumberText(std::round(100 * per_cell) / 100),
                     " particles in a grid cell; with fewer than ", NumberText(kFewPerCell),
                     ", a body that is stretched falls apart early"));
  }
}

const ParticleMaterial* SceneCompiler::ReadParticleModel(const v1::ParticleMaterial& given,
                                                         const std::string& path) {
  const bool said = given.model() != v1::ParticleMaterial::MODEL_UNSPECIFIED;
  if (said && !given.custom_model().empty()) {
    log_.Error(path + ".custom_model", "conflicts with `model`; expected only one of the two");
    return nullptr;
  }
  if (given.custom_model().empty()) {
    constexpr int kPrefix = sizeof("MODEL_") - 1;
    const std::string name = said ? v1::ParticleMaterial::Model_Name(given.model()).substr(kPrefix)
                                  : std::string("LINEAR_COROTATIONAL");
    return FindParticleMaterial(name);  // null for a number that CheckEveryField has refused
  }
  const ParticleMaterial* material = FindParticleMaterial(given.custom_model());
  if (material == nullptr) {
    log_.Error(path + ".custom_model",
               absl::StrCat(Quoted(given.custom_model()),
                            " is not a material of particles; expected one of ",
                            NamesOf(AllParticleMaterials())));
  }
  return material;
}

bool SceneCompiler::ReadParticleMaterial(const v1::ParticleMaterial& given, const std::string& path,
                                         BodyDraft* draft) {
  ParticleBody& body = draft->particles->body;
  body.material = ReadParticleModel(given, path);
  if (body.material == nullptr) return false;
  const std::span<const ParticleParameter> parameters = body.material->parameters();
  const auto* type = given.GetDescriptor();

  // values given as fields or by name; each must be a parameter
  std::map<std::string, double> values(given.parameters().begin(), given.parameters().end());
  std::map<std::string, std::string> paths;
  bool ok = true;
  for (const auto& [name, value] : values) {
    paths[name] = absl::StrCat(path, ".parameters.", name);
    if (type->FindFieldByName(name) == nullptr) continue;
    log_.Error(paths[name], "is a field of the material itself; expected it there");
    ok = false;
  }
  for (int i = 0; i < type->field_count(); ++i) {
    const std::string& name = type->field(i)->name();
    const std::optional<double> value = FindNumber(given, name);
    if (name == "density" || !value.has_value()) continue;
    values[name] = *value;
    paths[name] = absl::StrCat(path, ".", name);
  }
  for (const auto& [name, value] : values) {
    if (std::ranges::count(parameters, name, &ParticleParameter::name) > 0) continue;
    std::string names;
    for (const ParticleParameter& one : parameters)
      absl::StrAppend(&names, std::string(one.name), ", ");
    log_.Error(paths[name],
               absl::StrCat("is not a parameter of ", std::string(body.material->name()),
                            "; expected ", names, "density. Remove it"));
    ok = false;
  }

  for (const ParticleParameter& parameter : parameters) {
    const std::string name(parameter.name), expected(parameter.expected);
    const bool is_field = type->FindFieldByName(name) != nullptr;
    const auto found = values.find(name);
    if (found == values.end() && std::isnan(parameter.fallback)) {
      ok = Missing(absl::StrCat(path, is_field ? "." : ".parameters.", name), expected, &log_);
      continue;
    }
    const double value = found == values.end() ? parameter.fallback : found->second;
    body.parameters.push_back(value);
    const bool is_whole = !parameter.is_integer || value == std::floor(value);
    if (value >= parameter.smallest && value <= parameter.largest && is_whole) continue;
    const bool is_incompressible = name == "poissons_ratio" && value >= 0.5;
    log_.Error(paths[name],
               absl::StrCat(NumberText(value), " is not allowed; expected ", expected,
                            is_incompressible ? ". A nearly incompressible body: use 0.49" : ""));
    ok = false;
  }

  body.density = given.density();
  if (!given.has_density()) {
    ok = Missing(path + ".density", "a positive density in kg/m³. Water has 1000", &log_);
  } else {
    ok &= CheckPositive(path + ".density", given.density(), "density in kg/m³", &log_, kMaxDensity,
                        kMinParticleDensity);
  }
  draft->body.density = body.density;
  draft->body.youngs_modulus = given.youngs_modulus();
  draft->body.poissons_ratio = given.poissons_ratio();
  return ok;
}

// Reads the spacing of particles, and refuses more of them than allowed before they are made.
bool SceneCompiler::ReadSpacing(const v1::ParticleBody& given, const std::string& path,
                                ParticleDraft* draft) {
  const double per_cell = given.has_per_cell() ? given.per_cell() : kDefaultPerCell;
  bool ok = CheckPositive(path + ".per_cell", per_cell, "number of particles", &log_, kMaxPerCell,
                          kMinPerCell);
  if (given.has_per_cell() && given.has_count()) {
    log_.Error(path + ".count", "conflicts with `per_cell`; expected only one of the two");
    ok = false;
  } else if (given.has_count() && given.count() < 1) {
    log_.Error(path + ".count", absl::StrCat(given.count(),
                                             " is not allowed; expected a whole number of 1 or "
                                             "more"));
    ok = false;
  }
  if (!ok || draft->solid == nullptr || !grid_.has_value()) return false;

  const double volume = draft->solid->volume();
  const double spacing = given.has_count() ? CalcCubeRoot(volume / given.count())
                                           : grid_->cell_size / CalcCubeRoot(per_cell);
  draft->options.spacing = spacing;
  const double count = std::round(volume / (spacing * spacing * spacing));
  const double surface = std::round(draft->solid->CalcMaxArea() / (spacing * spacing));
  const auto limit = static_cast<double>(options_.limits.max_particles);
  if (count <= limit && surface <= 4 * limit) return true;
  log_.Error(
      given.has_count() ? path + ".count" : path + ".fill",
      absl::StrCat(
          "would give about ",
          count > limit ? absl::StrCat(count, " particles")
                        : absl::StrCat(surface, " points on its surface"),
          "; expected at most ", options_.limits.max_particles, " in the scene. Use ",
          given.has_count() ? "fewer" : "a larger grid.cell_size, or fewer particles in a cell"));
  return false;
}

std::shared_ptr<const Solid> SceneCompiler::ReadFill(const v1::ParticleFill& given,
                                                     const std::string& path) {
  if (given.source_case() == v1::ParticleFill::SOURCE_NOT_SET) {
    Missing(path, "a box, sphere, cylinder, capsule, ellipsoid, torus or file", &log_);
    return nullptr;
  }
  for (const auto& [name, is_given] :
       {std::pair(".scale", given.has_scale()), std::pair(".repair", given.repair()),
        std::pair(".convex", given.convex())}) {
    if (is_given) log_.Error(path + name, "applies to files only. Remove it");
  }
  if (given.has_torus()) {
    if (given.torus().has_slices())
      log_.Error(path + ".torus.slices", "applies to meshes only. Remove it");
    if (!CheckTorus(path + ".torus", given.torus(), &log_)) return nullptr;
    return std::make_shared<const Solid>(
        Torus{given.torus().ring_radius(), given.torus().tube_radius()});
  }
  if (given.has_box() && given.box().has_pose()) {
    log_.Error(path + ".box.pose", "is not allowed here; expected the `pose` of the body");
    return nullptr;
  }
  // the other primitives are shapes of rigid bodies
  v1::Shape shape;
  if (given.has_box()) *shape.mutable_box() = given.box();
  if (given.has_sphere()) *shape.mutable_sphere() = given.sphere();
  if (given.has_cylinder()) *shape.mutable_cylinder() = given.cylinder();
  if (given.has_capsule()) *shape.mutable_capsule() = given.capsule();
  if (given.has_ellipsoid()) *shape.mutable_ellipsoid() = given.ellipsoid();
  std::optional<Shape> read = ReadShape(shape, path);
  if (!read.has_value()) return nullptr;
  return std::make_shared<const Solid>(std::move(read->geometry));
}

std::shared_ptr<const Solid> SceneCompiler::ReadFillFile(const v1::ParticleFill& given,
                                                         const std::string& path) {
  // the content decides whether it is a surface or tetrahedra
  const std::optional<std::string> place = FindFile(given.file(), path + ".file");
  if (!place.has_value()) return nullptr;
  const absl::StatusOr<std::string> bytes = ReadMeshFileBytes(*place);
  if (!bytes.ok()) {
    log_.Error(path + ".file", std::string(bytes.status().message()));
    return nullptr;
  }
  if (GuessFileKind(*bytes).ends_with("surface")) {
    if (given.repair())
      log_.Error(path + ".repair", "applies to tetrahedra only; this is a surface. Remove it");
    v1::SurfaceMesh surface;
    surface.set_file(given.file());
    if (given.has_scale()) surface.set_scale(given.scale());
    surface.set_convex(given.convex());
    std::optional<Geometry> geometry = ReadSurfaceMesh(surface, path);
    if (!geometry.has_value()) return nullptr;
    // the tree speeds up distance queries
    if (const ConvexMesh* hull = std::get_if<ConvexMesh>(&*geometry))
      geometry = SurfaceMesh{hull->hull, std::make_shared<const TriangleBvh>(*hull->hull)};
    auto solid = std::make_shared<const Solid>(*std::move(geometry));
    if (solid->volume() > 1e-18) return solid;
    log_.Error(path + ".file",
               absl::StrCat("encloses ", NumberText(solid->volume()),
                            " m³, which is beyond what can be computed. Is the scale right?"));
    return nullptr;
  }

  if (given.convex())
    log_.Error(path + ".convex", "applies to surfaces only; these are tetrahedra. Remove it");
  v1::VolumeMesh volume;
  volume.set_file(given.file());
  if (given.has_scale()) volume.set_scale(given.scale());
  volume.set_repair(given.repair());
  std::vector<int> vertex_of_file;
  const std::optional<TetrahedralMesh> mesh = ReadVolumeMesh(volume, path, &vertex_of_file);
  if (!mesh.has_value()) return nullptr;
  for (const MeshDefect& defect : FindDefects(*mesh)) {
    if (defect.kind != MeshDefectKind::kNonManifoldBoundary) continue;
    log_.AlsoError(path + ".file",
                   absl::StrCat("has ", Describe(defect),
                                "; a fill expects none: inside and outside meet there. Fix the "
                                "file"));
    return nullptr;
  }
  return std::make_shared<const Solid>(*mesh);
}

void SceneCompiler::PlaceParticles(int placement) {
  const ParticleDraft& draft = *drafts_[placements_[placement].draft].particles;
  if (particle_block_ == kWorldBlock) {
    particle_block_ = static_cast<int>(model_->blocks.size());
    model_->blocks.push_back(nullptr);  // made when all its bodies are known
  }
  // the draft was completed after the body was placed: keep its name and pose
  Body body = drafts_[placements_[placement].draft].body;
  body.name = placements_[placement].name;
  body.X_WB = placements_[placement].X_WB;
  body.block = particle_block_;
  body.part = static_cast<int>(particle_bodies_.size());

  ParticleBody particles = draft.body;
  particles.name = body.name;
  particles.volumes.assign(draft.fill.positions.size(), draft.fill.particle_volume);
  for (std::size_t i = 0; i < draft.fill.positions.size(); ++i) {
    particles.positions.push_back(body.X_WB * draft.fill.positions[i]);
    body.points.nodes.push_back(particle_nodes_++);
    body.points.radii.push_back(grid_->is_corrected ? draft.fill.radii[i] : 0);
  }
  // a velocity away from a wall, for each particle that the flow takes there, would stir a liquid:
  // it displaces them instead
  body.points.sees_depth = !draft.body.material->is_liquid();
  // In the published method, only particles collide. The surface of a liquid does not stay with the
  // same matter.
  if (grid_->is_corrected && !draft.body.material->is_liquid()) {
    for (const Vector3d& p : draft.fill.surface) {
      particles.surface.push_back(body.X_WB * p);
      body.points.nodes.push_back(particle_nodes_++);
      body.points.radii.push_back(0);
    }
  }
  model_->bodies[placement] = std::move(body);
  particle_bodies_.push_back(std::move(particles));
}

void SceneCompiler::BuildParticleBlock() {
  if (particle_bodies_.empty()) return;
  model_->blocks[particle_block_] = MakeParticleBlock(*grid_, particle_bodies_);
}

// Checks the initial placement of bodies of particles.
void SceneCompiler::CheckParticles() {
  if (log_.failed() || particle_bodies_.empty()) return;
  std::vector<int> placements;
  for (int i = 0; i < static_cast<int>(placements_.size()); ++i)
    if (model_->bodies[i].block == particle_block_) placements.push_back(i);
  for (const int placement : placements) CheckParticleMotion(placement);
  CheckParticleNeighbors(placements);
  particle_bodies_.clear();

  // particles on both sides of a thin body share grid nodes
  const Body* thinnest = nullptr;
  double least = kStickingCells * grid_->cell_size;
  int num_thin = 0;
  for (const Body& body : model_->bodies) {
    double thickness = std::numeric_limits<double>::infinity();
    for (const Shape& shape : body.shapes)
      thickness = std::min(thickness, CalcThickness(shape.geometry));
    if (!(thickness < kStickingCells * grid_->cell_size)) continue;
    ++num_thin;
    if (!(thickness < least)) continue;
    least = thickness;
    thinnest = &body;
  }
  if (thinnest == nullptr) return;
  log_.Warning("grid.cell_size",
               absl::StrCat(NumberText(grid_->cell_size), " m is more than half the thickness of ",
                            Quoted(thinnest->name), ", ", Millimetres(least),
                            num_thin > 1 ? absl::StrCat(" (and of ", num_thin - 1, " more)") : "",
                            "; particles on its two sides move each other. Use smaller cells "
                            "where it parts them"));
}

// Refuses a body that starts outside the grid's bounds, and warns if it moves fast.
void SceneCompiler::CheckParticleMotion(int placement) {
  const Body& body = model_->bodies[placement];
  const ParticleBody& particles = particle_bodies_[body.part];
  const std::string path = PathOfBody(placement) + ".particles";
  const std::size_t count = particles.positions.size();
  AxisAlignedBox bounds;
  Vector3d center = Vector3d::Zero();
  std::size_t num_outside = 0;
  for (const Vector3d& p : particles.positions) {
    bounds.Include(p);
    center += p / static_cast<double>(count);
    num_outside += !(p.array() >= grid_->lower.array() && p.array() <= grid_->upper.array()).all();
  }
  if (num_outside > 0) {
    log_.Error(path + ".pose", absl::StrCat("puts ", num_outside, " of the ", count,
                                            " particles of ", Quoted(body.name),
                                            " outside grid.bounds. Move the body, or widen them"));
    return;
  }
  const double farthest = std::max(bounds.upper.maxCoeff(), -bounds.lower.minCoeff());
  if (farthest > kMaxCellsFromOrigin * grid_->cell_size) {
    log_.Error(path + ".pose", absl::StrCat("puts particles of ", Quoted(body.name), " ",
                                            NumberText(std::round(farthest / grid_->cell_size)),
                                            " cells from the world's origin; expected at most ",
                                            NumberText(kMaxCellsFromOrigin)));
    return;
  }
  double fastest2 = 0;
  for (const Vector3d& p : particles.positions) {
    const Vector3d v =
        particles.linear_velocity + particles.angular_velocity.cross(Vector3d(p - center));
    fastest2 = std::max(fastest2, v.squaredNorm());
  }
  const double travel = model_->time_step * std::sqrt(fastest2);
  if (travel > grid_->cell_size) {
    log_.Warning(path + ".velocity",
                 absl::StrCat("moves ", Quoted(body.name), " by up to ", Millimetres(travel),
                              " in a step, more than grid.cell_size. Use a shorter time_step"));
  }
}

// Refuses bodies of particles that overlap, and warns of those that stick together.
void SceneCompiler::CheckParticleNeighbors(const std::vector<int>& placements) {
  const double reach = kStickingCells * grid_->cell_size;
  std::vector<PlacedFill> fills;
  std::vector<int> order;  // by their lower ends along x
  for (const int placement : placements) {
    const ParticleDraft& draft = *drafts_[placements_[placement].draft].particles;
    PlacedFill& fill = fills.emplace_back();
    fill = {draft.solid.get(), &draft.fill, draft.options.spacing, placements_[placement].X_WB, {}};
    for (const Vector3d& p : draft.fill.surface) fill.bounds.Include(fill.X_WB * p);
    order.push_back(static_cast<int>(order.size()));
  }
  std::ranges::stable_sort(order, {}, [&](int i) { return fills[i].bounds.lower.x(); });

  // pairs in the order of the scene
  std::map<std::pair<int, int>, double> gaps;
  for (std::size_t i = 0; i < order.size(); ++i) {
    AxisAlignedBox near = fills[order[i]].bounds;
    near.Grow(reach);
    for (std::size_t k = i + 1; k < order.size(); ++k) {
      const PlacedFill& other = fills[order[k]];
      if (other.bounds.lower.x() > near.upper.x()) break;
      if (!near.Overlaps(other.bounds)) continue;
      const double gap = CalcGap(fills[order[i]], other, reach);
      if (gap < reach) gaps[std::minmax(order[i], order[k])] = gap;
    }
  }
  int count = 0;
  for (const auto& [pair, gap] : gaps) {
    const int a = placements[pair.first], b = placements[pair.second];
    const std::string other = Quoted(model_->bodies[a].name);
    const bool overlaps =
        gap < -0.5 * std::max(fills[pair.first].spacing, fills[pair.second].spacing);
    if (!overlaps && ++count > kMaxPairsNamed) continue;
    const std::string path = PathOfBody(b) + ".particles";
    if (overlaps) {
      log_.AlsoError(path, absl::StrCat(Quoted(model_->bodies[b].name), " starts ",
                                        Millimetres(-gap), " inside ", other,
                                        "; expected bodies of particles not to overlap, as both "
                                        "would have their mass there. Move one of them"));
    } else {
      log_.Warning(path, absl::StrCat(Quoted(model_->bodies[b].name), " starts ",
                                      Millimetres(std::max(0.0, gap)), " from ", other,
                                      ", less than two cells of the grid: they stick together. "
                                      "Move one of them, or use smaller cells"));
    }
  }
  if (count > kMaxPairsNamed) {
    log_.Warning("grid.cell_size", absl::StrCat(count - kMaxPairsNamed,
                                                " more pairs of bodies start so near to each other "
                                                "that they stick together"));
  }
}

}  // namespace pliant::physics
