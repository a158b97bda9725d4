#include "server/stream/messages.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/spatial/trig.h"
#include "physics/world/probes.h"
#include "server/stream/fields.h"
#include "server/stream/robot_messages.h"
#include "server/stream/surface_tiers.h"

namespace pliant::server {
namespace {

void WritePose(const physics::RigidTransform& X, google::protobuf::RepeatedField<double>* pose) {
  const Eigen::Quaterniond q(X.R);
  for (const double number : {X.p.x(), X.p.y(), X.p.z(), q.w(), q.x(), q.y(), q.z()})
    pose->Add(number);
}

void WriteMesh(const physics::TriangleMesh& mesh, v1::TriangleMesh* message) {
  for (const Eigen::Vector3d& p : mesh.vertices) {
    for (int i = 0; i < 3; ++i) message->add_vertices(static_cast<float>(p[i]));
  }
  for (const auto& triangle : mesh.triangles) {
    for (const int vertex : triangle) message->add_indices(vertex);
  }
}

void WriteGeometry(const physics::Geometry& geometry, v1::ShapeDescription* shape) {
  std::visit(
      [shape](const auto& g) {
        using G = std::decay_t<decltype(g)>;
        if constexpr (std::is_same_v<G, physics::Sphere>) {
          shape->mutable_sphere()->set_radius(g.radius);
        } else if constexpr (std::is_same_v<G, physics::Box>) {
          for (int i = 0; i < 3; ++i) shape->mutable_box()->add_size(2 * g.half_size[i]);
        } else if constexpr (std::is_same_v<G, physics::Capsule>) {
          shape->mutable_capsule()->set_radius(g.radius);
          shape->mutable_capsule()->set_length(g.length);
        } else if constexpr (std::is_same_v<G, physics::Cylinder>) {
          shape->mutable_cylinder()->set_radius(g.radius);
          shape->mutable_cylinder()->set_length(g.length);
        } else if constexpr (std::is_same_v<G, physics::Ellipsoid>) {
          for (int i = 0; i < 3; ++i) shape->mutable_ellipsoid()->add_radii(g.radii[i]);
        } else if constexpr (std::is_same_v<G, physics::HalfSpace>) {
          shape->mutable_half_space();
        } else if constexpr (std::is_same_v<G, physics::ConvexMesh>) {
          WriteMesh(*g.hull, shape->mutable_triangles());
        } else {
          static_assert(std::is_same_v<G, physics::SurfaceMesh>);
          WriteMesh(*g.mesh, shape->mutable_triangles());
        }
      },
      geometry);
}

v1::RigidBody::Motion WriteMotion(physics::Motion motion) {
  switch (motion) {
    case physics::Motion::kFixed:
      return v1::RigidBody::MOTION_FIXED;
    case physics::Motion::kKinematic:
      return v1::RigidBody::MOTION_KINEMATIC;
    case physics::Motion::kFree:
      return v1::RigidBody::MOTION_FREE;
  }
  return v1::RigidBody::MOTION_UNSPECIFIED;
}

void DescribeShape(const physics::Shape& shape, v1::ShapeDescription* message) {
  WritePose(shape.X_BS, message->mutable_pose());
  WriteGeometry(shape.geometry, message);
}

void DescribeAppearance(const physics::Appearance& appearance, const KeepImage& keep_image,
                        v1::Appearance* message) {
  std::string colors;
  for (const auto& rgba : appearance.vertex_colors) colors.append(rgba.begin(), rgba.end());
  message->set_vertex_colors(std::move(colors));
  if (appearance.image == nullptr || !keep_image) return;
  for (const auto& [u, v] : appearance.texture_coordinates) {
    message->add_texture_coordinates(u);
    message->add_texture_coordinates(v);
  }
  v1::ImageRef* image = message->mutable_image();
  *image->mutable_object() = keep_image(appearance.image);
  image->set_media_type(appearance.image->media_type);
  image->set_width(static_cast<std::uint32_t>(appearance.image->width));
  image->set_height(static_cast<std::uint32_t>(appearance.image->height));
}

void DescribeRigid(const physics::Body& body, const KeepImage& keep_image,
                   v1::RigidDescription* message) {
  message->set_name(body.name);
  message->set_motion(WriteMotion(body.motion));
  for (const physics::Shape& shape : body.shapes) DescribeShape(shape, message->add_shapes());
  for (const physics::VisualShape& visual : body.visuals) {
    v1::ShapeDescription* description = message->add_visuals();
    DescribeShape(visual.shape, description);
    for (int i = 0; i < 4; ++i) description->add_color(visual.color[i]);
    if (visual.appearance != nullptr)
      DescribeAppearance(*visual.appearance, keep_image, description->mutable_appearance());
  }
}

void DescribePoints(const physics::Model& model, const physics::Body& body, int count,
                    v1::DeformableDescription* message) {
  const physics::ElementSet& elements = *model.abilities_of(body).elements;
  const std::span<const double> volumes =
      elements.element_volumes().subspan(elements.elements_of(body.part).first, count);
  v1::PointSet* points = message->mutable_points();
  points->set_count(static_cast<std::uint32_t>(count));
  // volumes that differ by rounding alone give one radius
  const auto [smallest, largest] = std::ranges::minmax(volumes);
  const bool are_equal = largest - smallest <= 1e-6 * largest;
  for (const double volume : volumes.first(are_equal ? 1 : count))
    points->add_radii(static_cast<float>(std::cbrt(0.75 * volume / physics::kPi)));
  const std::vector<std::uint32_t> kept = DecimatePoints(count);
  message->mutable_decimated_vertices()->Add(kept.begin(), kept.end());
}

// `number_of`: of the body's nodes in frames.
void DescribeEmbedded(const physics::EmbeddedPart& part, const std::vector<int>& number_of,
                      const KeepImage& keep_image, v1::EmbeddedPart* message) {
  for (const auto& nodes : part.nodes)
    for (const int node : nodes) message->add_nodes(number_of[node]);
  for (const auto& weights : part.weights)
    for (const float weight : weights) message->add_weights(weight);
  for (const auto& triangle : part.triangles)
    for (const int vertex : triangle) message->add_indices(vertex);
  for (int i = 0; i < 4; ++i) message->add_color(part.color[i]);
  if (part.appearance != nullptr)
    DescribeAppearance(*part.appearance, keep_image, message->mutable_appearance());
}

void DescribeDeformable(const physics::Model& model, const physics::Body& body,
                        const KeepImage& keep_image, v1::DeformableDescription* message) {
  message->set_name(body.name);
  message->set_vertices(static_cast<int>(body.mesh.vertices.size()));
  message->set_tetrahedra(static_cast<int>(body.mesh.tetrahedra.size()));
  message->set_youngs_modulus(body.youngs_modulus);
  message->set_poissons_ratio(body.poissons_ratio);
  message->set_density(body.density);

  for (const v1::FieldMeasure measure : ListFields(model, body)) message->add_fields(measure);
  if (const int count = physics::CountPoints(model, body); count > 0)
    return DescribePoints(model, body, count, message);

  // number the nodes as frames do
  std::vector<int> surface_of(body.mesh.vertices.size(), -1);
  v1::TriangleMesh* surface = message->mutable_surface();
  const DrawnNodes drawn(model, body);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const int vertex = drawn[i];
    surface_of[vertex] = static_cast<int>(i);
    message->add_surface_to_volume(vertex);
    for (int i = 0; i < 3; ++i)
      surface->add_vertices(static_cast<float>(body.mesh.vertices[vertex][i]));
  }
  for (const auto& triangle : body.surface.triangles) {
    for (const int vertex : triangle) surface->add_indices(surface_of[vertex]);
  }
  for (const physics::EmbeddedPart& part : body.embedded.parts)
    DescribeEmbedded(part, surface_of, keep_image, message->add_embedded());
  const DecimatedSurface decimated = DecimateSurface(body);
  message->mutable_decimated_vertices()->Add(decimated.vertices.begin(), decimated.vertices.end());
  message->mutable_decimated_triangles()->Add(decimated.triangles.begin(),
                                              decimated.triangles.end());
}

}  // namespace

v1::World DescribeStatus(const std::string& id, const Published& published) {
  const physics::Model& model = *published.snapshot->model;
  v1::World world;
  world.set_name(absl::StrCat("worlds/", id));
  world.set_scene_name(model.name);
  world.set_model_hash(model.hash);
  *world.mutable_clock() = DescribeClock(published.clock);
  world.set_step(published.snapshot->state.step);
  world.set_time(published.snapshot->state.time);
  world.set_time_step(model.time_step);
  *world.mutable_last_report() = DescribeReport(published, false);
  if (published.fault) *world.mutable_fault() = DescribeFault(*published.fault);
  world.set_method(physics::MethodName(model.method.kind));
  world.set_stopped(published.control.stopped);

  v1::ModelSize* size = world.mutable_size();
  size->set_dofs(model.velocity_offsets.back());
  for (const physics::Robot& robot : model.robots)
    size->set_joints(size->joints() + static_cast<int>(robot.joints.size()));
  for (const physics::Body& body : model.bodies) {
    if (model.abilities_of(body).nodes == nullptr) {
      size->set_rigid_bodies(size->rigid_bodies() + 1);
      continue;
    }
    size->set_deformables(size->deformables() + 1);
    size->set_vertices(size->vertices() + static_cast<int>(body.mesh.vertices.size()));
    size->set_tetrahedra(size->tetrahedra() + static_cast<int>(body.mesh.tetrahedra.size()));
    size->set_particles(size->particles() + physics::CountPoints(model, body));
  }
  return world;
}

v1::WorldDescription DescribeModel(const std::string& id, const physics::Model& model,
                                   const KeepImage& keep_image) {
  v1::WorldDescription description;
  description.set_name(absl::StrCat("worlds/", id));
  description.set_scene_name(model.name);
  description.set_model_hash(model.hash);
  description.set_time_step(model.time_step);
  for (int i = 0; i < 3; ++i) description.add_gravity(model.gravity[i]);
  for (const physics::Body& body : model.bodies) {
    if (model.abilities_of(body).nodes != nullptr) {
      DescribeDeformable(model, body, keep_image, description.add_deformables());
    } else {
      DescribeRigid(body, keep_image, description.add_rigid_bodies());
    }
  }
  DescribeRobots(model, &description);
  for (const physics::Probe& probe : model.probes) description.add_probes(probe.name);
  return description;
}

v1::StepReport DescribeReport(const Published& published, bool with_energies) {
  const physics::Snapshot& snapshot = *published.snapshot;
  const physics::StepReport& report = snapshot.report;
  v1::StepReport message;
  message.set_step(snapshot.state.step);
  message.set_time(snapshot.state.time);
  message.set_converged(report.converged);
  message.set_stalled(report.stalled());
  message.set_iterations(report.iterations);
  message.set_residual(report.residual);
  message.set_contacts(static_cast<int>(report.contacts.size()));
  message.set_constraints(report.constraints);
  message.set_participating_dofs(report.participating);
  message.set_step_seconds(report.seconds);
  for (std::size_t i = 0; i < report.phase_seconds.size(); ++i)
    (*message.mutable_phase_seconds())[std::string(physics::kPhaseNames[i])] =
        report.phase_seconds[i];
  message.set_real_time_rate(published.rate);
  message.set_lag(published.lag);
  message.set_projected_elements(report.projected_elements);
  message.set_steps_not_converged(published.steps_not_converged);
  message.set_reason(std::string(solvers::NameOf(report.reason)));
  published.compromises.ForEach([&](std::string_view kind, std::int64_t count) {
    if (count > 0) (*message.mutable_compromises())[std::string(kind)] = count;
  });
  if (with_energies) {
    const physics::Energies energies = physics::CalcEnergies(*snapshot.model, snapshot.state, -1);
    message.set_kinetic_energy(energies.kinetic);
    message.set_elastic_energy(energies.elastic);
    message.set_potential_energy(energies.potential);
  }
  return message;
}

v1::Clock DescribeClock(const ClockMode& mode) {
  v1::Clock clock;
  switch (mode.kind) {
    case ClockMode::Kind::kPaused:
      clock.mutable_paused();
      break;
    case ClockMode::Kind::kStepping:
      clock.mutable_stepping()->set_client(mode.client);
      clock.mutable_stepping()->set_waiting(mode.waiting);
      break;
    case ClockMode::Kind::kRealTime:
      clock.mutable_real_time()->set_factor(mode.factor);
      break;
    case ClockMode::Kind::kFreeRun:
      clock.mutable_free_run();
      break;
  }
  return clock;
}

v1::Fault DescribeFault(const physics::WorldFault& fault) {
  v1::Fault message;
  message.set_step(fault.step);
  message.set_time(fault.time);
  message.set_reason(fault.reason);
  message.set_body(fault.body);
  return message;
}

}  // namespace pliant::server
