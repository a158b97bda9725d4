// Decodes frames. tests/frames/frames.json has frames of a real server and the numbers that they
// encode; clients in other languages read the same file.

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

void ExpectNear(const json& expected, Eigen::Map<const Eigen::VectorXd> actual,
                const std::string& what) {
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(actual.size())) << what;
  for (Eigen::Index i = 0; i < actual.size(); ++i) {
    // a few rounding errors, since the order of evaluation is free
    const double value = expected[i].get<double>();
    EXPECT_NEAR(actual[i], value, 1e-14 * (1 + std::abs(value))) << what << " " << i;
  }
}

void Compare(const json& expected, const Frame& frame, const Description& description) {
  EXPECT_EQ(frame.step, expected["step"].get<std::int64_t>());
  EXPECT_EQ(frame.time, expected["time"].get<double>());
  EXPECT_EQ(frame.is_keyframe, expected["keyframe"].get<bool>());
  std::size_t fresh = 0;  // bodies
  EXPECT_EQ(frame.epoch, expected["epoch"].get<std::uint32_t>());
  for (const auto& [name, pose] : expected["rigid"].items()) {
    const RigidState& body = frame.rigid[description.FindRigid(name).value()];
    EXPECT_TRUE(body.is_new);
    ExpectNear(pose, {body.pose.data(), 7}, name);
  }
  for (const auto& [name, positions] : expected["positions"].items()) {
    const DeformableState& body = frame.deformables[description.FindDeformable(name).value()];
    EXPECT_TRUE(body.is_new);
    ++fresh;
    ExpectNear(positions, {body.xyz.data(), static_cast<Eigen::Index>(body.xyz.size())}, name);
  }
  for (const DeformableState& body : frame.deformables) fresh -= body.is_new ? 1 : 0;
  EXPECT_EQ(fresh, 0u) << "bodies that the frame leaves out are not new";
  for (const auto& [name, fields] : expected["fields"].items()) {
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
  for (const auto& [name, values] : expected["probes"].items()) {
    const std::vector<double>& probe = frame.probes[description.FindProbe(name).value()];
    ExpectNear(values, {probe.data(), static_cast<Eigen::Index>(probe.size())}, name);
  }
  ASSERT_EQ(frame.forces.bodies_size(), static_cast<int>(expected["forces"].size()));
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
  // other threads of this program may allocate, so the minimum over the rounds counts
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

  // decoding of truncated or changed bytes returns a status and does not crash
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
    return stepped->frame();
  }
};

TEST_F(FramesOfTheServer, DifferByAtMostHalfAQuantumFromExactOnes) {
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

}  // namespace
}  // namespace pliant
