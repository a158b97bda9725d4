// A pile of five hundred boxes.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

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
  // In some trajectories a box hangs between others by two points, and swings about them like a
  // pendulum: nothing that the scene has slows it down.
  RunUntil(6, &world);
  const Model& model = world.model();
  std::vector<bool> swings(model.blocks.size(), false);
  for (std::size_t b = 0; b < swings.size(); ++b)
    for (const double v : model.Velocities(world.state(), static_cast<int>(b)))
      swings[b] = swings[b] || std::abs(v) > 1e-2;
  EXPECT_LE(std::ranges::count(swings, true), 1);
  // the heap that it hangs in stays awake, and all else sleeps
  std::vector<bool> is_awake = swings;
  for (bool grows = true; grows;) {
    grows = false;
    for (const ContactForce& contact : world.report().contacts) {
      const int a = model.bodies[contact.body_a].block, b = model.bodies[contact.body_b].block;
      if (a == kWorldBlock || b == kWorldBlock || is_awake[a] == is_awake[b]) continue;
      is_awake[a] = is_awake[b] = grows = true;
    }
  }
  for (std::size_t b = 0; b < swings.size(); ++b)
    EXPECT_EQ(world.state().rest[b] >= 0, is_awake[b]) << b;
  EXPECT_LT(Read(world, "overlap").front(), 5e-4);
}

}  // namespace
}  // namespace pliant::physics
