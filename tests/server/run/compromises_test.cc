#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/run/exit_status.h"
#include "server/run/run.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

// The report of a run counts what its steps relaxed, clamped or cut off.
class CompromisesTest : public ::testing::Test {
 protected:
  // Solver section of the report of a run of `steps` steps of 10 ms.
  nlohmann::ordered_json Run(const std::string& scene, int steps) {
    RunOptions options;
    options.scene = folder_.Write("scene.yaml", scene);
    options.duration = 0.01 * steps;
    options.threads = 1;
    options.json = "-";
    std::ostringstream out, err;
    EXPECT_EQ(server::Run(options, out, err), kDone) << err.str();
    return nlohmann::ordered_json::parse(out.str())["solver"];
  }

  TemporaryFolder folder_;
};

TEST_F(CompromisesTest, FrictionBeyondWhatTheMethodResolvesIsCounted) {
  const auto cube = [](const char* friction) {
    return absl::StrCat(R"(name: cube
time_step: 0.01
sleeping: false
method: {nonsmooth: {}}
contact: {friction: )",
                        friction, R"(}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: cube, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
)");
  };
  // four corners in each of five steps
  EXPECT_EQ(Run(cube("1.0e6"), 5)["friction_clamped"], 20);
  EXPECT_EQ(Run(cube("10"), 5)["friction_clamped"], 0);
}

TEST_F(CompromisesTest, ConeIterationsBeyondTheBudgetAreCounted) {
  const auto tumbling = [](int iterations) {
    return absl::StrCat(
        "name: cube\ntime_step: 0.01\nmethod: {nonsmooth: {newton_iterations: ", iterations, R"(}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: cube, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.049]},
      velocity: {linear: [1, 0, -1], angular: [0, 3, 9]},
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
)");
  };
  EXPECT_GT(Run(tumbling(1), 10)["cone_iterations_over_budget"], 0);
  EXPECT_EQ(Run(tumbling(200), 10)["cone_iterations_over_budget"], 0);
}

TEST_F(CompromisesTest, RedetectionsThatEndAtTheirLimitAreCounted) {
  // a ball at 100 m/s sets the balls of a row in motion one after the other within a step, and each
  // impact needs a re-detection
  const auto row = [](int count) {
    std::string scene =
        "name: row\ntime_step: 0.01\ngravity: [0, 0, 0]\nmethod: {corrective: {}}\nbodies:\n";
    for (int k = 0; k < count; ++k) {
      absl::StrAppend(&scene, "  - {name: b", k,
                      ", rigid: {motion: FREE, density: 1000, pose: {position: [", 0.06 * k,
                      ", 0, 0]}, velocity: {linear: [", k == 0 ? 100 : 0,
                      ", 0, 0]}, shapes: [{sphere: {radius: 0.02}}]}}\n");
    }
    return scene;
  };
  EXPECT_GE(Run(row(12), 1)["redetection_limit"], 1);
  EXPECT_EQ(Run(row(2), 1)["redetection_limit"], 0);
}

TEST_F(CompromisesTest, RecursionsBeyondThePlanAreCounted) {
  // four boxes that tumble over each other: more contacts than the planned recursions solve
  const auto boxes = [](const char* options) {
    std::string scene =
        absl::StrCat("name: boxes\ntime_step: 0.01\nmethod: {corrective: {", options,
                     "}}\nbodies:\n"
                     "  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: "
                     "{}}]}}\n");
    for (int k = 0; k < 4; ++k) {
      absl::StrAppend(&scene, "  - {name: b", k,
                      ", rigid: {motion: FREE, density: 1000, pose: {position: [", 0.02 * k,
                      ", 0, ", 0.051 + 0.11 * k,
                      "]}, velocity: {linear: [1, 0, -1], angular: [0, 3, 9]}, "
                      "shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}\n");
    }
    return scene;
  };
  EXPECT_GT(Run(boxes(""), 30)["recursions_over_plan"], 0);
  EXPECT_EQ(Run(boxes("recursions: 5"), 30)["recursions_over_plan"], 0);
}

TEST_F(CompromisesTest, SolutionsAlongTheDirectionsAtTheStartAreCounted) {
  // bars and a plate that turn by about a radian in a step while they hit each other
  constexpr char kBars[] = R"(name: bars
time_step: 0.02
max_substeps: 1
method: {corrective: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: a, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.2]},
      velocity: {linear: [0, 0, -5], angular: [30, 40, 20]},
      shapes: [{box: {size: [0.3, 0.02, 0.02]}}]}}
  - {name: b, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.3]},
      velocity: {linear: [0, 0, -5], angular: [-30, 40, 20]},
      shapes: [{box: {size: [0.3, 0.02, 0.02]}}]}}
  - {name: c, rigid: {motion: FREE, density: 1000, pose: {position: [0.02, 0, 0.4]},
      velocity: {linear: [0, 0, -9], angular: [-30, -40, 20]},
      shapes: [{box: {size: [0.2, 0.2, 0.02]}}]}}
)";
  EXPECT_GT(Run(kBars, 100)["start_directions"], 0);
}

TEST_F(CompromisesTest, RelinearisationsThatEndAtTheirLimitAreCounted) {
  const auto ball = [](int speed) {
    return absl::StrCat(R"(name: ball
time_step: 0.01
method: {convex: {relinearisations: 2}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.03}
      pose: {position: [0, 0, 0.06]}
      velocity: {linear: [0, 0, )",
                        -speed, R"(], angular: [0, 60, 0]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e4, poissons_ratio: 0.4, density: 1000}
)");
  };
  EXPECT_GE(Run(ball(20), 3)["relinearisation_limit"], 1);
  EXPECT_EQ(Run(ball(0), 1)["relinearisation_limit"], 0);
}

}  // namespace
}  // namespace pliant::server
