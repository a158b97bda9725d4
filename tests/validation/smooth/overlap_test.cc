// A cube and a soft box that start 1 cm deep in the ground are lifted out slowly
// (contact.recovery_speed).

#include <algorithm>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr char kScene[] = R"(
time_step: $H
method: {smooth: {integrator: $RULE}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: box
    rigid:
      motion: FREE
      density: 1000
      pose: {position: [0, 0, 0.04]}
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]
  - name: soft
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0.5, 0, 0.04]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
probes:
  - {name: box, position: {body: box}}
  - {name: soft, position: {body: soft}}
)";

class SmoothOverlap : public ::testing::TestWithParam<const char*> {};

TEST_P(SmoothOverlap, SeparatesWithoutABurst) {
  for (const double h : {1e-3, 5e-3, 2e-2}) {
    World world = LoadWorld(Fill(kScene, {{"$H", Number(h)}, {"$RULE", GetParam()}}));
    double highest = 0;
    while (world.state().time < 0.5) {
      RunUntil(world.state().time + h, &world);
      for (const char* body : {"box", "soft"}) highest = std::max(highest, Read(world, body)[2]);
    }
    // without a limit, 1 cm of penalty throws them 20 cm high
    EXPECT_LT(highest, 0.054) << "h = " << h;
    // contacts do not damp, so where the step resolves them the box still hops by a few mm
    EXPECT_GT(Read(world, "box")[2], 0.05) << "h = " << h;
    EXPECT_NEAR(Read(world, "soft")[2], 0.0502, 1e-3) << "h = " << h;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, SmoothOverlap, ::testing::Values("BE", "BDF2", "TR_BDF2", "SDIRK2"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace pliant::physics
