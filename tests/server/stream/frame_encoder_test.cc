#include "server/stream/frame_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <time.h>

#include "gtest/gtest.h"
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "physics/world/probes.h"
#include "physics/world/world.h"
#include "pliant/v1/gateway.pb.h"
#include "pliant/v1/stream.pb.h"
#include "server/stream/messages.h"
#include "server/stream/motion_log.h"
#include "server/stream/quantization.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

int ReadNumber(const std::string& bytes, std::size_t index) {
  return static_cast<std::uint8_t>(bytes[2 * index]) |
         static_cast<std::uint8_t>(bytes[2 * index + 1]) << 8;
}

std::shared_ptr<const Published> Publish(physics::World& world) {
  auto published = std::make_shared<Published>();
  published->snapshot = world.TakeSnapshot();
  published->version = 1;
  return published;
}

std::shared_ptr<const Published> PublishInitial() {
  physics::World world(LoadTestModel());
  return Publish(world);
}

v1::Frame Read(std::shared_ptr<const Published> published, const FrameChoice& choice) {
  v1::Frame frame;
  EXPECT_TRUE(frame.ParseFromString(*EncodeFrame(std::move(published), choice)));
  return frame;
}

TEST(QuantizePoints, ErrorIsHalfAStepOfTheGridAtMost) {
  std::vector<double> points;
  for (int i = 0; i < 200; ++i)
    points.insert(points.end(), {std::cos(i) * 0.5, std::sin(3 * i) * 2, i * 0.01 - 7});
  const QuantizedPoints result = QuantizePoints(points);
  ASSERT_EQ(result.numbers.size(), 2 * points.size());
  for (std::size_t i = 0; i < points.size() / 3; ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      const int number = ReadNumber(result.numbers, 3 * i + axis);
      EXPECT_LE(number, 32767);
      EXPECT_NEAR(result.origin[axis] + result.scale[axis] * number, points[3 * i + axis],
                  0.5001 * result.scale[axis]);
    }
  }
}

TEST(QuantizePoints, EveryNumberOfPointsIsQuantized) {
  for (int count = 1; count < 30; ++count) {
    std::vector<double> points;
    for (int i = 0; i < 3 * count; ++i) points.push_back(std::sin(7 * i) + i % 3);
    const QuantizedPoints result = QuantizePoints(points);
    for (int i = 0; i < 3 * count; ++i) {
      const double x = result.origin[i % 3] + result.scale[i % 3] * ReadNumber(result.numbers, i);
      ASSERT_NEAR(x, points[i], 0.5001 * result.scale[i % 3]) << count << " points, number " << i;
    }
    const QuantizedField field = QuantizeField(points);
    EXPECT_EQ(field.min, *std::ranges::min_element(points));
    EXPECT_EQ(field.max, *std::ranges::max_element(points));
    ASSERT_NEAR(
        field.min + (field.max - field.min) / 65535 * ReadNumber(field.numbers, 3 * count - 1),
        points.back(), 1e-4);
  }
}

TEST(QuantizePoints, FlatAndEmptyClothsAreExact) {
  EXPECT_TRUE(QuantizePoints({}).numbers.empty());
  const QuantizedPoints flat = QuantizePoints(std::vector<double>{1, 2, 3, 2, 2, 3});
  EXPECT_EQ(flat.scale.y(), 0);
  EXPECT_EQ(flat.origin.z(), 3);
  EXPECT_EQ(ReadNumber(flat.numbers, 1), 0);
}

TEST(QuantizeField, SpansItsRange) {
  const std::vector<double> values{-1, 0, 3};
  const QuantizedField field = QuantizeField(values);
  EXPECT_EQ(field.min, -1);
  EXPECT_EQ(field.max, 3);
  EXPECT_EQ(ReadNumber(field.numbers, 0), 0);
  EXPECT_EQ(ReadNumber(field.numbers, 1), 16384);
  EXPECT_EQ(ReadNumber(field.numbers, 2), 65535);
  EXPECT_EQ(QuantizeField(values, 1).numbers, std::string("\x00\x40\xff", 3));
}

TEST(Frame, HeadAndSharedBodyAreOneMessageForBothTransports) {
  const auto body = EncodeFrame(PublishInitial(), {});
  v1::SubscribeResponse response;
  ASSERT_TRUE(
      response.ParseFromString(EncodeFrameHead({70000, true, 9}, body->size(), false) + *body));
  EXPECT_EQ(response.frame().frame(), 70000u);
  EXPECT_TRUE(response.frame().keyframe());
  EXPECT_EQ(response.frame().subscription(), 9u);
  EXPECT_EQ(response.frame().rigid_size(), 3);

  v1::ServerMessage message;
  ASSERT_TRUE(message.ParseFromString(EncodeFrameHead({1, false, 0}, body->size(), true) + *body));
  EXPECT_EQ(message.stream().frame().frame(), 1u);
  EXPECT_FALSE(message.stream().frame().keyframe());
  EXPECT_EQ(message.stream().frame().rigid_size(), 3);
}

TEST(Frame, PositionsAreThoseOfTheSurface) {
  const auto published = PublishInitial();
  const v1::Frame frame = Read(published, {});
  const physics::Model& model = *published->snapshot->model;
  const physics::Body& ball = model.bodies[physics::FindBody(model, "ball")];
  const auto q = model.Positions(published->snapshot->state, ball.block);
  const v1::DeformableFrame& soft = frame.deformables(0);
  ASSERT_EQ(soft.positions().size(), 6 * ball.surface.vertices.size());
  for (std::size_t i = 0; i < ball.surface.vertices.size(); ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      const double x =
          soft.origin(axis) + soft.scale(axis) * ReadNumber(soft.positions(), 3 * i + axis);
      EXPECT_NEAR(x, q[3 * ball.surface.vertices[i] + axis], 0.1 / 32767);
    }
  }
  EXPECT_EQ(frame.fields_size(), 0);
}

TEST(Frame, ContactHasPressureAndTractionOfThreeComponents) {
  physics::World world(LoadTestModel());
  const FrameChoice choice{
      {}, {v1::FIELD_MEASURE_CONTACT_PRESSURE, v1::FIELD_MEASURE_CONTACT_TRACTION}};
  EXPECT_EQ(Read(Publish(world), choice).fields(0).max(), 0);
  for (int k = 0; k < 100; ++k) ASSERT_TRUE(world.Step().ok());
  const v1::Frame frame = Read(Publish(world), choice);
  ASSERT_EQ(frame.fields_size(), 2);
  const v1::FieldFrame &pressure = frame.fields(0), &traction = frame.fields(1);
  EXPECT_GT(pressure.max(), 0);
  EXPECT_EQ(pressure.components(), 1u);
  EXPECT_EQ(traction.components(), 3u);
  EXPECT_EQ(traction.values().size(), 3 * pressure.values().size());
  EXPECT_GE(std::max(traction.max(), -traction.min()), pressure.max() / std::sqrt(3));
  EXPECT_EQ(pressure.unit(), "Pa");
  EXPECT_EQ(pressure.measure(), v1::FIELD_MEASURE_CONTACT_PRESSURE);
  EXPECT_EQ(traction.measure(), v1::FIELD_MEASURE_CONTACT_TRACTION);
  EXPECT_EQ(frame.deformables(0).positions().size(), 3 * pressure.values().size());
}

TEST(Frame, ChosenBodiesOnlyAreSent) {
  FrameChoice choice;
  choice.bodies = {2};
  const v1::Frame frame = Read(PublishInitial(), choice);
  ASSERT_EQ(frame.rigid_size(), 1);
  EXPECT_EQ(frame.rigid(0).body(), 2u);  // its index among all rigid bodies, not among those sent
  EXPECT_NEAR(frame.rigid(0).pose(2), 0.05, 1e-15);
  EXPECT_EQ(frame.deformables_size(), 0);
}

TEST(Frame, ContactsAndForcesNumberRigidBodiesFirst) {
  physics::World world(LoadTestModel(R"(bodies:
  - {name: ball, deformable: {mesh: {sphere: {radius: 0.05}, edge_length: 0.04},
      pose: {position: [0, 0, 0.05]},
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
          density: 1000}}}
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)"));
  for (int k = 0; k < 50; ++k) ASSERT_TRUE(world.Step().ok());
  const auto published = Publish(world);
  const auto& reported = published->snapshot->report.contacts;
  ASSERT_FALSE(reported.empty());
  FrameChoice choice;
  choice.contacts = true;
  const v1::Frame frame = Read(published, choice);

  // the ball is the first body of the model and the last one in frames
  ASSERT_EQ(frame.contacts().gaps_size(), static_cast<int>(reported.size()));
  ASSERT_EQ(frame.contacts().bodies_size(), 2 * frame.contacts().gaps_size());
  for (std::size_t i = 0; i < reported.size(); ++i) {
    EXPECT_EQ(frame.contacts().bodies(2 * i), reported[i].body_a == 0 ? 1u : 0u);
    EXPECT_EQ(frame.contacts().bodies(2 * i + 1), reported[i].body_b == 0 ? 1u : 0u);
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_FLOAT_EQ(frame.contacts().positions(3 * i + axis), reported[i].p_W[axis]);
      EXPECT_FLOAT_EQ(frame.contacts().normals(3 * i + axis), reported[i].normal_W[axis]);
    }
  }
  ASSERT_EQ(frame.forces().bodies_size(), 2);
  EXPECT_EQ(frame.forces().bodies(0), 1u);
  EXPECT_EQ(frame.forces().bodies(1), 0u);
  EXPECT_EQ(frame.forces().contacts(0), reported.size());
  EXPECT_GT(frame.forces().forces(2), 0);  // on the ball, upwards
  EXPECT_DOUBLE_EQ(frame.forces().forces(5), -frame.forces().forces(2));
}

// The parts of a frame with bodies that moved after a version.
FrameParts Since(std::uint64_t version) {
  return {.positions_since = version, .fields_since = version};
}

TEST(EncodedState, EncodesEachSectionOnceWhateverViewersCombine) {
  const auto published = PublishInitial();
  StreamCounters counters;
  EncodedState state(published, std::make_shared<FrameLayout>(*published->snapshot->model),
                     &counters, &RealTimeline());
  const FrameChoice strain{{}, {v1::FIELD_MEASURE_VON_MISES_STRAIN}};
  const FrameChoice both{
      {}, {v1::FIELD_MEASURE_VON_MISES_STRAIN, v1::FIELD_MEASURE_VON_MISES_STRESS}, true};
  const auto first = state.Encode(strain);
  EXPECT_EQ(counters.encoded.load(), 4u);  // state, rigid bodies, positions, strain
  EXPECT_EQ(state.Encode(strain), first);
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*state.Encode(both)));
  EXPECT_EQ(counters.encoded.load(), 5u);  // stress
  EXPECT_EQ(frame.fields_size(), 2);
  ASSERT_TRUE(frame.ParseFromString(*state.Encode({{3}, {}, false})));
  EXPECT_EQ(counters.encoded.load(), 5u);
  EXPECT_EQ(frame.deformables_size(), 1);
}

TEST(EncodedState, LeavesOutBodiesThatHaveNotMovedSinceAVersion) {
  physics::World world(LoadTestModel());
  MotionLog log;
  const auto publish = [&](std::uint64_t version, std::uint32_t epoch = 0) {
    auto published = std::make_shared<Published>(*Publish(world));
    published->version = version;
    published->epoch = epoch;
    log.Add(published);
    return EncodedState(published, std::make_shared<FrameLayout>(world.model()), nullptr, nullptr,
                        log.changes());
  };
  const auto read = [](EncodedState& state, const FrameChoice& choice, std::uint64_t since) {
    v1::Frame frame;
    EXPECT_TRUE(frame.ParseFromString(*state.Encode(choice, Since(since))));
    return frame;
  };
  publish(3);
  ASSERT_TRUE(world.Step().ok());
  EncodedState moved = publish(4);
  // the table is fixed and nobody commands the paddle; cube and ball fall
  EXPECT_EQ(read(moved, {}, 0).rigid_size(), 3);
  EXPECT_EQ(read(moved, {}, 2).rigid_size(), 3);
  const v1::Frame frame = read(moved, {}, 3);
  ASSERT_EQ(frame.rigid_size(), 1);
  EXPECT_EQ(frame.rigid(0).body(), 2u);
  EXPECT_EQ(frame.deformables_size(), 1);
  EXPECT_EQ(read(moved, {}, 4).rigid_size(), 0);
  EXPECT_EQ(read(moved, {}, 4).deformables_size(), 0);
  EXPECT_EQ(moved.Encode({}, Since(1)), moved.Encode({}, Since(0)));

  // a reset moves everything
  EncodedState reset = publish(5, 1);
  EXPECT_EQ(read(reset, {}, 4).rigid_size(), 3);
}

// A soft block that comes to rest on the floor and sleeps there.
constexpr char kRestingBlock[] = R"(
time_step: 0.01
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: block, deformable: {mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05},
      pose: {position: [0, 0, 0.0501]}, damping: {alpha: 5, beta: 0.01},
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.3,
          density: 1000}}}
)";

TEST(EncodedState, FieldsOfContactOfASleepingBodyCostNothingUntilTheyChange) {
  physics::World world(LoadTestModel(kRestingBlock));
  MotionLog log;
  std::uint64_t version = 0;
  const auto publish = [&](std::shared_ptr<const physics::Snapshot> snapshot) {
    auto published = std::make_shared<Published>();
    published->snapshot = std::move(snapshot);
    published->version = ++version;
    log.Add(published);
    return EncodedState(published, std::make_shared<FrameLayout>(world.model()), nullptr, nullptr,
                        log.changes());
  };
  const FrameChoice pressure{{}, {v1::FIELD_MEASURE_CONTACT_PRESSURE}};
  const FrameChoice strain{{}, {v1::FIELD_MEASURE_VON_MISES_STRAIN}};
  const auto read = [&](EncodedState& state, const FrameChoice& choice) {
    v1::Frame frame;
    EXPECT_TRUE(frame.ParseFromString(*state.Encode(choice, Since(version - 1))));
    EXPECT_EQ(frame.deformables_size(), frame.fields_size());
    return frame.fields_size();
  };
  publish(world.TakeSnapshot());
  for (int k = 0; k < 1000 && world.report().asleep == 0; ++k) ASSERT_TRUE(world.Step().ok());
  ASSERT_EQ(world.report().asleep, 1);
  EncodedState fell_asleep = publish(world.TakeSnapshot());
  EXPECT_EQ(read(fell_asleep, pressure), 1);
  ASSERT_FALSE(world.report().contacts.empty());
  for (int k = 0; k < 3; ++k) {
    ASSERT_TRUE(world.Step().ok());
    EncodedState asleep = publish(world.TakeSnapshot());
    EXPECT_EQ(read(asleep, pressure), 0) << "step " << k;
  }

  // contact that changes without motion is sent, to those who see contact
  auto pushed = std::make_shared<physics::Snapshot>(*world.TakeSnapshot());
  pushed->report.contacts[0].impulse_W.z() *= 2;
  EncodedState touched = publish(pushed);
  EXPECT_EQ(read(touched, pressure), 1);
  EXPECT_EQ(read(touched, strain), 0);
}

TEST(Frame, ExactNumbersAreThoseOfTheState) {
  const auto published = PublishInitial();
  const physics::Model& model = *published->snapshot->model;
  const physics::Body& ball = model.bodies[physics::FindBody(model, "ball")];
  const auto q = model.Positions(published->snapshot->state, ball.block);
  FrameChoice choice{{}, {v1::FIELD_MEASURE_VOLUME_RATIO}};
  const auto compare = [&]<typename T>(v1::Precision precision, T) {
    choice.precision = precision;
    const v1::Frame frame = Read(published, choice);
    const std::string& positions = frame.deformables(0).positions();
    ASSERT_EQ(positions.size(), 3 * sizeof(T) * ball.surface.vertices.size());
    EXPECT_EQ(frame.deformables(0).precision(), precision);
    EXPECT_EQ(frame.fields(0).precision(), precision);
    EXPECT_EQ(frame.fields(0).values().size(), sizeof(T) * ball.surface.vertices.size());
    for (std::size_t i = 0; i < 3 * ball.surface.vertices.size(); ++i) {
      T number;
      std::memcpy(&number, positions.data() + sizeof(T) * i, sizeof(T));
      EXPECT_EQ(number, static_cast<T>(q[3 * ball.surface.vertices[i / 3] + i % 3]));
    }
  };
  compare(v1::PRECISION_FLOAT32, float());
  compare(v1::PRECISION_FLOAT64, double());
}

TEST(Frame, DecimatedTierHasTheVerticesOfTheDescription) {
  physics::World world(LoadTestModel(R"(bodies: [{name: ball, deformable: {
    mesh: {sphere: {radius: 0.1}, edge_length: 0.03},
    material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
        density: 1000}}}]
)"));
  const auto published = Publish(world);
  const v1::WorldDescription description = DescribeModel("w", world.model());
  const auto& kept = description.deformables(0).decimated_vertices();
  FrameChoice choice{{}, {v1::FIELD_MEASURE_VOLUME_RATIO}};
  choice.precision = v1::PRECISION_FLOAT32;
  const v1::Frame full = Read(published, choice);
  choice.tier = v1::TIER_DECIMATED;
  const v1::Frame decimated = Read(published, choice);
  ASSERT_GT(kept.size(), 0);
  ASSERT_LT(kept.size(), description.deformables(0).surface_to_volume_size() / 2);
  const std::string& all = full.deformables(0).positions();
  const std::string& some = decimated.deformables(0).positions();
  ASSERT_EQ(some.size(), 12u * kept.size());
  EXPECT_EQ(decimated.fields(0).values().size(), 4u * kept.size());
  for (int i = 0; i < kept.size(); ++i)
    EXPECT_EQ(some.substr(12 * i, 12), all.substr(12 * kept[i], 12)) << i;
  EXPECT_EQ(decimated.deformables(0).tier(), v1::TIER_DECIMATED);
  EXPECT_EQ(decimated.fields(0).tier(), v1::TIER_DECIMATED);
}

TEST(Frame, FieldsHaveTheirComponentsVertexByVertex) {
  physics::World world(LoadTestModel());
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.Step().ok());
  const auto published = Publish(world);
  const physics::Model& model = world.model();
  const int index = physics::FindBody(model, "ball");
  const physics::Body& ball = model.bodies[index];
  FrameChoice choice{{index},
                     {v1::FIELD_MEASURE_GREEN_STRAIN, v1::FIELD_MEASURE_VELOCITY,
                      v1::FIELD_MEASURE_CAUCHY_STRESS}};
  choice.precision = v1::PRECISION_FLOAT64;
  const v1::Frame frame = Read(published, choice);
  ASSERT_EQ(frame.fields_size(), 3);
  const auto calc = [&](physics::FieldMeasure measure) {
    return physics::CalcVertexField(model, world.state(), world.report(), index, measure, 0.01);
  };
  const auto v = model.Velocities(world.state(), ball.block);
  const auto compare = [&](const v1::FieldFrame& field, std::size_t components, const auto& all) {
    ASSERT_EQ(field.components(), components);
    ASSERT_EQ(field.values().size(), 8 * components * ball.surface.vertices.size());
    for (std::size_t i = 0; i < ball.surface.vertices.size(); ++i) {
      for (std::size_t c = 0; c < components; ++c) {
        double number = 0;
        std::memcpy(&number, field.values().data() + 8 * (components * i + c), 8);
        EXPECT_EQ(number, all[components * ball.surface.vertices[i] + c]);
      }
    }
  };
  compare(frame.fields(0), 6, calc(physics::FieldMeasure::kGreenStrain));
  compare(frame.fields(1), 3, v);
  compare(frame.fields(2), 6, calc(physics::FieldMeasure::kCauchyStress));
  EXPECT_EQ(frame.fields(1).unit(), "m/s");
  EXPECT_EQ(frame.fields(2).unit(), "Pa");
}

TEST(Frame, CompactFieldsHaveOneByteANumber) {
  FrameChoice choice{{}, {v1::FIELD_MEASURE_VON_MISES_STRAIN}};
  choice.precision = v1::PRECISION_COMPACT;
  const v1::Frame frame = Read(PublishInitial(), choice);
  EXPECT_EQ(frame.fields(0).precision(), v1::PRECISION_COMPACT);
  EXPECT_EQ(6 * frame.fields(0).values().size(), frame.deformables(0).positions().size());
}

TEST(Frame, ProbesAreSampledAtItsState) {
  physics::World world(LoadTestModel(std::string(kTestScene) + R"(probes:
  - {name: total, energy: {}}
  - {name: height, position: {body: cube}}
  - {name: touching, contact_points: {}}
)"));
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.Step().ok());
  FrameChoice choice;
  choice.probes = {1, 2};
  const v1::Frame frame = Read(Publish(world), choice);
  ASSERT_EQ(frame.probes_size(), 2);
  EXPECT_EQ(frame.probes(0).probe(), 1u);
  ASSERT_EQ(frame.probes(0).values_size(), 3);
  EXPECT_NEAR(frame.probes(0).values(2), 0.05, 0.01);
  EXPECT_EQ(frame.probes(1).rows_size(), frame.report().contacts());
  EXPECT_EQ(DescribeModel("w", world.model()).probes(1), "height");
}

TEST(Frame, PartsThatAreNotDueAreLeftOut) {
  physics::World world(LoadTestModel());
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.Step().ok());
  const auto published = Publish(world);
  EncodedState state(published, std::make_shared<FrameLayout>(world.model()), nullptr, nullptr);
  const FrameChoice choice{{}, {v1::FIELD_MEASURE_VON_MISES_STRAIN}, true};
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*state.Encode(choice)));
  EXPECT_EQ(frame.fields_size(), 1);
  EXPECT_GT(frame.contacts().gaps_size(), 0);
  EXPECT_GT(frame.forces().bodies_size(), 0);
  ASSERT_TRUE(frame.ParseFromString(
      *state.Encode(choice, {.fields = false, .contacts = false, .forces = false})));
  EXPECT_EQ(frame.fields_size(), 0);
  EXPECT_FALSE(frame.has_contacts());
  EXPECT_FALSE(frame.has_forces());
  EXPECT_EQ(frame.deformables_size(), 1);
}

double MeasureThreadTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Runs `work` repeatedly and returns its shortest processor time on this thread [s], which does not
// depend on other load on the machine.
template <typename Work>
double MeasureShortest(const Work& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 30; ++i) {
    const double start = MeasureThreadTime();
    work();
    least = std::min(least, MeasureThreadTime() - start);
  }
  return least;
}

TEST(Frame, OfSixHundredVerticesTakesLessThanHalfAStep) {
  physics::World world(LoadTestModel(R"(bodies: [{name: ball, deformable: {
    mesh: {sphere: {radius: 0.1}, edge_length: 0.0215},
    material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
        density: 1000}}}]
)"));
  const auto published = Publish(world);
  const FrameChoice strain{{}, {v1::FIELD_MEASURE_VON_MISES_STRAIN}};
  ASSERT_GE(world.model().bodies[0].mesh.vertices.size(), 500u);

  // a step on this thread alone is the reference for machines of any speed, and under sanitizers
  const double frame = MeasureShortest([&] { EncodeFrame(published, strain); });
  double step = 0;
  tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena(1).execute(
      [&] { step = MeasureShortest([&] { EXPECT_TRUE(world.Step().ok()); }); });
  RecordProperty("frame_microseconds", static_cast<int>(1e6 * frame));
  RecordProperty("step_microseconds", static_cast<int>(1e6 * step));
  EXPECT_LT(frame, 0.5 * step);
}

}  // namespace
}  // namespace pliant::server
