// A stack of ten boxes that is dropped.

#include <string>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

class DroppedStack : public ::testing::TestWithParam<std::string> {};

// The boxes start one on another, or fall one after another.
TEST_P(DroppedStack, LandsAndStands) {
  for (const double between : {0.0, 0.05}) {
    std::string boxes;
    for (int i = 0; i < 10; ++i) {
      boxes += Fill(
          "  - {name: box_$I, rigid: {motion: FREE, density: 1000, "
          "shapes: [{box: {size: [0.1, 0.1, 0.1]}}], pose: {position: [0, 0, $Z]}}}\n",
          {{"$I", std::to_string(i)}, {"$Z", Number(0.1 + i * (0.1 + between))}});
    }
    World world = LoadWorld(Fill(R"(
name: stack
time_step: 0.01
method: {$METHOD: {}}
contact: {friction: 0.5}
probes:
  - {name: top, position: {body: box_9}}
  - {name: speed, velocity: {body: box_9}}
  - {name: overlap, penetration: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)",
                                 {{"$METHOD", GetParam()}}) +
                            boxes);
    RunUntil(0.15, &world);
    // no box is thrown up by more than its share of the contacts' compression
    double highest = -1;
    while (world.state().time < 3) {
      ASSERT_TRUE(world.Step().ok());
      ASSERT_TRUE(world.report().converged) << "step " << world.state().step;
      highest = std::max(highest, ReadVector(world, "speed").z());
    }
    EXPECT_LT(highest, between > 0 ? 0.5 : 0.25);
    const Eigen::Vector3d top = ReadVector(world, "top");
    EXPECT_LT(top.head<2>().norm(), 1e-3);
    // the lowest contact bears ten boxes: β² g h² / (4π²) for each of them
    EXPECT_NEAR(top.z(), 0.95, 5e-3);
    EXPECT_LT(Read(world, "overlap").front(), 1e-3);
    // `corrective` ends its recursions with velocities of a part in ten thousand of the drop's
    EXPECT_LT(ReadVector(world, "speed").norm(), GetParam() == "corrective" ? 1e-3 : 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, DroppedStack,
                         ::testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
