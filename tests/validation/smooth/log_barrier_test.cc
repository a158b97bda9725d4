// potential: LOG_BARRIER of the smooth method: gaps stay positive, whatever presses bodies
// together. For bodies that overlap at the start see overlap_test.cc.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr double kBarrierDistance = 1e-3;

class LogBarrier : public ::testing::TestWithParam<const char*> {
 protected:
  static World Load(double h, const std::string& scene) {
    return LoadWorld(absl::StrCat("time_step: ", Number(h), "\nmethod: {smooth: {integrator: ",
                                  GetParam(), ", potential: LOG_BARRIER}}\n", scene));
  }

  // Steps until time t; all gaps must stay positive.
  static void RunWithoutOverlap(double t, World* world) {
    while (world->state().time < t - 1e-9) {
      RunUntil(world->state().time + world->model().time_step, world);
      for (const auto& contact : world->report().contacts)
        ASSERT_GT(contact.gap, 0) << "at " << world->state().time << " s";
    }
  }
};

TEST_P(LogBarrier, BodiesRestAtHalfTheDistance) {
  World world = Load(0.01, R"(
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    rigid:
      motion: FREE
      density: 1000
      pose: {position: [0, 0, 0.0506]}
      shapes: [{sphere: {radius: 0.05}}]
probes:
  - {name: p, position: {body: ball}}
)");
  RunWithoutOverlap(3, &world);
  const double rest = 0.05 + 0.5 * kBarrierDistance;
  EXPECT_NEAR(Read(world, "p")[2], rest, 0.01 * kBarrierDistance);
}

TEST_P(LogBarrier, FastBodiesDoNotOverlap) {
  // a step covers up to the height of the box
  for (const double speed : {0.5, 5.0, 20.0}) {
    World world = Load(0.005, Fill(R"(
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{box: {size: [2, 2, 0.01]}}]}}
  - name: box
    rigid:
      motion: FREE
      density: 1000
      pose: {position: [0, 0, 0.2], rpy_degrees: [20, 10, 0]}
      velocity: {linear: [0, 0, -$V]}
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]
  - name: soft
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0.5, 0, 0.2]}
      velocity: {linear: [0, 0, -$V]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
probes:
  - {name: box, position: {body: box}}
  - {name: soft, position: {body: soft}}
)",
                                   {{"$V", Number(speed)}}));
    RunWithoutOverlap(0.3, &world);
    for (const char* body : {"box", "soft"}) EXPECT_GT(Read(world, body)[2], 0.005) << speed;
  }
}

TEST_P(LogBarrier, APlateSqueezesASoftBallWithoutOverlap) {
  World world = Load(0.01, R"(
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: plate, rigid: {motion: KINEMATIC, pose: {position: [0, 0, 0.12]},
      shapes: [{box: {size: [0.3, 0.3, 0.02]}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.02}
      pose: {position: [0, 0, 0.051]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
      damping: {beta: 0.01}
script:
  - {target: {pose: plate}, times: [0, 0.5], values: [[0, 0, 0.12], [0, 0, 0.06]]}
)");
  RunWithoutOverlap(0.7, &world);
  EXPECT_GE(world.report().contacts.size(), 8u);
}

INSTANTIATE_TEST_SUITE_P(Rules, LogBarrier, ::testing::Values("BE", "BDF2", "SDIRK2"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace pliant::physics
