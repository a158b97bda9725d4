#include "server/stream/frame_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"

#include "physics/dynamics/body_motions.h"
#include "physics/world/probes.h"
#include "pliant/v1/gateway.pb.h"
#include "pliant/v1/stream.pb.h"
#include "server/stream/messages.h"
#include "server/stream/robot_messages.h"

namespace pliant::server {
namespace {

using google::protobuf::internal::WireFormatLite;

void Append(std::uint16_t number, std::string* bytes) {
  bytes->push_back(static_cast<char>(number & 0xff));
  bytes->push_back(static_cast<char>(number >> 8));
}

void WriteVector(const Eigen::Vector3d& v, google::protobuf::RepeatedField<double>* message) {
  for (int i = 0; i < 3; ++i) message->Add(v[i]);
}

void WriteVector(const Eigen::Vector3d& v, google::protobuf::RepeatedField<float>* message) {
  for (int i = 0; i < 3; ++i) message->Add(static_cast<float>(v[i]));
}

const char* FindUnit(physics::FieldMeasure measure) {
  const bool is_pressure =
      measure == physics::FieldMeasure::kVonMisesStress || physics::IsOfContact(measure);
  return is_pressure ? "Pa" : "";
}

void WriteRigid(const physics::RigidTransform& X_WB, v1::RigidFrame* frame) {
  const Eigen::Quaterniond q(X_WB.R);
  WriteVector(X_WB.p, frame->mutable_pose());
  for (const double number : {q.w(), q.x(), q.y(), q.z()}) frame->add_pose(number);
}

void WriteDeformable(const physics::Snapshot& snapshot, int index, physics::FieldMeasure measure,
                     v1::DeformableFrame* frame) {
  const physics::Body& body = snapshot.model->bodies[index];
  const std::span<const double> q = snapshot.model->Positions(snapshot.state, body.block);
  std::vector<Eigen::Vector3d> points;
  points.reserve(body.surface.vertices.size());
  for (const int vertex : body.surface.vertices)
    points.emplace_back(q[3 * vertex], q[3 * vertex + 1], q[3 * vertex + 2]);
  QuantizedPoints positions = QuantizePoints(points);
  WriteVector(positions.origin, frame->mutable_origin());
  WriteVector(positions.scale, frame->mutable_scale());
  frame->set_positions(std::move(positions.numbers));

  const std::vector<double> all = physics::CalcVertexField(
      *snapshot.model, snapshot.state, snapshot.report, index, measure, snapshot.model->time_step);
  std::vector<double> values;
  values.reserve(body.surface.vertices.size());
  const std::size_t components = physics::CountComponents(measure);
  for (const std::size_t vertex : body.surface.vertices) {
    double square = 0;  // vectors are sent as their length
    for (std::size_t c = 0; c < components; ++c)
      square += all[components * vertex + c] * all[components * vertex + c];
    values.push_back(components == 1 ? all[vertex] : std::sqrt(square));
  }
  QuantizedField field = QuantizeField(values);
  frame->set_measure(WriteMeasure(measure));
  frame->set_field_min(field.min);
  frame->set_field_max(field.max);
  frame->set_field(std::move(field.numbers));
  frame->set_unit(FindUnit(measure));
}

void WriteContacts(const physics::Snapshot& snapshot, const std::vector<bool>& chosen,
                   v1::Frame* frame) {
  const physics::Model& model = *snapshot.model;
  for (const physics::ContactForce& contact : snapshot.report.contacts) {
    if (!chosen[contact.body_a] && !chosen[contact.body_b]) continue;
    v1::ContactSample* sample = frame->add_contacts();
    WriteVector(contact.p_W, sample->mutable_position());
    WriteVector(contact.normal_W, sample->mutable_normal());
    WriteVector(contact.impulse_W / model.time_step, sample->mutable_force());
    sample->set_gap(static_cast<float>(contact.gap));
    sample->set_body_a(model.bodies[contact.body_a].name);
    sample->set_body_b(model.bodies[contact.body_b].name);
  }
}

void WriteForces(const physics::Snapshot& snapshot, const std::vector<bool>& chosen,
                 v1::Frame* frame) {
  const physics::Model& model = *snapshot.model;
  std::vector<bool> touched(model.bodies.size(), false);
  for (const physics::ContactForce& contact : snapshot.report.contacts) {
    touched[contact.body_a] = touched[contact.body_b] = true;
  }
  for (int body = 0; body < static_cast<int>(model.bodies.size()); ++body) {
    if (!touched[body] || !chosen[body]) continue;
    const physics::ContactWrench wrench = physics::CalcContactWrench(
        model, snapshot.state, snapshot.report, body, -1, model.time_step);
    v1::BodyForce* force = frame->add_body_forces();
    force->set_body(model.bodies[body].name);
    WriteVector(wrench.force, force->mutable_force());
    WriteVector(wrench.torque, force->mutable_torque());
    force->set_contacts(wrench.contacts);
  }
}

// Tag and length of a length-delimited field, without its content.
std::string EncodePrefix(int field, std::size_t size) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  coded.WriteVarint64(size);
  coded.Trim();
  return bytes;
}

}  // namespace

std::shared_ptr<const std::string> EncodeFrameBody(const Published& published,
                                                   const FrameChoice& choice) {
  const physics::Snapshot& snapshot = *published.snapshot;
  const physics::Model& model = *snapshot.model;
  std::vector<bool> chosen(model.bodies.size());
  for (std::size_t body = 0; body < chosen.size(); ++body) {
    chosen[body] =
        choice.bodies.empty() ||
        std::binary_search(choice.bodies.begin(), choice.bodies.end(), model.bodies[body].name);
  }

  v1::Frame frame;
  frame.set_step(snapshot.state.step);
  frame.set_time(snapshot.state.time);
  frame.set_epoch(published.epoch);
  physics::BodyMotions motions(model);
  motions.Update(snapshot.state);
  int rigid = 0, deformable = 0;
  for (int body = 0; body < static_cast<int>(model.bodies.size()); ++body) {
    const bool has_nodes = model.abilities_of(model.bodies[body]).nodes != nullptr;
    const int index = has_nodes ? deformable++ : rigid++;
    if (!chosen[body]) continue;
    if (has_nodes) {
      v1::DeformableFrame* message = frame.add_deformables();
      message->set_body(index);
      WriteDeformable(snapshot, body, choice.measure, message);
    } else {
      v1::RigidFrame* message = frame.add_rigid();
      message->set_body(index);
      WriteRigid(motions[body].X_WB, message);
    }
  }
  if (!model.robots.empty()) *frame.mutable_joints() = DescribeJoints(snapshot);
  if (choice.contacts) WriteContacts(snapshot, chosen, &frame);
  WriteForces(snapshot, chosen, &frame);
  *frame.mutable_report() = DescribeReport(published, true);
  *frame.mutable_clock() = DescribeClock(published.clock);
  if (published.fault) *frame.mutable_fault() = DescribeFault(*published.fault);
  for (const CommandEcho& echo : published.control.commands) {
    v1::CommandEcho* message = frame.add_commands();
    // leave out the lease's id, with which anyone could send commands
    message->set_sequence(echo.sequence);
    message->set_applied_step(echo.applied_step);
    message->set_client_time(echo.client_time);
    message->set_target(echo.target);
    message->set_client(echo.client);
  }
  frame.set_stopped(published.control.stopped);
  return std::make_shared<const std::string>(frame.SerializeAsString());
}

std::string EncodeFrameHead(std::uint64_t frame, bool keyframe, std::size_t body_size,
                            bool enveloped) {
  // the fields of a message may come in any order, so these can precede the rest
  v1::Frame own;
  own.set_frame(frame);
  own.set_keyframe(keyframe);
  const std::string own_bytes = own.SerializeAsString();

  const std::size_t frame_size = own_bytes.size() + body_size;
  const std::string response = EncodePrefix(v1::SubscribeResponse::kFrameFieldNumber, frame_size);
  std::string head;
  if (enveloped)
    head = EncodePrefix(v1::ServerMessage::kStreamFieldNumber, response.size() + frame_size);
  return head + response + own_bytes;
}

QuantizedPoints QuantizePoints(const std::vector<Eigen::Vector3d>& points) {
  QuantizedPoints result;
  if (points.empty()) return result;
  Eigen::Vector3d lower = points[0], upper = points[0];
  for (const Eigen::Vector3d& p : points) {
    lower = lower.cwiseMin(p);
    upper = upper.cwiseMax(p);
  }
  result.origin = lower;
  result.scale = (upper - lower) / 32767;
  Eigen::Vector3d inverse;
  for (int i = 0; i < 3; ++i) inverse[i] = result.scale[i] > 0 ? 1 / result.scale[i] : 0;

  result.numbers.reserve(6 * points.size());
  for (const Eigen::Vector3d& p : points) {
    for (int i = 0; i < 3; ++i) {
      const double number = std::clamp((p[i] - lower[i]) * inverse[i] + 0.5, 0.0, 32767.0);
      Append(static_cast<std::uint16_t>(number), &result.numbers);
    }
  }
  return result;
}

QuantizedField QuantizeField(const std::vector<double>& values) {
  QuantizedField result;
  if (values.empty()) return result;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  result.min = *min;
  result.max = *max;
  const double span = result.max - result.min;
  const double inverse = span > 0 ? 65535 / span : 0;
  result.numbers.reserve(2 * values.size());
  for (const double value : values) {
    const double number = std::clamp((value - result.min) * inverse + 0.5, 0.0, 65535.0);
    Append(static_cast<std::uint16_t>(number), &result.numbers);
  }
  return result;
}

}  // namespace pliant::server
