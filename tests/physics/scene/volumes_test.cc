// Volume constraints and hollow spheres in scenes.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"
#include "tests/physics/scene/scene_text.h"

namespace pliant::physics {
namespace {

using testing::HasSubstr;

// A ball whose constraint has `volume`, with `rest` after it.
std::string BallWith(const std::string& volume, const std::string& rest = "",
                     const std::string& mesh = "hollow_sphere: {radius: 0.1, wall_thickness: 0.02}",
                     const std::string& more = "") {
  return "bodies:\n- name: ball\n  deformable:\n    mesh: {" + mesh +
         ", edge_length: 0.05}\n    material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, "
         "density: "
         "1000}\n" +
         more + "constraints: [{name: air, volume: {" + volume + "}}]\n" + rest;
}

constexpr char kAir[] = "body: ball, cavity: true, law: IDEAL_GAS";

std::string Said(const std::string& volume, const std::string& rest = "") {
  return Messages(BallWith(volume, rest));
}

TEST(SceneVolumes, HaveTheirPressureAndVolume) {
  const SceneResult result =
      LoadSceneYaml(BallWith(std::string(kAir) + ", gauge_pressure: 1.0e4",
                             "probes: [{name: p, pressure: {constraint: air}}]\n"),
                    "s.yaml");
  ASSERT_EQ(Messages(result), "");
  const Model& model = *result.model;
  ASSERT_EQ(model.constraints.size(), 1u);
  EXPECT_EQ(model.constraints[0].kind, Constraint::Kind::kVolume);
  const State state = MakeInitialState(model);
  EXPECT_NEAR(SampleProbe(model, model.probes[0], state, {}, 0.01).numbers.at(0), 1e4, 1e-8);
  EXPECT_EQ(state.internals.at(0), std::vector<double>{1e4});
}

TEST(SceneVolumes, RestVolumeSetsTheInitialPressure) {
  const SceneResult result = LoadSceneYaml(
      BallWith(
          "body: ball, law: QUADRATIC, bulk_modulus: 1.0e6, rest_volume: 0.002",
          "probes: [{name: p, pressure: {constraint: air}}, {name: v, volume: {body: ball}}]\n"),
      "s.yaml");
  ASSERT_EQ(Messages(result), "");
  const Model& model = *result.model;
  const State state = MakeInitialState(model);
  const auto read = [&](int probe) {
    return SampleProbe(model, model.probes[probe], state, {}, 0.01).numbers.at(0);
  };
  EXPECT_NEAR(read(0), 1e6 * (1 - read(1) / 0.002), 1e-6);
}

TEST(SceneVolumes, SayWhatIsWrong) {
  EXPECT_EQ(Said(kAir), "");
  EXPECT_THAT(Said("body: ball, cavity: true"),
              HasSubstr("constraints[0].volume.law: is missing; expected one of QUADRATIC, LIQUID, "
                        "IDEAL_GAS"));
  EXPECT_THAT(Said("body: ball, law: STEAM"), HasSubstr("\"STEAM\" is not a law; expected one of"));
  EXPECT_THAT(Said("body: ball, law: LIQUID"),
              HasSubstr("constraints[0].volume.bulk_modulus: is missing; expected a positive"));
  EXPECT_THAT(Said("body: ball, law: LIQUID, bulk_modulus: -1"),
              HasSubstr("volume.bulk_modulus: -1 is not allowed; expected a positive modulus"));
  EXPECT_THAT(Said("body: ball, law: IDEAL_GAS, bulk_modulus: 1.0e5"),
              HasSubstr("volume.bulk_modulus: is not a parameter of IDEAL_GAS. Remove it"));
  EXPECT_THAT(Said(std::string(kAir) + ", gauge_pressure: -1.1e5"),
              HasSubstr("volume.gauge_pressure: -110000 is not allowed: a gas at or below vacuum; "
                        "expected more than -101325 Pa"));
  EXPECT_THAT(Said(std::string(kAir) + ", region: core"),
              HasSubstr("volume.region: conflicts with `cavity`"));
  EXPECT_THAT(Said("body: ball, region: core, law: IDEAL_GAS"),
              HasSubstr("volume.region: \"ball\" has no region called \"core\""));
  EXPECT_THAT(Said("body: bell, cavity: true, law: IDEAL_GAS"),
              HasSubstr("no body is called \"bell\""));
  EXPECT_THAT(Said(std::string(kAir) + ", rest_volume: 1.0e+6"),
              HasSubstr("volume.rest_volume: 1e+06 is not allowed for an initial volume of"));
  EXPECT_THAT(Said(std::string(kAir) + ", rest_volume: 0"),
              HasSubstr("volume.rest_volume: 0 is not allowed"));
}

TEST(SceneVolumes, CavityMustBeThereAndClosed) {
  EXPECT_THAT(Messages(BallWith(kAir, "", "sphere: {radius: 0.1}")),
              HasSubstr("constraints[0].volume.cavity: \"ball\" has no cavity: its surface is in "
                        "one piece, as of a body that is solid or whose wall has an opening. Close "
                        "the wall, or use a `hollow_sphere`"));
  EXPECT_THAT(
      Messages(BallWith(kAir, "", "hollow_sphere: {radius: 0.1, wall_thickness: 0.1}")),
      HasSubstr("hollow_sphere.wall_thickness: 0.1 is not allowed; expected less than the radius"));
  EXPECT_THAT(Messages(BallWith(kAir, "", "hollow_sphere: {radius: 0.1, wall_thickness: 0.02}",
                                "    plane_strain: true\n")),
              HasSubstr("is in plane strain"));
}

TEST(SceneVolumes, ScriptAndProbesNameThem) {
  const std::string script = "script: [{target: {pressure: ";
  EXPECT_EQ(Said(kAir, script + "air}, times: [0, 1], values: [0, 68901]}]\n"), "");
  EXPECT_THAT(Said(kAir, script + "gas}, times: [0], values: [0]}]\n"),
              HasSubstr("script[0].target.pressure: no volume constraint is called \"gas\""));
  EXPECT_THAT(Said(kAir, script + "air}, times: [0, 1], values: [0, -2.0e5]}]\n"),
              HasSubstr("script[0].values[1]: -200000 is not allowed: a gas at or below vacuum"));
  EXPECT_THAT(Said(kAir, "probes: [{name: p, pressure: {constraint: gas}}]\n"),
              HasSubstr("probes[0].pressure.constraint: no volume constraint is called"));
  EXPECT_THAT(Said(kAir, "probes: [{name: p, reaction: {constraint: air}}]\n"),
              HasSubstr("is a volume constraint, whose forces balance. Probe its `pressure`"));
}

// The ball is scaled to a hundredth of its size, and its volume to a millionth.
TEST(SceneVolumes, CollapseNamesTheConstraint) {
  const SceneResult result = LoadSceneYaml(
      BallWith("body: ball, cavity: true, law: QUADRATIC, bulk_modulus: 1.0, rest_volume: 0.05"),
      "s.yaml");
  ASSERT_EQ(Messages(result), "");
  World world(result.model);
  State state = world.state();
  for (double& x : state.q) x *= 0.01;
  ASSERT_TRUE(world.Restore(SerializeState(state, result.model->hash)).ok());
  const absl::Status status = world.Step();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the volume of constraint \"air\" has collapsed to"));
}

}  // namespace
}  // namespace pliant::physics
