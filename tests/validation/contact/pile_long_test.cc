// A pile of five hundred boxes.

#include <algorithm>
#include <random>
#include <string>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// Five layers of a hundred boxes, at random angles, the lowest 2 m above the ground.
std::string FiveHundredBoxes() {
  std::mt19937 random(1);
  const auto draw = [&](double low, double high) {
    return low + (high - low) * (random() / 4294967296.0);
  };
  std::string boxes;
  for (int n = 0; n < 500; ++n) {
    const double size = 0.07 + 0.03 * (n % 2);
    boxes += absl::StrCat(
        "  - {name: box_", n, ", rigid: {motion: FREE, density: 1000, shapes: ", "[{box: {size: [",
        2 * size, ", ", 1.6 * size, ", ", 1.2 * size, "]}}], pose: {position: [",
        (n % 10 - 4.5) * 0.27 + draw(-0.02, 0.02), ", ",
        (n / 10 % 10 - 4.5) * 0.27 + draw(-0.02, 0.02), ", ", 2 + 0.27 * (n / 100),
        "], rpy_degrees: [", draw(0, 360), ", ", draw(0, 360), ", ", draw(0, 360), "]}}}\n");
  }
  return boxes;
}

TEST(Pile, OfFiveHundredBoxesComesToRest) {
  World world = LoadWorld(R"(
name: pile
time_step: 0.005
contact: {friction: 0.5}
probes:
  - {name: overlap, penetration: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)" + FiveHundredBoxes());
  const auto count_moving = [&] {
    int moving = 0;
    for (const Body& body : world.model().bodies) {
      if (body.block == kWorldBlock) continue;
      const auto v = world.model().Velocities(world.state(), body.block);
      moving += std::ranges::any_of(v, [](double x) { return std::abs(x) > 1e-2; });
    }
    return moving;
  };
  RunUntil(3, &world);
  // boxes still roll off the heap, 7 to 46 of them in trajectories that differ by rounding; one
  // that stands on an edge may take seconds to topple
  EXPECT_LE(count_moving(), 50);
  // In some trajectories a box hangs between others by two points, and swings about them like a
  // pendulum: nothing that the scene has slows it down, and the heap that it hangs in stays awake.
  RunUntil(6, &world);
  EXPECT_LE(count_moving(), 1);
  if (count_moving() == 0) {
    EXPECT_EQ(world.report().asleep, 500);
  }
  EXPECT_LT(Read(world, "overlap").front(), 5e-4);
}

}  // namespace
}  // namespace pliant::physics
