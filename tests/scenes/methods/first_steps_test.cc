// The first steps of every shipped scene by every method, in which bodies come into contact.

#include "tests/scenes/methods/every_method.h"

namespace pliant::physics {
namespace {

// Bodies that touch in these scenes do so within 18 steps, except for the gripper of
// `yumi_cabinet`, which reaches the handle later. The nonsmooth method takes 0.3 s for a step of
// the masonry arch, so it runs for two steps here, and for a second of the scene in the long test.
const SceneCourse kFirstSteps[] = {
    {"allegro_adversary", 25, true, {25, 25, 24, 25}},
    {"allegro_ball", 25, true, {25, 25, 25, 25}},
    {"allegro_grasp", 25, true, {25, 25, 25, 25}},
    {"arch", 25, true, {25, 25, 25, 25}},
    {"ball_in_box", 25, false, {25, 25, 25, 25}},
    {"ball_on_slope", 25, true, {25, 25, 25, 25}},
    {"ball_squish", 25, true, {25, 25, 25, 25}},
    {"beam_insertion", 25, true, {25, 25, 25, 25}},
    {"bending_bar", 25, false, {25, 25, 25, 25}},
    {"block_slide", 25, true, {25, 25, 25, 25}},
    {"bowl_grasp", 10, true, {10, 10, 10, 10}},
    {"cantilever", 25, false, {25, 25, 25, 25}},
    {"chain", 25, true, {25, 25, 25, kTooSlow}},
    {"cube_on_slope", 25, true, {25, 25, 25, 25}},
    {"cylinder_press", 25, true, {25, 25, 25, 25}},
    {"close_lift_shake", 25, true, {25, kTooSlow, kTooSlow, kTooSlow}},
    {"dam_break", 25, true, {25, kTooSlow, kTooSlow, kTooSlow}},
    {"dough_bubble", 10, true, {10, 10, 10, 10}},
    {"dough_hand", 10, true, {10, kTooSlow, kTooSlow, 10}},
    {"dough_rolling", 25, true, {25, kTooSlow, kTooSlow, kTooSlow}},
    {"dough_tearing", 10, true, {10, kTooSlow, kTooSlow, kTooSlow}},
    {"extension", 25, false, {25, 25, 25, 25}},
    {"fetch", 25, true, {25, 25, 25, 25}},
    {"fetch_drive", 25, true, {25, 25, 25, 25}},
    {"heavy_stack", 25, true, {25, 25, 25, 25}},
    {"humanoid", 25, true, {25, 25, 25, 25}},
    {"iiwa_allegro", 25, true, {25, 25, 25, 25}},
    {"iiwa_wsg", 25, true, {25, 25, 25, 25}},
    {"inflated_ball", 25, true, {25, 25, 25, 25}},
    {"masonry_arch", 2, true, {2, 2, 0, 2}},
    {"paddle_press", 25, true, {25, 25, 25, 25}},
    {"parabolic_arch", 25, true, {25, 25, 25, 25}},
    {"particle_ball_on_slope", 25, true, {25, 25, 25, 25}},
    {"particle_panels", 25, true, {25, 25, kTooSlow, 25}},
    {"pneunet", 25, true, {25, 25, 25, 25}},
    {"rolling_shapes", 25, true, {25, 25, 25, 25}},
    {"rubber_ladybird", 25, true, {25, 25, 25, 25}},
    {"rubber_pumpkin", 25, true, {25, 25, 25, 25}},
    {"soft_ball", 25, true, {25, 25, 25, 25}},
    {"soft_box_rest", 25, true, {25, 25, 25, 25}},
    {"soft_bubble_teddy", 25, true, {25, 25, 25, 25}},
    {"soft_stack", 25, true, {25, 25, 25, 25}},
    {"table_pile", 25, true, {25, 25, 25, 25}},
    {"tennis_ball", 4, true, {4, 4, 4, 4}},
    {"tennis_ball_drop", 10, false, {10, 10, 10, 10}},
    {"turned_grip", 25, true, {25, 23, 25, 25}},
    {"water_pouring", 10, true, {10, kTooSlow, kTooSlow, kTooSlow}},
    {"yumi_cabinet", 25, false, {25, 25, 25, 25}},
};

class FirstSteps : public testing::TestWithParam<std::tuple<SceneCourse, int>> {};

TEST_P(FirstSteps, AreTakenAndConverge) {
  const auto& [course, method] = GetParam();
  CheckCourse(course, method);
}

INSTANTIATE_TEST_SUITE_P(Scenes, FirstSteps,
                         testing::Combine(testing::ValuesIn(kFirstSteps), testing::Range(0, 4)),
                         [](const auto& info) {
                           return std::get<0>(info.param).scene + "_" +
                                  kMethods[std::get<1>(info.param)];
                         });

TEST(FirstStepsOfScenes, AreTestedOfEachThatShips) {
  std::vector<std::string> listed;
  for (const SceneCourse& course : kFirstSteps) listed.push_back(course.scene);
  EXPECT_THAT(FindUnmatchedScenes(listed), testing::IsEmpty());
}

}  // namespace
}  // namespace pliant::physics
