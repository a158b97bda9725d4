#include "server/stream/frame_layout.h"

#include <string>

#include "gtest/gtest.h"

#include "physics/world/world.h"
#include "server/stream/frame_encoder.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

// A box on the ground, and a ball whose surface is large enough to be decimated.
constexpr char kBoxAndBall[] = R"(bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: box, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
     shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
  - name: ball
    deformable: {mesh: {sphere: {radius: 0.1}, edge_length: 0.02}, pose: {position: [1, 0, 0.2]},
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
        density: 1000}}
)";

class FrameLayoutTest : public testing::Test {
 protected:
  const std::shared_ptr<const physics::Model> model_ = LoadTestModel(kBoxAndBall);
  const std::shared_ptr<const FrameLayout> layout_ = std::make_shared<const FrameLayout>(*model_);
};

TEST_F(FrameLayoutTest, SizeIsAboutThatOfFramesAndNotLess) {
  const auto published = std::make_shared<Published>();
  published->snapshot = physics::World(model_).TakeSnapshot();
  for (int tier = 0; tier < v1::Tier_ARRAYSIZE; ++tier) {
    for (int precision = 0; precision < v1::Precision_ARRAYSIZE; ++precision) {
      FrameChoice choice{{}, {v1::FIELD_MEASURE_GREEN_STRAIN, v1::FIELD_MEASURE_VELOCITY}};
      choice.tier = static_cast<v1::Tier>(tier);
      choice.precision = static_cast<v1::Precision>(precision);
      const std::size_t size = EncodeFrame(published, choice, layout_)->size();
      EXPECT_LE(size, layout_->CalcSize(choice)) << choice.tier << choice.precision;
      // generous about what all frames share and about the vertices that decimation leaves
      EXPECT_GE(size * 3 / 2 + 4096, layout_->CalcSize(choice)) << choice.tier << choice.precision;
    }
  }
}

TEST_F(FrameLayoutTest, FramesThatAreTooLargeAreRefusedNamingTheTierThatFits) {
  FrameChoice choice{{}, {v1::FIELD_MEASURE_VON_MISES_STRAIN}};
  choice.precision = v1::PRECISION_FLOAT64;
  const auto refuse = [&](std::size_t limit) {
    const absl::Status status = layout_->CheckSize(choice, limit);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    return std::string(status.message());
  };
  const std::size_t size = layout_->CalcSize(choice);
  EXPECT_TRUE(layout_->CheckSize(choice, size).ok());
  EXPECT_NE(refuse(size - 1).find("TIER_DECIMATED with PRECISION_FLOAT64 fits"), std::string::npos);

  choice.tier = v1::TIER_DECIMATED;
  EXPECT_NE(
      refuse(layout_->CalcSize(choice) - 1).find("TIER_DECIMATED with PRECISION_COMPACT fits"),
      std::string::npos);
  EXPECT_NE(refuse(100).find("fewer bodies"), std::string::npos);
}

}  // namespace
}  // namespace pliant::server
