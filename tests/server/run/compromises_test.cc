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

// What steps relax, clamp or cut off stands in the report of the run.
class CompromisesTest : public ::testing::Test {
 protected:
  // Solver figures of a run of `steps` steps of 10 ms.
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

}  // namespace
}  // namespace pliant::server
