#include "server/stream/frame_sections.h"

#include <cstring>
#include <utility>

#include "physics/dynamics/body_motions.h"
#include "physics/world/body_motion.h"
#include "server/stream/fields.h"
#include "server/stream/messages.h"
#include "server/stream/quantization.h"

namespace pliant::server {
namespace {

template <typename T>
void WriteVector(const Eigen::Vector3d& v, google::protobuf::RepeatedField<T>* message) {
  for (int i = 0; i < 3; ++i) message->Add(static_cast<T>(v[i]));
}

bool IsExact(v1::Precision precision) {
  return precision == v1::PRECISION_FLOAT32 || precision == v1::PRECISION_FLOAT64;
}

template <typename T>
std::string WriteNumbersAs(std::span<const double> values) {
  std::string bytes(sizeof(T) * values.size(), '\0');
  char* next = bytes.data();
  for (const double value : values) {
    const T number = static_cast<T>(value);
    std::memcpy(next, &number, sizeof(T));
    next += sizeof(T);
  }
  return bytes;
}

std::string WriteNumbers(std::span<const double> values, v1::Precision precision) {
  return precision == v1::PRECISION_FLOAT32 ? WriteNumbersAs<float>(values)
                                            : WriteNumbersAs<double>(values);
}

// `q`: of the nodes of the body.
std::vector<double> GatherPositions(std::span<const double> q, const DrawnNodes& drawn,
                                    VertexSubset subset) {
  const std::size_t count = subset.empty() ? drawn.size() : subset.size();
  std::vector<double> xyz(3 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const double* from = &q[3 * drawn[subset.empty() ? i : subset[i]]];
    for (int axis = 0; axis < 3; ++axis) xyz[3 * i + axis] = from[axis];
  }
  return xyz;
}

}  // namespace

void WriteState(const Published& published, v1::Frame* frame) {
  const physics::State& state = published.snapshot->state;
  frame->set_step(state.step);
  frame->set_time(state.time);
  frame->set_epoch(published.epoch);
  *frame->mutable_report() = DescribeReport(published, true);
  *frame->mutable_clock() = DescribeClock(published.clock);
  if (published.fault) *frame->mutable_fault() = DescribeFault(*published.fault);
  for (const CommandEcho& echo : published.control.commands) {
    v1::CommandEcho* message = frame->add_commands();
    // leave out the lease's id, with which anyone could send commands
    message->set_sequence(echo.sequence);
    message->set_applied_step(echo.applied_step);
    message->set_client_time(echo.client_time);
    message->set_target(echo.target);
    message->set_client(echo.client);
    message->set_priority(echo.priority);
  }
  frame->set_stopped(published.control.stopped);
}

std::vector<std::string> SerializeRigid(const physics::Snapshot& snapshot,
                                        const FrameLayout& layout) {
  const physics::Model& model = *snapshot.model;
  physics::BodyMotions motions(model);
  motions.Update(snapshot.state);
  std::vector<std::string> serialized(model.bodies.size());
  for (int body = 0; body < static_cast<int>(model.bodies.size()); ++body) {
    if (layout.is_deformable[body]) continue;
    v1::Frame frame;
    v1::RigidFrame* rigid = frame.add_rigid();
    rigid->set_body(layout.indices[body]);
    const physics::RigidTransform& X_WB = motions[body].X_WB;
    const Eigen::Quaterniond q(X_WB.R);
    WriteVector(X_WB.p, rigid->mutable_pose());
    for (const double number : {q.w(), q.x(), q.y(), q.z()}) rigid->add_pose(number);
    serialized[body] = frame.SerializeAsString();
  }
  return serialized;
}

void WritePositions(const physics::Snapshot& snapshot, const physics::Body& body,
                    VertexSubset subset, v1::Precision precision, v1::DeformableFrame* frame) {
  const physics::Model& model = *snapshot.model;
  const int first = model.abilities_of(body).nodes->nodes_of(body.part).first;
  const std::vector<double> xyz =
      GatherPositions(model.Positions(snapshot.state, body.block).subspan(3 * first),
                      DrawnNodes(model, body), subset);
  frame->set_precision(precision);
  if (IsExact(precision)) {
    frame->set_positions(WriteNumbers(xyz, precision));
    return;
  }
  QuantizedPoints positions = QuantizePoints(xyz);
  WriteVector(positions.origin, frame->mutable_origin());
  WriteVector(positions.scale, frame->mutable_scale());
  frame->set_positions(std::move(positions.numbers));
}

void WriteField(std::span<const double> values, v1::FieldMeasure measure, VertexSubset subset,
                v1::Precision precision, v1::FieldFrame* frame) {
  const std::size_t components = CountComponents(measure);
  std::vector<double> selected;
  selected.reserve(components * subset.size());
  for (const std::size_t vertex : subset) {
    for (std::size_t c = 0; c < components; ++c)
      selected.push_back(values[components * vertex + c]);
  }
  if (!subset.empty()) values = selected;

  frame->set_measure(measure);
  frame->set_components(static_cast<std::uint32_t>(components));
  frame->set_unit(FindUnit(measure));
  frame->set_precision(precision);
  QuantizedField field = QuantizeField(values, precision == v1::PRECISION_COMPACT ? 1 : 2);
  frame->set_min(field.min);
  frame->set_max(field.max);
  frame->set_values(IsExact(precision) ? WriteNumbers(values, precision)
                                       : std::move(field.numbers));
}

void WriteContacts(const physics::Snapshot& snapshot, const FrameLayout& layout,
                   const FrameChoice& choice, v1::ContactFrame* frame) {
  const double h = snapshot.model->time_step;
  for (const physics::ContactForce& contact : snapshot.report.contacts) {
    if (!choice.Has(contact.body_a) && !choice.Has(contact.body_b)) continue;
    frame->add_bodies(layout.numbers[contact.body_a]);
    frame->add_bodies(layout.numbers[contact.body_b]);
    WriteVector(contact.p_W, frame->mutable_positions());
    WriteVector(contact.normal_W, frame->mutable_normals());
    WriteVector(contact.impulse_W / h, frame->mutable_forces());
    frame->add_gaps(static_cast<float>(contact.gap));
  }
}

void WriteForces(const physics::Snapshot& snapshot, const FrameLayout& layout,
                 const FrameChoice& choice, v1::ForceFrame* frame) {
  const physics::Model& model = *snapshot.model;
  const double h = model.time_step;
  struct Wrench {
    bool touched = false;
    Eigen::Vector3d center, force = Eigen::Vector3d::Zero(), torque = Eigen::Vector3d::Zero();
    std::uint32_t contacts = 0;
  };
  std::vector<Wrench> wrenches(model.bodies.size());
  const auto add = [&](int body, const physics::ContactForce& contact, double sign) {
    Wrench& wrench = wrenches[body];
    if (!std::exchange(wrench.touched, true)) {
      // contact points are those at the start of the step
      wrench.center = physics::CalcCenterOfMass(model, snapshot.state, body) -
                      h * physics::CalcCenterOfMassVelocity(model, snapshot.state, body);
    }
    if (contact.body_a == contact.body_b) return;  // forces of a body on itself cancel
    const Eigen::Vector3d force = sign / h * contact.impulse_W;
    wrench.force += force;
    wrench.torque += (contact.p_W - wrench.center).cross(force);
    ++wrench.contacts;
  };
  for (const physics::ContactForce& contact : snapshot.report.contacts) {
    if (choice.Has(contact.body_a)) add(contact.body_a, contact, -1);
    if (choice.Has(contact.body_b)) add(contact.body_b, contact, 1);
  }
  for (std::size_t body = 0; body < wrenches.size(); ++body) {
    const Wrench& wrench = wrenches[body];
    if (!wrench.touched) continue;
    frame->add_bodies(layout.numbers[body]);
    WriteVector(wrench.force, frame->mutable_forces());
    WriteVector(wrench.torque, frame->mutable_torques());
    frame->add_contacts(wrench.contacts);
  }
}

void WriteProbe(const physics::ProbeValue& value, int probe, v1::ProbeFrame* frame) {
  frame->set_probe(static_cast<std::uint32_t>(probe));
  frame->mutable_values()->Add(value.numbers.begin(), value.numbers.end());
  for (const std::vector<double>& row : value.rows)
    frame->add_rows()->mutable_value()->Add(row.begin(), row.end());
}

}  // namespace pliant::server
