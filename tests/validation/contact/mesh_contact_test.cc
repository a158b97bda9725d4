// Contact of rigid meshes that may be non-convex, and of rigid shapes with coarse soft surfaces.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "tests/validation/contact/box_surface.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// No vertex of one bar is near the other: edges alone carry the upper one.
TEST(MeshContact, CrossedBarsOfNonConvexMeshesRestOnEachOther) {
  const std::filesystem::path folder = PathOfTest("bars");
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

// A ring of 24 twelve-sided sections, lying flat: of each section, a vertex is lowest.
std::string MakeRingObj(double radius, double thickness) {
  std::string obj;
  for (int i = 0; i < 24; ++i) {
    for (int k = 0; k < 12; ++k) {
      const double around = i * std::numbers::pi / 12, along = k * std::numbers::pi / 6;
      const double r = radius + thickness * std::cos(along);
      absl::StrAppendFormat(&obj, "v %.9f %.9f %.9f\n", r * std::cos(around), r * std::sin(around),
                            thickness * std::sin(along));
    }
  }
  for (int i = 0; i < 24; ++i) {
    for (int k = 0; k < 12; ++k) {
      const int next = (i + 1) % 24, up = (k + 1) % 12;
      absl::StrAppend(&obj, "f ", 12 * i + k + 1, " ", 12 * next + k + 1, " ", 12 * next + up + 1,
                      " ", 12 * i + up + 1, "\n");
    }
  }
  return obj;
}

// More vertices near the ground than the contacts of a pair: those must be kept that touch in the
// step, not those that are farthest apart.
TEST(MeshContact, TiltedRingsFallFlatWithoutSinkingIn) {
  const std::filesystem::path folder = PathOfTest("rings");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "ring.obj") << MakeRingObj(0.1, 0.03);
  for (const char* method : {"convex", "corrective", "nonsmooth"}) {
    for (const char* convex : {"true", "false"}) {
      SCOPED_TRACE(absl::StrCat(method, ", convex: ", convex));
      const std::string file = (folder / absl::StrCat(method, convex, ".yaml")).string();
      std::ofstream(file) << Fill(R"(
name: rings
time_step: 0.005
sleeping: false
method: {$METHOD: {}}
contact: {friction: 0.5}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: lower
    rigid: {motion: FREE, density: 1000, shapes: [{mesh: {file: ring.obj, convex: $CONVEX}}],
            pose: {position: [0, 0, 0.04], rpy_degrees: [3, 2, 0]}}
  - name: upper
    rigid: {motion: FREE, density: 1000, shapes: [{mesh: {file: ring.obj, convex: $CONVEX}}],
            pose: {position: [0.01, 0, 0.15], rpy_degrees: [0, 5, 0]}}
probes:
  - {name: kinetic, energy: {kind: KINETIC}}
  - {name: penetration, penetration: {}}
)",
                                  {{"$METHOD", method}, {"$CONVEX", convex}});
      World world = MakeWorld(LoadSceneFile(file));
      // the upper ring wobbles on its rim for a second or a little longer
      for (int step = 0; step < 300; ++step) {
        const absl::Status status = world.Step();
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_LT(Read(world, "penetration").at(0), 1e-4) << "step " << step;
      }
      EXPECT_LT(Read(world, "kinetic").at(0), 1e-6);
    }
  }
}

// Shapes of 2 kg on a soft block, whose elements are as large as they are, come to rest on it, and
// stay where they are.
class OnSoftBlock : public ::testing::TestWithParam<
                        std::tuple<std::pair<const char*, const char*>, const char*>> {};

TEST_P(OnSoftBlock, RigidShapesComeToRest) {
  const auto& [shape, method] = GetParam();
  const std::filesystem::path folder = PathOfTest("cube");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "cube.obj") << MakeBoxObj({-0.03, -0.03, -0.03}, {0.03, 0.03, 0.03});
  const std::string file = (folder / "scene.yaml").string();
  std::ofstream(file) << Fill(R"(
name: on a soft block
time_step: 0.005
sleeping: false
method: {$METHOD: {}}
contact: {friction: 0.6}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: block
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.05]}
      material: {model: COROTATIONAL, youngs_modulus: 5.0e4, poissons_ratio: 0.4, density: 1000}
  - name: shape
    rigid: {motion: FREE, mass: 2, pose: {position: [0, 0, 0.131]}, shapes: [{$SHAPE}]}
probes:
  - {name: kinetic, energy: {kind: KINETIC}}
  - {name: shape, position: {body: shape}}
)",
                              {{"$METHOD", method}, {"$SHAPE", shape.second}});
  World world = MakeWorld(LoadSceneFile(file));
  RunUntil(2, &world);
  EXPECT_LT(Read(world, "kinetic").at(0), 1e-6);
  EXPECT_LT(ReadVector(world, "shape").head<2>().norm(), 2e-4);
}

constexpr auto kNameOf = [](const auto& info) {
  return absl::StrCat(std::get<0>(info.param).first, "_", std::get<1>(info.param));
};
INSTANTIATE_TEST_SUITE_P(
    Flat, OnSoftBlock,
    ::testing::Combine(::testing::Values(std::pair("box", "box: {size: [0.06, 0.06, 0.06]}"),
                                         std::pair("mesh", "mesh: {file: cube.obj, convex: false}"),
                                         std::pair("cylinder",
                                                   "cylinder: {radius: 0.03, length: 0.06}")),
                       ::testing::Values("convex", "corrective", "nonsmooth", "smooth")),
    kNameOf);
// Contacts of `smooth` keep a distance, at which a flat surface carries round shapes on lines, and
// lets them roll.
INSTANTIATE_TEST_SUITE_P(
    Round, OnSoftBlock,
    ::testing::Combine(
        ::testing::Values(
            std::pair("cylinder",
                      "cylinder: {radius: 0.03, length: 0.06}, pose: {rpy_degrees: [90, 0, 20]}"),
            std::pair("capsule",
                      "capsule: {radius: 0.02, length: 0.06}, pose: {rpy_degrees: [90, 0, 20]}")),
        ::testing::Values("convex", "corrective", "nonsmooth")),
    kNameOf);

}  // namespace
}  // namespace pliant::physics
