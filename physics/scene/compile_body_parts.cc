// Parts of deformable bodies: regions of other materials, attachments, and closed volumes.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/fem/volume/log_volume.h"
#include "physics/geometry/cavities.h"
#include "physics/scene/compiler.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

// Box in the body's frame that selects vertices and elements.
class Selection {
 public:
  // Returns nothing, after reporting an error, if the box is not valid.
  static std::optional<Selection> Read(const v1::Within& within, const std::string& path,
                                       SceneLog* log) {
    const std::string at = path + ".box";
    if (!within.has_box()) {
      Missing(at, "a box with size and pose", log);
      return std::nullopt;
    }
    Selection selection;
    const v1::Box& box = within.box();
    if (box.size().empty()) Missing(at + ".size", "3 numbers in metres, each a full length", log);
    bool ok = ReadVector(at + ".size", box.size(), "full length in metres", kMaxLength, log,
                         &selection.half_size_);
    for (int i = 0; i < box.size_size(); ++i) {
      ok &= CheckPositive(absl::StrCat(at, ".size[", i, "]"), box.size(i), "full length in metres",
                          log, kMaxLength);
    }
    ok &= ReadPose(at + ".pose", box.pose(), log, &selection.X_SB_);
    if (!ok || box.size().empty()) return std::nullopt;
    // include vertices on the boundary, whatever the rounding
    selection.half_size_ = 0.5 * selection.half_size_ * (1 + 1e-9);
    selection.X_SB_ = selection.X_SB_.Inverse();
    return selection;
  }

  bool Contains(const Eigen::Vector3d& p_B) const {
    return ((X_SB_ * p_B).cwiseAbs().array() <= half_size_.array()).all();
  }

 private:
  Eigen::Vector3d half_size_ = Eigen::Vector3d::Zero();
  RigidTransform X_SB_;
};

Eigen::Vector3d Centroid(const TetrahedralMesh& mesh, int t) {
  const auto& corners = mesh.tetrahedra[t];
  return 0.25 * (mesh.vertices[corners[0]] + mesh.vertices[corners[1]] + mesh.vertices[corners[2]] +
                 mesh.vertices[corners[3]]);
}

std::string BoundsText(const TetrahedralMesh& mesh) {
  AxisAlignedBox bounds;
  for (const Eigen::Vector3d& p : mesh.vertices) bounds.Include(p);
  const auto text = [](const Eigen::Vector3d& p) {
    return absl::StrCat("[", p[0], ", ", p[1], ", ", p[2], "]");
  };
  return absl::StrCat("the body reaches from ", text(bounds.lower), " to ", text(bounds.upper),
                      " in its frame");
}

}  // namespace

bool CheckGaugePressure(const std::string& path, double gauge, const VolumeLaw& law,
                        SceneLog* log) {
  constexpr double kMaxGauge = 1e12;  // [Pa]
  if (law.is_gas() && !(gauge > -kAtmosphere)) {
    log->Error(path, absl::StrCat(NumberText(gauge),
                                  " is not allowed: a gas at or below vacuum; expected more than -",
                                  NumberText(kAtmosphere), " Pa"));
    return false;
  }
  if (std::abs(gauge) <= kMaxGauge) return true;
  log->Error(path, absl::StrCat(NumberText(gauge), " is not allowed; expected at most ",
                                NumberText(kMaxGauge), " Pa. Is the unit right?"));
  return false;
}

void SceneCompiler::ReadRegions(const v1::DeformableBody& given, const std::string& path,
                                BodyDraft* draft) {
  FemParameters& fem = draft->fem;
  absl::flat_hash_map<std::string, int> names;
  for (int i = 0; i < given.regions_size(); ++i) {
    const v1::Region& region = given.regions(i);
    const std::string at = absl::StrCat(path, ".regions[", i, "]");
    if (!region.name().empty() && CheckName(at + ".name", region.name(), &log_) &&
        !names.try_emplace(region.name(), i).second) {
      log_.Error(at + ".name",
                 absl::StrCat(Quoted(region.name()),
                              " is also the name of an earlier region; expected a unique name"));
    }
    const v1::Material body_material = given.material();
    const std::optional<FemMaterial> material =
        ReadMaterial(region.material(), &body_material, at + ".material");

    std::vector<int> chosen;
    const int count = static_cast<int>(fem.mesh.tetrahedra.size());
    if (region.has_within()) {
      const std::optional<Selection> selection =
          Selection::Read(region.within(), at + ".within", &log_);
      if (!selection.has_value() || count == 0) continue;
      for (int t = 0; t < count; ++t) {
        if (selection->Contains(Centroid(fem.mesh, t))) chosen.push_back(t);
      }
      if (chosen.empty()) {
        log_.Error(at + ".within",
                   absl::StrCat("contains no tetrahedron; expected some: ", BoundsText(fem.mesh)));
      }
    } else if (region.selection_case() == v1::Region::kLabel) {
      if (count == 0) continue;
      if (fem.mesh.labels.empty()) {
        log_.Error(at + ".label", "is given, but the mesh has no cell labels. Use `within`");
        continue;
      }
      for (int t = 0; t < count; ++t) {
        if (fem.mesh.labels[t] == region.label()) chosen.push_back(t);
      }
      if (chosen.empty()) {
        log_.Error(at + ".label",
                   absl::StrCat(region.label(),
                                " labels no tetrahedron of the mesh; expected a label that does"));
      }
    } else {
      log_.Error(at, "selects nothing; expected `within` or `label`");
    }
    draft->regions[region.name()] = chosen;
    if (!material.has_value()) continue;
    if (fem.element_material.empty()) fem.element_material.assign(count, 0);
    for (const int t : chosen) fem.element_material[t] = static_cast<int>(fem.materials.size());
    fem.materials.push_back(*material);
  }
}

void SceneCompiler::ReadActivations(const v1::DeformableBody& given, const std::string& path,
                                    BodyDraft* draft) {
  for (int i = 0; i < given.activations_size(); ++i) {
    const v1::Activation& activation = given.activations(i);
    const std::string at = absl::StrCat(path, ".activations[", i, "]");
    Actuator actuator;
    actuator.kind = Actuator::Kind::kEffort;
    actuator.name = activation.name();
    if (activation.name().empty()) {
      Missing(at + ".name", "a name, by which it is driven", &log_);
    } else if (CheckName(at + ".name", activation.name(), &log_)) {
      for (int k = 0; k < i; ++k) {
        if (given.activations(k).name() != activation.name()) continue;
        log_.Error(at + ".name",
                   absl::StrCat(Quoted(activation.name()), " is also the name of activations[", k,
                                "]; expected a unique name"));
        break;
      }
    }
    if (activation.has_limit() &&
        CheckPositive(at + ".limit", activation.limit(), "stress in pascals", &log_, 1e15))
      actuator.effort_limit = activation.limit();

    std::vector<int> elements;
    if (activation.region().empty()) {
      elements.resize(draft->fem.mesh.tetrahedra.size());
      std::iota(elements.begin(), elements.end(), 0);
    } else if (const auto found = draft->regions.find(activation.region());
               found != draft->regions.end()) {
      elements = found->second;
    } else {
      std::vector<std::string> names;
      for (const v1::Region& region : given.regions())
        if (!region.name().empty()) names.push_back(region.name());
      // a region with an error has been reported already
      if (std::find(names.begin(), names.end(), activation.region()) == names.end()) {
        log_.Error(at + ".region",
                   absl::StrCat("no region of the body is called ", Quoted(activation.region()),
                                DidYouMean(activation.region(), names)));
      }
    }
    draft->fem.activations.push_back(std::move(elements));
    draft->activations.push_back(std::move(actuator));
  }
}

void SceneCompiler::ReadAttachments(const v1::DeformableBody& given, const std::string& path,
                                    BodyDraft* draft) {
  std::map<int, std::string> attached;  // name by vertex
  const TetrahedralMesh& mesh = draft->fem.mesh;
  for (int i = 0; i < given.attachments_size(); ++i) {
    const v1::Attachment& attachment = given.attachments(i);
    const std::string at = absl::StrCat(path, ".attachments[", i, "]");

    if (attachment.to().empty()) {
      Missing(at + ".to", "`world` or the name of a rigid body or link", &log_);
      continue;
    }
    const bool is_world = attachment.to() == "world";
    const bool is_link = attachment.to().find('/') != std::string::npos;  // links are placed later
    const int to = is_world || is_link ? -1 : ResolveHolder(attachment.to(), at + ".to");
    if (!is_world && !is_link && to < 0) continue;

    // choose vertices
    std::vector<int> chosen;
    if (attachment.has_within()) {
      const std::optional<Selection> selection =
          Selection::Read(attachment.within(), at + ".within", &log_);
      if (!selection.has_value() || mesh.vertices.empty()) continue;
      for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
        if (selection->Contains(mesh.vertices[v])) chosen.push_back(static_cast<int>(v));
      }
      if (chosen.empty()) {
        log_.Error(at + ".within",
                   absl::StrCat("contains no vertex; expected some: ", BoundsText(mesh)));
        continue;
      }
    }
    for (int k = 0; k < attachment.vertices_size(); ++k) {
      const int vertex = attachment.vertices(k);
      const std::string entry = absl::StrCat(at, ".vertices[", k, "]");
      const int resolved = ResolveDraftVertex(*draft, vertex, entry);
      if (resolved >= 0) chosen.push_back(resolved);
    }
    if (!attachment.has_within() && attachment.vertices().empty()) {
      log_.Error(at, "selects no vertex; expected `within` or `vertices`");
      continue;
    }
    for (const int vertex : chosen) {
      const auto [earlier, fresh] = attached.try_emplace(vertex, attachment.to());
      if (!fresh && earlier->second != attachment.to()) {
        log_.Error(at, absl::StrCat("attaches vertex ", vertex, ", which is already attached to ",
                                    Quoted(earlier->second),
                                    "; expected each vertex to be attached once"));
        break;
      }
      if (!fresh) continue;
      // a fixed or kinematic body prescribes the motion of the vertex
      const Motion motion = to < 0 ? Motion::kFixed : model_->bodies[to].motion;
      if (is_link || motion == Motion::kFree) {
        draft->held.push_back({vertex, attachment.to(), at + ".to"});
      } else if (motion == Motion::kKinematic) {
        draft->fem.prescribed.push_back({vertex, to, model_->bodies[to].X_WB});
      } else {
        draft->fem.prescribed.push_back({vertex, -1, RigidTransform()});
      }
    }
  }
  std::sort(draft->fem.prescribed.begin(), draft->fem.prescribed.end(),
            [](const auto& x, const auto& y) { return x.node < y.node; });
  if (draft->fem.prescribed.size() == mesh.vertices.size() && !attached.empty()) {
    log_.Error(path + ".attachments",
               "attach every vertex, so nothing can deform. Select fewer, or make the body rigid");
  }
}

// Finds a rigid body or link to attach to; −1 after reporting an error.
int SceneCompiler::ResolveHolder(const std::string& name, const std::string& path) {
  const int holder = ResolveBody(name, path);
  if (holder < 0 || !IsDeformable(holder)) return holder;
  log_.Error(
      path, absl::StrCat(Quoted(name), " is deformable; expected `world`, a rigid body or a link"));
  return -1;
}

// Reads the volume constraints, which become parts of their bodies.
void SceneCompiler::DraftVolumes() {
  for (int i = 0; i < scene_.constraints_size(); ++i) {
    if (!scene_.constraints(i).has_volume()) continue;
    const std::string path = absl::StrCat("constraints[", i, "]");
    VolumeParameters volume;
    volume.name = scene_.constraints(i).name();
    int body = -1;
    if (!DraftVolume(scene_.constraints(i).volume(), path + ".volume", &body, &volume)) continue;
    std::vector<VolumeParameters>& of_body = volumes_[body];
    volume_of_constraint_[path] = {body, static_cast<int>(of_body.size())};
    of_body.push_back(std::move(volume));
  }
}

bool SceneCompiler::DraftVolume(const v1::VolumeConstraint& given, const std::string& path,
                                int* body, VolumeParameters* volume) {
  if (!ReadVolumeLaw(given, path, volume)) return false;
  *body = ResolveBody(given.body(), path + ".body");
  if (*body < 0) return false;
  if (*body >= static_cast<int>(placements_.size())) {
    log_.Error(path + ".body", absl::StrCat(Quoted(given.body()),
                                            " is part of a robot; expected a body of the scene"));
    return false;
  }
  const BodyDraft& draft = drafts_[placements_[*body].draft];
  const std::string name = Quoted(given.body());
  if (!draft.is_deformable || draft.kind != nullptr || draft.particles.has_value()) {
    log_.Error(path + ".body", absl::StrCat(name,
                                            " has no tetrahedra that deform; expected a "
                                            "`deformable` body"));
    return false;
  }
  if (draft.fem.plane_strain) {
    log_.Error(path + ".body", absl::StrCat(name,
                                            " is in plane strain, a slice of a longer body "
                                            "that encloses nothing. Leave out "
                                            "`plane_strain`"));
    return false;
  }
  if (model_->method.is_maximal()) {
    log_.Error(path,
               "is not supported in maximal coordinates yet; leave it out, or set "
               "method.nonsmooth.coordinates: REDUCED");
    return false;
  }
  // without a mesh, an error has been reported already
  if (draft.fem.mesh.tetrahedra.empty()) return false;
  return ReadVolumeSurface(given, path, *body, volume);
}

// Finds the surface and the volume at rest.
bool SceneCompiler::ReadVolumeSurface(const v1::VolumeConstraint& given, const std::string& path,
                                      int body, VolumeParameters* volume) {
  const BodyDraft& draft = drafts_[placements_[body].draft];
  const TetrahedralMesh& mesh = draft.fem.mesh;
  const std::string name = Quoted(given.body());
  if (given.cavity() && !given.region().empty()) {
    log_.Error(path + ".region", "conflicts with `cavity`; expected only one of the two");
    return false;
  }
  if (given.cavity()) {
    const Cavities cavities = FindCavities(draft.body.surface, mesh.vertices);
    if (cavities.count == 0) {
      log_.Error(
          path + ".cavity",
          cavities.has_open
              ? absl::StrCat("the surface of ", name,
                             " touches itself along an edge, so that no "
                             "cavity is closed. Move its vertices apart "
                             "there")
              : absl::StrCat(name, " has no cavity: ",
                             cavities.num_pieces == 1
                                 ? "its surface is in one piece, as of a body that is solid or "
                                   "whose wall has an opening. Close the wall, or use a "
                                   "`hollow_sphere`"
                                 : "none of the pieces of its surface encloses empty space. Turn "
                                   "the inner surface inside out"));
      return false;
    }
    volume->triangles = cavities.triangles;
  } else if (!given.region().empty()) {
    const auto region = draft.regions.find(given.region());
    if (region == draft.regions.end()) {
      std::vector<std::string> names;
      for (const auto& [known, tetrahedra] : draft.regions) names.push_back(known);
      log_.Error(path + ".region",
                 absl::StrCat(name, " has no region called ", Quoted(given.region()),
                              DidYouMean(given.region(), names)));
      return false;
    }
    TetrahedralMesh part;
    part.vertices = mesh.vertices;
    for (const int t : region->second) part.tetrahedra.push_back(mesh.tetrahedra[t]);
    volume->triangles = ExtractBoundary(part).triangles;
    if (volume->triangles.empty()) return false;  // reported with the region
  } else {
    volume->triangles = draft.body.surface.triangles;
  }

  const double initial = CalcEnclosedVolume(volume->triangles, mesh.vertices);
  volume->rest_volume = given.has_rest_volume() ? given.rest_volume() : initial;
  if (!CheckPositive(path + ".rest_volume", volume->rest_volume, "volume in m³", &log_, 1e18,
                     1e-18))
    return false;
  const double min = kMinVolumeRatio * volume->rest_volume;
  if (initial > min) return true;
  log_.Error(path + ".rest_volume",
             absl::StrCat(NumberText(volume->rest_volume),
                          " is not allowed for an initial volume "
                          "of ",
                          NumberText(initial), " m³; expected less than ",
                          NumberText(initial / kMinVolumeRatio), " m³. Is the unit right?"));
  return false;
}

bool SceneCompiler::ReadVolumeLaw(const v1::VolumeConstraint& given, const std::string& path,
                                  VolumeParameters* volume) {
  const std::string laws = [] {
    std::string names;
    for (const VolumeLaw* law : AllVolumeLaws())
      absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(law->name()));
    return names;
  }();
  if (given.law().empty()) return Missing(path + ".law", absl::StrCat("one of ", laws), &log_);
  volume->law = FindVolumeLaw(given.law());
  if (volume->law == nullptr) {
    log_.Error(path + ".law",
               absl::StrCat(Quoted(given.law()), " is not a law; expected one of ", laws));
    return false;
  }
  std::map<std::string, double> numbers(given.parameters().begin(), given.parameters().end());
  const bool is_field = given.has_bulk_modulus();
  if (is_field) numbers["bulk_modulus"] = given.bulk_modulus();
  const auto path_of = [&](const std::string& name) {
    return absl::StrCat(path, name == "bulk_modulus" ? "." : ".parameters.", name);
  };
  bool ok = true;
  for (const VolumeParameter& parameter : volume->law->parameters()) {
    const std::string name(parameter.name), at = path_of(name);
    const auto found = numbers.find(name);
    if (found == numbers.end()) {
      ok = Missing(at, std::string(parameter.expected), &log_);
      continue;
    }
    if (!(found->second >= parameter.min && found->second <= parameter.max)) {
      log_.Error(at, absl::StrCat(NumberText(found->second), " is not allowed; expected ",
                                  std::string(parameter.expected)));
      ok = false;
    }
    volume->parameters.push_back(found->second);
    numbers.erase(found);
  }
  for (const auto& [name, value] : numbers) {
    log_.Error(path_of(name), absl::StrCat("is not a parameter of ", given.law(), ". Remove it"));
    ok = false;
  }
  volume->gauge_pressure = given.gauge_pressure();
  return CheckGaugePressure(path + ".gauge_pressure", volume->gauge_pressure, *volume->law,
                            &log_) &&
         ok;
}

// Adds the constraints that hold vertices attached to free bodies and links, once all are placed.
void SceneCompiler::HoldVertices() {
  if (log_.failed()) return;
  for (std::size_t i = 0; i < placements_.size(); ++i) {
    std::string refused;  // a path, reported once
    for (const BodyDraft::HeldVertex& held : drafts_[placements_[i].draft].held) {
      if (held.path == refused) continue;
      const int holder = ResolveHolder(held.to, held.path);
      if (holder < 0) {
        refused = held.path;
      } else {
        HoldVertex(static_cast<int>(i), held.vertex, holder);
      }
    }
  }
}

void SceneCompiler::HoldVertex(int soft, int vertex, int holder) {
  const Body& body = model_->bodies[soft];
  Constraint constraint;
  constraint.name = absl::StrCat(body.name, "/vertex_", vertex);
  constraint.kind = Constraint::Kind::kBall;
  constraint.body_b = soft;
  constraint.node_b = vertex;
  constraint.X_AF.p = body.X_WB * body.mesh.vertices[vertex];
  if (model_->bodies[holder].motion != Motion::kFixed) {
    constraint.body_a = holder;
    constraint.X_AF.p = model_->bodies[holder].X_WB.Inverse() * constraint.X_AF.p;
  }
  model_->constraints.push_back(std::move(constraint));
}

}  // namespace pliant::physics
