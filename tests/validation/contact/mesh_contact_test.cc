// Contact of rigid meshes that may be non-convex.

#include <filesystem>
#include <fstream>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A bar of 0.4 × 0.04 × 0.04 m along x, a surface of twelve triangles.
constexpr char kBar[] = R"(v -0.2 -0.02 -0.02
v 0.2 -0.02 -0.02
v 0.2 0.02 -0.02
v -0.2 0.02 -0.02
v -0.2 -0.02 0.02
v 0.2 -0.02 0.02
v 0.2 0.02 0.02
v -0.2 0.02 0.02
f 1 3 2
f 1 4 3
f 5 6 7
f 5 7 8
f 1 2 6
f 1 6 5
f 2 3 7
f 2 7 6
f 3 4 8
f 3 8 7
f 4 1 5
f 4 5 8
)";

// No vertex of one bar is near the other: edges alone carry the upper one.
TEST(MeshContact, CrossedBarsOfNonConvexMeshesRestOnEachOther) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "crossed_bars";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "bar.obj") << kBar;
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
    const SceneResult result = LoadSceneFile(file);
    for (const SceneMessage& message : result.messages) {
      if (message.error) ADD_FAILURE() << Format(message);
    }
    ASSERT_TRUE(result.ok());
    World world(result.model);
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
