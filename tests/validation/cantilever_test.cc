// A slender beam under its own small weight.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr double kLength = 1, kHeight = 0.1;  // [m]
constexpr double kWidth = 0.025;              // at ν = 0 a slice bends like the whole beam
constexpr double kYoungsModulus = 1e10;       // [Pa]
constexpr double kWeight = 10;                // gravity [m/s²]

// Tip deflection of the beam at rest [m]. Long backward-Euler steps damp its oscillation by a
// factor of 300 per step.
double CalcTipDeflection(double edge_length) {
  World world = LoadWorld(Fill(R"(
name: cantilever
gravity: [0, 0, -$G]
time_step: 1
bodies:
  - name: beam
    deformable:
      mesh: {box: {size: [$L, $B, $H]}, edge_length: $DX}
      material: {model: LINEAR, youngs_modulus: $E, poissons_ratio: 0, density: 1000}
      damping: {alpha: 0, beta: 0}
      attachments: [{to: world, within: {box: {size: [1.0e-6, 1, 1],
          pose: {position: [-$X, 0, 0]}}}}]
)",
                               {{"$G", Number(kWeight)},
                                {"$L", Number(kLength)},
                                {"$H", Number(kHeight)},
                                {"$B", Number(kWidth)},
                                {"$DX", Number(edge_length)},
                                {"$E", Number(kYoungsModulus)},
                                {"$X", Number(kLength / 2)}}));
  RunUntil(4, &world);

  const TetrahedralMesh& mesh = world.model().bodies[0].mesh;
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    if (mesh.vertices[i].x() < kLength / 2 - 1e-9) continue;
    sum += mesh.vertices[i].z() - world.state().q[3 * i + 2];
    ++count;
  }
  return sum / count;
}

TEST(Cantilever, ConvergesAtSecondOrderToTimoshenkosBeam) {
  const double coarse = CalcTipDeflection(0.025);
  const double middle = CalcTipDeflection(0.0125);
  const double fine = CalcTipDeflection(0.00625);
  const double order = std::log2((middle - coarse) / (fine - middle));
  EXPECT_NEAR(order, 2, 0.25);

  // q L⁴/8EI + q L²/2κGA with κ = 5/6 and G = E/2
  const double limit = fine + (fine - middle) / 3;
  const double area = kWidth * kHeight, inertia = area * kHeight * kHeight / 12;
  const double load = 1000 * kWeight * area;
  const double expected = load * std::pow(kLength, 4) / (8 * kYoungsModulus * inertia) +
                          load * kLength * kLength / (2 * 5.0 / 6 * kYoungsModulus / 2 * area);
  EXPECT_NEAR(limit, expected, 0.01 * expected) << coarse << " " << middle << " " << fine;
}

}  // namespace
}  // namespace pliant::physics
