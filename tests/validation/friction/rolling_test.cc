// Round shapes that roll on the ground, or spin on it without friction, keep their energy.

#include <string>
#include <tuple>
#include <utility>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

class Rolling : public ::testing::TestWithParam<
                    std::tuple<const char*, std::pair<const char*, const char*>>> {};

TEST_P(Rolling, KeepsItsEnergy) {
  const auto& [method, shape] = GetParam();
  for (const double friction : {0.0, 0.6}) {
    World world = LoadWorld(
        Fill(R"(
name: rolling
time_step: 0.005
sleeping: false
method: {$METHOD: {}}
contact: {friction: $FRICTION}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: shape
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05], rpy_degrees: [90, 0, 0]},
      shapes: [{$SHAPE}], velocity: {linear: [1, 0, 0], angular: [0, 20, 0]}}
probes:
  - {name: kinetic, energy: {kind: KINETIC}}
  - {name: shape, position: {body: shape}}
)",
             {{"$METHOD", method}, {"$SHAPE", shape.second}, {"$FRICTION", Number(friction)}}));
    // contacts of `smooth` come to their distance first
    RunUntil(0.1, &world);
    const double start = Read(world, "kinetic").at(0);
    const double from = ReadVector(world, "shape").x();
    RunUntil(2, &world);
    EXPECT_NEAR(Read(world, "kinetic").at(0), start, 1e-3 * start) << friction;
    EXPECT_NEAR(ReadVector(world, "shape").x() - from, 1.9, 0.01 * 1.9) << friction;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Rolling,
    ::testing::Combine(
        ::testing::Values("convex", "corrective", "nonsmooth", "smooth"),
        ::testing::Values(std::pair("sphere", "sphere: {radius: 0.05}"),
                          std::pair("cylinder", "cylinder: {radius: 0.05, length: 0.1}"),
                          std::pair("capsule", "capsule: {radius: 0.05, length: 0.1}"),
                          std::pair("ellipsoid", "ellipsoid: {radii: [0.05, 0.05, 0.08]}"))),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param), "_", std::get<1>(info.param).first);
    });

}  // namespace
}  // namespace pliant::physics
