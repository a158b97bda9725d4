// A strip whose upper half is under an internal volumetric stress, like the arches of a pneumatic
// finger, driven as an actuator by the methods convex, corrective and nonsmooth.

#include "physics/spatial/trig.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

// 0.2 × 0.02 × 0.02 m, held at one end.
constexpr char kStrip[] = R"(
time_step: 0.01
gravity: [0, 0, 0]
method: {$METHOD: {}}
bodies:
  - name: strip
    deformable:
      mesh: {box: {size: [0.2, 0.02, 0.02]}, edge_length: 0.01}
      material: {model: $MATERIAL, youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}
      regions: [{name: upper, within: {box: {size: [0.2, 0.02, 0.01],
          pose: {position: [0, 0, 0.005]}}}}]
      activations: [{name: inflate, region: upper, limit: 2.0e+5}]
      attachments: [{to: world, within: {box: {size: [0.002, 1, 1],
          pose: {position: [-0.1, 0, 0]}}}}]
script: [{target: {activation: strip/inflate}, times: [0, 0.1], values: [0, $STRESS]}]
probes:
  - {name: center, position: {body: strip}}
  - {name: volume, volume: {body: strip}}
)";

World MakeStrip(const std::string& method, double stress,
                const std::string& material = "LINEAR_COROTATIONAL") {
  return LoadWorld(
      Fill(kStrip, {{"$METHOD", method}, {"$STRESS", Number(stress)}, {"$MATERIAL", material}}));
}

TEST(Inflation, StripBendsAwayFromItsInflatedSide) {
  double lowest[3];
  const char* methods[] = {"convex", "corrective", "nonsmooth"};
  for (int k = 0; k < 3; ++k) {
    World world = MakeStrip(methods[k], 1e5);
    RunUntil(1.5, &world);
    lowest[k] = ReadVector(world, "center").z();
    // half the section strains by p / 3K = p (1 − 2ν) / E = 0.04, axially p / E (1 − 2ν) with free
    // sides: curvature κ = 3/2 · 0.04 / 0.02 m, as for two bonded strips of equal stiffness
    // (Timoshenko); the centre of an arc of length L lies (L − sin(κL)/κ)/(κL) below its root. With
    // four linear elements across the section, the strip bends too little by a few per cent.
    const double kappa = 1.5 * 0.04 / 0.02, L = 0.2;
    const double expected = (L - CalcSinCos(kappa * L).sin / kappa) / (kappa * L);
    EXPECT_LT(lowest[k], -0.7 * expected) << methods[k];
    EXPECT_GT(lowest[k], -1.1 * expected) << methods[k];
    EXPECT_EQ(world.report().efforts.at(0), 1e5);
  }
  // without contact the methods are the same integrator
  EXPECT_NEAR(lowest[1], lowest[0], 1e-9);
  EXPECT_NEAR(lowest[2], lowest[0], 1e-9);
}

TEST(Inflation, EveryMaterialComesToRestInflated) {
  for (const char* material :
       {"LINEAR_COROTATIONAL", "COROTATIONAL", "ST_VENANT_KIRCHHOFF", "NEO_HOOKEAN"}) {
    World world = MakeStrip("convex", 1e5, material);
    const double volume = Read(world, "volume")[0];
    RunUntil(4, &world);
    const double bent = ReadVector(world, "center").z();
    EXPECT_GT(Read(world, "volume")[0], 1.03 * volume) << material;
    RunUntil(4.1, &world);
    EXPECT_NEAR(ReadVector(world, "center").z(), bent, 1e-5) << material;
    EXPECT_LT(bent, -0.01) << material;
  }
}

TEST(Inflation, StressStaysWithinItsLimit) {
  World limited = MakeStrip("convex", 1e6), at_limit = MakeStrip("convex", 2e5);
  RunUntil(0.3, &limited);
  RunUntil(0.3, &at_limit);
  EXPECT_EQ(limited.report().efforts.at(0), 2e5);
  // both ramps are at the limit by 0.1 s, one of them earlier
  RunUntil(2, &limited);
  RunUntil(2, &at_limit);
  EXPECT_NEAR(ReadVector(limited, "center").z(), ReadVector(at_limit, "center").z(), 1e-6);
}

TEST(Inflation, IsPartOfTheState) {
  World world = MakeStrip("convex", 1e5);
  RunUntil(0.2, &world);
  // a command holds until the next one
  Inputs command;
  command.actuators = {{0, 3e4}};
  World bare = LoadWorld(
      Fill(absl::StrReplaceAll(kStrip, {{"script:", "script: []\nprobes: [] #"},
                                        {"\nprobes:\n", "\n#"},
                                        {"\n  - {name", "\n#"}}),
           {{"$METHOD", "convex"}, {"$STRESS", "0"}, {"$MATERIAL", "LINEAR_COROTATIONAL"}}));
  ASSERT_TRUE(bare.Step(command).ok());
  RunUntil(0.1, &bare);
  EXPECT_EQ(bare.report().efforts.at(0), 3e4);
  const std::string saved = bare.Save();
  RunUntil(0.3, &bare);
  const std::string hash = HashState(bare.state());
  bare.Reset();
  EXPECT_EQ(bare.state().controls.at(0), 0);
  ASSERT_TRUE(bare.Restore(saved).ok());
  RunUntil(0.3, &bare);
  EXPECT_EQ(HashState(bare.state()), hash);
}

TEST(Inflation, WakesWhatSleeps) {
  World world = LoadWorld(Fill(
      kStrip, {{"$METHOD", "convex"}, {"$STRESS", "0"}, {"$MATERIAL", "LINEAR_COROTATIONAL"}}));
  RunUntil(3, &world);
  ASSERT_LT(world.state().rest.at(0), 0);
  Inputs command;
  command.actuators = {{0, 1e5}};
  ASSERT_TRUE(world.Step(command).ok());
  EXPECT_GE(world.state().rest.at(0), 0);
}

}  // namespace
}  // namespace pliant::physics
