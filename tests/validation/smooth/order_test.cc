// Orders of the smooth method's integrators: how the error at a given time falls when the step is
// halved.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// log2 of the ratio of successive changes when h is halved twice.
double FindOrder(const std::string& scene, const std::string& integrator, double t, double h) {
  std::vector<std::vector<double>> ends;
  for (int k = 0; k < 3; ++k) {
    World world = LoadWorld(Fill(scene, {{"$H", Number(h / (1 << k))}, {"$RULE", integrator}}));
    RunUntil(t, &world);
    ends.push_back(world.state().q);
  }
  const auto distance = [&](int a, int b) {
    double sum = 0;
    for (std::size_t i = 0; i < ends[a].size(); ++i)
      sum += (ends[a][i] - ends[b][i]) * (ends[a][i] - ends[b][i]);
    return std::sqrt(sum);
  };
  return std::log2(distance(0, 1) / distance(1, 2));
}

class Orders : public ::testing::TestWithParam<std::pair<const char*, int>> {};

constexpr char kSpinning[] = R"(
time_step: $H
gravity: [0, 0, 0]
sleeping: false
method: {smooth: {integrator: $RULE}}
bodies:
  - name: body
    rigid: {motion: FREE, mass: 1, inertia: [1, 2, 3, 0, 0, 0], velocity: {angular: [1, 2, 1.5]},
            shapes: [{sphere: {radius: 0.1}}]}
)";

TEST_P(Orders, OfABodyThatSpinsFreely) {
  const auto& [rule, order] = GetParam();
  EXPECT_NEAR(FindOrder(kSpinning, rule, 1, 0.005), order, 0.1);
}

constexpr char kBar[] = R"(
time_step: $H
gravity: [0, 0, 0]
sleeping: false
method: {smooth: {integrator: $RULE}}
bodies:
  - name: bar
    deformable:
      mesh: {box: {size: [0.3, 0.1, 0.1]}, edge_length: 0.1}
      velocity: {angular: [2, 3, 4]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 2.0e3, poissons_ratio: 0.3,
                 density: 1000}
      damping: {beta: 0.02}
)";

TEST_P(Orders, OfADampedRubberBar) {
  const auto& [rule, order] = GetParam();
  EXPECT_NEAR(FindOrder(kBar, rule, 0.4, 0.0025), order, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Rules, Orders,
                         ::testing::Values(std::pair("BE", 1), std::pair("TR", 2),
                                           std::pair("BDF2", 2), std::pair("TR_BDF2", 2),
                                           std::pair("SDIRK2", 2)));

}  // namespace
}  // namespace pliant::physics
