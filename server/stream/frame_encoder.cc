#include "server/stream/frame_encoder.h"

#include <algorithm>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"

#include "pliant/v1/gateway.pb.h"
#include "server/stream/fields.h"
#include "server/stream/frame_sections.h"
#include "server/stream/robot_messages.h"

namespace pliant::server {
namespace {

using google::protobuf::internal::WireFormatLite;

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

// Concatenates serialised parts of a message, whose order does not matter.
std::string Concatenate(const std::vector<const std::string*>& sections) {
  std::size_t size = 0;
  for (const std::string* section : sections) size += section->size();
  std::string bytes;
  bytes.reserve(size);
  for (const std::string* section : sections) bytes += *section;
  return bytes;
}

}  // namespace

EncodedState::EncodedState(std::shared_ptr<const Published> published,
                           std::shared_ptr<const FrameLayout> layout, StreamCounters* counters,
                           Timeline* timeline, LastChanges changes)
    : published_(std::move(published)),
      layout_(std::move(layout)),
      counters_(counters),
      timeline_(timeline),
      changes_(std::move(changes)) {}

bool EncodedState::HasField(int body, v1::FieldMeasure measure) const {
  const physics::Model& model = *published_->snapshot->model;
  return server::HasField(model, model.bodies[body], measure);
}

std::uint64_t EncodedState::LastMotion(int body) const {
  return changes_.moved.empty() ? 0 : changes_.moved[body];
}

// Fields of contact change without motion of their body.
std::uint64_t EncodedState::LastFieldChange(int body, const FrameChoice& choice) const {
  const std::uint64_t moved = LastMotion(body);
  const auto is_of_its_contacts = [&](v1::FieldMeasure measure) {
    return IsOfContact(measure) && HasField(body, measure);
  };
  if (changes_.touched.empty() || !std::ranges::any_of(choice.fields, is_of_its_contacts))
    return moved;
  return std::max(moved, changes_.touched[body]);
}

bool EncodedState::IsNewer(std::uint64_t change, std::uint64_t since) const {
  return since == 0 || changes_.moved.empty() || change > since;
}

// Maps parts that give the same frame to equal ones, so that they share its bytes.
void EncodedState::Normalize(const FrameChoice& choice, FrameParts* parts) const {
  const physics::Model& model = *published_->snapshot->model;
  parts->fields = parts->fields && !choice.fields.empty();
  parts->contacts = parts->contacts && choice.contacts;
  parts->joints = parts->joints && !model.robots.empty();
  parts->probes = parts->probes && !choice.probes.empty();
  // versions between which no chosen body changed
  std::uint64_t positions = 0, fields = 0;
  for (int body = 0; body < static_cast<int>(changes_.moved.size()); ++body) {
    if (!choice.Has(body)) continue;
    const std::uint64_t motion = LastMotion(body), change = LastFieldChange(body, choice);
    if (motion <= parts->positions_since) positions = std::max(positions, motion);
    if (change <= parts->fields_since) fields = std::max(fields, change);
  }
  parts->positions_since = positions;
  parts->fields_since = parts->fields ? fields : 0;
}

std::shared_ptr<const std::string> EncodedState::Encode(const FrameChoice& choice,
                                                        FrameParts parts) {
  Normalize(choice, &parts);
  std::shared_ptr<const std::string>& frame = frames_[{choice, parts}];
  if (frame != nullptr) return frame;
  const SteadyTime start = counters_ == nullptr ? SteadyTime() : timeline_->Now();

  Sections sections{&Section({Key::Kind::kState})};
  const int bodies = static_cast<int>(published_->snapshot->model->bodies.size());
  for (int body = 0; body < bodies; ++body) {
    if (choice.Has(body)) AppendBody(body, choice, parts, &sections);
  }
  if (parts.joints) sections.push_back(&Section({Key::Kind::kJoints}));
  if (parts.contacts) sections.push_back(&Contacts(choice));
  if (parts.forces) sections.push_back(&Forces(choice));
  if (parts.probes) {
    for (const int probe : choice.probes) sections.push_back(&Section({Key::Kind::kProbe, probe}));
  }
  frame = std::make_shared<const std::string>(Concatenate(sections));
  if (counters_ != nullptr) {
    const std::chrono::duration<double> elapsed = timeline_->Now() - start;
    counters_->encode_seconds.fetch_add(elapsed.count());
  }
  return frame;
}

void EncodedState::AppendBody(int body, const FrameChoice& choice, const FrameParts& parts,
                              Sections* sections) {
  const std::uint64_t motion = LastMotion(body);
  const bool moved = IsNewer(motion, parts.positions_since);
  if (!layout_->is_deformable[body]) {
    if (moved) sections->push_back(&Rigid(body));
    return;
  }
  // viewers show a field that changed without motion together with the positions
  const std::uint64_t change = LastFieldChange(body, choice);
  const bool has_fields = parts.fields && IsNewer(change, parts.fields_since);
  if (moved || (has_fields && change != motion))
    sections->push_back(&Section({Key::Kind::kPositions, body, {}, choice.precision, choice.tier}));
  if (!has_fields) return;
  for (const v1::FieldMeasure measure : choice.fields) {
    if (HasField(body, measure))
      sections->push_back(
          &Section({Key::Kind::kField, body, measure, choice.precision, choice.tier}));
  }
}

const std::string& EncodedState::Section(const Key& key) {
  const auto [section, fresh] = sections_.try_emplace(key);
  if (!fresh) return section->second;
  scratch_.Clear();
  Write(key, &scratch_);
  section->second = scratch_.SerializeAsString();
  if (counters_ != nullptr) counters_->encoded.fetch_add(1);
  return section->second;
}

void EncodedState::Write(const Key& key, v1::Frame* frame) {
  const physics::Snapshot& snapshot = *published_->snapshot;
  const physics::Model& model = *snapshot.model;
  switch (key.kind) {
    case Key::Kind::kState:
      return WriteState(*published_, frame);
    case Key::Kind::kPositions: {
      v1::DeformableFrame* deformable = frame->add_deformables();
      deformable->set_body(layout_->indices[key.index]);
      deformable->set_tier(key.tier);
      return WritePositions(snapshot, model.bodies[key.index], Subset(key.index, key.tier),
                            key.precision, deformable);
    }
    case Key::Kind::kField: {
      v1::FieldFrame* field = frame->add_fields();
      field->set_body(layout_->indices[key.index]);
      field->set_tier(key.tier);
      return WriteField(Field(key.index, key.measure), key.measure, Subset(key.index, key.tier),
                        key.precision, field);
    }
    case Key::Kind::kJoints:
      *frame->mutable_joints() = DescribeJoints(snapshot);
      return;
    case Key::Kind::kProbe: {
      if (!sampler_) sampler_.emplace(model);
      const physics::ProbeValue value = sampler_->Sample(model.probes[key.index], snapshot.state,
                                                         snapshot.report, model.time_step);
      return WriteProbe(value, key.index, frame->add_probes());
    }
  }
}

const std::vector<double>& EncodedState::Field(int body, v1::FieldMeasure measure) {
  const auto [values, fresh] = fields_.try_emplace({body, measure});
  if (fresh) values->second = CalcDrawnField(*published_->snapshot, body, measure);
  return values->second;
}

// Vertices of a tier; empty: all.
const std::vector<std::uint32_t>& EncodedState::Subset(int body, v1::Tier tier) const {
  static const std::vector<std::uint32_t> all;
  if (tier == v1::TIER_UNSPECIFIED) return all;
  return layout_->tiers.Decimate(*published_->snapshot->model, body).vertices;
}

const std::string& EncodedState::Rigid(int body) {
  if (rigid_.empty()) {
    rigid_ = SerializeRigid(*published_->snapshot, *layout_);
    if (counters_ != nullptr) counters_->encoded.fetch_add(1);
  }
  return rigid_[body];
}

const std::string& EncodedState::Contacts(const FrameChoice& choice) {
  const auto [section, fresh] = contacts_.try_emplace(choice.bodies);
  if (fresh) {
    v1::Frame frame;
    WriteContacts(*published_->snapshot, *layout_, choice, frame.mutable_contacts());
    section->second = frame.SerializeAsString();
  }
  return section->second;
}

const std::string& EncodedState::Forces(const FrameChoice& choice) {
  const auto [section, fresh] = forces_.try_emplace(choice.bodies);
  if (fresh) {
    v1::Frame frame;
    WriteForces(*published_->snapshot, *layout_, choice, frame.mutable_forces());
    section->second = frame.SerializeAsString();
  }
  return section->second;
}

std::shared_ptr<const std::string> EncodeFrame(std::shared_ptr<const Published> published,
                                               const FrameChoice& choice,
                                               std::shared_ptr<const FrameLayout> layout) {
  if (layout == nullptr) layout = std::make_shared<const FrameLayout>(*published->snapshot->model);
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

}  // namespace pliant::server
