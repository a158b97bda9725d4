#include "server/run/recording/field_series.h"

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
  double undeformed[9];  // value for rigid bodies
};
constexpr CellArray kCellArrays[] = {
    {FieldMeasure::kVonMisesStrain, "von_mises_strain", {0}},
    {FieldMeasure::kVonMisesStress, "von_mises_stress", {0}},
    {FieldMeasure::kCauchyStress, "cauchy_stress", {0}},
    {FieldMeasure::kVolumeRatio, "volume_ratio", {1}},
    {FieldMeasure::kGreenStrain, "green_strain", {0}},
    {FieldMeasure::kPrincipalStretches, "principal_stretches", {1, 1, 1}},
    {FieldMeasure::kPrincipalDirections, "principal_directions", {1, 0, 0, 0, 1, 0, 0, 0, 1}},
};

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
  const physics::BlockAbilities abilities = model.abilities_of(b);
  const physics::BlockState state = model.StateOf(world_.state(), b.block);

  const std::int64_t first = static_cast<std::int64_t>(grid->points.size() / 3);
  for (int node = 0; node < abilities.nodes->nodes_of(b.part).count; ++node) {
    const Vector3d p = CalcVertexPosition(model, world_.state(), body, node);
    Append(p, &grid->points);
    Append(p - CalcVertexPosition(model, start_, body, node),
           &grid->point_data[kDisplacement].values);
    Append(CalcVertexVelocity(model, world_.state(), body, node),
           &grid->point_data[kVelocity].values);
  }
  const physics::ContactField contact =
      CalcContactField(model, world_.state(), world_.report(), body, model.time_step);
  std::vector<double>& pressure = grid->point_data[kContactPressure].values;
  pressure.insert(pressure.end(), contact.vertex_pressure.begin(), contact.vertex_pressure.end());
  for (const Vector3d& traction : contact.vertex_traction)
    Append(traction, &grid->point_data[kContactTraction].values);
  for (const auto& t : b.mesh.tetrahedra) {
    grid->AddCell({first + t[0], first + t[1], first + t[2], first + t[3]}, body);
  }
  for (std::size_t i = 0; i < std::size(kCellArrays); ++i) {
    const FieldMeasure measure = kCellArrays[i].measure;
    std::vector<double> values(abilities.elements->num_elements() *
                               static_cast<std::size_t>(CountComponents(measure)));
    abilities.elements->CalcElementField(measure, state, values);
    std::vector<double>& all = grid->cell_data[i].values;
    all.insert(all.end(), values.begin(), values.end());
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
    for (std::size_t i = 0; i < std::size(kCellArrays); ++i) {
      const double* values = kCellArrays[i].undeformed;
      std::vector<double>& all = grid->cell_data[i].values;
      all.insert(all.end(), values, values + CountComponents(kCellArrays[i].measure));
    }
  }
}

}  // namespace pliant::server
