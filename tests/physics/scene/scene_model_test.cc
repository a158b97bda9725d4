// Models built from valid scenes.

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/scene/scene.h"
#include "pliant/v1/scene.pb.h"
#include "tests/physics/scene/scene_text.h"

namespace pliant::physics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Model> Load(std::string_view yaml, const SceneOptions& options = {}) {
  SceneResult result = LoadSceneYaml(yaml, "s.yaml", options);
  EXPECT_TRUE(result.ok()) << Messages(result);
  return result.model;
}

constexpr char kScene[] = R"(
name: three
gravity: [0, 0, -1.62]
time_step: 0.005
method: {corrective: {sweeps: 50, warm_start: false}}
contact: {friction: 0.3, stiffness: 1.0e5, relaxation_time: 0.1, margin: 0.001}
bodies:
  - name: slope
    rigid: {motion: FIXED, pose: {rpy_degrees: [0, 90, 0]}, shapes: [{box: {size: [2, 4, 6]},
        friction: 0.9}]}
  - name: rod
    rigid:
      motion: FREE
      density: 1000
      pose: {position: [1, 2, 3], quaternion: [2, 0, 0, 2]}
      velocity: {linear: [1, 0, 0], angular: [0, 0, 1]}
      shapes:
        - {sphere: {radius: 0.1}, pose: {position: [1, 0, 0]}}
        - {sphere: {radius: 0.1}, pose: {position: [-0.5, 0, 0]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.025}
      pose: {position: [0.3, 0, 0.3]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
  - name: hand
    rigid: {motion: KINEMATIC, shapes: [{capsule: {radius: 0.1, length: 0.2}}]}
pairs:
  - {bodies: [ball, slope], friction: 0.1}
  - {bodies: [rod, slope], enabled: false}
  - {bodies: [slope, ball], stiffness: 10}
script:
  - {target: {pose: hand}, times: [0, 1], values: [[0, 0, 0, 2, 0, 0, 0], [0, 0, 1, 0, 0, 0, 1]]}
  - {target: {force: rod, point: [1, 0, 0]}, times: [0, 0.1], values: [[1, 0, 0], [1, 0, 0]]}
probes:
  - {name: f, contact_force: {body: ball, with: slope}, rate: 50}
  - {name: e, energy: {}}
)";

TEST(SceneModel, WorldMethodAndContactAreTakenOver) {
  const auto model = Load(kScene);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->name, "three");
  EXPECT_EQ(model->gravity, Eigen::Vector3d(0, 0, -1.62));
  EXPECT_EQ(model->time_step, 0.005);
  EXPECT_EQ(model->method.kind, MethodKind::kCorrective);
  EXPECT_EQ(model->method.corrective.sweeps, 50);
  EXPECT_FALSE(model->method.corrective.warm_start);
  EXPECT_EQ(model->contact.friction, 0.3);
  EXPECT_EQ(model->contact.stiffness, 1e5);
  EXPECT_EQ(model->contact.relaxation_time, 0.1);
  EXPECT_EQ(model->contact.margin, 0.001);
}

TEST(SceneModel, WithoutAWordTheDefaultsHold) {
  const auto model =
      Load("bodies: [{name: a, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}]");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->name, "s");
  EXPECT_EQ(model->gravity, Eigen::Vector3d(0, 0, -9.81));
  EXPECT_EQ(model->time_step, 0.01);
  EXPECT_EQ(model->method.kind, MethodKind::kConvex);
  EXPECT_EQ(model->contact.friction, 0.5);
  EXPECT_EQ(model->contact.margin, 0.002);
  EXPECT_TRUE(std::isinf(model->contact.stiffness));
  EXPECT_LT(model->contact.relaxation_time, 0);
}

TEST(SceneModel, BodiesKeepTheirOrderAndOnlyMovingOnesHaveBlocks) {
  const auto model = Load(kScene);
  ASSERT_TRUE(model);
  std::vector<std::string> names;
  std::vector<int> blocks;
  for (const Body& body : model->bodies) {
    names.push_back(body.name);
    blocks.push_back(body.block);
  }
  EXPECT_THAT(names, ElementsAre("slope", "rod", "ball", "hand"));
  EXPECT_THAT(blocks, ElementsAre(kWorldBlock, 0, 1, 2));
  EXPECT_NE(model->abilities_of(model->bodies[2]).nodes, nullptr);
  EXPECT_EQ(model->bodies[3].motion, Motion::kKinematic);
  EXPECT_EQ(model->position_offsets.size(), 4u);
}

TEST(SceneModel, PosesAreOfTheFrameAndRotationsAreNormalised) {
  const auto model = Load(kScene);
  ASSERT_TRUE(model);
  // 90° about y takes z to x
  EXPECT_LT((model->bodies[0].X_WB.R * Eigen::Vector3d::UnitZ() - Eigen::Vector3d::UnitX()).norm(),
            1e-15);
  // (2, 0, 0, 2) is 90° about z
  const RigidTransform X = CalcBodyPose(*model, MakeInitialState(*model), 1);
  EXPECT_LT((X.R * Eigen::Vector3d::UnitX() - Eigen::Vector3d::UnitY()).norm(), 1e-15);
  EXPECT_LT((X.p - Eigen::Vector3d(1, 2, 3)).norm(), 1e-15);
}

TEST(SceneModel, CentreOfMassAndInertiaComeFromTheShapes) {
  const auto model = Load(kScene);
  ASSERT_TRUE(model);
  EXPECT_LT((model->bodies[1].p_BoBcm - Eigen::Vector3d(0.25, 0, 0)).norm(), 1e-15);
  const double sphere = 1000 * 4.0 / 3 * 3.14159265358979 * 0.001;
  const DynamicsBlock& block = *model->blocks[0];
  EXPECT_NEAR(block.mass(0), 2 * sphere, 1e-12 * sphere);
  // angular momentum about its centre at 1 rad/s about z: two spheres at ±0.75 m
  const State state = MakeInitialState(*model);
  const Eigen::Matrix<double, 6, 1> p = block.CalcMomentum(model->StateOf(state, 0), 0);
  const Eigen::Vector3d center = block.CalcCenterOfMass(model->StateOf(state, 0), 0);
  const Eigen::Vector3d spin = p.tail<3>() - center.cross(Eigen::Vector3d(p.head<3>()));
  EXPECT_NEAR(spin.z(), 2 * sphere * (0.4 * 0.01 + 0.75 * 0.75), 1e-9);
  // the given velocity is that of the centre of mass
  EXPECT_NEAR(p[0], 2 * sphere, 1e-9);
  EXPECT_NEAR(p[1], 0, 1e-9);
}

TEST(SceneModel, LaterPairsAddToEarlierOnes) {
  const auto model = Load(kScene);
  ASSERT_TRUE(model);
  ASSERT_EQ(model->contact.pairs.size(), 2u);
  const auto& rod = model->contact.pairs[0];
  const auto& ball = model->contact.pairs[1];
  EXPECT_EQ(rod.body_a, 0);
  EXPECT_EQ(rod.body_b, 1);
  EXPECT_FALSE(rod.enabled);
  EXPECT_EQ(ball.body_b, 2);
  EXPECT_EQ(ball.friction, 0.1);
  EXPECT_EQ(ball.stiffness, 10);
}

TEST(SceneModel, ScriptsAndProbesAreResolved) {
  const auto model = Load(kScene);
  ASSERT_TRUE(model);
  ASSERT_EQ(model->script.size(), 2u);
  EXPECT_EQ(model->script[0].body, 3);
  EXPECT_THAT(model->script[0].values[0], ElementsAre(0, 0, 0, 1, 0, 0, 0));
  EXPECT_TRUE(model->script[1].has_point);
  EXPECT_EQ(model->script[1].p_BP, Eigen::Vector3d(1, 0, 0));
  ASSERT_EQ(model->probes.size(), 2u);
  EXPECT_EQ(model->probes[0].body, 2);
  EXPECT_EQ(model->probes[0].other, 0);
  EXPECT_EQ(model->probes[0].rate, 50);
  EXPECT_EQ(model->probes[1].body, -1);
}

TEST(SceneModel, InstancesAreCopiesOfATemplateWhichIsNoBodyItself) {
  const auto model = Load(R"(
bodies:
  - {name: table, template: true, rigid: {motion: FIXED, pose: {position: [9, 9, 9]},
      shapes: [{box: {size: [1, 1, 1]}}]}}
  - {name: ball, rigid: {motion: FREE, mass: 1, shapes: [{sphere: {radius: 1}}]}}
instances:
  - {of: table, count: 2, poses: [{position: [1, 0, 0]}, {position: [2, 0, 0]}]}
  - {of: table, count: 1}
pairs: [{bodies: [table, ball], friction: 0.2}]
)");
  ASSERT_TRUE(model);
  ASSERT_EQ(model->bodies.size(), 4u);
  EXPECT_EQ(FindBody(*model, "table"), -1);
  EXPECT_EQ(model->bodies[FindBody(*model, "table_1")].X_WB.p.x(), 2);
  EXPECT_EQ(model->bodies[FindBody(*model, "table_2")].X_WB.p.x(), 9);
  EXPECT_EQ(model->contact.pairs.size(), 3u);
}

TEST(SceneModel, RegionsAndAttachmentsSelectInTheBodysFrame) {
  const auto model = Load(R"(
bodies:
  - name: beam
    deformable:
      mesh: {box: {size: [4, 1, 1]}, edge_length: 1}
      pose: {position: [7, 8, 9], rpy_degrees: [0, 0, 90]}
      material: {youngs_modulus: 1000, poissons_ratio: 0, density: 1}
      regions: [{name: heavy, within: {box: {size: [2, 2, 2], pose: {position: [1, 0, 0]}}},
          material: {density: 3}}]
      attachments: [{to: world, within: {box: {size: [0.1, 2, 2], pose: {position: [-2, 0, 0]}}}}]
)");
  ASSERT_TRUE(model);
  const DynamicsBlock& block = *model->blocks[0];
  // half of the 4 m³ is three times as dense
  EXPECT_NEAR(block.mass(0), 2 * 1 + 2 * 3, 1e-12);
  EXPECT_THAT(block.abilities().prescribed->followed_bodies(), ElementsAre(-1));
}

TEST(SceneModel, MergeKeysFillWhatAMapDoesNotSay) {
  const auto model = Load(R"(
bodies:
  - {name: a, rigid: &r {motion: FREE, mass: 1, shapes: [{sphere: {radius: 1}}]}}
  - {name: b, rigid: {<<: *r, mass: 2}}
)");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->blocks[0]->mass(0), 1);
  EXPECT_EQ(model->blocks[1]->mass(0), 2);
}

TEST(SceneModel, TheSameSceneAsTextAndAsMessageIsTheSameModel) {
  v1::Scene scene;
  v1::Body* body = scene.add_bodies();
  body->set_name("a");
  body->mutable_rigid()->set_motion(v1::RigidBody::MOTION_FREE);
  body->mutable_rigid()->set_mass(2);
  body->mutable_rigid()->add_shapes()->mutable_sphere()->set_radius(0.5);
  const SceneResult message = LoadScene(scene, "request");
  const auto text = Load(
      "bodies: [{name: a, rigid: {motion: FREE, mass: 2, shapes: [{sphere: {radius: 0.5}}]}}]");
  ASSERT_TRUE(message.ok() && text);
  EXPECT_EQ(message.model->hash, text->hash);
  EXPECT_EQ(text->hash.size(), 32u);
}

TEST(SceneModel, HashCoversWhatAResultDependsOnAndNothingElse) {
  const std::string scene =
      "bodies: [{name: a, rigid: {motion: FREE, mass: 2, shapes: [{sphere: {radius: 0.5}}]}}]\n";
  const std::string hash = Load(scene)->hash;
  EXPECT_EQ(Load("name: other\ntime_step: 0.01\ngravity: [0, 0, -9.81]\n" + scene)->hash, hash);
  EXPECT_EQ(Load(scene + "probes: [{name: e, energy: {}}]\n")->hash, hash);
  EXPECT_NE(Load("time_step: 0.0099\n" + scene)->hash, hash);
  EXPECT_NE(Load("method: {corrective: {}}\n" + scene)->hash, hash);
  SceneOptions options;
  options.overrides = {"bodies.a.rigid.mass=2.0000000000000004"};
  EXPECT_NE(Load(scene, options)->hash, hash);
}

TEST(SceneOverrides, SetFieldsByNumberAndByName) {
  SceneOptions options;
  options.overrides = {"time_step=0.002", "bodies[1].rigid.velocity.linear=[0, 0, 1]",
                       "bodies.ball.deformable.material.density=500",
                       "bodies.slope.rigid.shapes[0].friction=0.25", "method.corrective.sweeps=7"};
  const auto model = Load(kScene, options);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->time_step, 0.002);
  EXPECT_EQ(model->bodies[2].density, 500);
  EXPECT_EQ(model->bodies[0].shapes[0].friction, 0.25);
  EXPECT_EQ(model->method.corrective.sweeps, 7);
}

TEST(SceneOverrides, TheMethodOptionChoosesAnotherWithItsDefaults) {
  SceneOptions options;
  options.method = "convex";
  EXPECT_EQ(Load(kScene, options)->method.kind, MethodKind::kConvex);
  options.method = "corrective";
  EXPECT_EQ(Load(kScene, options)->method.corrective.sweeps, 50);
  options.method = "convx";
  EXPECT_EQ(Messages(kScene, options),
            "--method: method: \"convx\" is not a method; expected convex, corrective, nonsmooth "
            "or smooth; "
            "did you mean `convex`?\n");
}

TEST(SceneOverrides, WhatIsWrongNamesTheFlag) {
  const auto say = [](const std::string& assignment) {
    SceneOptions options;
    options.overrides = {assignment};
    return Messages(kScene, options);
  };
  EXPECT_EQ(say("time_step=5 ms"),
            "--set: time_step: \"5 ms\" carries a unit (ms); expected a plain number in seconds\n");
  EXPECT_EQ(say("time_step=-1"),
            "--set: time_step: -1 is not allowed; expected a positive number of seconds\n");
  EXPECT_EQ(say("timestep=1"),
            "--set: timestep: \"timestep\" is not a known field; did you mean `time_step`?\n");
  EXPECT_EQ(say("bodies.bal.rigid.mass=1"),
            "--set: bodies.bal: no entry is called \"bal\"; did you mean `ball`?\n");
  EXPECT_EQ(say("bodies[9].rigid.mass=1"),
            "--set: bodies[9]: is not a valid index; expected a number from 0 to 3\n");
  EXPECT_EQ(say("bodies.ball.rigid.mass=1"),
            "--set: bodies[2].rigid: the scene has `deformable` here, not `rigid`\n");
  EXPECT_EQ(say("time_step"), "--set: \"time_step\"; expected field.path=value\n");
  EXPECT_EQ(say("bodies.ball.deformable.material.poissons_ratio=0.5"),
            "--set: bodies[2].deformable.material.poissons_ratio: 0.5 is not allowed; expected a "
            "number in (-1, 0.5). A nearly "
            "incompressible body: use 0.49\n");
}

// A temporary folder with a mesh and a scene that names it.
class SceneFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("scene_files_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "scene");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  // Returns the messages of a scene in `scene/` that names `file`, without the folder's own path.
  std::string Check(const std::string& file, SceneOptions options = {},
                    const std::string& more = "") {
    Write("scene/s.yaml",
          "bodies:\n- name: b\n  deformable:\n    mesh: {file: " + file + more +
              "}\n    material: {youngs_modulus: 1000, poissons_ratio: 0, density: 1}\n");
    std::string all = Messages(LoadSceneFile((folder_ / "scene/s.yaml").string(), options));
    for (std::size_t at; (at = all.find(folder_.string())) != std::string::npos;)
      all.erase(at, folder_.string().size());
    return all;
  }

  static std::string Vtk(const std::string& cells, int count) {
    return "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n0 0 "
           "0\n1 0 0\n0 1 0\n0 0 1\n5 5 5\n"
           "CELLS " +
           std::to_string(count) + " " + std::to_string(5 * count) + "\n" + cells + "CELL_TYPES " +
           std::to_string(count) + "\n" + [count] {
             std::string t;
             for (int i = 0; i < count; ++i) t += "10\n";
             return t;
           }();
  }

  std::filesystem::path folder_;
};

TEST_F(SceneFiles, MissingEmptyAndForeignMeshesAreNamed) {
  EXPECT_THAT(Check("none.vtk"),
              testing::AllOf(HasSubstr("/scene/s.yaml:4:18: bodies[0].deformable.mesh.file: "),
                             HasSubstr("none.vtk")));
  Write("scene/empty.vtk", "");
  EXPECT_THAT(Check("empty.vtk"),
              testing::AllOf(HasSubstr("s.yaml:4:18: bodies[0].deformable.mesh.file: "),
                             HasSubstr("empty")));
  Write("scene/text.vtk", "hello\n");
  EXPECT_THAT(Check("text.vtk"),
              testing::AllOf(HasSubstr("s.yaml:4:18: bodies[0].deformable.mesh.file: "),
                             HasSubstr("text.vtk")));
  const std::string whole = Vtk("4 0 1 2 3\n", 1);
  Write("scene/cut.vtk", whole.substr(0, whole.find("CELL_TYPES") - 4));
  EXPECT_THAT(Check("cut.vtk"),
              testing::AllOf(HasSubstr("s.yaml:4:18: bodies[0].deformable.mesh.file: "),
                             HasSubstr("cut.vtk")));
  Write("scene/whole.vtk", whole);
  EXPECT_THAT(
      Check("whole.vtk"),
      HasSubstr("warning: bodies[0].deformable.mesh.file: has 1 unused vertex (4); left out"));
}

TEST_F(SceneFiles, BadTetrahedraAreCountedAndNamed) {
  Write("scene/bad.vtk", Vtk("4 0 1 2 3\n4 1 0 2 4\n4 0 1 2 3\n4 0 0 1 2\n", 4));
  const std::string said = Check("bad.vtk");
  EXPECT_THAT(said, HasSubstr("s.yaml:4:18: bodies[0].deformable.mesh.file: has 1 degenerate "
                              "tetrahedron (3); expected none. Give the "
                              "mesh `repair: true`, or fix the file\n"));
  EXPECT_THAT(said, HasSubstr("has 1 duplicate tetrahedron (2); expected none"));
}

TEST_F(SceneFiles, RepairTurnsInvertedTetrahedra) {
  Write("scene/turned.vtk", Vtk("4 1 0 2 3\n", 1));
  EXPECT_THAT(Check("turned.vtk"), HasSubstr("has 1 inverted tetrahedron (0); expected none. Give "
                                             "the mesh `repair: true`, or fix the file\n"));
  EXPECT_THAT(Check("turned.vtk", {}, ", repair: true"),
              HasSubstr("warning: bodies[0].deformable.mesh.file: repaired: flipped 1 "
                        "tetrahedron"));
  SceneOptions repair;
  repair.repair_meshes = true;
  EXPECT_TRUE(LoadSceneFile((folder_ / "scene/s.yaml").string(), repair).ok());
}

TEST_F(SceneFiles, AJailIsNotLeftByDotsAbsolutePathsOrLinks) {
  Write("outside.vtk", Vtk("4 0 1 2 3\n", 1));
  std::filesystem::copy_file(folder_ / "outside.vtk", folder_ / "scene/inside.vtk");
  std::filesystem::create_symlink(folder_ / "outside.vtk", folder_ / "scene/link.vtk");
  std::filesystem::create_symlink(folder_, folder_ / "scene/up");
  SceneOptions jailed;
  jailed.jail = (folder_ / "scene").string();
  for (const std::string file :
       {"../outside.vtk", "x/../../outside.vtk", "link.vtk", "up/outside.vtk"}) {
    EXPECT_EQ(Check(file, jailed),
              "/scene/s.yaml:4:18: bodies[0].deformable.mesh.file: \"" + file +
                  "\" is outside the scene's folder; expected a path within it\n");
  }
  EXPECT_THAT(Check((folder_ / "outside.vtk").string(), jailed),
              HasSubstr("is outside the scene's folder"));
  EXPECT_THAT(Check("inside.vtk", jailed), HasSubstr("warning"));
  // a path of another machine denotes the file of its name in the jail
  EXPECT_THAT(Check("/home/me/inside.vtk", jailed), HasSubstr("warning"));
  // without a jail, a scene may name any file
  EXPECT_THAT(Check("../outside.vtk"), HasSubstr("warning"));
}

TEST_F(SceneFiles, FilesMayBeForbiddenAltogether) {
  SceneOptions options;
  options.allow_files = false;
  EXPECT_EQ(Check("a.vtk", options),
            "/scene/s.yaml:4:18: bodies[0].deformable.mesh.file: \"a.vtk\" names a file, but files "
            "may not be read here. Use a primitive\n");
}

TEST_F(SceneFiles, HashCoversTheBytesOfMeshes) {
  const auto hash = [&] {
    Check("m.vtk");
    const SceneResult result = LoadSceneFile((folder_ / "scene/s.yaml").string());
    EXPECT_TRUE(result.ok()) << Messages(result);
    return result.ok() ? result.model->hash : "";
  };
  Write("scene/m.vtk", Vtk("4 0 1 2 3\n", 1));
  const std::string first = hash();
  EXPECT_EQ(hash(), first);
  Write("scene/m.vtk", Vtk("4 0 1 2 4\n", 1));
  EXPECT_NE(hash(), first);
}

TEST_F(SceneFiles, FilesThatAreNoScenesAreNamed) {
  EXPECT_THAT(Messages(LoadSceneFile((folder_ / "none.yaml").string())),
              HasSubstr("does not exist; expected a scene file"));
  EXPECT_THAT(Messages(LoadSceneFile(folder_.string())),
              HasSubstr("is a folder; expected a scene file"));
}

// Scenes of hands among particles warn that fingers and walls are thin for the grid, and say no
// more.
TEST(ShippedScenes, AllAreSoundAndSayNothing) {
  const std::set<std::string> thin = {"dough_hand", "dough_rolling", "water_pouring"};
  int scenes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PLIANT_SOURCE_DIR "/scenes")) {
    if (entry.path().extension() != ".yaml") continue;
    ++scenes;
    const SceneResult result = LoadSceneFile(entry.path().string());
    if (thin.contains(entry.path().stem().string())) {
      ASSERT_EQ(result.messages.size(), 1u) << Messages(result);
      EXPECT_THAT(Messages(result), HasSubstr("is more than half the thickness of"));
    } else {
      EXPECT_EQ(Messages(result), "");
    }
    EXPECT_TRUE(result.ok()) << entry.path();
  }
  EXPECT_GE(scenes, 7);
}

TEST(ShippedScenes, SoftBallHasTheParticlesItPromises) {
  const SceneResult result = LoadSceneFile(PLIANT_SOURCE_DIR "/scenes/soft_ball.yaml");
  ASSERT_TRUE(result.ok());
  const Model& model = *result.model;
  EXPECT_EQ(model.time_step, 0.01);
  EXPECT_GE(model.bodies[FindBody(model, "ball")].mesh.vertices.size(), 500u);
  EXPECT_EQ(model.bodies[FindBody(model, "paddle")].motion, Motion::kKinematic);
}

}  // namespace
}  // namespace pliant::physics
