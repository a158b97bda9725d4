// The examples of Han et al. 2023 §VII over the whole times of the paper.

#include "tests/scenes/chain_links.h"

namespace pliant::physics {
namespace {

constexpr double kHeight = 59.9918547;  // of the arch's crown at the start [m]

TEST(MasonryArchLong, StandsForTenMinutes) {
  World world = LoadShipped("masonry_arch", {"sleeping=false"});
  RunUntil(600, &world);
  EXPECT_NEAR(ReadVector(world, "crown").z(), kHeight, 0.5);
}

TEST(MasonryArchLong, LiesInPiecesAfterAMinuteOnLittleFriction) {
  World world = LoadShipped("masonry_arch", {"contact.friction=0.2"});
  RunUntil(60, &world);
  EXPECT_LT(ReadVector(world, "crown").z(), kHeight - 10);
}

TEST(ChainLong, OfAHundredLinksSurvivesAMinute) {
  constexpr int kLinks = 100;
  std::string text = absl::StrCat(R"(
name: chain
sleeping: false
time_step: 0.02
bodies:
  - {name: hook, rigid: {motion: FIXED, shapes: [{mesh: {file: ")",
                                  PLIANT_SOURCE_DIR, R"(/scenes/meshes/chain/hook.obj"}}]}}
  - name: link
    template: true
    deformable:
      mesh: {torus: {ring_radius: 0.4, tube_radius: 0.1, slices: 42}, edge_length: 0.1}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e7, poissons_ratio: 0.4, density: 500}
      damping: {beta: 0.05}
instances:
  - of: link
    poses:
)");
  for (int i = 1; i <= kLinks; ++i) {
    absl::StrAppend(&text, "      - {position: [0, 0, ", -0.51 * i, "], rpy_degrees: [90, 0, ",
                    90 * (i % 2), "]}\n");
  }
  World world = LoadWorld(text);
  for (int t = 5; t <= 60; t += 5) {
    RunUntil(t, &world);
    ExpectLinked(world, kLinks);
  }
}

}  // namespace
}  // namespace pliant::physics
