// Frames: bytes in, numbers out. tests/frames/frames.json has frames of a real server with the
// numbers that they stand for; clients in other languages read the same file. To write it anew, run
// `PLIANT_WRITE_FRAMES=1 bin/test_clients_cpp --gtest_filter=FrameVectors.*`.

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/strings/escaping.h"
#include "nlohmann/json.hpp"

#include "tests/clients/pliantd.h"
#include "tests/counted_allocations.h"

namespace pliant {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kVectors[] = PLIANT_SOURCE_DIR "/tests/frames/frames.json";

json ReadVectors() {
  std::ifstream file(kVectors);
  EXPECT_TRUE(file) << kVectors;
  return json::parse(file, nullptr, false);
}

std::string FromBase64(const json& text) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(text.get<std::string>(), &bytes));
  return bytes;
}

DescriptionPtr ReadDescription(const json& vectors) {
  v1::WorldDescription message;
  EXPECT_TRUE(message.ParseFromString(FromBase64(vectors["description"])));
  return std::make_shared<const Description>(std::move(message));
}

// What docs/api.md says about numbers, in its simplest form.
template <typename Number>
Number NumberAt(const std::string& bytes, std::size_t index) {
  Number number;
  std::memcpy(&number, bytes.data() + sizeof(Number) * index, sizeof number);
  return number;
}

double PositionAt(const v1::DeformableFrame& body, int index) {
  if (body.precision() == v1::PRECISION_FLOAT32) return NumberAt<float>(body.positions(), index);
  if (body.precision() == v1::PRECISION_FLOAT64) return NumberAt<double>(body.positions(), index);
  return body.origin(index % 3) +
         body.scale(index % 3) * NumberAt<std::int16_t>(body.positions(), index);
}

double ValueAt(const v1::FieldFrame& field, int index) {
  const double range = field.max() - field.min();
  switch (field.precision()) {
    case v1::PRECISION_FLOAT32:
      return NumberAt<float>(field.values(), index);
    case v1::PRECISION_FLOAT64:
      return NumberAt<double>(field.values(), index);
    case v1::PRECISION_COMPACT:
      return field.min() + range * NumberAt<std::uint8_t>(field.values(), index) / 255;
    default:
      return field.min() + range * NumberAt<std::uint16_t>(field.values(), index) / 65535;
  }
}

int BytesOf(v1::Precision precision, int quantised) {
  return precision == v1::PRECISION_FLOAT32   ? 4
         : precision == v1::PRECISION_FLOAT64 ? 8
                                              : quantised;
}

// The numbers of one frame; bodies that it leaves out are not there.
json Expect(const v1::Frame& frame, const v1::WorldDescription& world) {
  json expected{{"step", frame.step()}, {"time", frame.time()}, {"keyframe", frame.keyframe()}};
  for (const v1::RigidFrame& body : frame.rigid())
    expected["rigid"][world.rigid_bodies(static_cast<int>(body.body())).name()] = body.pose();
  for (const v1::DeformableFrame& body : frame.deformables()) {
    json& numbers = expected["positions"][world.deformables(static_cast<int>(body.body())).name()];
    const auto count = body.positions().size() / BytesOf(body.precision(), 2);
    for (std::size_t i = 0; i < count; ++i)
      numbers.push_back(PositionAt(body, static_cast<int>(i)));
  }
  for (const v1::FieldFrame& field : frame.fields()) {
    json& of = expected["fields"][world.deformables(static_cast<int>(field.body())).name()]
                       [v1::FieldMeasure_Name(field.measure())];
    of["components"] = field.components();
    of["unit"] = field.unit();
    const int quantised = field.precision() == v1::PRECISION_COMPACT ? 1 : 2;
    const auto count = field.values().size() / BytesOf(field.precision(), quantised);
    for (std::size_t i = 0; i < count; ++i)
      of["values"].push_back(ValueAt(field, static_cast<int>(i)));
  }
  for (const v1::ProbeFrame& probe : frame.probes())
    expected["probes"][world.probes(static_cast<int>(probe.probe()))] = probe.values();
  const int rigid = world.rigid_bodies_size();
  for (int i = 0; i < frame.forces().bodies_size(); ++i) {
    const int number = static_cast<int>(frame.forces().bodies(i));
    const std::string& name = number < rigid ? world.rigid_bodies(number).name()
                                             : world.deformables(number - rigid).name();
    for (int k = 0; k < 3; ++k)
      expected["forces"][name].push_back(frame.forces().forces(3 * i + k));
  }
  return expected;
}

void ExpectNear(const json& expected, Eigen::Map<const Eigen::VectorXd> actual,
                const std::string& what) {
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(actual.size())) << what;
  for (Eigen::Index i = 0; i < actual.size(); ++i) {
    // the formula, whatever the order in which it is evaluated: a few roundings
    const double value = expected[i].get<double>();
    EXPECT_NEAR(actual[i], value, 1e-14 * (1 + std::abs(value))) << what << " " << i;
  }
}

void Compare(const json& expected, const Frame& frame, const Description& description) {
  EXPECT_EQ(frame.step, expected["step"].get<std::int64_t>());
  EXPECT_EQ(frame.time, expected["time"].get<double>());
  EXPECT_EQ(frame.is_keyframe, expected["keyframe"].get<bool>());
  std::size_t fresh = 0;
  for (const auto& [name, pose] : expected.value("rigid", json::object()).items()) {
    const RigidState& body = frame.rigid[description.FindRigid(name).value()];
    EXPECT_TRUE(body.is_new);
    ExpectNear(pose, {body.pose.data(), 7}, name);
  }
  for (const auto& [name, positions] : expected.value("positions", json::object()).items()) {
    const DeformableState& body = frame.deformables[description.FindDeformable(name).value()];
    EXPECT_TRUE(body.is_new);
    ++fresh;
    ExpectNear(positions, {body.xyz.data(), static_cast<Eigen::Index>(body.xyz.size())}, name);
  }
  for (const DeformableState& body : frame.deformables) fresh -= body.is_new ? 1 : 0;
  EXPECT_EQ(fresh, 0u) << "bodies that the frame leaves out are not new";
  for (const auto& [name, fields] : expected.value("fields", json::object()).items()) {
    const DeformableState& body = frame.deformables[description.FindDeformable(name).value()];
    for (const auto& [measure_name, of] : fields.items()) {
      v1::FieldMeasure measure{};
      ASSERT_TRUE(v1::FieldMeasure_Parse(measure_name, &measure));
      const FieldState* field = body.Find(measure);
      ASSERT_NE(field, nullptr) << measure_name;
      EXPECT_EQ(field->components, of["components"].get<int>());
      EXPECT_EQ(field->unit, of["unit"].get<std::string>());
      ExpectNear(of["values"],
                 {field->values.data(), static_cast<Eigen::Index>(field->values.size())},
                 measure_name);
    }
  }
  for (const auto& [name, values] : expected.value("probes", json::object()).items()) {
    const std::vector<double>& probe = frame.probes[description.FindProbe(name).value()];
    ExpectNear(values, {probe.data(), static_cast<Eigen::Index>(probe.size())}, name);
  }
  for (int i = 0; i < frame.forces.bodies_size(); ++i) {
    const json& force = expected["forces"][description.NameBody(frame.forces.bodies(i))];
    ExpectNear(force, {frame.forces.forces().data() + 3 * i, 3}, "force");
  }
}

TEST(FrameVectors, DecodeToTheirNumbers) {
  const json vectors = ReadVectors();
  ASSERT_TRUE(vectors.is_object());
  const DescriptionPtr description = ReadDescription(vectors);
  FrameDecoder decoder(description);
  ASSERT_GE(vectors["frames"].size(), 6u);
  for (const json& vector : vectors["frames"]) {
    SCOPED_TRACE(vector["name"].get<std::string>());
    const absl::Status status = decoder.Decode(FromBase64(vector["bytes"]));
    ASSERT_TRUE(status.ok()) << status;
    Compare(vector["expected"], decoder.frame(), *description);
  }
}

TEST(FrameVectors, DecodeWithoutAllocationsInTheSteadyState) {
  const json vectors = ReadVectors();
  FrameDecoder decoder(ReadDescription(vectors));
  std::vector<std::string> frames;
  for (const json& vector : vectors["frames"]) frames.push_back(FromBase64(vector["bytes"]));
  Frame copy;
  std::int64_t allocations = 0;
  // other threads of this program may allocate, so the least of some rounds counts
  for (int round = 0; round < 6; ++round) {
    const std::int64_t before = CountAllocations();
    for (const std::string& frame : frames) {
      ASSERT_TRUE(decoder.Decode(frame).ok());
      copy = decoder.frame();
    }
    const std::int64_t count = CountAllocations() - before;
    if (round > 1) allocations = round == 2 ? count : std::min(allocations, count);
  }
  EXPECT_EQ(allocations, 0);
}

TEST(FrameVectors, OfAnotherModelAreRefusedAndDamagedOnesToo) {
  const json vectors = ReadVectors();
  const std::string frame = FromBase64(vectors["frames"][0]["bytes"]);
  v1::WorldDescription other = ReadDescription(vectors)->message();
  other.mutable_deformables(0)->mutable_surface()->mutable_vertices()->RemoveLast();
  other.mutable_deformables(0)->mutable_surface()->mutable_vertices()->Truncate(3);
  FrameDecoder smaller(std::make_shared<const Description>(other));
  const absl::Status status = smaller.Decode(frame);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("positions and not 1"));
  other.clear_rigid_bodies();
  FrameDecoder none(std::make_shared<const Description>(other));
  EXPECT_TRUE(absl::IsFailedPrecondition(none.Decode(frame)));

  // whatever is cut off or changed, decoding ends with a status
  FrameDecoder decoder(ReadDescription(vectors));
  for (std::size_t size = 0; size < frame.size(); size += 7)
    decoder.Decode(std::string_view(frame).substr(0, size)).IgnoreError();
  for (std::size_t at = 0; at < std::min<std::size_t>(frame.size(), 4000); ++at) {
    std::string damaged = frame;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    decoder.Decode(std::string_view(damaged)).IgnoreError();
  }
  decoder.Clear();
  EXPECT_TRUE(decoder.Decode(std::string_view(frame)).ok());
}

class FramesOfTheServer : public PliantdTest {
 protected:
  v1::Frame StepWith(const World& world, v1::Precision precision,
                     v1::Tier tier = v1::TIER_UNSPECIFIED) {
    v1::StepWorldRequest request;
    v1::Subscription& frame = *request.mutable_frame();
    frame.set_precision(precision);
    frame.set_tier(tier);
    frame.add_fields(v1::FIELD_MEASURE_VON_MISES_STRAIN);
    frame.add_fields(v1::FIELD_MEASURE_VELOCITY);
    frame.add_probes("cube_p");
    frame.add_probes("strain");
    const auto stepped = world.Step(request);
    EXPECT_TRUE(stepped.ok()) << stepped.status();
    v1::Frame message = stepped->frame();
    // times that differ from run to run
    message.mutable_report()->clear_step_seconds();
    message.mutable_report()->clear_phase_seconds();
    message.mutable_report()->clear_real_time_rate();
    message.mutable_report()->clear_lag();
    message.mutable_clock()->mutable_paused();
    return message;
  }
};

TEST_F(FramesOfTheServer, DifferByHalfAQuantumFromExactOnes) {
  const World exact = Create("exact"), quantised = Create("quantised");
  const DescriptionPtr description = exact.Describe().value();
  FrameDecoder a(description), b(description);
  ASSERT_TRUE(exact.Step(20).ok() && quantised.Step(20).ok());
  ASSERT_TRUE(a.Decode(StepWith(exact, v1::PRECISION_FLOAT64)).ok());
  ASSERT_TRUE(b.Decode(StepWith(quantised, v1::PRECISION_UNSPECIFIED)).ok());
  const DeformableState& truth = a.frame().deformables[0];
  const DeformableState& rounded = b.frame().deformables[0];
  ASSERT_EQ(truth.xyz.size(), rounded.xyz.size());
  for (int axis = 0; axis < 3; ++axis) {
    const double error = (truth.positions() - rounded.positions()).row(axis).cwiseAbs().maxCoeff();
    EXPECT_LE(error, 0.501 * rounded.scale[axis]);
  }
  const FieldState& field = *rounded.Find(v1::FIELD_MEASURE_VELOCITY);
  EXPECT_EQ(field.components, 3);
  const double error =
      (truth.Find(v1::FIELD_MEASURE_VELOCITY)->matrix() - field.matrix()).cwiseAbs().maxCoeff();
  EXPECT_LE(error, 0.501 * (field.max - field.min) / 65535);
}

class FrameVectorsWriter : public FramesOfTheServer {};

TEST_F(FrameVectorsWriter, WritesThemWhenItIsAskedTo) {
  if (std::getenv("PLIANT_WRITE_FRAMES") == nullptr)
    GTEST_SKIP() << "PLIANT_WRITE_FRAMES is not set";
  const World world = Create("lab");
  const DescriptionPtr description = world.Describe().value();
  json vectors{
      {"about",
       "Frames of a Pliant server and the numbers that they stand for: bytes are base64 of "
       "pliant.v1.WorldDescription and pliant.v1.Frame. They are decoded one after the other."},
      {"description", absl::Base64Escape(description->message().SerializeAsString())},
      {"frames", json::array()}};
  const auto add = [&](const std::string& name, const v1::Frame& frame) {
    vectors["frames"].push_back({{"name", name},
                                 {"bytes", absl::Base64Escape(frame.SerializeAsString())},
                                 {"expected", Expect(frame, description->message())}});
  };
  ASSERT_TRUE(world.Step(15).ok());
  v1::Frame frame = StepWith(world, v1::PRECISION_UNSPECIFIED);
  frame.set_keyframe(true);
  add("a keyframe: int16 positions, uint16 fields", frame);
  frame = StepWith(world, v1::PRECISION_UNSPECIFIED);
  frame.set_keyframe(false);
  frame.clear_deformables();
  frame.mutable_rigid()->DeleteSubrange(0, 2);
  add("bodies that have not moved are left out", frame);
  add("uint8 fields", StepWith(world, v1::PRECISION_COMPACT));
  add("float32", StepWith(world, v1::PRECISION_FLOAT32));
  add("float64", StepWith(world, v1::PRECISION_FLOAT64));
  add("decimated", StepWith(world, v1::PRECISION_UNSPECIFIED, v1::TIER_DECIMATED));
  frame = StepWith(world, v1::PRECISION_UNSPECIFIED);
  frame.set_epoch(frame.epoch() + 1);
  frame.clear_deformables();
  frame.clear_fields();
  add("after a reset, nothing of before is left", frame);
  std::ofstream(kVectors) << vectors.dump(1) << '\n';
}

}  // namespace
}  // namespace pliant
