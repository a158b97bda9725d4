// The examples of Han et al. 2023 §VII: each must show the behaviour described there.

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kCrown = 59.9918547;  // height of the arch's crown at the start [m]

// Position of the ball in the frame of the palm [m].
Vector3d CalcPlaceInHand(const World& world) {
  const Vector3d palm = ReadVector(world, "palm");
  const Vector3d x = ReadVector(world, "palm_x") - palm, z = ReadVector(world, "palm_z") - palm;
  const Vector3d d = ReadVector(world, "ball") - palm;
  return {d.dot(x), d.dot(z.cross(x)), d.dot(z)};
}

// Amplitude of a probe's component until t: half of its range [m].
double MeasureAmplitudeUntil(double t, const std::string& probe, int component, World* world) {
  double low = ReadVector(*world, probe)[component], high = low;
  while (world->state().time < t - 1e-9 && !::testing::Test::HasFatalFailure()) {
    RunUntil(world->state().time + world->model().time_step, world);
    low = std::min(low, ReadVector(*world, probe)[component]);
    high = std::max(high, ReadVector(*world, probe)[component]);
  }
  return (high - low) / 2;
}

TEST(MasonryArch, StandsOnFriction) {
  World world = LoadShipped("masonry_arch", {"sleeping=false"});
  RunUntil(5, &world);
  const double settled = ReadVector(world, "crown").z();
  EXPECT_NEAR(settled, kCrown, 0.05);
  RunUntil(8, &world);
  EXPECT_NEAR(ReadVector(world, "crown").z(), settled, 1e-3);
}

TEST(MasonryArch, FallsApartOnLittleFriction) {
  World world = LoadShipped("masonry_arch", {"contact.friction=0.2"});
  RunUntil(10, &world);
  EXPECT_LT(ReadVector(world, "crown").z(), kCrown - 10);
}

// The ball stays in the hand, up to its own deformation, while shaken by ± 5 cm at 2 Hz along two
// axes; the open hand drops it.
TEST(AllegroBall, IsHeldWhileShakenAndFallsFromTheOpenHand) {
  World world = LoadShipped("allegro_ball");
  RunUntil(3, &world);
  const Vector3d held = CalcPlaceInHand(world);
  EXPECT_NEAR(MeasureAmplitudeUntil(8, "palm", 1, &world), 0.05, 0.005);
  RunUntil(8.5, &world);
  EXPECT_NEAR(MeasureAmplitudeUntil(13.5, "palm", 2, &world), 0.05, 0.005);
  RunUntil(13.9, &world);
  EXPECT_LT((CalcPlaceInHand(world) - held).norm(), 0.01);
  EXPECT_GT(ReadVector(world, "ball").z(), 0.4);
  RunUntil(15, &world);
  EXPECT_LT(ReadVector(world, "ball").z(), 0.05);
}

TEST(SoftBubbleTeddy, IsLiftedShakenAndPutBackWithoutSlipping) {
  World world = LoadShipped("soft_bubble_teddy");
  const auto place = [&]() -> Vector3d {
    return ReadVector(world, "bear") - ReadVector(world, "gripper");
  };
  RunUntil(3.2, &world);
  const Vector3d held = place();
  EXPECT_GT(ReadVector(world, "bear").z(), 0.2);
  EXPECT_NEAR(MeasureAmplitudeUntil(8.2, "gripper", 1, &world), 0.05, 0.001);
  RunUntil(8.7, &world);
  EXPECT_NEAR(MeasureAmplitudeUntil(13.7, "gripper", 2, &world), 0.05, 0.001);
  RunUntil(14.2, &world);
  EXPECT_LT((place() - held).norm(), 0.01);
  // it is back at its initial position after the gripper has left
  RunUntil(18, &world);
  EXPECT_LT((ReadVector(world, "bear") - Vector3d(0, 0.004, 0.0447)).norm(), 0.02);
  EXPECT_GT(ReadVector(world, "gripper").z(), 0.3);
}

// Checks the first of the two points of Sussman and Bathe on a coarse mesh with long steps; the
// long tests refine it.
TEST(CylinderPress, GivesAsTheReferenceSays) {
  World world = LoadShipped("cylinder_press",
                            {"time_step=0.1", "bodies[1].deformable.mesh.edge_length=0.067"});
  constexpr double kLoad = 0.25e6 * 0.02;  // [N]
  RunUntil(500 * kLoad / 28000, &world);
  EXPECT_NEAR(ReadNumber(world, "displacement"), 0.1, 0.05 * 0.1);
  EXPECT_NEAR(ReadVector(world, "force").z(), kLoad, 1e-2 * kLoad);
  // volume loss: mean pressure of about 0.4 MPa over the bulk modulus; the circle has 18 sides
  const double volume = 9 * std::sin(kPi / 9) * 0.04 * 0.02;
  EXPECT_NEAR(ReadNumber(world, "volume") / volume, 1 - 0.4e6 / 1.41e9, 1e-4);
  // the plates have no friction, so nothing may push the cylinder sideways, at any tolerance
  EXPECT_NEAR(ReadVector(world, "middle").x(), 0, 1e-8);
}

// Positions of the bar's vertices after one second.
std::vector<double> BendBar(const std::string& model, double time_step) {
  World world =
      LoadShipped("bending_bar", {absl::StrCat("time_step=", time_step),
                                  absl::StrCat("bodies[0].deformable.material.model=", model)});
  RunUntil(1, &world);
  return world.state().q;
}

double CalcTipDistance(const std::vector<double>& a, const std::vector<double>& b) {
  const World world = LoadShipped("bending_bar");
  const TetrahedralMesh& mesh = world.model().bodies[0].mesh;
  Vector3d sum = Vector3d::Zero();
  int count = 0;
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    if (mesh.vertices[i].x() < 0.5 - 1e-9) continue;
    sum += VectorAt(a, 3 * static_cast<int>(i)) - VectorAt(b, 3 * static_cast<int>(i));
    ++count;
  }
  return sum.norm() / count;
}

// han2023 §VII-E: first-order convergence in the step would reduce the difference tenfold.
TEST(BendingBar, LaggedAndClassicalMaterialsAgreeAtShortSteps) {
  const double coarse =
      CalcTipDistance(BendBar("LINEAR_COROTATIONAL", 0.1), BendBar("COROTATIONAL", 0.1));
  const double fine =
      CalcTipDistance(BendBar("LINEAR_COROTATIONAL", 0.01), BendBar("COROTATIONAL", 0.01));
  EXPECT_GT(coarse, 5 * fine) << coarse << " " << fine;
}

// The bar gains volume, as any material with lagged rotations does, but stays bounded.
TEST(BendingBar, LaggedMaterialStaysBoundedAtAStepOfASecond) {
  World world = LoadShipped("bending_bar", {"time_step=1"});
  RunUntil(20, &world);
  const double volume = ReadNumber(world, "volume"), elastic = ReadNumber(world, "elastic");
  RunUntil(200, &world);
  EXPECT_LT(ReadNumber(world, "volume"), 1.5 * volume);
  EXPECT_LT(ReadNumber(world, "elastic"), 1.5 * elastic);
}

}  // namespace
}  // namespace pliant::physics
