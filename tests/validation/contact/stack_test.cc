// A stack of ten boxes that is dropped.

#include <algorithm>
#include <ostream>
#include <string>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

class DroppedStack : public ::testing::TestWithParam<std::string> {};

constexpr double kStackStep = 0.01;  // [s]

// Compression of a contact on four corners per box that it bears [m]. Contacts of `convex` are
// near-rigid: a point gives way by 2 β² h² w / 4π² per force, with β = 0.1 and w = ‖W‖_F / 3,
// which is √61.5 / 3 m at a corner of one box and √210 / 3 m at one of two. The other methods
// have no compliance.
double CompressionPerBox(const std::string& method, double w_times_mass) {
  if (method != "convex") return 0;
  return 0.01 * kStackStep * kStackStep * kGravity * w_times_mass / (8 * kPi * kPi);
}

// The boxes start one on another, or fall one after another.
TEST_P(DroppedStack, LandsAndStands) {
  for (const double between : {0.0, 0.05}) {
    std::string boxes;
    for (int i = 0; i < 10; ++i) {
      boxes += Fill(
          "  - {name: box_$I, rigid: {motion: FREE, density: 1000, "
          "shapes: [{box: {size: [0.1, 0.1, 0.1]}}], pose: {position: [0, 0, $Z]}}}\n",
          {{"$I", std::to_string(i)}, {"$Z", Number(0.1 + i * (0.1 + between))}});
    }
    World world = LoadWorld(Fill(R"(
name: stack
time_step: $STEP
method: {$METHOD: {}}
contact: {friction: 0.5}
probes:
  - {name: top, position: {body: box_9}}
  - {name: speed, velocity: {body: box_9}}
  - {name: overlap, penetration: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)",
                                 {{"$METHOD", GetParam()}, {"$STEP", Number(kStackStep)}}) +
                            boxes);
    const double on_ground = CompressionPerBox(GetParam(), std::sqrt(61.5) / 3),
                 on_box = CompressionPerBox(GetParam(), std::sqrt(210.0) / 3);
    RunUntil(0.15, &world);
    double highest = -1;
    while (world.state().time < 3) {
      ASSERT_TRUE(world.Step().ok());
      ASSERT_TRUE(world.report().converged) << "step " << world.state().step;
      highest = std::max(highest, ReadVector(world, "speed").z());
    }
    // The top is thrown up at most by the compression of all contacts, relieved in one step. Boxes
    // that land together at 1 m/s compress them by v / g h times what their weights do.
    EXPECT_LT(highest, 55 * on_box / (kGravity * kStackStep) / kStackStep + 1e-4);
    const Eigen::Vector3d top = ReadVector(world, "top");
    EXPECT_LT(top.head<2>().norm(), 1e-3);
    // the contacts bear ten boxes, nine, and so on, each to within 2e-7 m
    EXPECT_NEAR(top.z(), 0.95 - 10 * on_ground - 45 * on_box, 2e-6);
    EXPECT_NEAR(Read(world, "overlap").front(), 9 * on_box, 2e-7);
    // `corrective` ends its recursions with velocities of a part in ten thousand of the drop's
    EXPECT_LT(ReadVector(world, "speed").norm(), GetParam() == "corrective" ? 1e-3 : 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, DroppedStack,
                         ::testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return info.param; });

struct Tumble {
  const char* method;
  const char* shape;
  int bodies;
  double deepest;  // [m]
};

void PrintTo(const Tumble& tumble, std::ostream* out) {
  *out << tumble.bodies << " bodies under " << tumble.method << ": " << tumble.shape;
}

class TumblingBodies : public ::testing::TestWithParam<Tumble> {};

// Bodies that tumble at up to 30 rad/s into a bin meet with other features than those that are
// nearest at the start of a step, or elsewhere along them, also where they touch already.
TEST_P(TumblingBodies, DoNotSinkIntoEachOther) {
  const auto& [method, shape, bodies, bound] = GetParam();
  std::string scene = absl::StrCat("name: bin\ntime_step: 0.005\nmethod: {", method,
                                   R"(: {}}
contact: {friction: 0.6}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)");
  for (int i = 0; i < 4; ++i) {
    const double side = i % 2 == 0 ? 0.34 : -0.34;
    absl::StrAppend(&scene, "  - {name: wall_", i,
                    ", rigid: {motion: FIXED, shapes: [{box: {size: [",
                    i < 2 ? "0.1, 0.8, 4" : "0.8, 0.1, 4", "]}}], pose: {position: [",
                    i < 2 ? side : 0, ", ", i < 2 ? 0 : side, ", 2]}}}\n");
  }
  for (int i = 0; i < bodies; ++i) {
    const double size = 0.14 + 0.03 * (i % 3);
    const std::string of_size = Fill(shape, {{"$1", Number(size)},
                                             {"$2", Number(0.8 * size)},
                                             {"$3", Number(0.6 * size)},
                                             {"$4", Number(0.3 * size)}});
    absl::StrAppend(
        &scene, "  - {name: body_", i, ", rigid: {motion: FREE, density: 1000, shapes: [{", of_size,
        "}], pose: {position: [", 0.29 * (i % 2 - 0.5), ", ", 0.29 * (i / 2 % 2 - 0.5), ", ",
        0.29 * (i / 4 + 0.6), "], rpy_degrees: [", 37 * i, ", ", 61 * i, ", ", 113 * i, "]}}}\n");
  }
  scene += "probes: [{name: penetration, penetration: {}}]\n";
  World world = LoadWorld(scene);
  double deepest = 0;
  for (int step = 0; step < 300; ++step) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(world.report().converged) << "step " << step;
    deepest = std::max(deepest, Read(world, "penetration").at(0));
  }
  EXPECT_LT(deepest, bound);
}

constexpr char kBoxes[] = "box: {size: [$1, $2, $3]}",
               kCylinders[] = "cylinder: {radius: $4, length: $1}",
               kCapsules[] = "capsule: {radius: $4, length: $2}",
               kEllipsoids[] = "ellipsoid: {radii: [$3, $4, $4]}";
INSTANTIATE_TEST_SUITE_P(
    Shapes, TumblingBodies,
    ::testing::Values(Tumble{"convex", kBoxes, 20, 3e-4}, Tumble{"nonsmooth", kBoxes, 20, 5e-4},
                      Tumble{"convex", kBoxes, 100, 1e-3}, Tumble{"convex", kCylinders, 30, 2.5e-3},
                      Tumble{"convex", kCapsules, 30, 2.5e-3},
                      Tumble{"convex", kEllipsoids, 30, 1e-3}),
    [](const auto& info) {
      return absl::StrCat(info.param.method, "_", info.index, "_",
                          std::string(info.param.shape).substr(0, 3), "_", info.param.bodies);
    });

}  // namespace
}  // namespace pliant::physics
