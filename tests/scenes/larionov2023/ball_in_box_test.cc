// A ball that spins at 4800 rpm in an elastic box (larionov2023 §V-A3) by SDIRK2 at 0.1 ms.

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

double PotentialOf(const World& world) {
  const Model& model = world.model();
  double sum = 0;
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    const BlockState state = model.StateOf(world.state(), static_cast<int>(b));
    sum +=
        model.blocks[b]->CalcEnergies(state, model.gravity, DynamicsBlock::kWholeBlock).potential;
  }
  return sum;
}

// The run ends after the first bounce, on a wall that the spinning ball rolls down.
TEST(BallInBox, BouncesWithoutGainingEnergy) {
  World world = LoadShipped("ball_in_box");
  const double start_potential = PotentialOf(world);
  const auto energy = [&] { return ReadNumber(world, "energy") - start_potential; };
  const double start = energy();
  double largest_force = 0;
  while (world.state().time < 0.025) {
    RunUntil(world.state().time + world.model().time_step, &world);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_LT(energy(), start) << world.state().time;
    largest_force = std::max(largest_force, std::abs(ReadNumber(world, "force")));
  }
  EXPECT_GT(largest_force, 0.3);  // m v over the 6 ms of the bounce
  EXPECT_GT(energy(), 0.5 * start);
  // it has left the wall at −26.7 mm, and comes back
  EXPECT_GT(ReadVector(world, "ball_position").x(), -0.0167 + 1e-4);
  EXPECT_EQ(world.report().compromises[Compromise::kStiffened], 0);  // κ stays as it is
}

}  // namespace
}  // namespace pliant::physics
