#include <gtest/gtest.h>

#include "physics/world/world.h"
#include "tests/counted_allocations.h"
#include "tests/physics/stepping/boxes_and_arm.h"
#include "tests/physics/world/small_models.h"

namespace pliant::physics {
namespace {

// Stacked boxes beside an arm that a script swings, a client drives to targets, and a controller
// moves by a twist.
std::shared_ptr<const Model> MakeDrivenArm() {
  Model model = MakeBoxesAndArm();
  const auto add_script = [&](Script::Kind kind, int index, std::vector<double> low,
                              std::vector<double> high) {
    Script script;
    script.kind = kind;
    script.index = index;
    for (int k = 0; k < 20; ++k) {
      script.times.push_back(0.5 * k);
      script.values.push_back(k % 2 == 0 ? low : high);
    }
    model.script.push_back(script);
  };
  Controller tool;
  tool.name = "tool";
  tool.body = static_cast<int>(model.bodies.size()) - 1;
  for (int a = 2; a < static_cast<int>(model.actuators.size()); ++a) tool.actuators.push_back(a);
  tool.posture.resize(tool.actuators.size());
  model.controllers.push_back(tool);
  add_script(Script::Kind::kActuator, 0, {-0.2}, {0.2});
  add_script(Script::Kind::kTwist, 0, {0, 0, 0, 0, -0.05, 0}, {0, 0, 0, 0, 0.05, 0});
  Script push;
  push.kind = Script::Kind::kForce;
  push.body = 1;
  push.times = {0, 100};
  push.values = {{0, 0, -1}, {0, 0, -1}};
  model.script.push_back(push);
  return Finish(std::move(model));
}

TEST(WorldAllocation, ASteadyRigidWorldWithADrivenArmStepsWithoutAny) {
  World world(MakeDrivenArm());
  Inputs commands;
  commands.actuators.push_back({1, 1.2});
  // after two periods of the script, the largest number of contacts has occurred
  for (int k = 0; k < 400; ++k) ASSERT_TRUE(world.Step(commands).ok());
  ASSERT_GE(world.report().contacts.size(), 12u);
  const std::vector<double> before_q = world.state().q;

  const std::int64_t before = CountAllocations();
  for (int k = 0; k < 200; ++k) ASSERT_TRUE(world.Step(commands).ok());
  EXPECT_EQ(CountAllocations() - before, 0);
  // the arm did move
  EXPECT_NE(world.state().q, before_q);
}

}  // namespace
}  // namespace pliant::physics
