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

void Write(std::uint16_t number, char* bytes) {
  bytes[0] = static_cast<char>(number & 0xff);
  bytes[1] = static_cast<char>(number >> 8);
}

template <typename T>
void WriteVector(const Eigen::Vector3d& v, google::protobuf::RepeatedField<T>* message) {
  for (int i = 0; i < 3; ++i) message->Add(static_cast<T>(v[i]));
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

// Numbers in little endian, as the machine has them.
template <typename T>
std::string WriteNumbers(const std::vector<double>& values) {
  std::string bytes(sizeof(T) * values.size(), '\0');
  char* next = bytes.data();
  for (const double value : values) {
    const T number = static_cast<T>(value);
    std::memcpy(next, &number, sizeof(T));
    next += sizeof(T);
  }
  return bytes;
}

std::string WriteNumbers(const std::vector<double>& values, v1::Precision precision) {
  return precision == v1::PRECISION_FLOAT32 ? WriteNumbers<float>(values)
                                            : WriteNumbers<double>(values);
}

void WritePositions(const physics::Snapshot& snapshot, const physics::Body& body,
                    v1::Precision precision, v1::DeformableFrame* frame) {
  const std::span<const double> q = snapshot.model->Positions(snapshot.state, body.block);
  if (precision != v1::PRECISION_UNSPECIFIED) {
    std::vector<double> values;
    values.reserve(3 * body.surface.vertices.size());
    for (const int vertex : body.surface.vertices)
      values.insert(values.end(), &q[3 * vertex], &q[3 * vertex] + 3);
    frame->set_precision(precision);
    frame->set_positions(WriteNumbers(values, precision));
    return;
  }
  std::vector<Eigen::Vector3d> points;
  points.reserve(body.surface.vertices.size());
  for (const int vertex : body.surface.vertices)
    points.emplace_back(q[3 * vertex], q[3 * vertex + 1], q[3 * vertex + 2]);
  QuantizedPoints positions = QuantizePoints(points);
  WriteVector(positions.origin, frame->mutable_origin());
  WriteVector(positions.scale, frame->mutable_scale());
  frame->set_positions(std::move(positions.numbers));
}

void WriteField(const physics::Snapshot& snapshot, int index, physics::FieldMeasure measure,
                v1::Precision precision, v1::FieldFrame* frame) {
  const physics::Body& body = snapshot.model->bodies[index];
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
  frame->set_min(field.min);
  frame->set_max(field.max);
  if (precision == v1::PRECISION_UNSPECIFIED) {
    frame->set_values(std::move(field.numbers));
  } else {
    frame->set_precision(precision);
    frame->set_values(WriteNumbers(values, precision));
  }
  frame->set_unit(FindUnit(measure));
}

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

bool IsChosen(const std::vector<int>& bodies, int body) {
  return bodies.empty() || std::binary_search(bodies.begin(), bodies.end(), body);
}

void WriteContacts(const physics::Snapshot& snapshot, const FrameLayout& layout,
                   const std::vector<int>& bodies, v1::ContactFrame* frame) {
  const double h = snapshot.model->time_step;
  for (const physics::ContactForce& contact : snapshot.report.contacts) {
    if (!IsChosen(bodies, contact.body_a) && !IsChosen(bodies, contact.body_b)) continue;
    frame->add_bodies(layout.numbers[contact.body_a]);
    frame->add_bodies(layout.numbers[contact.body_b]);
    WriteVector(contact.p_W, frame->mutable_positions());
    WriteVector(contact.normal_W, frame->mutable_normals());
    WriteVector(contact.impulse_W / h, frame->mutable_forces());
    frame->add_gaps(static_cast<float>(contact.gap));
  }
}

void WriteForces(const physics::Snapshot& snapshot, const FrameLayout& layout,
                 const std::vector<int>& bodies, v1::ForceFrame* frame) {
  const physics::Model& model = *snapshot.model;
  std::vector<bool> touched(model.bodies.size(), false);
  for (const physics::ContactForce& contact : snapshot.report.contacts) {
    touched[contact.body_a] = touched[contact.body_b] = true;
  }
  for (int body = 0; body < static_cast<int>(model.bodies.size()); ++body) {
    if (!touched[body] || !IsChosen(bodies, body)) continue;
    const physics::ContactWrench wrench = physics::CalcContactWrench(
        model, snapshot.state, snapshot.report, body, -1, model.time_step);
    frame->add_bodies(layout.numbers[body]);
    WriteVector(wrench.force, frame->mutable_forces());
    WriteVector(wrench.torque, frame->mutable_torques());
    frame->add_contacts(wrench.contacts);
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

FrameLayout::FrameLayout(const physics::Model& model) {
  std::uint32_t rigid = 0, deformable = 0;
  for (const physics::Body& body : model.bodies) {
    is_deformable.push_back(model.abilities_of(body).nodes != nullptr);
    indices.push_back(is_deformable.back() ? deformable++ : rigid++);
    bodies.emplace(body.name, static_cast<int>(indices.size()) - 1);
  }
  numbers = indices;
  for (std::size_t body = 0; body < numbers.size(); ++body) {
    if (is_deformable[body]) numbers[body] += rigid;
  }
}

EncodedState::EncodedState(std::shared_ptr<const Published> published,
                           std::shared_ptr<const FrameLayout> layout, StreamCounters* counters,
                           Timeline* timeline, std::vector<std::uint64_t> moved)
    : published_(std::move(published)),
      layout_(std::move(layout)),
      counters_(counters),
      timeline_(timeline),
      moved_(std::move(moved)) {}

void MotionLog::Add(const std::shared_ptr<const Published>& published) {
  const physics::Snapshot& snapshot = *published->snapshot;
  const physics::Model& model = *snapshot.model;
  if (last_ == nullptr || last_->epoch != published->epoch) {
    moved_.assign(model.bodies.size(), published->version);
  } else if (last_->snapshot != published->snapshot) {
    std::vector<bool> still(model.blocks.size());
    const physics::State& before = last_->snapshot->state;
    for (int block = 0; block < static_cast<int>(model.blocks.size()); ++block) {
      const physics::BlockState a = model.StateOf(before, block);
      const physics::BlockState b = model.StateOf(snapshot.state, block);
      still[block] = std::ranges::equal(a.q, b.q) && std::ranges::equal(a.v, b.v) &&
                     std::ranges::equal(a.internals, b.internals);
    }
    for (std::size_t body = 0; body < model.bodies.size(); ++body) {
      const int block = model.bodies[body].block;
      if (block != physics::kWorldBlock && !still[block]) moved_[body] = published->version;
    }
  }
  last_ = published;
}

// Fields of contact change without motion of their body.
bool EncodedState::IsSent(const FrameChoice& choice, int body, std::uint64_t since) const {
  if (!IsChosen(choice.bodies, body)) return false;
  if (since == 0 || moved_.empty() || moved_[body] > since) return true;
  return layout_->is_deformable[body] && std::ranges::any_of(choice.fields, physics::IsOfContact);
}

std::shared_ptr<const std::string> EncodedState::Encode(const FrameChoice& choice,
                                                        std::uint64_t since) {
  // versions between which no chosen body moved give the same frame
  std::uint64_t last_moved = 0;
  for (int body = 0; body < static_cast<int>(moved_.size()); ++body) {
    if (moved_[body] <= since && IsChosen(choice.bodies, body))
      last_moved = std::max(last_moved, moved_[body]);
  }
  since = last_moved;
  std::shared_ptr<const std::string>& frame = frames_[{choice, since}];
  if (frame != nullptr) return frame;
  const SteadyTime start = counters_ == nullptr ? SteadyTime() : timeline_->Now();
  const physics::Model& model = *published_->snapshot->model;

  // the bytes of a message are those of its parts, in any order
  std::string bytes = Section({Key::Kind::kState});
  for (int body = 0; body < static_cast<int>(model.bodies.size()); ++body) {
    if (!IsSent(choice, body, since)) continue;
    if (!layout_->is_deformable[body]) {
      bytes += Rigid(body);
      continue;
    }
    bytes += Section({Key::Kind::kPositions, body, {}, choice.precision});
    for (const physics::FieldMeasure measure : choice.fields)
      bytes += Section({Key::Kind::kField, body, measure, choice.precision});
  }
  if (!model.robots.empty()) bytes += Section({Key::Kind::kJoints});
  if (choice.contacts) bytes += Contacts(choice.bodies);
  bytes += Forces(choice.bodies);
  frame = std::make_shared<const std::string>(std::move(bytes));
  if (counters_ != nullptr) {
    const std::chrono::duration<double> elapsed = timeline_->Now() - start;
    counters_->encode_seconds.fetch_add(elapsed.count());
  }
  return frame;
}

const std::string& EncodedState::Section(const Key& key) {
  const auto [section, fresh] = sections_.try_emplace(key);
  if (!fresh) return section->second;
  v1::Frame frame;
  Write(key, &frame);
  section->second = frame.SerializeAsString();
  if (counters_ != nullptr) counters_->encoded.fetch_add(1);
  return section->second;
}

void EncodedState::Write(const Key& key, v1::Frame* frame) const {
  const physics::Snapshot& snapshot = *published_->snapshot;
  const physics::Model& model = *snapshot.model;
  switch (key.kind) {
    case Key::Kind::kState:
      return WriteState(*published_, frame);
    case Key::Kind::kPositions: {
      v1::DeformableFrame* deformable = frame->add_deformables();
      deformable->set_body(layout_->indices[key.body]);
      return WritePositions(snapshot, model.bodies[key.body], key.precision, deformable);
    }
    case Key::Kind::kField: {
      v1::FieldFrame* field = frame->add_fields();
      field->set_body(layout_->indices[key.body]);
      return WriteField(snapshot, key.body, key.measure, key.precision, field);
    }
    case Key::Kind::kJoints:
      *frame->mutable_joints() = DescribeJoints(snapshot);
  }
}

const std::string& EncodedState::Rigid(int wanted) {
  if (!rigid_.empty()) return rigid_[wanted];
  const physics::Model& model = *published_->snapshot->model;
  physics::BodyMotions motions(model);
  motions.Update(published_->snapshot->state);
  rigid_.resize(model.bodies.size());
  for (int body = 0; body < static_cast<int>(model.bodies.size()); ++body) {
    if (layout_->is_deformable[body]) continue;
    v1::Frame frame;
    frame.add_rigid()->set_body(layout_->indices[body]);
    WriteRigid(motions[body].X_WB, frame.mutable_rigid(0));
    rigid_[body] = frame.SerializeAsString();
  }
  if (counters_ != nullptr) counters_->encoded.fetch_add(1);
  return rigid_[wanted];
}

const std::string& EncodedState::Contacts(const std::vector<int>& bodies) {
  const auto [section, fresh] = contacts_.try_emplace(bodies);
  if (fresh) {
    v1::Frame frame;
    WriteContacts(*published_->snapshot, *layout_, bodies, frame.mutable_contacts());
    section->second = frame.SerializeAsString();
  }
  return section->second;
}

const std::string& EncodedState::Forces(const std::vector<int>& bodies) {
  const auto [section, fresh] = forces_.try_emplace(bodies);
  if (fresh) {
    v1::Frame frame;
    WriteForces(*published_->snapshot, *layout_, bodies, frame.mutable_forces());
    section->second = frame.SerializeAsString();
  }
  return section->second;
}

std::shared_ptr<const std::string> EncodeFrame(std::shared_ptr<const Published> published,
                                               const FrameChoice& choice) {
  auto layout = std::make_shared<const FrameLayout>(*published->snapshot->model);
  return EncodedState(std::move(published), std::move(layout), nullptr, nullptr).Encode(choice);
}

std::string EncodeFrameHead(const FrameHead& head, std::size_t body_size, bool enveloped) {
  // the fields of a message may come in any order, so these can precede the rest
  v1::Frame own;
  own.set_frame(head.frame);
  own.set_keyframe(head.keyframe);
  own.set_subscription(head.subscription);
  const std::string own_bytes = own.SerializeAsString();

  const std::size_t frame_size = own_bytes.size() + body_size;
  const std::string response = EncodePrefix(v1::SubscribeResponse::kFrameFieldNumber, frame_size);
  std::string envelope;
  if (enveloped)
    envelope = EncodePrefix(v1::ServerMessage::kStreamFieldNumber, response.size() + frame_size);
  return envelope + response + own_bytes;
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

  result.numbers.resize(6 * points.size());
  char* bytes = result.numbers.data();
  for (const Eigen::Vector3d& p : points) {
    for (int i = 0; i < 3; ++i, bytes += 2) {
      const double number = std::clamp((p[i] - lower[i]) * inverse[i] + 0.5, 0.0, 32767.0);
      Write(static_cast<std::uint16_t>(number), bytes);
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
  result.numbers.resize(2 * values.size());
  char* bytes = result.numbers.data();
  for (const double value : values) {
    const double number = std::clamp((value - result.min) * inverse + 0.5, 0.0, 65535.0);
    Write(static_cast<std::uint16_t>(number), bytes);
    bytes += 2;
  }
  return result;
}

}  // namespace pliant::server
