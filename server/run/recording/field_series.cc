#include "server/run/recording/field_series.h"

#include <array>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "physics/world/body_motion.h"
#include "physics/world/contact_fields.h"
#include "server/files/files.h"
#include "server/run/recording/tessellation.h"

namespace pliant::server {
namespace {

using Eigen::Vector3d;
using physics::FieldMeasure;

// Order of the data in every grid.
enum PointArray { kDisplacement, kVelocity, kContactPressure, kContactTraction };
struct CellArray {
  FieldMeasure measure;
  const char* name;
  double undeformed[9];  // value for rigid bodies, and for bodies without the measure
};
constexpr CellArray kCellArrays[] = {
    {FieldMeasure::kVonMisesStrain, "von_mises_strain", {0}},
    {FieldMeasure::kVonMisesStress, "von_mises_stress", {0}},
    {FieldMeasure::kCauchyStress, "cauchy_stress", {0}},
    {FieldMeasure::kVolumeRatio, "volume_ratio", {1}},
    {FieldMeasure::kGreenStrain, "green_strain", {0}},
    {FieldMeasure::kPrincipalStretches, "principal_stretches", {1, 1, 1}},
    {FieldMeasure::kPrincipalDirections, "principal_directions", {1, 0, 0, 0, 1, 0, 0, 0, 1}},
    {FieldMeasure::kPlasticStrain, "plastic_strain", {0}},
};

void AppendUndeformed(const CellArray& array, int cells, std::vector<double>* values) {
  for (int cell = 0; cell < cells; ++cell)
    values->insert(values->end(), array.undeformed,
                   array.undeformed + CountComponents(array.measure));
}

// Values of a measure in the elements of a body.
void AppendElementField(const physics::Model& model, const physics::State& state,
                        const physics::Body& body, const CellArray& array,
                        std::vector<double>* values) {
  const physics::ElementSet& elements = *model.abilities_of(body).elements;
  const physics::IndexRange range = elements.elements_of(body.part);
  if (!elements.HasField(array.measure, body.part))
    return AppendUndeformed(array, range.count, values);
  const std::ptrdiff_t components = CountComponents(array.measure);
  std::vector<double> all(components * elements.num_elements());
  elements.CalcElementField(array.measure, model.StateOf(state, body.block), all);
  const auto of_body = all.begin() + components * range.first;
  values->insert(values->end(), of_body, of_body + components * range.count);
}

void Append(const Vector3d& v, std::vector<double>* values) {
  values->insert(values->end(), {v.x(), v.y(), v.z()});
}

}  // namespace

FieldSeries::FieldSeries(const physics::World& world, std::string folder, double rate)
    : world_(world),
      folder_(std::move(folder)),
      schedule_(rate, world.state().time, world.model().time_step),
      start_(physics::MakeInitialState(world.model())) {
  // one surface for all shapes of a rigid body
  for (const physics::Body& body : world.model().bodies) {
    physics::TriangleMesh& surface = rigid_.emplace_back();
    for (const physics::Shape& shape : body.shapes) {
      const physics::TriangleMesh mesh = Tessellate(shape.geometry);
      const int first = static_cast<int>(surface.vertices.size());
      for (const Vector3d& p_S : mesh.vertices) surface.vertices.push_back(shape.X_BS * p_S);
      for (const auto& t : mesh.triangles) {
        surface.triangles.push_back({first + t[0], first + t[1], first + t[2]});
      }
    }
  }
}

absl::Status FieldSeries::Record() {
  if (!schedule_.IsDue(world_.state().time)) return absl::OkStatus();
  return WriteFrame();
}

absl::Status FieldSeries::Finish() {
  if (frames_.empty() || frames_.back().time != world_.state().time) {
    if (absl::Status status = WriteFrame(); !status.ok()) return status;
  }
  return WriteWholeFile(absl::StrCat(folder_, "/fields.pvd"), FormatPvd(frames_));
}

absl::Status FieldSeries::WriteFrame() {
  UnstructuredGrid grid;
  grid.point_data = {{"displacement", 3, {}},
                     {"velocity", 3, {}},
                     {"contact_pressure", 1, {}},
                     {"contact_traction", 3, {}}};
  for (const CellArray& array : kCellArrays)
    grid.cell_data.push_back({array.name, CountComponents(array.measure), {}});
  for (int body = 0; body < static_cast<int>(rigid_.size()); ++body) {
    if (world_.model().abilities_of(world_.model().bodies[body]).nodes != nullptr) {
      AppendDeformable(body, &grid);
    } else {
      AppendRigid(body, &grid);
    }
  }

  const std::string name = absl::StrFormat("fields/frame_%06d.vtu", frames_.size());
  frames_.push_back({world_.state().time, name});
  return WriteWholeFile(absl::StrCat(folder_, "/", name), FormatVtu(grid, world_.state().time));
}

void FieldSeries::AppendDeformable(int body, UnstructuredGrid* grid) const {
  const physics::Model& model = world_.model();
  const physics::Body& b = model.bodies[body];
  // bodies of particles are written without the points on their surface
  const int particles = physics::CountPoints(model, b);
  const int nodes = particles > 0 ? particles : model.abilities_of(b).nodes->nodes_of(b.part).count;
  const std::int64_t first = static_cast<std::int64_t>(grid->points.size() / 3);
  for (int node = 0; node < nodes; ++node) {
    const Vector3d p = CalcVertexPosition(model, world_.state(), body, node);
    Append(p, &grid->points);
    Append(p - CalcVertexPosition(model, start_, body, node),
           &grid->point_data[kDisplacement].values);
    Append(CalcVertexVelocity(model, world_.state(), body, node),
           &grid->point_data[kVelocity].values);
  }
  const physics::ContactField contact =
      CalcContactField(model, world_.state(), world_.report(), body, model.time_step);
  for (int node = 0; node < nodes; ++node) {
    grid->point_data[kContactPressure].values.push_back(contact.vertex_pressure[node]);
    Append(contact.vertex_traction[node], &grid->point_data[kContactTraction].values);
  }
  for (int particle = 0; particle < particles; ++particle) grid->AddCell({first + particle}, body);
  for (const auto& t : b.mesh.tetrahedra) {
    grid->AddCell({first + t[0], first + t[1], first + t[2], first + t[3]}, body);
  }
  for (std::size_t i = 0; i < std::size(kCellArrays); ++i)
    AppendElementField(model, world_.state(), b, kCellArrays[i], &grid->cell_data[i].values);
  AppendEmbedded(b, first, body, grid);
}

// Appends the embedded surface of a body, whose nodes are the grid's points from `first` on and
// whose tetrahedra are its last cells.
void FieldSeries::AppendEmbedded(const physics::Body& b, std::int64_t first, int body,
                                 UnstructuredGrid* grid) const {
  if (b.embedded.parts.empty()) return;
  std::map<std::array<int, 4>, std::size_t> cell_of;  // by the nodes of a tetrahedron
  const std::size_t cells = grid->types.size() - b.mesh.tetrahedra.size();
  for (std::size_t t = 0; t < b.mesh.tetrahedra.size(); ++t)
    cell_of.emplace(b.mesh.tetrahedra[t], cells + t);
  for (const physics::EmbeddedPart& part : b.embedded.parts) {
    const std::int64_t start = static_cast<std::int64_t>(grid->points.size() / 3);
    // values at a vertex are interpolated with the same weights as its position
    const auto interpolate = [&](std::size_t components, std::vector<double>* values) {
      for (std::size_t v = 0; v < part.nodes.size(); ++v) {
        for (std::size_t c = 0; c < components; ++c) {
          double sum = 0;
          for (int k = 0; k < 4; ++k) {
            const auto node = static_cast<std::size_t>(first + part.nodes[v][k]);
            sum += static_cast<double>(part.weights[v][k]) * (*values)[components * node + c];
          }
          values->push_back(sum);
        }
      }
    };
    interpolate(3, &grid->points);
    for (UnstructuredGrid::Array& array : grid->point_data)
      interpolate(static_cast<std::size_t>(array.components), &array.values);
    for (const auto& t : part.triangles) {
      grid->AddCell({start + t[0], start + t[1], start + t[2]}, body);
      const std::size_t cell = cell_of.at(part.nodes[t[0]]);
      for (UnstructuredGrid::Array& array : grid->cell_data) {
        const auto components = static_cast<std::size_t>(array.components);
        for (std::size_t c = 0; c < components; ++c)
          array.values.push_back(array.values[components * cell + c]);
      }
    }
  }
}

void FieldSeries::AppendRigid(int body, UnstructuredGrid* grid) const {
  const physics::Model& model = world_.model();
  const physics::RigidTransform X_WB = CalcBodyPose(model, world_.state(), body);
  const physics::RigidTransform X_WB0 = CalcBodyPose(model, start_, body);

  const std::int64_t first = static_cast<std::int64_t>(grid->points.size() / 3);
  for (const Vector3d& p_B : rigid_[body].vertices) {
    Append(X_WB * p_B, &grid->points);
    Append(X_WB * p_B - X_WB0 * p_B, &grid->point_data[kDisplacement].values);
    Append(CalcPointVelocity(model, world_.state(), body, p_B),
           &grid->point_data[kVelocity].values);
    grid->point_data[kContactPressure].values.push_back(0);
    Append(Vector3d::Zero(), &grid->point_data[kContactTraction].values);
  }
  for (const auto& t : rigid_[body].triangles) {
    grid->AddCell({first + t[0], first + t[1], first + t[2]}, body);
    for (std::size_t i = 0; i < std::size(kCellArrays); ++i)
      AppendUndeformed(kCellArrays[i], 1, &grid->cell_data[i].values);
  }
}

}  // namespace pliant::server
