#include "server/stream/frame_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <time.h>

#include "gtest/gtest.h"
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "physics/world/world.h"
#include "pliant/v1/gateway.pb.h"
#include "pliant/v1/stream.pb.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

int ReadNumber(const std::string& bytes, std::size_t index) {
  return static_cast<std::uint8_t>(bytes[2 * index]) |
         static_cast<std::uint8_t>(bytes[2 * index + 1]) << 8;
}

Published PublishInitial() {
  physics::World world(LoadTestModel());
  Published published;
  published.snapshot = world.TakeSnapshot();
  published.version = 1;
  return published;
}

TEST(QuantizePoints, ErrorIsHalfAStepOfTheGridAtMost) {
  std::vector<Eigen::Vector3d> points;
  for (int i = 0; i < 200; ++i)
    points.emplace_back(std::cos(i) * 0.5, std::sin(3 * i) * 2, i * 0.01 - 7);
  const QuantizedPoints result = QuantizePoints(points);
  ASSERT_EQ(result.numbers.size(), 6 * points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      const int number = ReadNumber(result.numbers, 3 * i + axis);
      EXPECT_LE(number, 32767);
      EXPECT_NEAR(result.origin[axis] + result.scale[axis] * number, points[i][axis],
                  0.5001 * result.scale[axis]);
    }
  }
}

TEST(QuantizePoints, FlatAndEmptyClothsAreExact) {
  EXPECT_TRUE(QuantizePoints({}).numbers.empty());
  const QuantizedPoints flat = QuantizePoints({{1, 2, 3}, {2, 2, 3}});
  EXPECT_EQ(flat.scale.y(), 0);
  EXPECT_EQ(flat.origin.z(), 3);
  EXPECT_EQ(ReadNumber(flat.numbers, 1), 0);
}

TEST(QuantizeField, SpansItsRange) {
  const QuantizedField field = QuantizeField({-1, 0, 3});
  EXPECT_EQ(field.min, -1);
  EXPECT_EQ(field.max, 3);
  EXPECT_EQ(ReadNumber(field.numbers, 0), 0);
  EXPECT_EQ(ReadNumber(field.numbers, 1), 16384);
  EXPECT_EQ(ReadNumber(field.numbers, 2), 65535);
}

TEST(Frame, HeadAndSharedBodyAreOneMessageForBothTransports) {
  const Published published = PublishInitial();
  const auto body = EncodeFrameBody(published, {});
  v1::SubscribeResponse response;
  ASSERT_TRUE(response.ParseFromString(EncodeFrameHead(70000, true, body->size(), false) + *body));
  EXPECT_EQ(response.frame().frame(), 70000u);
  EXPECT_TRUE(response.frame().keyframe());
  EXPECT_EQ(response.frame().rigid_size(), 3);

  v1::ServerMessage message;
  ASSERT_TRUE(message.ParseFromString(EncodeFrameHead(1, false, body->size(), true) + *body));
  EXPECT_EQ(message.stream().frame().frame(), 1u);
  EXPECT_FALSE(message.stream().frame().keyframe());
  EXPECT_EQ(message.stream().frame().rigid_size(), 3);
}

TEST(Frame, PositionsAreThoseOfTheSurface) {
  const Published published = PublishInitial();
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*EncodeFrameBody(published, {})));
  const physics::Model& model = *published.snapshot->model;
  const physics::Body& ball = model.bodies[physics::FindBody(model, "ball")];
  const auto q = model.Positions(published.snapshot->state, ball.block);
  const v1::DeformableFrame& soft = frame.deformables(0);
  ASSERT_EQ(soft.positions().size(), 6 * ball.surface.vertices.size());
  for (std::size_t i = 0; i < ball.surface.vertices.size(); ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      const double x =
          soft.origin(axis) + soft.scale(axis) * ReadNumber(soft.positions(), 3 * i + axis);
      EXPECT_NEAR(x, q[3 * ball.surface.vertices[i] + axis], 0.1 / 32767);
    }
  }
}

TEST(Frame, ContactIsShownAsTheLengthOfItsTraction) {
  physics::World world(LoadTestModel());
  Published published;
  const auto read = [&](physics::FieldMeasure measure) {
    published.snapshot = world.TakeSnapshot();
    FrameChoice choice;
    choice.measure = measure;
    v1::Frame frame;
    EXPECT_TRUE(frame.ParseFromString(*EncodeFrameBody(published, choice)));
    return frame.deformables(0);
  };
  EXPECT_EQ(read(physics::FieldMeasure::kContactPressure).field_max(), 0);
  for (int k = 0; k < 100; ++k) ASSERT_TRUE(world.Step().ok());
  const v1::DeformableFrame pressure = read(physics::FieldMeasure::kContactPressure);
  const v1::DeformableFrame traction = read(physics::FieldMeasure::kContactTraction);
  EXPECT_GT(pressure.field_max(), 0);
  EXPECT_GE(traction.field_max(), pressure.field_max());
  EXPECT_EQ(pressure.unit(), "Pa");
  EXPECT_EQ(pressure.measure(), v1::FIELD_MEASURE_CONTACT_PRESSURE);
  EXPECT_EQ(traction.measure(), v1::FIELD_MEASURE_CONTACT_TRACTION);
}

TEST(Frame, ChosenBodiesOnlyAreSent) {
  FrameChoice choice;
  choice.bodies = {"cube"};
  v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*EncodeFrameBody(PublishInitial(), choice)));
  ASSERT_EQ(frame.rigid_size(), 1);
  EXPECT_EQ(frame.rigid(0).body(), 2u);  // its index among all rigid bodies, not among those sent
  EXPECT_NEAR(frame.rigid(0).pose(2), 0.05, 1e-15);
  EXPECT_EQ(frame.deformables_size(), 0);
}

double MeasureThreadTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Runs `work` repeatedly and returns its shortest processor time on this thread [s], which does not
// depend on other load on the machine.
template <typename Work>
double MeasureLeast(const Work& work) {
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
  Published published;
  published.snapshot = world.TakeSnapshot();
  ASSERT_GE(world.model().bodies[0].mesh.vertices.size(), 500u);

  // a step on this thread alone is the reference for machines of any speed, and under sanitizers
  const double frame = MeasureLeast([&] { EncodeFrameBody(published, {}); });
  double step = 0;
  tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena(1).execute([&] { step = MeasureLeast([&] { EXPECT_TRUE(world.Step().ok()); }); });
  RecordProperty("frame_microseconds", static_cast<int>(1e6 * frame));
  RecordProperty("step_microseconds", static_cast<int>(1e6 * step));
  EXPECT_LT(frame, 0.5 * step);
}

}  // namespace
}  // namespace pliant::server
