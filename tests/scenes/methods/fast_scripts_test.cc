// The first steps of scenes under the corrective method with scripts 2.5 times as fast.

#include "tests/scenes/methods/fast_scripts.h"

namespace pliant::physics {
namespace {

class FastScripts : public testing::TestWithParam<const char*> {};

TEST_P(FastScripts, Converge) {
  World world = LoadWithFastScripts(GetParam(), "corrective", 2.5, 0);
  ExpectConvergence(60, 0.01, &world);
}

INSTANTIATE_TEST_SUITE_P(Scenes, FastScripts,
                         testing::Values("allegro_adversary", "allegro_ball", "allegro_grasp",
                                         "beam_insertion", "fetch", "iiwa_wsg", "paddle_press",
                                         "pneunet", "yumi_cabinet"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pliant::physics
