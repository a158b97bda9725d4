// The first second of every shipped scene by every method, at most four hundred steps.

#include "tests/scenes/methods/every_method.h"

namespace pliant::physics {
namespace {

// The gripper of `yumi_cabinet` reaches the handle only after the first second.
const SceneCourse kFirstSecond[] = {
    {"allegro_adversary", 120, true, {120, 120, 119, 120}},
    {"allegro_ball", 100, true, {100, 100, 100, 100}},
    {"allegro_grasp", 120, true, {120, 120, 120, 120}},
    {"arch", 25, true, {25, 25, 25, 25}},
    {"ball_in_box", 300, true, {300, 300, 300, 300}},
    {"ball_on_slope", 300, true, {300, 300, 300, 300}},
    {"ball_squish", 300, true, {300, 300, 300, 300}},
    {"beam_insertion", 120, true, {120, 120, 120, 120}},
    {"bending_bar", 100, false, {100, 100, 100, 100}},
    {"block_slide", 50, true, {50, 50, 50, 50}},
    {"bowl_grasp", 40, true, {40, 40, 40, 40}},
    {"cantilever", 100, false, {100, 100, 100, 100}},
    {"chain", 50, true, {50, 50, 50, kTooSlow}},
    {"close_lift_shake", 100, true, {100, kTooSlow, kTooSlow, kTooSlow}},
    {"cube_on_slope", 200, true, {200, 200, 200, 200}},
    {"cylinder_press", 100, true, {100, 100, 100, 100}},
    {"dam_break", 300, true, {300, kTooSlow, kTooSlow, 300}},
    {"dough_bubble", 100, true, {100, kTooSlow, kTooSlow, 100}},
    {"dough_hand", 50, true, {50, kTooSlow, kTooSlow, kTooSlow}},
    {"dough_rolling", 100, true, {100, kTooSlow, kTooSlow, kTooSlow}},
    {"dough_tearing", 100, true, {100, kTooSlow, kTooSlow, kTooSlow}},
    {"extension", 120, false, {120, 120, 120, 120}},
    {"fetch", 120, true, {120, 120, 120, 120}},
    {"fetch_drive", 120, true, {120, 120, 120, 120}},
    {"heavy_stack", 100, true, {100, 100, 100, 100}},
    {"humanoid", 200, true, {200, 200, 200, 200}},
    {"iiwa_allegro", 100, true, {100, 100, 100, 100}},
    {"iiwa_wsg", 200, true, {200, 200, 200, 200}},
    {"inflated_ball", 100, true, {100, 100, 100, 100}},
    {"masonry_arch", 25, true, {25, 25, 1, 25}},
    {"paddle_press", 100, true, {100, 100, 100, 100}},
    {"parabolic_arch", 120, true, {120, 120, 120, 120}},
    {"particle_ball_on_slope", 100, true, {100, kTooSlow, kTooSlow, 100}},
    {"particle_panels", 100, true, {100, 100, kTooSlow, 100}},
    {"pneunet", 120, true, {120, 117, 120, 120}},
    {"rolling_shapes", 200, true, {200, 200, 200, 200}},
    {"rubber_ladybird", 100, true, {100, 100, 100, 100}},
    {"rubber_pumpkin", 100, true, {100, 100, 100, 100}},
    {"soft_ball", 100, true, {100, 100, 100, 100}},
    {"soft_box_rest", 100, true, {100, 100, 100, 100}},
    {"soft_bubble_teddy", 50, true, {50, 50, 50, 50}},
    {"soft_stack", 100, true, {100, 100, 100, 100}},
    {"table_pile", 200, true, {200, 199, 142, 200}},
    {"tennis_ball", 25, true, {25, 25, 25, 25}},
    {"tennis_ball_drop", 25, false, {25, 25, 25, 25}},
    {"turned_grip", 10, true, {10, 8, 10, 10}},
    {"water_pouring", 100, true, {100, kTooSlow, kTooSlow, kTooSlow}},
    {"yumi_cabinet", 400, true, {400, 397, 400, 400}},
};

class FirstSecond : public testing::TestWithParam<std::tuple<SceneCourse, int>> {};

TEST_P(FirstSecond, IsTakenAndConverges) {
  const auto& [course, method] = GetParam();
  CheckCourse(course, method);
}

INSTANTIATE_TEST_SUITE_P(Scenes, FirstSecond,
                         testing::Combine(testing::ValuesIn(kFirstSecond), testing::Range(0, 4)),
                         [](const auto& info) {
                           return std::get<0>(info.param).scene + "_" +
                                  kMethods[std::get<1>(info.param)];
                         });

TEST(FirstSecondOfScenes, IsTestedOfEachThatShips) {
  std::vector<std::string> listed;
  for (const SceneCourse& course : kFirstSecond) listed.push_back(course.scene);
  EXPECT_THAT(FindUnmatchedScenes(listed), testing::IsEmpty());
}

}  // namespace
}  // namespace pliant::physics
