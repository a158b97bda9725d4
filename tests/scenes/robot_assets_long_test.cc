// Robots of other projects, which are not part of this repository, on the floor of the scene that
// is generated for one file: from the folder that PLIANT_ASSETS names, or beside the sources.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "physics/scene/import/import_files.h"
#include "tests/assets.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FindRobots(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (extension != ".urdf" && extension != ".sdf" && extension != ".xml") continue;
    if (FindImportKind(entry.path().string()) == ImportKind::kRobot) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(RobotAssetsLong, EachThatLoadsRunsOnTheFloorWithEveryStepConverged) {
  const std::string folder = FindAssets();
  if (!fs::exists(folder))
    GTEST_SKIP() << "no robots to run: " << folder << " is not there; set PLIANT_ASSETS";
  int ran = 0;
  for (const fs::path& path : FindRobots(folder)) {
    // another test checks that each file loads or is refused with a reason
    const SceneResult result = LoadSceneFile(path.string());
    if (!result.ok()) continue;
    const std::string name = fs::relative(path, folder).string();
    SCOPED_TRACE(name);
    std::printf("%s\n", name.c_str());
    World world(result.model);
    RunUntil(2, &world);
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace pliant::physics
