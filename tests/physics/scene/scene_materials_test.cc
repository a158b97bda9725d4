// Materials of deformable bodies: models, their parameters, and regions.

#include <string>

#include <gtest/gtest.h>

#include "physics/dynamics/model.h"
#include "physics/scene/scene.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

// Loads a scene of one body of 2 × 1 × 1 with `fields` beside its mesh.
SceneResult LoadBody(const std::string& fields) {
  return LoadSceneYaml(
      "bodies:\n- name: bar\n  deformable:\n    mesh: {box: {size: [2, 1, 1]}, edge_length: 1}\n   "
      " " +
          fields + "\n",
      "s.yaml");
}

std::string SaidOf(const std::string& fields) {
  std::string all;
  for (const SceneMessage& message : LoadBody(fields).messages) all += Format(message) + "\n";
  return all;
}

// Energy of the body stretched by 10 % along x [J].
double StretchEnergy(const SceneResult& result) {
  const DynamicsBlock& block = *result.model->blocks[0];
  State state = MakeInitialState(*result.model);
  for (std::size_t i = 0; i < state.q.size(); i += 3) state.q[i] *= 1.1;
  return CalcElasticEnergy(block, state.q);
}

TEST(SceneMaterials, EveryModelHasItsEnergy) {
  // E = 2.5 μ, ν = ¼: λ = μ; the volume is 2
  const std::string moduli = ", youngs_modulus: 2.5, poissons_ratio: 0.25, density: 1}";
  const double e = 0.1, green = 0.5 * (1.21 - 1);
  const auto energy = [&](const std::string& model) {
    return StretchEnergy(LoadBody("material: {model: " + model + moduli));
  };
  EXPECT_NEAR(energy("LINEAR"), 2 * 1.5 * e * e, 1e-12);
  EXPECT_NEAR(energy("LINEAR_COROTATIONAL"), 2 * 1.5 * e * e, 1e-12);
  EXPECT_NEAR(energy("COROTATIONAL"), 2 * 1.5 * e * e, 1e-12);
  EXPECT_NEAR(energy("ST_VENANT_KIRCHHOFF"), 2 * 1.5 * green * green, 1e-12);
  EXPECT_NEAR(energy("NEO_HOOKEAN"), 2 * (0.5 * 0.21 + e * e - e), 1e-12);
  // c1 = 2, c2 = 1: κ = 10 + 4/3 − 4/3, rest 2 c1 + 4 c2 = 8
  EXPECT_NEAR(StretchEnergy(LoadBody(
                  "material: {model: MOONEY_RIVLIN, c1: 2, c2: 1, bulk_modulus: 10, density: 1}")),
              2 * (2 * 0.21 + 1 * 2 * 0.21 + 5 * e * e - 8 * e), 1e-12);
}

TEST(SceneMaterials, ModuliOfRubberAreDescribed) {
  const SceneResult result =
      LoadBody("material: {model: MOONEY_RIVLIN, c1: 2, c2: 1, bulk_modulus: 10, density: 1}");
  // μ = 6, K = 10: E = 9 K μ / (3 K + μ), ν = (3 K − 2 μ) / (6 K + 2 μ)
  EXPECT_NEAR(result.model->bodies[0].youngs_modulus, 15, 1e-12);
  EXPECT_NEAR(result.model->bodies[0].poissons_ratio, 0.25, 1e-12);
}

TEST(SceneMaterials, AMaterialIsAlsoFoundByItsNameAlone) {
  const std::string moduli = ", youngs_modulus: 2.5, poissons_ratio: 0.25, density: 1}";
  EXPECT_EQ(StretchEnergy(LoadBody("material: {custom_model: NEO_HOOKEAN" + moduli)),
            StretchEnergy(LoadBody("material: {model: NEO_HOOKEAN" + moduli)));
  EXPECT_EQ(
      SaidOf("material: {custom_model: GRANITE, density: 1}"),
      "s.yaml:5:30: bodies[0].deformable.material.custom_model: \"GRANITE\" is not a material; "
      "expected one of "
      "LINEAR_COROTATIONAL, LINEAR, COROTATIONAL, ST_VENANT_KIRCHHOFF, NEO_HOOKEAN, "
      "MOONEY_RIVLIN, LOG_NEO_HOOKEAN\n");
  EXPECT_EQ(SaidOf("material: {custom_model: LINEAR, model: LINEAR, density: 1}"),
            "s.yaml:5:30: bodies[0].deformable.material.custom_model: conflicts with `model`; "
            "expected only one of the two\n");
}

TEST(SceneMaterials, AMaterialTakesItsOwnParametersOnly) {
  EXPECT_EQ(
      SaidOf("material: {youngs_modulus: 1, poissons_ratio: 0.3, c1: 2, density: 1}"),
      "s.yaml:5:60: bodies[0].deformable.material.c1: is not a parameter of LINEAR_COROTATIONAL; "
      "expected youngs_modulus, "
      "poissons_ratio, density. Remove it\n");
  EXPECT_EQ(SaidOf("material: {youngs_modulus: 1, poissons_ratio: 0.3, parameters: {hardness: 2}, "
                   "density: 1}"),
            "s.yaml:5:79: bodies[0].deformable.material.parameters.hardness: is not a parameter of "
            "LINEAR_COROTATIONAL; expected "
            "youngs_modulus, poissons_ratio, density. Remove it\n");
  EXPECT_EQ(SaidOf("material: {model: MOONEY_RIVLIN, c1: 2, bulk_modulus: 10, density: 1}"),
            "s.yaml:5:15: bodies[0].deformable.material.c2: is missing; expected a modulus in "
            "pascals, not negative. That "
            "of a rubber is about 2e5\n");
  EXPECT_EQ(SaidOf("material: {model: MOONEY_RIVLIN, c1: 2, c2: -1, bulk_modulus: 10, density: 1}"),
            "s.yaml:5:49: bodies[0].deformable.material.c2: -1 is not allowed; expected a modulus "
            "in pascals, not "
            "negative. That of a rubber is about 2e5\n");
}

TEST(SceneMaterials, ARegionTakesWhatItDoesNotSayFromItsBody) {
  const std::string body =
      "material: {youngs_modulus: 2.5, poissons_ratio: 0.25, density: 1}\n    regions: ";
  const std::string half = "within: {box: {size: [1, 1, 1], pose: {position: [0.5, 0, 0]}}}";
  const SceneResult same = LoadBody(body + "[{" + half + ", material: {model: NEO_HOOKEAN}}]");
  // half of the volume has each material
  EXPECT_NEAR(StretchEnergy(same), 1.5 * 0.01 + (0.5 * 0.21 + 0.01 - 0.1), 1e-12);
  const SceneResult other = LoadBody(
      body + "[{" + half + ", material: {model: MOONEY_RIVLIN, c1: 2, c2: 1, bulk_modulus: 10}}]");
  EXPECT_NEAR(StretchEnergy(other), 1.5 * 0.01 + (4 * 0.21 + 0.05 - 0.8), 1e-12);
}

TEST(SceneMaterials, NewtonsMethodAndPlaneStrainAreRead) {
  const std::string moduli =
      "material: {model: NEO_HOOKEAN, youngs_modulus: 2.5, poissons_ratio: 0.25, density: 1}";
  EXPECT_EQ(SaidOf(moduli + "\n    plane_strain: true\n    newton: {tolerance: 1.0e-9, "
                            "max_iterations: 5, projection: false}"),
            "");
  EXPECT_EQ(SaidOf(moduli + "\n    newton: {max_iterations: -1}"),
            "s.yaml:6:30: bodies[0].deformable.newton.max_iterations: -1 is not allowed; expected "
            "at least 0\n");
}

TEST(SceneMaterials, ActivationsAreOfRegionsAndDriven) {
  const std::string material =
      "material: {youngs_modulus: 1, poissons_ratio: 0.3, density: 1}\n    "
      "regions: [{name: left, within: {box: {size: [1, 1, 1], pose: {position: [-0.5, 0, 0]}}}}]\n "
      "   activations: ";
  const SceneResult result =
      LoadBody(material + "[{name: swell, region: left, limit: 5}, {name: all}]");
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.model->actuators.size(), 2u);
  EXPECT_EQ(result.model->actuators[0].name, "bar/swell");
  EXPECT_EQ(result.model->actuators[0].effort_limit, 5);
  EXPECT_EQ(FindActuator(*result.model, "bar/all"), 1);
  EXPECT_EQ(SaidOf(material + "[{name: swell, region: lift}]"),
            "s.yaml:7:41: bodies[0].deformable.activations[0].region: no region of the body is "
            "called \"lift\"; did you mean `left`?\n");
  EXPECT_EQ(SaidOf(material + "[{name: swell}, {name: swell}]"),
            "s.yaml:7:41: bodies[0].deformable.activations[1].name: \"swell\" is also the name of "
            "activations[0]; expected a unique name\n");
  EXPECT_EQ(SaidOf(material + "[{region: left}]"),
            "s.yaml:7:19: bodies[0].deformable.activations[0].name: is missing; expected a name, "
            "by which it is driven\n");
  EXPECT_EQ(SaidOf(material + "[{name: swell}]\nscript: [{target: {activation: bar/smell}, times: "
                              "[0], values: [1]}]"),
            "s.yaml:8:32: script[0].target.activation: no activation is called \"bar/smell\"; "
            "expected body/name; did you mean `bar/swell`?\n");
}

}  // namespace
}  // namespace pliant::physics
