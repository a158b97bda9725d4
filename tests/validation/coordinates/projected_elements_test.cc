// Elements with indefinite stiffness are projected, and the report counts them.

#include <algorithm>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// A bar attached to two plates; the upper one moves down by `way` [m] within a tenth of a second.
std::string SquashedBar(const std::string& method, double way) {
  return Fill(R"(
max_substeps: 1
time_step: 0.01
gravity: [0, 0, 0]
method: {$METHOD}
bodies:
  - {name: lower, rigid: {motion: FIXED, pose: {position: [0, 0, -0.05]},
      shapes: [{box: {size: [0.3, 0.3, 0.1]}}]}}
  - {name: upper, rigid: {motion: KINEMATIC, pose: {position: [0, 0, 0.25]},
      shapes: [{box: {size: [0.3, 0.3, 0.1]}}]}}
  - name: bar
    deformable:
      mesh: {box: {size: [0.02, 0.02, 0.2]}, edge_length: 0.02}
      pose: {position: [0, 0, 0.1]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: $RHO}
      attachments:
        - {to: lower, within: {box: {size: [1, 1, 0.001], pose: {position: [0, 0, -0.1]}}}}
        - {to: upper, within: {box: {size: [1, 1, 0.001], pose: {position: [0, 0, 0.1]}}}}
script:
  - {target: {pose: upper}, times: [0, 0.1], values: [[0, 0, 0.25], [0, 0, $END]]}
)",
              {{"$METHOD", method}, {"$RHO", "100"}, {"$END", Number(0.25 - way)}});
}

class ProjectedElements : public ::testing::TestWithParam<const char*> {};

TEST_P(ProjectedElements, AreThoseOfABarThatIsSquashed) {
  int most[2] = {};
  for (const bool is_squashed : {false, true}) {
    World world = LoadWorld(SquashedBar(GetParam(), is_squashed ? 0.1 : 0));
    for (int step = 0; step < 20; ++step) {
      ASSERT_TRUE(world.Step().ok());
      most[is_squashed] = std::max(most[is_squashed], world.report().projected_elements);
    }
    EXPECT_LE(most[is_squashed], world.model().abilities.back().elements->num_elements());
  }
  EXPECT_EQ(most[0], 0);
  EXPECT_GT(most[1], 0);
}

INSTANTIATE_TEST_SUITE_P(Methods, ProjectedElements,
                         ::testing::Values("convex: {}", "corrective: {}", "nonsmooth: {}",
                                           "nonsmooth: {coordinates: MAXIMAL}"),
                         [](const auto& info) {
                           std::string name;
                           for (const char c : std::string(info.param))
                             if (std::isalpha(c)) name += c;
                           return name;
                         });

}  // namespace
}  // namespace pliant::physics
