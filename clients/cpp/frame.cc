#include "pliant/frame.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"

#include "clients/cpp/wire.h"

namespace pliant {
namespace {

constexpr double kLargestPosition = 32767;

absl::Status NoFrame(absl::string_view part) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the ", part, " of a frame cannot be read: the bytes are not a pliant.v1.Frame"));
}

absl::Status OtherModel(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("the frame belongs to another model than the description: ", what,
                   "; describe the world again"));
}

// Converts packed numbers, at any alignment, to doubles.
template <typename Number, typename Convert>
void Unpack(std::string_view bytes, std::vector<double>* values, Convert convert) {
  values->resize(bytes.size() / sizeof(Number));
  const char* from = bytes.data();
  for (std::size_t i = 0; i < values->size(); ++i, from += sizeof(Number)) {
    Number number;
    std::memcpy(&number, from, sizeof number);
    (*values)[i] = convert(number, i);
  }
}

std::size_t BytesPerPosition(v1::Precision precision) {
  switch (precision) {
    case v1::PRECISION_FLOAT32:
      return 3 * sizeof(float);
    case v1::PRECISION_FLOAT64:
      return 3 * sizeof(double);
    default:
      return 3 * sizeof(std::int16_t);
  }
}

std::size_t BytesPerValue(v1::Precision precision) {
  switch (precision) {
    case v1::PRECISION_FLOAT32:
      return sizeof(float);
    case v1::PRECISION_FLOAT64:
      return sizeof(double);
    case v1::PRECISION_COMPACT:
      return sizeof(std::uint8_t);
    default:
      return sizeof(std::uint16_t);
  }
}

// Reads packed doubles. False if there are not as many as in `numbers`.
bool ReadPacked(std::string_view bytes, std::span<double> numbers) {
  if (bytes.size() != numbers.size_bytes()) return false;
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return true;
}

void UnpackPositions(std::string_view bytes, std::span<const double> origin,
                     DeformableState* body) {
  const auto same = [](auto number, std::size_t) { return static_cast<double>(number); };
  if (body->precision == v1::PRECISION_FLOAT32) return Unpack<float>(bytes, &body->xyz, same);
  if (body->precision == v1::PRECISION_FLOAT64) return Unpack<double>(bytes, &body->xyz, same);
  Unpack<std::int16_t>(bytes, &body->xyz, [&](std::int16_t number, std::size_t i) {
    return origin[i % 3] + body->scale[i % 3] * number;
  });
}

void UnpackValues(std::string_view bytes, FieldState* field) {
  const auto same = [](auto number, std::size_t) { return static_cast<double>(number); };
  const auto scaled = [&](double largest) {
    return [min = field->min, scale = (field->max - field->min) / largest](
               auto number, std::size_t) { return min + scale * number; };
  };
  switch (field->precision) {
    case v1::PRECISION_FLOAT32:
      return Unpack<float>(bytes, &field->values, same);
    case v1::PRECISION_FLOAT64:
      return Unpack<double>(bytes, &field->values, same);
    case v1::PRECISION_COMPACT:
      return Unpack<std::uint8_t>(bytes, &field->values, scaled(255));
    default:
      return Unpack<std::uint16_t>(bytes, &field->values, scaled(65535));
  }
}

}  // namespace

const FieldState* DeformableState::Find(v1::FieldMeasure measure) const {
  for (const FieldState& field : fields) {
    if (field.measure == measure) return &field;
  }
  return nullptr;
}

v1::StepReport Frame::ParseReport() const {
  v1::StepReport report;
  report.ParseFromString(report_bytes);
  return report;
}

v1::Fault Frame::ParseFault() const {
  v1::Fault fault;
  fault.ParseFromString(fault_bytes);
  return fault;
}

v1::ProbeFrame Frame::ParseProbe(int probe) const {
  v1::ProbeFrame message;
  message.ParseFromString(probe_bytes[probe]);
  return message;
}

FrameDecoder::FrameDecoder(DescriptionPtr description) : description_(std::move(description)) {
  const v1::WorldDescription& world = description_->message();
  frame_.rigid.resize(world.rigid_bodies_size());
  frame_.deformables.resize(world.deformables_size());
  frame_.probes.resize(world.probes_size());
  frame_.probe_bytes.resize(world.probes_size());
}

void FrameDecoder::Clear() {
  Forget();
  was_decoded_ = false;
}

void FrameDecoder::Forget() {
  for (RigidState& body : frame_.rigid) body.is_known = false;
  for (DeformableState& body : frame_.deformables) {
    body.is_known = false;
    body.xyz.clear();
    for (FieldState& field : body.fields) field.values.clear();
  }
  frame_.joints.Clear();
  frame_.contacts.Clear();
  frame_.forces.Clear();
  for (std::vector<double>& numbers : frame_.probes) numbers.clear();
}

absl::Status FrameDecoder::Decode(const v1::Frame& frame) {
  return Decode(std::string_view(frame.SerializeAsString()));
}

absl::Status FrameDecoder::Decode(std::string_view frame_bytes) {
  absl::Status status = ReadHead(frame_bytes);
  if (!status.ok()) return status;
  WireReader reader(frame_bytes);
  while (reader.Next()) {
    status = ReadPart(reader.field(), reader.bytes());
    if (!status.ok()) return status;
  }
  was_decoded_ = true;
  return absl::OkStatus();
}

// Reads the scalars of the frame. Fields with their default value are not sent.
absl::Status FrameDecoder::ReadHead(std::string_view bytes) {
  const std::uint32_t epoch = frame_.epoch;
  frame_.id = 0;
  frame_.step = 0;
  frame_.time = 0;
  frame_.epoch = frame_.subscription = 0;
  frame_.is_keyframe = frame_.is_stopped = false;
  frame_.clock = ClockMode::kPaused;
  frame_.speed = 1;
  frame_.command_count = 0;
  frame_.report_bytes.clear();
  frame_.fault_bytes.clear();
  for (RigidState& body : frame_.rigid) body.is_new = false;
  for (DeformableState& body : frame_.deformables) {
    body.is_new = false;
    for (FieldState& field : body.fields) field.is_new = false;
  }
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case v1::Frame::kFrameFieldNumber:
        frame_.id = reader.number();
        break;
      case v1::Frame::kStepFieldNumber:
        frame_.step = static_cast<std::int64_t>(reader.number());
        break;
      case v1::Frame::kTimeFieldNumber:
        frame_.time = reader.real();
        break;
      case v1::Frame::kKeyframeFieldNumber:
        frame_.is_keyframe = reader.number() != 0;
        break;
      case v1::Frame::kEpochFieldNumber:
        frame_.epoch = static_cast<std::uint32_t>(reader.number());
        break;
      case v1::Frame::kSubscriptionFieldNumber:
        frame_.subscription = static_cast<std::uint32_t>(reader.number());
        break;
      case v1::Frame::kStoppedFieldNumber:
        frame_.is_stopped = reader.number() != 0;
        break;
      default:
        break;
    }
  }
  if (!reader.is_valid()) return NoFrame("head");
  // states from before and after a reset must not be mixed
  if (was_decoded_ && epoch != frame_.epoch) Forget();
  return absl::OkStatus();
}

absl::Status FrameDecoder::ReadPart(int field, std::string_view bytes) {
  const auto parse = [&](google::protobuf::MessageLite* message, absl::string_view name) {
    return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ? absl::OkStatus()
                                                                                 : NoFrame(name);
  };
  switch (field) {
    case v1::Frame::kRigidFieldNumber:
      return ReadRigid(bytes);
    case v1::Frame::kDeformablesFieldNumber:
      return ReadDeformable(bytes);
    case v1::Frame::kFieldsFieldNumber:
      return ReadField(bytes);
    case v1::Frame::kContactsFieldNumber:
      return parse(&frame_.contacts, "contacts");
    case v1::Frame::kForcesFieldNumber:
      return parse(&frame_.forces, "forces");
    case v1::Frame::kJointsFieldNumber:
      return parse(&frame_.joints, "joints");
    case v1::Frame::kProbesFieldNumber:
      return ReadProbe(bytes);
    case v1::Frame::kClockFieldNumber:
      return ReadClock(bytes);
    case v1::Frame::kReportFieldNumber:
      frame_.report_bytes.assign(bytes);
      return absl::OkStatus();
    case v1::Frame::kFaultFieldNumber:
      frame_.fault_bytes.assign(bytes);
      return absl::OkStatus();
    case v1::Frame::kCommandsFieldNumber:
      if (static_cast<std::size_t>(frame_.command_count) == frame_.commands.size())
        frame_.commands.emplace_back();
      return parse(&frame_.commands[frame_.command_count++], "commands");
    default:
      return absl::OkStatus();  // the head, or parts of a newer server
  }
}

absl::Status FrameDecoder::ReadRigid(std::string_view bytes) {
  std::uint64_t body = 0;
  std::string_view pose;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == v1::RigidFrame::kBodyFieldNumber) body = reader.number();
    if (reader.field() == v1::RigidFrame::kPoseFieldNumber) pose = reader.bytes();
  }
  if (!reader.is_valid()) return NoFrame("pose of a rigid body");
  if (body >= frame_.rigid.size())
    return OtherModel(absl::StrCat("it has rigid body ", body, " of ", frame_.rigid.size()));
  RigidState& state = frame_.rigid[body];
  if (!ReadPacked(pose, state.pose)) return NoFrame("pose of a rigid body");
  state.is_known = state.is_new = true;
  return absl::OkStatus();
}

absl::Status FrameDecoder::ReadDeformable(std::string_view bytes) {
  std::uint64_t body = 0, precision = 0, tier = 0;
  std::string_view positions, origin, scale;
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case v1::DeformableFrame::kBodyFieldNumber:
        body = reader.number();
        break;
      case v1::DeformableFrame::kOriginFieldNumber:
        origin = reader.bytes();
        break;
      case v1::DeformableFrame::kScaleFieldNumber:
        scale = reader.bytes();
        break;
      case v1::DeformableFrame::kPositionsFieldNumber:
        positions = reader.bytes();
        break;
      case v1::DeformableFrame::kPrecisionFieldNumber:
        precision = reader.number();
        break;
      case v1::DeformableFrame::kTierFieldNumber:
        tier = reader.number();
        break;
      default:
        break;
    }
  }
  if (!reader.is_valid()) return NoFrame("deformable body");
  if (body >= frame_.deformables.size()) {
    return OtherModel(
        absl::StrCat("it has deformable body ", body, " of ", frame_.deformables.size()));
  }
  DeformableState& state = frame_.deformables[body];
  state.precision = static_cast<v1::Precision>(precision);
  state.tier = static_cast<v1::Tier>(tier);
  const auto count =
      static_cast<std::size_t>(description_->CountPositions(static_cast<int>(body), state.tier));
  if (positions.size() != count * BytesPerPosition(state.precision)) {
    return OtherModel(absl::StrCat(
        "\"", description_->message().deformables(static_cast<int>(body)).name(), "\" has ",
        positions.size() / BytesPerPosition(state.precision), " positions and not ", count));
  }
  const bool is_exact = precision == v1::PRECISION_FLOAT32 || precision == v1::PRECISION_FLOAT64;
  std::array<double, 3> low{};
  state.scale = {};
  if (!is_exact && count > 0 && !(ReadPacked(origin, low) && ReadPacked(scale, state.scale)))
    return NoFrame("box of a deformable body");
  UnpackPositions(positions, low, &state);
  state.is_known = state.is_new = true;
  return absl::OkStatus();
}

absl::Status FrameDecoder::ReadField(std::string_view bytes) {
  std::uint64_t body = 0, measure = 0, precision = 0, tier = 0, components = 0;
  double min = 0, max = 0;
  std::string_view values, unit;
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case v1::FieldFrame::kBodyFieldNumber:
        body = reader.number();
        break;
      case v1::FieldFrame::kMeasureFieldNumber:
        measure = reader.number();
        break;
      case v1::FieldFrame::kMinFieldNumber:
        min = reader.real();
        break;
      case v1::FieldFrame::kMaxFieldNumber:
        max = reader.real();
        break;
      case v1::FieldFrame::kValuesFieldNumber:
        values = reader.bytes();
        break;
      case v1::FieldFrame::kUnitFieldNumber:
        unit = reader.bytes();
        break;
      case v1::FieldFrame::kPrecisionFieldNumber:
        precision = reader.number();
        break;
      case v1::FieldFrame::kTierFieldNumber:
        tier = reader.number();
        break;
      case v1::FieldFrame::kComponentsFieldNumber:
        components = reader.number();
        break;
      default:
        break;
    }
  }
  if (!reader.is_valid() || components > 6) return NoFrame("field");
  if (body >= frame_.deformables.size())
    return OtherModel(absl::StrCat("it has a field of deformable body ", body, " of ",
                                   frame_.deformables.size()));
  DeformableState& state = frame_.deformables[body];
  auto field =
      std::ranges::find(state.fields, static_cast<v1::FieldMeasure>(measure), &FieldState::measure);
  if (field == state.fields.end()) {
    state.fields.emplace_back().measure = static_cast<v1::FieldMeasure>(measure);
    field = std::prev(state.fields.end());
  }
  field->precision = static_cast<v1::Precision>(precision);
  field->components = std::max(1, static_cast<int>(components));
  field->min = min;
  field->max = max;
  field->unit.assign(unit);
  const auto count = static_cast<std::size_t>(
      description_->CountPositions(static_cast<int>(body), static_cast<v1::Tier>(tier)));
  if (values.size() != count * field->components * BytesPerValue(field->precision)) {
    return OtherModel(absl::StrCat(
        "a field of \"", description_->message().deformables(static_cast<int>(body)).name(),
        "\" has not ", count, " positions"));
  }
  UnpackValues(values, &*field);
  field->is_new = true;
  return absl::OkStatus();
}

absl::Status FrameDecoder::ReadProbe(std::string_view bytes) {
  std::uint64_t probe = 0;
  std::string_view values;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == v1::ProbeFrame::kProbeFieldNumber) probe = reader.number();
    if (reader.field() == v1::ProbeFrame::kValuesFieldNumber) values = reader.bytes();
  }
  if (!reader.is_valid() || values.size() % sizeof(double) != 0) return NoFrame("probe");
  if (probe >= frame_.probes.size())
    return OtherModel(absl::StrCat("it has probe ", probe, " of ", frame_.probes.size()));
  Unpack<double>(values, &frame_.probes[probe], [](double number, std::size_t) { return number; });
  frame_.probe_bytes[probe].assign(bytes);
  return absl::OkStatus();
}

absl::Status FrameDecoder::ReadClock(std::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case v1::Clock::kRealTimeFieldNumber: {
        frame_.clock = ClockMode::kRealTime;
        WireReader factor(reader.bytes());
        while (factor.Next()) {
          if (factor.field() == v1::RealTime::kFactorFieldNumber && factor.real() != 0)
            frame_.speed = factor.real();
        }
        if (!factor.is_valid()) return NoFrame("clock");
        break;
      }
      case v1::Clock::kFreeRunFieldNumber:
        frame_.clock = ClockMode::kFreeRun;
        break;
      case v1::Clock::kSteppingFieldNumber:
        frame_.clock = ClockMode::kStepping;
        break;
      default:
        break;
    }
  }
  return reader.is_valid() ? absl::OkStatus() : NoFrame("clock");
}

}  // namespace pliant
