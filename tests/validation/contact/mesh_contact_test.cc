// Contact of rigid meshes that may be non-convex.

#include <filesystem>
#include <fstream>

#include "tests/validation/contact/box_surface.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// No vertex of one bar is near the other: edges alone carry the upper one.
TEST(MeshContact, CrossedBarsOfNonConvexMeshesRestOnEachOther) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "crossed_bars";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "bar.obj") << MakeBoxObj({-0.2, -0.02, -0.02}, {0.2, 0.02, 0.02});
  for (const char* method : {"convex", "corrective", "nonsmooth"}) {
    const std::string file = (folder / absl::StrCat(method, ".yaml")).string();
    std::ofstream(file) << Fill(R"(
name: crossed bars
time_step: 0.005
method: {$METHOD: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: lower
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.02]},
            shapes: [{mesh: {file: bar.obj, convex: false}}]}
  - name: upper
    rigid: {motion: FREE, density: 1000,
            pose: {position: [0.01, 0.005, 0.0601], rpy_degrees: [0, 0, 80]},
            shapes: [{mesh: {file: bar.obj, convex: false}}]}
probes:
  - {name: upper, position: {body: upper}}
  - {name: force, contact_force: {body: upper, with: lower}}
)",
                                {{"$METHOD", method}});
    World world = MakeWorld(LoadSceneFile(file));
    for (int step = 0; step < 200; ++step) {
      const absl::Status status = world.Step();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    // its weight is 0.64 kg × g; near-rigid contacts yield by far less than 0.1 mm
    EXPECT_NEAR((ReadVector(world, "upper") - Vector3d(0.01, 0.005, 0.06)).norm(), 0, 3e-4)
        << method;
    EXPECT_NEAR(ReadVector(world, "force").z(), 0.64 * kGravity, 1e-3 * 0.64 * kGravity) << method;
  }
}

}  // namespace
}  // namespace pliant::physics
