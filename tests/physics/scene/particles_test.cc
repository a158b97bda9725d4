// Particle bodies in scenes: the resulting model, and messages about errors.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/dynamics/model.h"
#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "tests/physics/scene/scene_text.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using testing::HasSubstr;

constexpr char kGrid[] = "grid: {cell_size: 0.1}\n";
constexpr char kDough[] =
    "{model: VON_MISES, youngs_modulus: 2.0e4, poissons_ratio: 0.4, yield_stress: 1000, density: "
    "1000}";
constexpr char kWater[] = "{model: LIQUID, bulk_modulus: 2.0e5, density: 1000}";

// An entry of `bodies`; its particles begin at column 15 of its second line.
std::string Particles(const std::string& name, const std::string& fields) {
  return "- name: " + name + "\n  particles: {" + fields + "}\n";
}
// A block of 0.4 m, with 8 particles in each of 64 cells; `fields` end with a comma, if any.
std::string Dough(const std::string& fields = "", const std::string& name = "dough") {
  return Particles(name, fields + "fill: {box: {size: [0.4, 0.4, 0.4]}}, material: " + kDough);
}
std::string Scene(const std::string& bodies, const std::string& rest = "") {
  return kGrid + ("bodies:\n" + bodies) + rest;
}

double Sample(const Model& model, int probe) {
  return SampleProbe(model, model.probes[probe], MakeInitialState(model), {}, model.time_step)
      .numbers.at(0);
}

TEST(SceneParticles, AllBodiesShareOneBlock) {
  const SceneResult result = LoadSceneYaml(
      Scene(Dough() +
            "- name: floor\n  rigid: {motion: FIXED, pose: {position: [0, 0, -5]}, "
            "shapes: [{half_space: {}}]}\n" +
            Particles("water",
                      "pose: {position: [2, 0, 0]}, velocity: {linear: [0, 0, 1]}, fill: {sphere: "
                      "{radius: 0.2}}, material: " +
                          std::string(kWater))),
      "s.yaml");
  ASSERT_EQ(Messages(result), "");
  const Model& model = *result.model;
  ASSERT_EQ(model.blocks.size(), 1u);
  const Body &dough = model.bodies[0], &water = model.bodies[2];
  EXPECT_EQ(dough.part, 0);
  EXPECT_EQ(water.part, 1);
  EXPECT_EQ(dough.youngs_modulus, 2e4);
  EXPECT_EQ(water.density, 1000);

  const BlockAbilities abilities = model.abilities_of(water);
  EXPECT_EQ(abilities.elements->elements_of(0).count, 512);
  // particles collide as balls that touch the surface, and points on it
  EXPECT_EQ(abilities.nodes->nodes_of(0).count, 512 + (9 * 9 * 9 - 7 * 7 * 7));
  ASSERT_EQ(dough.points.nodes.size(), dough.points.radii.size());
  EXPECT_EQ(static_cast<int>(dough.points.nodes.size()), abilities.nodes->nodes_of(0).count);
  EXPECT_NEAR(dough.points.radii.front(), 0.025, 1e-15);
  EXPECT_EQ(dough.points.radii.back(), 0);
  EXPECT_EQ(water.points.nodes.front(), abilities.nodes->nodes_of(1).first);
  EXPECT_EQ(water.points.nodes.back(), abilities.nodes->num_nodes() - 1);

  // the fill is placed by the pose, and moves
  const State state = MakeInitialState(model);
  const DynamicsBlock& block = *model.blocks[0];
  EXPECT_NEAR(block.mass(0), 64, 1e-12);
  EXPECT_NEAR(block.mass(1), 4.0 / 3 * 3.141592653589793 * 8, 1e-12);
  EXPECT_LT((block.CalcCenterOfMass(model.StateOf(state, 0), 1) - Vector3d(2, 0, 0)).norm(), 1e-14);
  EXPECT_NEAR(block.CalcMomentum(model.StateOf(state, 0), 1)[2], block.mass(1), 1e-12);
}

TEST(SceneParticles, InThePaperVariantTheyTouchAsPoints) {
  const SceneResult result =
      LoadSceneYaml("grid: {cell_size: 0.1, variant: PAPER}\nbodies:\n" + Dough(), "s.yaml");
  ASSERT_EQ(Messages(result), "");
  const TouchingPoints& points = result.model->bodies[0].points;
  EXPECT_EQ(points.nodes.size(), 512u);
  EXPECT_EQ(std::ranges::count(points.radii, 0.0), 512);
}

TEST(SceneParticles, CopiesOfATemplateAreBodiesOfTheBlock) {
  const std::string body =
      "- name: drop\n  template: true\n  particles: {fill: {sphere: {radius: "
      "0.1}}, material: " +
      std::string(kWater) + "}\n";
  const SceneResult result = LoadSceneYaml(
      Scene(body, "instances: [{of: drop, poses: [{position: [0, 0, 0]}, {position: [1, 0, 0]}]}]"),
      "s.yaml");
  ASSERT_EQ(Messages(result), "");
  ASSERT_EQ(result.model->bodies.size(), 2u);
  EXPECT_EQ(result.model->blocks.size(), 1u);
  EXPECT_EQ(result.model->bodies[1].name, "drop_1");
  EXPECT_EQ(result.model->bodies[1].part, 1);
}

TEST(SceneParticles, FieldsOfGridAndParticlesArePartOfTheModelsHash) {
  const auto hash = [](const std::string& yaml) {
    const SceneResult result = LoadSceneYaml(yaml, "s.yaml");
    EXPECT_TRUE(result.ok()) << Messages(result);
    return result.ok() ? result.model->hash : "";
  };
  const std::string first = hash(Scene(Dough()));
  EXPECT_EQ(first, hash("name: another\n" + Scene(Dough())));
  EXPECT_NE(first, hash("grid: {cell_size: 0.11}\nbodies:\n" + Dough()));
  EXPECT_NE(first, hash("grid: {cell_size: 0.1, variant: PAPER}\nbodies:\n" + Dough()));
  EXPECT_NE(first, hash(Scene(Dough("per_cell: 9, "))));
  EXPECT_NE(hash(Scene(Dough("layout: POISSON_DISK, "))),
            hash(Scene(Dough("layout: POISSON_DISK, seed: 1, "))));
}

TEST(SceneParticles, CountSetsTheNumberOfParticles) {
  const auto count = [](const std::string& fields) {
    const SceneResult result = LoadSceneYaml(Scene(Dough(fields)), "s.yaml");
    EXPECT_EQ(Messages(result), "");
    return result.ok() ? result.model->abilities[0].elements->num_elements() : 0;
  };
  EXPECT_EQ(count(""), 512);
  EXPECT_EQ(count("per_cell: 27, "), 1728);
  EXPECT_EQ(count("count: 1000, "), 1000);
  EXPECT_EQ(count("count: 777, layout: POISSON_DISK, "), 777);
}

TEST(SceneParticles, AGridIsNeededForParticlesOnly) {
  EXPECT_EQ(Messages("bodies:\n" + Dough()),
            "s.yaml:3:14: bodies[0].particles: need a grid that carries them. Give the scene a "
            "`grid: {cell_size: …}` in metres, about a quarter of the thinnest body\n");
  EXPECT_EQ(Messages(Scene("- name: ball\n  rigid: {motion: FIXED, shapes: [{sphere: {radius: "
                           "1}}]}\n")),
            "s.yaml:1:7: warning: grid: carries nothing: no body has `particles`. Remove it\n");
}

TEST(SceneParticles, TheGridIsChecked) {
  const auto said = [](const std::string& grid) {
    return Messages("grid: {" + grid + "}\nbodies:\n" + Dough());
  };
  EXPECT_EQ(said("variant: PAPER"),
            "s.yaml:1:7: grid.cell_size: is missing; expected a positive length in metres\n");
  EXPECT_EQ(
      said("cell_size: 0"),
      "s.yaml:1:19: grid.cell_size: 0 is not allowed; expected a positive length in metres\n");
  EXPECT_THAT(said("cell_size: 2.0e6"), HasSubstr("grid.cell_size: 2e+06 is not allowed"));
  EXPECT_THAT(said("cell_size: .inf"), HasSubstr("is not finite"));
  EXPECT_EQ(said("cell_size: 0.1, bounds: {lower: [-1, -1, -1], upper: [1, 1, -2]}"),
            "s.yaml:1:68: grid.bounds.upper[2]: -2 is not allowed; expected at least a cell_size "
            "above the lower -1\n");
  EXPECT_THAT(said("cell_size: 0.1, bounds: {lower: [-1, -1, -1]}"),
              HasSubstr("grid.bounds.upper: is missing; expected 3 numbers in metres"));
  EXPECT_EQ(said("cell_size: 0.1, leaving: FREEZE"),
            "s.yaml:1:33: warning: grid.leaving: changes nothing: there are no bounds to leave. "
            "Give `bounds`\n");
  EXPECT_THAT(said("cell_size: 0.1, max_nodes: 0"),
              HasSubstr("grid.max_nodes: 0 is not allowed; expected a whole number from 1 to"));
}

TEST(SceneParticles, TheyAreSteppedByImplicitEulerInReducedCoordinates) {
  const auto said = [](const std::string& method) {
    return Messages(Scene(Dough(), "method: " + method + "\n"));
  };
  EXPECT_EQ(said("{convex: {theta: [1, 1]}}"), "");
  EXPECT_EQ(said("{convex: {integrator: IMPLICIT_EULER}}"), "");
  EXPECT_EQ(said("{corrective: {}}"), "");
  EXPECT_EQ(said("{nonsmooth: {}}"), "");
  EXPECT_EQ(said("{convex: {theta: [0.5, 0.5]}}"),
            "s.yaml:5:26: method.convex.theta: [0.5, 0.5] is not supported with particles: under "
            "any but implicit Euler, spinning bodies gain angular momentum from the grid. Leave it "
            "out\n");
  EXPECT_THAT(said("{convex: {integrator: MIDPOINT}}"),
              HasSubstr("method.convex.integrator: MIDPOINT is not supported with particles"));
  EXPECT_THAT(said("{nonsmooth: {coordinates: MAXIMAL}}"),
              HasSubstr("method.nonsmooth.coordinates: MAXIMAL is not supported with particles"));
  EXPECT_EQ(said("{smooth: {}}"), "");
  EXPECT_EQ(said("{smooth: {integrator: BE}}"), "");
  EXPECT_THAT(said("{smooth: {integrator: SDIRK2}}"),
              HasSubstr("method.smooth.integrator: SDIRK2 is not supported with particles"));
  EXPECT_THAT(said("{smooth: {damped_start: true}}"),
              HasSubstr("method.smooth.damped_start: is not supported with particles"));
}

TEST(SceneParticles, MaterialsHaveTheirOwnParameters) {
  const auto said = [](const std::string& material) {
    return Messages(Scene(
        Particles("dough", "material: {" + material + "}, fill: {box: {size: [0.4, 0.4, 0.4]}}")));
  };
  const std::string solid = "youngs_modulus: 1.0e4, density: 1000, ";
  EXPECT_EQ(said(solid + "poissons_ratio: 0.4"), "");
  EXPECT_EQ(said(solid + "poissons_ratio: 0.4, model: NEO_HOOKEAN"), "");
  EXPECT_THAT(said(solid + "poissons_ratio: 0.5"),
              HasSubstr("material.poissons_ratio: 0.5 is not allowed; expected a number in (-1, "
                        "0.5)"));
  EXPECT_THAT(said(solid + "poissons_ratio: 0.5"),
              HasSubstr(". A nearly incompressible body: use 0.49\n"));
  EXPECT_THAT(said(solid + "model: VON_MISES, poissons_ratio: 0.4"),
              HasSubstr("material.yield_stress: is missing; expected a positive stress"));
  EXPECT_THAT(said(solid + "model: VON_MISES, poissons_ratio: 0.4, yield_stress: -1"),
              HasSubstr("material.yield_stress: -1 is not allowed; expected a positive stress"));
  EXPECT_THAT(said(solid + "poissons_ratio: 0.4, yield_stress: 1000"),
              HasSubstr("material.yield_stress: is not a parameter of LINEAR_COROTATIONAL; "
                        "expected youngs_modulus, poissons_ratio, density. Remove it"));
  EXPECT_THAT(said("youngs_modulus: 1.0e4, poissons_ratio: 0.4"),
              HasSubstr("material.density: is missing; expected a positive density in kg/m³"));
  EXPECT_THAT(said("youngs_modulus: 1.0e4, poissons_ratio: 0.4, density: 0"),
              HasSubstr("material.density: 0 is not allowed; expected a positive density"));

  const std::string liquid = "model: LIQUID, density: 1000, ";
  EXPECT_EQ(said(liquid + "bulk_modulus: 2.0e5, gamma: 7, viscosity: 0.1"), "");
  EXPECT_EQ(said(liquid + "bulk_modulus: 2.0e5"), "");
  EXPECT_THAT(said(liquid + "gamma: 7"), HasSubstr("material.bulk_modulus: is missing; expected"));
  EXPECT_THAT(said(liquid + "bulk_modulus: 0"),
              HasSubstr("material.bulk_modulus: 0 is not allowed"));
  EXPECT_THAT(said(liquid + "bulk_modulus: 1, gamma: 0.5"),
              HasSubstr("material.gamma: 0.5 is not allowed; expected"));
  EXPECT_THAT(said(liquid + "bulk_modulus: 1, gamma: 6.5"),
              HasSubstr("material.gamma: 6.5 is not allowed; expected"));
  EXPECT_THAT(said(liquid + "bulk_modulus: 1, viscosity: -1"),
              HasSubstr("material.viscosity: -1 is not allowed; expected"));
  EXPECT_THAT(said(liquid + "bulk_modulus: 1, youngs_modulus: 1"),
              HasSubstr("material.youngs_modulus: is not a parameter of LIQUID"));

  EXPECT_EQ(said(solid + "custom_model: NEO_HOOKEAN, poissons_ratio: 0.4"), "");
  EXPECT_THAT(said(solid + "custom_model: SAND, poissons_ratio: 0.4"),
              HasSubstr("material.custom_model: \"SAND\" is not a material of particles; expected "
                        "one of "));
  EXPECT_THAT(said(solid + "poissons_ratio: 0.4, parameters: {grain: 1}"),
              HasSubstr("material.parameters.grain: is not a parameter of LINEAR_COROTATIONAL"));
}

TEST(SceneParticles, FillsAreChecked) {
  const auto said = [](const std::string& fill) {
    return Messages(
        Scene(Particles("water", "material: " + std::string(kWater) + ", fill: {" + fill + "}")));
  };
  for (const char* fill :
       {"box: {size: [0.5, 0.5, 0.5]}", "sphere: {radius: 0.3}",
        "cylinder: {radius: 0.3, length: 1}", "capsule: {radius: 0.3, length: 1}",
        "ellipsoid: {radii: [0.3, 0.4, 0.5]}", "torus: {ring_radius: 0.5, tube_radius: 0.2}"})
    EXPECT_EQ(said(fill), "");
  EXPECT_THAT(said(""), HasSubstr("particles.fill: is missing; expected a box, sphere, cylinder, "
                                  "capsule, ellipsoid, torus or file"));
  EXPECT_THAT(said("sphere: {radius: -1}"), HasSubstr("fill.sphere.radius: -1 is not allowed"));
  EXPECT_THAT(said("box: {size: [1, 1, 1], pose: {}}"),
              HasSubstr("fill.box.pose: is not allowed here; expected the `pose` of the body"));
  EXPECT_THAT(said("torus: {ring_radius: 0.2, tube_radius: 0.2}"),
              HasSubstr("fill.torus.tube_radius: 0.2 is not allowed; expected less than the "
                        "ring_radius"));
  EXPECT_THAT(said("torus: {ring_radius: 0.5, tube_radius: 0.2, slices: 8}"),
              HasSubstr("fill.torus.slices: applies to meshes only. Remove it"));
  EXPECT_THAT(said("sphere: {radius: 1}, scale: 2"),
              HasSubstr("fill.scale: applies to files only. Remove it"));
  EXPECT_THAT(said("torus: {ring_radius: 0.5, tube_radius: 1.0e-5}"),
              HasSubstr("particles.fill: holds no particle: it is too thin for particles every 50 "
                        "mm. Use a smaller grid.cell_size, or a larger `per_cell`"));
}

TEST(SceneParticles, RegionsAndAttachmentsAreUnknown) {
  EXPECT_THAT(Messages(Scene(Dough("regions: [], "))),
              HasSubstr("\"regions\" is not a known field"));
  EXPECT_THAT(Messages(Scene(Dough("attachments: [], "))),
              HasSubstr("\"attachments\" is not a known field"));
}

TEST(SceneParticles, NumbersOfParticlesAreChecked) {
  const auto said = [](const std::string& fields) { return Messages(Scene(Dough(fields))); };
  EXPECT_THAT(said("per_cell: 0, "),
              HasSubstr("particles.per_cell: 0 is not allowed; expected a positive number"));
  EXPECT_THAT(said("count: 0, "),
              HasSubstr("particles.count: 0 is not allowed; expected a whole number of 1 or more"));
  EXPECT_THAT(said("count: 5, per_cell: 8, "),
              HasSubstr("particles.count: conflicts with `per_cell`"));
  EXPECT_THAT(said("seed: 5, "), HasSubstr("particles.seed: applies to the layout POISSON_DISK"));
  EXPECT_THAT(said("seed: -5, layout: POISSON_DISK, "),
              HasSubstr("particles.seed: -5 is not allowed; expected 0 or more"));
  EXPECT_EQ(said("per_cell: 1, "),
            "s.yaml:4:25: warning: bodies[0].particles.per_cell: gives 1 particles in a grid cell; "
            "with fewer than 4, a body that is stretched falls apart early\n");
  EXPECT_THAT(said("count: 1, "), HasSubstr("warning: bodies[0].particles.count: gives 0.02"));
}

TEST(SceneParticles, NoMoreThanMemoryIsMeantForAreMade) {
  SceneOptions options;
  options.limits.max_particles = 1500;  // one body has 512, and 386 points on its surface
  const std::string two = Dough() + Dough("pose: {position: [2, 0, 0]}, ", "loaf");
  EXPECT_EQ(Messages(Scene(Dough()), options), "");
  EXPECT_EQ(Messages(Scene(two), options),
            "s.yaml:6:50: bodies[1].particles.fill: brings the scene to 1796 particles and points "
            "on their surfaces; expected at most 1500. Use a larger grid.cell_size, or fewer "
            "particles in a cell\n");
  EXPECT_THAT(Messages(Scene(Dough("per_cell: 64, ")), options),
              HasSubstr("particles.fill: would give about 4096 particles; expected at most 1500"));
  EXPECT_THAT(Messages(Scene(Dough("count: 2000000, "))),
              HasSubstr("particles.fill: brings the scene to"));
  EXPECT_THAT(Messages(Scene(Dough("count: 2000000000, "))),
              HasSubstr("particles.count: would give about 2e+09 particles; expected at most"));
  EXPECT_THAT(Messages(Scene(Particles("sheet",
                                       "fill: {box: {size: [1000, 1000, 1.0e-6]}}, "
                                       "material: " +
                                           std::string(kWater)))),
              HasSubstr("points on its surface; expected at most"));
  const std::string drop =
      "- name: drop\n  template: true\n" + Dough().substr(Dough().find("  particles"));
  EXPECT_THAT(Messages(Scene(drop, "instances: [{of: drop, poses: [{}, {position: [1, 0, 0]}]}]\n"),
                       options),
              HasSubstr("instances: would make 1796 particles"));
}

TEST(SceneParticles, TheyStartWithinTheBounds) {
  const std::string bounds =
      "grid: {cell_size: 0.1, bounds: {lower: [-1, -1, -1], upper: [1, 1, 1]}}\nbodies:\n";
  EXPECT_EQ(Messages(bounds + Dough("pose: {position: [0.8, 0, 0]}, ")), "");
  // two of eight layers are beyond
  EXPECT_EQ(Messages(bounds + Dough("pose: {position: [0.9, 0, 0]}, ")),
            "s.yaml:4:21: bodies[0].particles.pose: puts 128 of the 512 particles of \"dough\" "
            "outside grid.bounds. Move the body, or widen them\n");
  EXPECT_THAT(Messages(Scene(Dough("pose: {position: [2.0e5, 0, 0]}, "))),
              HasSubstr("cells from the world's origin; expected at most 1e+06"));
}

TEST(SceneParticles, FastBodiesAreWarnedOf) {
  EXPECT_EQ(Messages(Scene(Dough("velocity: {linear: [9, 0, 0]}, "))), "");
  EXPECT_EQ(Messages(Scene(Dough("velocity: {linear: [20, 0, 0]}, "))),
            "s.yaml:4:25: warning: bodies[0].particles.velocity: moves \"dough\" by up to 200 mm "
            "in a step, more than grid.cell_size. Use a shorter time_step\n");
  // 0.3 m from its axis
  EXPECT_THAT(Messages(Scene(Dough("velocity: {angular: [0, 0, 50]}, "))),
              HasSubstr("moves \"dough\" by up to 123.7 mm"));
}

TEST(SceneParticles, BodiesThatStickAreWarnedOf) {
  const auto said = [](const std::string& x) {
    return Messages(Scene(Dough() + Dough("pose: {position: [" + x + ", 0, 0]}, ", "loaf")));
  };
  EXPECT_EQ(said("0.61"), "");
  EXPECT_EQ(
      said("0.59"),
      "s.yaml:6:14: warning: bodies[1].particles: \"loaf\" starts 190 mm from \"dough\", less "
      "than two cells of the grid: they stick together. Move one of them, or use smaller "
      "cells\n");
  EXPECT_THAT(said("0.4"), HasSubstr("\"loaf\" starts 0 mm from \"dough\""));
}

TEST(SceneParticles, OverlappingFillsAreRefused) {
  const auto said = [](const std::string& x, const std::string& size) {
    return Messages(Scene(Dough() + Particles("loaf", "pose: {position: [" + x +
                                                          ", 0, 0]}, fill: {box: {size: [" + size +
                                                          "]}}, material: " + kDough)));
  };
  EXPECT_THAT(said("0.35", "0.4, 0.4, 0.4"),
              HasSubstr("bodies[1].particles: \"loaf\" starts 50 mm inside \"dough\"; expected "
                        "bodies of particles not to overlap, as both would have their mass there. "
                        "Move one of them\n"));
  // one within the other
  EXPECT_THAT(said("0", "0.2, 0.2, 0.2"), HasSubstr("\"loaf\" starts 100 mm inside \"dough\""));
  EXPECT_THAT(said("0", "0.8, 0.8, 0.8"), HasSubstr("\"loaf\" starts 200 mm inside \"dough\""));
}

TEST(SceneParticles, CellsTooWideForAToolAreWarnedOf) {
  const std::string plate =
      "- name: plate\n  rigid: {motion: FIXED, pose: {position: [0, 0, -1]}, shapes: [{box: {size: "
      "[1, 1, 0.05]}}]}\n";
  EXPECT_EQ(Messages(Scene(Dough() + plate)),
            "s.yaml:1:19: warning: grid.cell_size: 0.1 m is more than half the thickness of "
            "\"plate\", 50 mm; particles on its two sides move each other. Use smaller cells where "
            "it parts them\n");
}

TEST(SceneParticles, BodiesThatStartInsideAToolAreNamed) {
  const std::string anvil =
      "- name: anvil\n  rigid: {motion: FIXED, pose: {position: [0, 0, -0.55]}, shapes: [{box: "
      "{size: [1, 1, 1]}}]}\n";
  EXPECT_THAT(Messages(Scene(Dough() + anvil)),
              HasSubstr("\"anvil\" starts 150 mm inside \"dough\"; they part at"));
}

class SceneParticleFiles : public ::testing::Test {
 protected:
  SceneParticleFiles() {
    folder_ = std::filesystem::temp_directory_path() /
              ("particles_test_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
  }
  ~SceneParticleFiles() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  // Messages of a scene with the file in a fill.
  std::string SaidOf(const std::string& fill) const {
    SceneOptions options;
    options.jail = folder_.string();
    return Messages(
        Scene(Particles("dough", "fill: {" + fill + "}, material: " + std::string(kDough))),
        options);
  }

  std::filesystem::path folder_;
};

// A tetrahedron with its corner at the origin and legs of 1 m.
constexpr char kOpenObj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n";

TEST_F(SceneParticleFiles, AClosedSurfaceIsFilledAnOpenOneIsNot) {
  Write("closed.obj", std::string(kOpenObj) + "f 2 3 4\n");
  Write("open.obj", kOpenObj);
  Write("inverted.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n");
  EXPECT_EQ(SaidOf("file: closed.obj"), "");
  EXPECT_EQ(SaidOf("file: closed.obj, scale: 2"), "");
  EXPECT_THAT(SaidOf("file: open.obj"), HasSubstr("expected a closed surface, found 3 edges"));
  EXPECT_EQ(SaidOf("file: open.obj, convex: true"), "");
  EXPECT_THAT(SaidOf("file: inverted.obj"),
              HasSubstr("warning: bodies[0].particles.fill.file: "
                        "inverted.obj: turned the surface inside out"));
  EXPECT_THAT(SaidOf("file: none.obj"), HasSubstr("no such file"));
  EXPECT_THAT(SaidOf("file: closed.obj, repair: true"),
              HasSubstr("fill.repair: applies to tetrahedra only"));
}

TEST_F(SceneParticleFiles, TetrahedraAreFilledUnlessInverted) {
  const auto vtk = [](const std::string& cell) {
    return "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n0 0 "
           "0\n"
           "1 0 0\n0 1 0\n0 0 1\nCELLS 1 5\n4 " +
           cell + "\nCELL_TYPES 1\n10\n";
  };
  Write("sound.vtk", vtk("0 1 2 3"));
  Write("inverted.vtk", vtk("0 2 1 3"));
  EXPECT_EQ(SaidOf("file: sound.vtk"), "");
  EXPECT_THAT(SaidOf("file: inverted.vtk"), HasSubstr("has 1 inverted tetrahedron"));
  EXPECT_THAT(SaidOf("file: inverted.vtk, repair: true"), HasSubstr("warning: "));
  EXPECT_THAT(SaidOf("file: sound.vtk, convex: true"),
              HasSubstr("fill.convex: applies to surfaces only"));
}

TEST_F(SceneParticleFiles, TetrahedraThatMeetInAnEdgeHaveNoInsideThere) {
  Write("edge.vtk",
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 6 double\n0 0 0\n"
        "0 0 1\n1 0 0\n0 1 0\n-1 0 0\n0 -1 0\nCELLS 2 10\n4 0 2 3 1\n4 0 4 5 1\nCELL_TYPES "
        "2\n10\n10\n");
  EXPECT_THAT(SaidOf("file: edge.vtk"),
              HasSubstr("a fill expects none: inside and outside meet there. Fix the file"));
}

TEST(SceneParticles, ProbesMeasureReachMassAndState) {
  const SceneResult result = LoadSceneYaml(
      Scene(Dough("pose: {position: [1, 0, 0]}, velocity: {linear: [0, 3, 4]}, "),
            "probes:\n"
            "- {name: front, extent: {body: dough, direction: [2, 0, 0]}}\n"
            "- {name: back, extent: {body: dough, direction: [-1, 0, 0], quantile: 0.2}}\n"
            "- {name: half, mass_within: {body: dough, box: {size: [2, 2, 2]}}}\n"
            "- {name: all, mass_within: {body: dough, box: {size: [0.4, 9, 0.4], pose: {position: "
            "[1, 0, 0]}}}}\n"
            "- {name: strain, field: {body: dough, measure: PLASTIC_STRAIN}}\n"
            "- {name: pressure, field: {body: dough, measure: PRESSURE}}\n"
            "- {name: speed, field: {body: dough, measure: SPEED, reduce: MEAN}}\n"
            "- {name: ratio, field: {body: dough, measure: VOLUME_RATIO, reduce: MIN}}\n"
            "- {name: first, position: {body: dough, vertex: 0}}\n"),
      "s.yaml");
  ASSERT_EQ(Messages(result), "");
  const Model& model = *result.model;
  EXPECT_NEAR(Sample(model, 0), 1.2 - 0.025, 1e-14);
  EXPECT_NEAR(Sample(model, 1), -1 - 0.125, 1e-14);  // six of eight layers lie beyond
  EXPECT_NEAR(Sample(model, 2), 32, 1e-12);
  EXPECT_NEAR(Sample(model, 3), 64, 1e-12);
  EXPECT_EQ(Sample(model, 4), 0);
  EXPECT_NEAR(Sample(model, 5), 0, 1e-9);
  EXPECT_NEAR(Sample(model, 6), 5, 1e-12);
  EXPECT_EQ(Sample(model, 7), 1);
  EXPECT_NEAR(Sample(model, 8), 1 - 0.175, 1e-14);
}

TEST(SceneParticles, ProbesOfTetrahedraUseTheirCentresAndDensities) {
  // a bar of two cubes along x, one twice as dense
  const SceneResult result = LoadSceneYaml(
      "bodies:\n- name: bar\n  deformable:\n    mesh: {box: {size: [2, 1, 1]}, edge_length: 1}\n"
      "    material: {youngs_modulus: 1, poissons_ratio: 0.3, density: 1}\n"
      "    regions: [{within: {box: {size: [1, 1, 1], pose: {position: [0.5, 0, 0]}}}, material: "
      "{density: 2}}]\n"
      "probes:\n- {name: light, mass_within: {body: bar, box: {size: [1, 1, 1], pose: {position: "
      "[-0.5, 0, 0]}}}}\n"
      "- {name: heavy, mass_within: {body: bar, box: {size: [1, 1, 1], pose: {position: [0.5, 0, "
      "0]}}}}\n"
      "- {name: front, extent: {body: bar, direction: [1, 0, 0], quantile: 0.3}}\n"
      "- {name: pressure, field: {body: bar, measure: PRESSURE}}\n",
      "s.yaml");
  ASSERT_EQ(Messages(result), "");
  EXPECT_NEAR(Sample(*result.model, 0), 1, 1e-14);
  EXPECT_NEAR(Sample(*result.model, 1), 2, 1e-14);
  EXPECT_LT(Sample(*result.model, 2), 0);  // a third of the mass is light
  EXPECT_NEAR(Sample(*result.model, 3), 0, 1e-14);
}

// Dough, water, a ball of tetrahedra and a rock, with a probe.
std::string Probed(const std::string& probe) {
  return Scene(
      Dough() +
          Particles("water",
                    "pose: {position: [2, 0, 0]}, fill: {sphere: {radius: 0.2}}, "
                    "material: " +
                        std::string(kWater)) +
          "- name: ball\n  deformable: {mesh: {sphere: {radius: 0.2}}, pose: {position: [4, 0, "
          "0]}, "
          "material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}}\n"
          "- name: rock\n  rigid: {motion: FREE, density: 1000, pose: {position: [6, 0, 0]}, "
          "shapes: [{sphere: {radius: 0.2}}]}\n",
      "probes: [{name: p, " + probe + "}]\n");
}

TEST(SceneParticles, ABodyWithoutAMeasureSaysWhy) {
  const auto said = [](const std::string& body, const std::string& measure) {
    return Messages(Probed("field: {body: " + body + ", measure: " + measure + "}"));
  };
  for (const char* measure : {"PRESSURE", "VOLUME_RATIO", "SPEED", "CAUCHY_STRESS"})
    for (const char* body : {"dough", "water"}) EXPECT_EQ(said(body, measure), "");
  EXPECT_EQ(said("dough", "VON_MISES_STRAIN"), "");
  EXPECT_EQ(said("ball", "PRESSURE"), "");
  EXPECT_THAT(said("water", "VON_MISES_STRAIN"),
              HasSubstr("probes[0].field.measure: VON_MISES_STRAIN is not known of \"water\": its "
                        "material keeps no strain; expected VON_MISES_STRESS, VOLUME_RATIO, "
                        "CAUCHY_STRESS, PRESSURE or SPEED\n"));
  EXPECT_THAT(said("water", "PLASTIC_STRAIN"), HasSubstr("\"water\": its material does not yield"));
  EXPECT_THAT(said("ball", "PLASTIC_STRAIN"), HasSubstr("\"ball\": its material does not yield"));
  EXPECT_THAT(said("ball", "SPEED"),
              HasSubstr("\"ball\": its elements are not particles. Use velocity"));
  EXPECT_THAT(said("dough", "CONTACT_PRESSURE"),
              HasSubstr("\"dough\": it has no surface of triangles. Use contact_force"));
  EXPECT_THAT(said("rock", "PRESSURE"), HasSubstr("\"rock\" is rigid; expected a deformable body"));
}

TEST(SceneParticles, ProbesOfReachAndMassAreChecked) {
  const auto said = [](const std::string& probe) { return Messages(Probed(probe)); };
  EXPECT_EQ(said("extent: {body: ball, direction: [0, 0, 1]}"), "");
  EXPECT_THAT(said("extent: {body: rock, direction: [0, 0, 1]}"), HasSubstr("\"rock\" is rigid"));
  EXPECT_THAT(said("extent: {body: dough}"), HasSubstr("extent.direction: is missing"));
  EXPECT_THAT(said("extent: {body: dough, direction: [0, 0, 0]}"),
              HasSubstr("extent.direction: is zero; expected a vector that points somewhere"));
  EXPECT_THAT(said("extent: {body: dough, direction: [0, 0, 1], quantile: 2}"),
              HasSubstr("extent.quantile: 2 is not allowed; expected a part of the mass, from 0"));
  EXPECT_THAT(said("mass_within: {body: dough}"), HasSubstr("mass_within.box.size: is missing"));
  EXPECT_THAT(said("mass_within: {body: dough, box: {size: [1, 1, -1]}}"),
              HasSubstr("mass_within.box.size[2]: -1 is not allowed"));
  EXPECT_THAT(said("mass_within: {body: rock, box: {size: [1, 1, 1]}}"),
              HasSubstr("\"rock\" is rigid"));
  EXPECT_THAT(said("position: {body: dough, vertex: 512}"),
              HasSubstr("512 is not a particle of \"dough\"; expected a number from 0 to 511"));
}

}  // namespace
}  // namespace pliant::physics
