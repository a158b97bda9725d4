// Bodies in free fall conserve momentum, apart from gravity.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A rigid or soft block of 1 kg thrown with a spin about none of its principal axes. It is
// undamped: on a stretched rotating body, Rayleigh damping in the lagged frame exerts a small
// torque that does not vanish with the step.
World LoadThrown(bool soft, double h) {
  return LoadWorld(Fill(absl::StrCat(R"(
name: thrown block
time_step: $H
bodies:
  - name: block)",
                                     soft ? R"(
    deformable:
      mesh: {box: {size: [0.2, 0.1, 0.05]}, edge_length: 0.05}
      pose: {position: [0, 0, 10]}
      velocity: {linear: [1, 2, 3], angular: [3, 5, -4]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.3,
          density: 1000}
      damping: {alpha: 0, beta: 0})"
                                          : R"(
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 10]},
            velocity: {linear: [1, 2, 3], angular: [3, 5, -4]},
                shapes: [{box: {size: [0.2, 0.1, 0.05]}}]})",
                                     R"(
probes:
  - {name: momentum, momentum: {body: block}}
  - {name: p, position: {body: block}}
)"),
                        {{"$H", Number(h)}}));
}

struct Momentum {
  Vector3d linear, spin;  // spin: angular about the centre of mass
};

Momentum ReadMomentum(const World& world) {
  const std::vector<double> m = Read(world, "momentum");
  const Vector3d linear(m[0], m[1], m[2]);
  return {linear, Vector3d(m[3], m[4], m[5]) - ReadVector(world, "p").cross(linear)};
}

// Relative change of the spin in one second.
double MeasureSpinDrift(bool soft, double h) {
  World world = LoadThrown(soft, h);
  const Vector3d start = ReadMomentum(world).spin;
  RunUntil(1, &world);
  return (ReadMomentum(world).spin - start).norm() / start.norm();
}

TEST(FreeFall, LinearMomentumIsMassTimesGravityTimesTime) {
  for (const bool soft : {false, true}) {
    World world = LoadThrown(soft, 0.01);
    const Vector3d start = ReadMomentum(world).linear;
    RunUntil(1, &world);
    const Vector3d gained = ReadMomentum(world).linear - start;
    EXPECT_LE((gained - Vector3d(0, 0, -kGravity)).norm(), 1e-12 * kGravity)
        << (soft ? "soft" : "rigid");
  }
}

TEST(FreeFall, SoftBodysSpinDriftsByLessTheShorterTheStep) {
  const double coarse = MeasureSpinDrift(true, 0.004), middle = MeasureSpinDrift(true, 0.002),
               fine = MeasureSpinDrift(true, 0.001);
  RecordProperty("drift_in_1_s_at_1_ms", std::to_string(fine));
  // at least O(h): halving the step halves the drift. It falls faster at first, because of
  // vibrations that backward Euler damps less at shorter steps
  EXPECT_GE(coarse / middle, 1.9) << coarse << " " << middle << " " << fine;
  EXPECT_GE(middle / fine, 1.9) << coarse << " " << middle << " " << fine;
}

TEST(FreeFall, RigidBodysSpinIsKept) {
  // the implicit update of ω solves for the momentum itself, so it is kept to rounding
  EXPECT_LE(MeasureSpinDrift(false, 0.01), 1e-12);
}

}  // namespace
}  // namespace pliant::physics
