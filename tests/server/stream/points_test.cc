// Bodies of points in descriptions and frames.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

#include "physics/world/probes.h"
#include "server/stream/frame_encoder.h"
#include "server/stream/messages.h"
#include "server/stream/surface_tiers.h"
#include "tests/server/host/point_bodies.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

constexpr int kFew = PointsBlock::kFew, kMany = PointsBlock::kMany;
constexpr int kFirstOfMany = kFew + PointsBlock::kSurface;  // node

template <typename T>
T ReadNumber(const std::string& bytes, std::size_t index) {
  T number;
  std::memcpy(&number, bytes.data() + sizeof(T) * index, sizeof(T));
  return number;
}

std::shared_ptr<const Published> Publish() {
  auto published = std::make_shared<Published>();
  published->snapshot = TakePointsSnapshot();
  published->version = 1;
  return published;
}

v1::Frame Read(const FrameChoice& choice) {
  v1::Frame frame;
  EXPECT_TRUE(frame.ParseFromString(*EncodeFrame(Publish(), choice)));
  return frame;
}

TEST(PointDescription, HasTheirNumberAndARadiusOfEachUnlessTheyAreEqual) {
  const auto model = MakePointsModel();
  const v1::WorldDescription description = DescribeModel("w", *model);
  ASSERT_EQ(description.deformables_size(), 2);
  const v1::DeformableDescription &few = description.deformables(0),
                                  &many = description.deformables(1);
  EXPECT_EQ(few.points().count(), static_cast<std::uint32_t>(kFew));
  ASSERT_EQ(few.points().radii_size(), 1);
  EXPECT_FALSE(few.has_surface());
  EXPECT_EQ(many.name(), "many");
  EXPECT_EQ(many.density(), 1200);
  ASSERT_EQ(many.points().radii_size(), kMany);
  // balls of the points' volumes, in single precision
  const auto volume = [](float r) { return 4.0 / 3 * M_PI * std::pow(r, 3); };
  EXPECT_NEAR(volume(few.points().radii(0)), 1e-6, 1e-12);
  for (int i = 0; i < kMany; i += 100)
    EXPECT_NEAR(volume(many.points().radii(i)), 1e-6 * (1 + 0.001 * (kFew + i)), 1e-12) << i;
}

TEST(PointDescription, ListsTheFieldsThatABodyHas) {
  const v1::WorldDescription points = DescribeModel("w", *MakePointsModel());
  const auto list = [](const v1::DeformableDescription& body) {
    return std::vector<int>(body.fields().begin(), body.fields().end());
  };
  EXPECT_EQ(list(points.deformables(0)),
            (std::vector<int>{v1::FIELD_MEASURE_VOLUME_RATIO, v1::FIELD_MEASURE_VELOCITY,
                              v1::FIELD_MEASURE_SPEED}));
  EXPECT_EQ(list(points.deformables(1)),
            (std::vector<int>{v1::FIELD_MEASURE_VOLUME_RATIO, v1::FIELD_MEASURE_VELOCITY,
                              v1::FIELD_MEASURE_PLASTIC_STRAIN, v1::FIELD_MEASURE_SPEED}));
  const std::vector<int> ball = list(DescribeModel("w", *LoadTestModel()).deformables(0));
  EXPECT_EQ(std::ranges::count(ball, v1::FIELD_MEASURE_CONTACT_PRESSURE), 1);
  EXPECT_EQ(std::ranges::count(ball, v1::FIELD_MEASURE_PLASTIC_STRAIN), 0);
}

TEST(PointDescription, WorldCountsParticles) {
  EXPECT_EQ(DescribeStatus("w", *Publish()).size().particles(), kFew + kMany);
}

TEST(PointFrame, HasThePositionsOfThePointsAloneQuantizedOrExact) {
  v1::Frame frame = Read({});
  ASSERT_EQ(frame.deformables_size(), 2);
  const v1::DeformableFrame& many = frame.deformables(1);
  EXPECT_EQ(many.body(), 1u);
  ASSERT_EQ(many.positions().size(), 6u * kMany);
  for (int i = 0; i < 3 * kMany; ++i) {
    const double x =
        many.origin(i % 3) + many.scale(i % 3) * ReadNumber<std::int16_t>(many.positions(), i);
    ASSERT_NEAR(x, PointsBlock::PositionNumber(3 * kFirstOfMany + i), 0.5001 * many.scale(i % 3));
  }

  FrameChoice exact;
  exact.precision = v1::PRECISION_FLOAT64;
  frame = Read(exact);
  ASSERT_EQ(frame.deformables(1).positions().size(), 24u * kMany);
  for (int i = 0; i < 3 * kMany; ++i)
    ASSERT_EQ(ReadNumber<double>(frame.deformables(1).positions(), i),
              PointsBlock::PositionNumber(3 * kFirstOfMany + i));
}

TEST(PointFrame, HasTheFieldsOfItsElementsAndLeavesOutThoseThatItLacks) {
  FrameChoice choice{{},
                     {v1::FIELD_MEASURE_VON_MISES_STRAIN, v1::FIELD_MEASURE_VOLUME_RATIO,
                      v1::FIELD_MEASURE_CONTACT_PRESSURE, v1::FIELD_MEASURE_PLASTIC_STRAIN,
                      v1::FIELD_MEASURE_SPEED}};
  choice.precision = v1::PRECISION_FLOAT64;
  const v1::Frame frame = Read(choice);
  ASSERT_EQ(frame.fields_size(), 5);  // volume and speed of few; these and plastic strain of many
  EXPECT_EQ(frame.fields(0).body(), 0u);
  EXPECT_EQ(frame.fields(0).values().size(), 8u * kFew);
  const v1::FieldFrame &ratio = frame.fields(2), &plastic = frame.fields(3),
                       &speed = frame.fields(4);
  EXPECT_EQ(plastic.body(), 1u);
  EXPECT_EQ(plastic.measure(), v1::FIELD_MEASURE_PLASTIC_STRAIN);
  EXPECT_EQ(speed.unit(), "m/s");
  for (int i = 0; i < kMany; ++i) {
    // a mean of one number, weighted and divided by its weight: 2 ulp
    ASSERT_NEAR(ReadNumber<double>(ratio.values(), i), PointsBlock::VolumeRatio(kFew + i),
                1e-15 * 4);
    ASSERT_NEAR(ReadNumber<double>(plastic.values(), i), PointsBlock::PlasticStrain(kFew + i),
                1e-15 * 1000);
    const auto v = [i](int k) { return PointsBlock::VelocityNumber(3 * (kFirstOfMany + i) + k); };
    ASSERT_NEAR(ReadNumber<double>(speed.values(), i), std::hypot(v(0), v(1), v(2)), 1e-15 * 4);
  }
}

TEST(PointFrame, QuantizedFieldsSpanTheirRange) {
  const v1::Frame frame = Read({{2}, {v1::FIELD_MEASURE_VOLUME_RATIO}});
  ASSERT_EQ(frame.fields_size(), 1);
  const v1::FieldFrame& field = frame.fields(0);
  ASSERT_EQ(field.values().size(), 2u * kMany);
  EXPECT_EQ(ReadNumber<std::uint16_t>(field.values(), 0), 0);
  EXPECT_EQ(ReadNumber<std::uint16_t>(field.values(), kMany - 1), 65535);
  EXPECT_NEAR(field.min(), PointsBlock::VolumeRatio(kFew), 1e-14);
  EXPECT_NEAR(field.max(), PointsBlock::VolumeRatio(kFew + kMany - 1), 1e-14);
}

TEST(PointFrame, DecimatedTierHasThePointsOfTheDescription) {
  const auto model = MakePointsModel();
  const v1::WorldDescription description = DescribeModel("w", *model);
  const auto& kept = description.deformables(1).decimated_vertices();
  EXPECT_EQ(kept.size(), (kMany + 3) / 4);
  EXPECT_EQ(description.deformables(0).decimated_vertices_size(), 0);
  FrameChoice choice{{}, {v1::FIELD_MEASURE_VOLUME_RATIO}};
  choice.precision = v1::PRECISION_FLOAT32;
  const v1::Frame full = Read(choice);
  choice.tier = v1::TIER_DECIMATED;
  const v1::Frame some = Read(choice);
  EXPECT_EQ(some.deformables(0).positions(), full.deformables(0).positions());
  ASSERT_EQ(some.deformables(1).positions().size(), 12u * kept.size());
  ASSERT_EQ(some.fields(1).values().size(), 4u * kept.size());
  for (int i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(some.deformables(1).positions().substr(12 * i, 12),
              full.deformables(1).positions().substr(12 * kept[i], 12));
    ASSERT_EQ(some.fields(1).values().substr(4 * i, 4),
              full.fields(1).values().substr(4 * kept[i], 4));
  }
}

TEST(PointFrame, SizeIsForeseen) {
  const FrameLayout layout(*MakePointsModel());
  for (const v1::Tier tier : {v1::TIER_UNSPECIFIED, v1::TIER_DECIMATED}) {
    FrameChoice choice{{2}, {v1::FIELD_MEASURE_VOLUME_RATIO, v1::FIELD_MEASURE_VELOCITY}};
    choice.tier = tier;
    const std::size_t size = EncodeFrame(Publish(), choice)->size();
    EXPECT_LE(size, layout.CalcSize(choice)) << tier;
    EXPECT_GE(size + 4096, layout.CalcSize(choice)) << tier;
  }
}

TEST(PointFrame, OfABodyThatHasNotMovedIsLeftOutWhateverTouchesIt) {
  const auto published = Publish();
  // points have no fields of contact, which would change without motion
  EncodedState state(published, std::make_shared<FrameLayout>(*published->snapshot->model), nullptr,
                     nullptr, {.moved = {1, 1, 1}, .touched = {2, 2, 2}});
  v1::Frame frame;
  const FrameChoice choice{{},
                           {v1::FIELD_MEASURE_VOLUME_RATIO, v1::FIELD_MEASURE_CONTACT_PRESSURE}};
  ASSERT_TRUE(
      frame.ParseFromString(*state.Encode(choice, {.positions_since = 1, .fields_since = 1})));
  EXPECT_EQ(frame.deformables_size() + frame.fields_size(), 0);
  ASSERT_TRUE(frame.ParseFromString(*state.Encode(choice)));
  EXPECT_EQ(frame.deformables_size(), 2);
}

TEST(DecimatedPoints, AreOneOfEveryFourInNoPattern) {
  const std::vector<std::uint32_t> kept = DecimatePoints(10'001);
  ASSERT_EQ(kept.size(), 2501u);
  int places[4] = {0, 0, 0, 0};
  int repeats = 0;
  for (std::size_t i = 0; i < 2500; ++i) {
    ASSERT_EQ(kept[i] / 4, i);
    ++places[kept[i] % 4];
    if (i > 0 && kept[i] % 4 == kept[i - 1] % 4) ++repeats;
  }
  EXPECT_EQ(kept.back(), 10'000u);
  // 625 ± 5 standard deviations of 22 each, as by chance
  for (const int place : places) EXPECT_NEAR(place, 625, 110);
  EXPECT_NEAR(repeats, 625, 110);
  EXPECT_TRUE(DecimatePoints(511).empty());
}

}  // namespace
}  // namespace pliant::server
