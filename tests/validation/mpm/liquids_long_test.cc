// Liquids of particles against hydrostatics, the dam break of Martin and Moyce (1952) and sloshing.

#include <cmath>
#include <vector>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// A column of water in a tank of 5 × 5 cells, of 162 mm at rest density.
World LoadColumn(double bulk_modulus) {
  return LoadWorld(Fill(R"(
name: column
time_step: 0.01
grid: {cell_size: 0.024}
contact: {friction: 0}
bodies:
  - name: tank
    rigid:
      motion: FIXED
      shapes:
        - {box: {size: [0.3, 0.3, 0.05]}, pose: {position: [0, 0, -0.025]}}
        - {box: {size: [0.05, 0.3, 0.4]}, pose: {position: [0.085, 0, 0.2]}}
        - {box: {size: [0.05, 0.3, 0.4]}, pose: {position: [-0.085, 0, 0.2]}}
        - {box: {size: [0.3, 0.05, 0.4]}, pose: {position: [0, 0.085, 0.2]}}
        - {box: {size: [0.3, 0.05, 0.4]}, pose: {position: [0, -0.085, 0.2]}}
  - name: water
    particles:
      fill: {box: {size: [0.12, 0.12, 0.162]}}
      pose: {position: [0, 0, 0.081]}
      material: {model: LIQUID, bulk_modulus: $K, gamma: 7, density: 1000}
probes:
  - {name: center, position: {body: water}}
  - {name: f, contact_force: {body: water, with: tank}}
)",
                        {{"$K", Number(bulk_modulus)}}));
}

// Expects the centre at the height `expected` [m], to a relative `tolerance`, from 1 s on, and the
// mean force on the tank to be the weight.
void ExpectColumnStands(double bulk_modulus, double expected, double tolerance) {
  World world = LoadColumn(bulk_modulus);
  double force = 0;
  int count = 0;
  while (world.state().time < 10) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    if (world.state().time < 1) continue;
    EXPECT_NEAR(ReadVector(world, "center").z(), expected, tolerance * expected)
        << "at " << world.state().time << " s";
    force += ReadVector(world, "f").z();
    ++count;
  }
  const double weight = 1000 * 0.12 * 0.12 * 0.162 * kGravity;
  EXPECT_NEAR(force / count, weight, 0.01 * weight);
}

TEST(LiquidColumn, KeepsItsHeight) {
  ExpectColumnStands(2e5, 0.0809, 0.03);
}

TEST(LiquidColumn, IsCompressedByItsWeight) {
  // it stands up to 7 % too low
  ExpectColumnStands(100, 0.0578, 0.08);
}

// A dam of width a and height 2 a breaks; the front is compared at times of Martin and Moyce.
TEST(DamBreak, FrontAdvancesAsMeasured) {
  constexpr double kWidth = 0.1, kCell = kWidth / 4;
  World world = LoadWorld(Fill(R"(
name: dam_break
time_step: 0.002
grid: {cell_size: $CELL}
contact: {friction: 0}
bodies:
  - name: tank
    rigid:
      motion: FIXED
      shapes:
        - {box: {size: [1.2, 0.3, 0.05]}, pose: {position: [0.5, 0, -0.025]}}
        - {box: {size: [0.05, 0.3, 0.5]}, pose: {position: [-0.025, 0, 0.25]}}
        - {box: {size: [1.2, 0.05, 0.5]}, pose: {position: [0.5, 0.075, 0.25]}}
        - {box: {size: [1.2, 0.05, 0.5]}, pose: {position: [0.5, -0.075, 0.25]}}
  - name: water
    particles:
      fill: {box: {size: [0.1, 0.1, 0.2]}}
      pose: {position: [0.05, 0, 0.1]}
      material: {model: LIQUID, bulk_modulus: 2.0e4, gamma: 7, density: 1000}
probes:
  - {name: front, extent: {body: water, direction: [1, 0, 0], quantile: 0.99}}
)",
                               {{"$CELL", Number(kCell)}}));
  struct {
    double time, front;
  } measured[] = {{1.98, 2.33}, {2.51, 3.00}, {2.83, 3.44}, {3.11, 3.89}};
  for (const auto& [time, front] : measured) {
    const double t = time / std::sqrt(2 * kGravity / kWidth);
    while (world.state().time < t) {
      const absl::Status status = world.Step();
      ASSERT_TRUE(status.ok()) << status;
    }
    EXPECT_NEAR(Read(world, "front")[0] / kWidth, front, 0.05 * front);
  }
}

// A fixed tank with a floor at 0, from `x0` to `x1` and of the half width `y` [m], as a body of a
// scene.
std::string Tank(double x0, double x1, double y) {
  constexpr double kHalfWall = 0.025;
  return Fill(R"(  - name: tank
    rigid:
      motion: FIXED
      shapes:
        - {half_space: {}}
        - {box: {size: [0.05, 0.4, 0.8]}, pose: {position: [$X0, 0, 0.4]}}
        - {box: {size: [0.05, 0.4, 0.8]}, pose: {position: [$X1, 0, 0.4]}}
        - {box: {size: [0.4, 0.05, 0.8]}, pose: {position: [$XM, -$Y, 0.4]}}
        - {box: {size: [0.4, 0.05, 0.8]}, pose: {position: [$XM, $Y, 0.4]}}
)",
              {{"$X0", Number(x0 - kHalfWall)},
               {"$X1", Number(x1 + kHalfWall)},
               {"$XM", Number(0.5 * (x0 + x1))},
               {"$Y", Number(y + kHalfWall)}});
}

// After a dam has broken in a tank of twice its width, the water comes to rest at half its height.
TEST(DamBreak, ComesToRestAtItsVolume) {
  World world = LoadWorld(Fill(R"(
name: dam_break
time_step: 0.005
grid: {cell_size: 0.025}
contact: {friction: 0}
bodies:
$TANK  - name: water
    particles:
      fill: {box: {size: [0.1, 0.1, 0.2]}}
      pose: {position: [0.05, 0, 0.1]}
      material: {model: LIQUID, bulk_modulus: 2.0e5, gamma: 7, density: 1000}
probes:
  - {name: center, position: {body: water}}
)",
                               {{"$TANK", Tank(0, 0.2, 0.05)}}));
  ASSERT_NO_FATAL_FAILURE(RunUntil(2, &world));
  while (world.state().time < 4) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_NEAR(ReadVector(world, "center").z(), 0.05, 0.05 * 0.05)
        << "at " << world.state().time << " s";
  }
}

// A cube of half the density of water floats half immersed, and the water keeps its volume: 100 mm
// high in a tank of 160 × 160 mm, it rises to 110 mm. Wrong by less than half a cell.
TEST(FloatingCube, DisplacesItsMass) {
  World world = LoadWorld(Fill(R"(
name: floating_cube
time_step: 0.01
grid: {cell_size: 0.02}
contact: {friction: 0}
bodies:
$TANK  - name: cube
    rigid:
      motion: FREE
      mass: 0.256
      pose: {position: [0, 0, 0.15]}
      shapes: [{box: {size: [0.08, 0.08, 0.08]}}]
  - name: water
    particles:
      fill: {box: {size: [0.16, 0.16, 0.1]}}
      pose: {position: [0, 0, 0.05]}
      material: {model: LIQUID, bulk_modulus: 2.0e5, gamma: 7, density: 1000}
probes:
  - {name: water, position: {body: water}}
  - {name: cube, position: {body: cube}}
)",
                               {{"$TANK", Tank(-0.08, 0.08, 0.08)}}));
  // the water that the cube has pushed aside comes to rest slowly: after 1.5 s, the cube is still
  // 10 mm too high
  ASSERT_NO_FATAL_FAILURE(RunUntil(2.5, &world));
  while (world.state().time < 3) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_NEAR(ReadVector(world, "cube").z(), 0.11, 0.01) << "at " << world.state().time << " s";
    EXPECT_NEAR(ReadVector(world, "water").z(), 0.0515, 0.05 * 0.0515);
  }
}

// The first mode of water that sloshes in a tank of length L and depth H has the frequency
// ω² = g k tanh(k H) with k = π/L (Lamb, Hydrodynamics, §228).
TEST(Slosh, HasThePeriodOfTheFirstMode) {
  World world = LoadWorld(Fill(R"(
name: slosh
time_step: 0.005
grid: {cell_size: 0.0125}
contact: {friction: 0}
bodies:
$TANK  - name: water
    particles:
      fill: {box: {size: [0.2, 0.05, 0.1]}}
      pose: {position: [0.1, 0, 0.05]}
      velocity: {linear: [0.1, 0, 0]}
      material: {model: LIQUID, bulk_modulus: 2.0e5, gamma: 7, density: 1000}
probes:
  - {name: center, position: {body: water}}
)",
                               {{"$TANK", Tank(0, 0.2, 0.025)}}));
  std::vector<double> crossings;  // times at which the centre of mass passes the middle
  double last = 0;
  while (crossings.size() < 3 && world.state().time < 2) {
    const double time = world.state().time;
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status;
    const double x = ReadVector(world, "center").x() - 0.1;
    if (time > 0 && last * x < 0)
      crossings.push_back(time + last / (last - x) * (world.state().time - time));
    last = x;
  }
  ASSERT_EQ(crossings.size(), 3u);
  const double k = kPi / 0.2, period = 2 * kPi / std::sqrt(kGravity * k * std::tanh(k * 0.1));
  EXPECT_NEAR(crossings[2] - crossings[0], period, 0.01 * period);
}

}  // namespace
}  // namespace pliant::physics
