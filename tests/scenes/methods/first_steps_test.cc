// Every scene that ships, by every method that there is.

#include <filesystem>

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

std::vector<std::string> ListShippedScenes() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PLIANT_SOURCE_DIR "/scenes"))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class EveryScene : public testing::TestWithParam<std::string> {};

// Whether a step converges is the method's affair; that it is taken, and leaves numbers, is asked of all.
TEST_P(EveryScene, RunsByTheCorrectiveMethod) {
  SceneOptions options;
  options.method = "corrective";
  const SceneResult scene =
      LoadSceneFile(absl::StrCat(PLIANT_SOURCE_DIR "/scenes/", GetParam(), ".yaml"), options);
  ASSERT_TRUE(scene.ok());
  ASSERT_EQ(scene.model->method.kind, MethodKind::kCorrective);
  World world(scene.model);
  for (int step = 0; step < 5; ++step) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (const double x : world.state().q) ASSERT_TRUE(std::isfinite(x));
  for (const double x : world.state().v) ASSERT_TRUE(std::isfinite(x));
}

INSTANTIATE_TEST_SUITE_P(Scenes, EveryScene, testing::ValuesIn(ListShippedScenes()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
