// Whole scenes under the corrective method with scripts 2.5 times as fast, varied by up to 40 %.

#include "tests/scenes/methods/quickened.h"

namespace pliant::physics {
namespace {

struct QuickenedCourse {
  const char* scene;
  int steps;
  double max_missed = 0.01;  // a larger part is the measured one; later changes may only lower it
};

class VariedScenes : public testing::TestWithParam<std::tuple<QuickenedCourse, unsigned>> {};

TEST_P(VariedScenes, Converge) {
  const auto& [course, seed] = GetParam();
  World world = LoadQuickened(course.scene, "corrective", 2.5, seed);
  ExpectConvergence(course.steps, course.max_missed, &world);
}

INSTANTIATE_TEST_SUITE_P(Scenes, VariedScenes,
                         testing::Combine(testing::Values(QuickenedCourse{"allegro_adversary", 150,
                                                                          0.05},
                                                          QuickenedCourse{"allegro_grasp", 150},
                                                          QuickenedCourse{"beam_insertion", 350},
                                                          QuickenedCourse{"fetch", 600},
                                                          QuickenedCourse{"iiwa_wsg", 450},
                                                          QuickenedCourse{"paddle_press", 130},
                                                          QuickenedCourse{"pneunet", 180}),
                                          testing::Values(1u, 2u)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).scene) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace pliant::physics
