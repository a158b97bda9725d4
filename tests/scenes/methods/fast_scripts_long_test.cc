// Whole scenes under the corrective method with scripts 2.5 times as fast, varied by up to 40 %.

#include "tests/scenes/methods/fast_scripts.h"

namespace pliant::physics {
namespace {

struct Course {
  const char* scene;
  int steps;
  double max_missed = 0.01;  // a larger part is the measured one; later changes may only lower it
};

class VariedScenes : public testing::TestWithParam<std::tuple<Course, unsigned>> {};

TEST_P(VariedScenes, Converge) {
  const auto& [course, seed] = GetParam();
  World world = LoadWithFastScripts(course.scene, "corrective", 2.5, seed);
  ExpectConvergence(course.steps, course.max_missed, &world);
}

INSTANTIATE_TEST_SUITE_P(
    Scenes, VariedScenes,
    testing::Combine(testing::Values(Course{"allegro_adversary", 150, 0.05},
                                     Course{"allegro_grasp", 150}, Course{"beam_insertion", 350},
                                     Course{"fetch", 600}, Course{"iiwa_wsg", 450},
                                     Course{"paddle_press", 130}, Course{"pneunet", 180}),
                     testing::Values(1u, 2u)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).scene) + "_" +
             std::to_string(std::get<1>(info.param));
    });

}  // namespace
}  // namespace pliant::physics
