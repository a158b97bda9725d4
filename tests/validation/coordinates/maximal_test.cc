// Maximal and reduced coordinates give the same motion.

#include <algorithm>
#include <cmath>

#include "physics/dynamics/state.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Options with which both kinds of coordinates converge.
std::string Method(const std::string& coordinates, const std::string& more = "") {
  return absl::StrCat("method: {nonsmooth: {coordinates: ", coordinates,
                      ", tolerance: 1.0e-9, newton_iterations: 200, linear_iterations: 1000",
                      more.empty() ? "" : ", ", more, "}}\n");
}

// Positions of all nodes of the only deformable body.
Eigen::VectorXd ReadNodes(const World& world) {
  for (const Body& body : world.model().bodies) {
    if (world.model().abilities_of(body).nodes == nullptr) continue;
    const auto q = world.model().Positions(world.state(), body.block);
    return Eigen::VectorXd::Map(q.data(), static_cast<Eigen::Index>(q.size()));
  }
  return {};
}

// A soft cube that comes to rest; its rest position does not depend on the mass matrix.
std::string RestingCube(const std::string& material, bool is_attached) {
  return Fill(R"(
time_step: 0.005
contact: {friction: 0}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: cube
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0, 0, $Z]}
      material: {model: $MATERIAL, youngs_modulus: 5.0e4, poissons_ratio: 0.4, density: 1000}
      damping: {alpha: 15, beta: 0.01}$ATTACHED
)",
              {{"$MATERIAL", material},
               {"$Z", is_attached ? "1" : "0.0505"},
               {"$ATTACHED", is_attached ? "\n      attachments: [{to: world, within: {box: {size: "
                                           "[1, 1, 0.01], pose: {position: [0, 0, 0.05]}}}}]"
                                         : ""}});
}

class RestingCubes : public testing::TestWithParam<std::pair<const char*, bool>> {};

TEST_P(RestingCubes, AreWhereTheyAreInReducedCoordinates) {
  const auto [material, is_attached] = GetParam();
  Eigen::VectorXd nodes[2];
  for (const bool is_maximal : {false, true}) {
    World world =
        LoadWorld(Method(is_maximal ? "MAXIMAL" : "REDUCED") + RestingCube(material, is_attached));
    RunUntil(2.5, &world);
    nodes[is_maximal] = ReadNodes(world);
  }
  EXPECT_LE((nodes[0] - nodes[1]).cwiseAbs().maxCoeff(), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Material, RestingCubes,
                         testing::Values(std::pair{"LINEAR_COROTATIONAL", false},
                                         std::pair{"LINEAR_COROTATIONAL", true},
                                         std::pair{"NEO_HOOKEAN", false},
                                         std::pair{"NEO_HOOKEAN", true},
                                         std::pair{"COROTATIONAL", true}),
                         [](const auto& info) {
                           std::string name = info.param.first;
                           std::erase(name, '_');
                           return name + (info.param.second ? "Hanging" : "Resting");
                         });

// A slice with normal y that hangs by its upper side.
TEST(MaximalCoordinates, HaveSlicesInPlaneStrain) {
  for (const char* material : {"LINEAR_COROTATIONAL", "NEO_HOOKEAN"}) {
    Eigen::VectorXd nodes[2];
    for (const bool is_maximal : {false, true}) {
      World world =
          LoadWorld(Method(is_maximal ? "MAXIMAL" : "REDUCED") + Fill(R"(
time_step: 0.005
gravity: [2, 3, -9.81]
bodies:
  - name: slice
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.05]}, edge_length: 0.05}
      pose: {rpy_degrees: [90, 0, 0]}
      material: {model: $MATERIAL, youngs_modulus: 5.0e4, poissons_ratio: 0.4, density: 1000}
      damping: {alpha: 15, beta: 0.01}
      plane_strain: true
      attachments: [{to: world, within: {box: {size: [1, 0.01, 1],
          pose: {position: [0, 0.05, 0]}}}}]
)",
                                                                      {{"$MATERIAL", material}}));
      const Eigen::VectorXd start = ReadNodes(world);
      RunUntil(2.5, &world);
      nodes[is_maximal] = ReadNodes(world);
      const Eigen::VectorXd moved = nodes[is_maximal] - start;
      EXPECT_GE(moved.cwiseAbs().maxCoeff(), 5e-4);
      for (Eigen::Index i = 1; i < moved.size(); i += 3) EXPECT_NEAR(moved[i], 0, 1e-12);
    }
    EXPECT_LE((nodes[0] - nodes[1]).cwiseAbs().maxCoeff(), 1e-6) << material;
  }
}

TEST(MaximalCoordinates, OfOneRigidBodyAreThoseItHas) {
  State states[2];
  for (const bool is_maximal : {false, true}) {
    World world = LoadWorld(Method(is_maximal ? "MAXIMAL" : "REDUCED") + R"(
time_step: 0.01
contact: {friction: 0.3}
bodies:
  - {name: slope, rigid: {motion: FIXED, pose: {rpy_degrees: [0, 25, 0]},
      shapes: [{half_space: {}}]}}
  - name: cube
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.06], rpy_degrees: [0, 25, 0]},
        shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
)");
    RunUntil(0.5, &world);
    states[is_maximal] = world.state();
  }
  EXPECT_EQ(HashState(states[0]), HashState(states[1]));
}

// A light bar held at both ends, stretched to three times its length and shaken transversely.
std::string StretchedBeam(const std::string& material) {
  return Fill(R"(
time_step: 0.008
bodies:
  - {name: hand, rigid: {motion: KINEMATIC, pose: {position: [0.42, 0, 1]},
      shapes: [{box: {size: [0.04, 0.2, 0.2]}}]}}
  - name: beam
    deformable:
      mesh: {box: {size: [0.8, 0.1, 0.1]}, edge_length: 0.1}
      pose: {position: [0, 0, 1]}
      material: {model: $MATERIAL, youngs_modulus: 1.0e6, poissons_ratio: 0.45, density: 300}
      damping: {beta: 0}
      attachments:
        - {to: world, within: {box: {size: [0.01, 1, 1], pose: {position: [-0.4, 0, 0]}}}}
        - {to: hand, within: {box: {size: [0.01, 1, 1], pose: {position: [0.4, 0, 0]}}}}
pairs: [{bodies: [hand, beam], enabled: false}]
script:
  - {target: {pose: hand}, times: [0, 0.2, 0.25, 0.3, 0.35, 0.4], values: [[0.42, 0, 1], [2, 0, 1],
      [2, 0.1, 1], [2, -0.1, 1], [2, 0.1, 1], [2, 0, 1]]}
)",
              {{"$MATERIAL", material}});
}

// macklin2019 figure 12: without geometric stiffness the iterates of a stretched body oscillate
// around the solution.
TEST(GeometricStiffness, SparesAStretchedBeamIterations) {
  int iterations[2] = {}, converged[2] = {};
  for (const bool stiffens : {false, true}) {
    World world =
        LoadWorld(absl::StrCat("method: {nonsmooth: {coordinates: MAXIMAL, linear_solver: DIRECT, "
                               "newton_iterations: 60, tolerance: 1.0e-7, geometric_stiffness: ",
                               stiffens ? "true" : "false", "}}\n") +
                  StretchedBeam("NEO_HOOKEAN"));
    for (int k = 0; k < 50; ++k) {
      ASSERT_TRUE(world.Step().ok());
      if (k < 25) continue;
      iterations[stiffens] += world.report().iterations;
      converged[stiffens] += world.report().converged;
    }
  }
  // without geometric stiffness few of these steps converge; with it all do
  EXPECT_LT(converged[0], 12);
  EXPECT_EQ(converged[1], 25);
  EXPECT_LT(iterations[1], 0.75 * iterations[0]);
}

// Forces between particles sum to zero whatever the remaining error of the iterations; the only
// loss is the contribution of H, which vanishes at convergence.
TEST(MaximalCoordinates, OfASoftBodyKeepItsMomentum) {
  for (const std::string material : {"LINEAR_COROTATIONAL", "NEO_HOOKEAN"}) {
    World world = LoadWorld(Method("MAXIMAL") + Fill(R"(
time_step: 0.005
bodies:
  - name: block
    deformable:
      mesh: {box: {size: [0.2, 0.1, 0.05]}, edge_length: 0.05}
      pose: {position: [0, 0, 10]}
      velocity: {linear: [1, 2, 3], angular: [3, 5, -4]}
      material: {model: $M, youngs_modulus: 5.0e4, poissons_ratio: 0.3, density: 1000}
probes:
  - {name: momentum, momentum: {body: block}}
)",
                                                     {{"$M", material}}));
    const Vector3d start = ReadVector(world, "momentum");
    RunUntil(0.3, &world);
    const std::vector<double> end = Read(world, "momentum");
    const Vector3d gained = Vector3d(end[0], end[1], end[2]) - start;
    EXPECT_LE((gained - Vector3d(0, 0, -0.3 * kGravity)).norm(), 1e-8) << material;
  }
}

TEST(MaximalCoordinates, TakeFrictionOfNoneAndOfAHundred) {
  for (const bool is_rough : {false, true}) {
    World world = LoadWorld(Method("MAXIMAL", "geometric_stiffness: false") +
                            Fill(R"(
time_step: 0.01
contact: {friction: $MU}
bodies:
  - {name: slope, rigid: {motion: FIXED, pose: {rpy_degrees: [0, 20, 0]},
      shapes: [{half_space: {}}]}}
  - name: soft
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.05]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.03], rpy_degrees: [0, 20, 0]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
probes:
  - {name: v, velocity: {body: soft}}
)",
                                 {{"$MU", is_rough ? "100" : "0"}}));
    for (int k = 0; k < 40; ++k) ASSERT_TRUE(world.Step().ok());
    const double speed = ReadVector(world, "v").norm();
    if (is_rough) {
      EXPECT_LT(speed, 0.02);
    } else {
      // it falls onto the slope by a few millimetres and slides without resistance
      EXPECT_NEAR(speed, 0.342 * kGravity * 0.4, 0.02);
    }
  }
}

}  // namespace
}  // namespace pliant::physics
