// Soft bodies attached to moving bodies are held in place with equal and opposite forces, by the
// methods convex, corrective and nonsmooth.

#include <algorithm>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A soft bar under a plate, held by its uppermost vertices: 0.4 kg below 2 kg.
std::string PlateScene(const std::string& plate, const std::string& more = "") {
  return Fill(R"(
time_step: 0.005
bodies:
  - {name: plate, rigid: {$PLATE, mass: 2, inertia: [0.01, 0.01, 0.015, 0, 0, 0],
      pose: {position: [0, 0, 1.02]}, shapes: [{box: {size: [0.2, 0.2, 0.04]}}]}}
  - name: bar
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.2]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.9]}
      material: {youngs_modulus: 5.0e4, poissons_ratio: 0.3, density: 200}
      attachments: [{to: plate, within: {box: {size: [1, 1, 0.02], pose: {position: [0, 0, 0.1]}}}}]
probes:
  - {name: p, momentum: {}}
  - {name: plate, position: {body: plate}}
)",
              {{"$PLATE", plate}}) +
         more;
}

// Largest distance of an attached vertex from its attachment point on the holder [m].
double CalcLargestSlack(const World& world) {
  const Model& model = world.model();
  double largest = 0;
  for (const Constraint& constraint : model.constraints) {
    if (constraint.node_b < 0) continue;
    const RigidTransform X_WA = CalcBodyPose(model, world.state(), constraint.body_a);
    const auto q = model.Positions(world.state(), model.bodies[constraint.body_b].block);
    const Vector3d p = Vector3d::Map(&q[3 * static_cast<std::size_t>(constraint.node_b)]);
    largest = std::max(largest, (X_WA * constraint.X_AF.p - p).norm());
  }
  return largest;
}

class Attachments : public testing::TestWithParam<const char*> {
 protected:
  std::string method() const { return std::string("method: {") + GetParam() + ": {}}\n"; }
};

TEST_P(Attachments, ExchangeNoMomentumWithTheWorld) {
  World world = LoadWorld(PlateScene("motion: FREE, velocity: {angular: [2, 1, 3]}", method()));
  ASSERT_EQ(world.model().constraints.size(), 9u);
  RunUntil(0.5, &world);
  const std::vector<double> p = Read(world, "p");
  EXPECT_NEAR(p[2], -2.4 * kGravity * 0.5, 1e-12 * 2.4 * kGravity * 0.5);
  EXPECT_NEAR(p[0], 0, 1e-12);
  EXPECT_NEAR(p[1], 0, 1e-12);
  // at these angular velocities, vertices are held to a fraction of a millimetre
  EXPECT_LT(CalcLargestSlack(world), 2e-4);
  EXPECT_TRUE(world.report().contacts.empty());  // attached bodies do not collide
}

TEST_P(Attachments, CarryTheWeightThatHangsOnThem) {
  World world = LoadWorld(PlateScene("motion: FREE", method() + R"(
constraints: [{name: hook, weld: {a: world, b: plate}}]
sleeping: false
)"));
  RunUntil(6, &world);
  Vector3d held = Vector3d::Zero();
  for (const ConstraintForce& force : world.report().constraint_forces) {
    if (force.source != ConstraintSource::kConstraint) continue;
    if (world.model().constraints[force.index].node_b < 0) continue;
    held += force.impulse / world.model().time_step * force.linear_W;
  }
  EXPECT_NEAR(held.z(), 0.4 * kGravity, 1e-3 * 0.4 * kGravity);
  // near-rigid: (β/2π)² g h² = 6 µm under a load equal to its own weight
  EXPECT_LT(CalcLargestSlack(world), 1e-5);
}

TEST_P(Attachments, FollowALinkThatIsDriven) {
  World world = LoadWorld(Fill(R"(
time_step: 0.005
$METHOD
robots:
  - name: arm
    file: "$FOLDER/scenes/robots/iiwa14.urdf"
    actuators: [{joint: "iiwa_joint_.*", pd: {stiffness: 2000, damping: 100,
        gravity_compensation: true}}]
bodies:
  - name: pad
    deformable:
      mesh: {box: {size: [0.08, 0.08, 0.06]}, edge_length: 0.03}
      pose: {position: [0, 0, 1.34]}
      material: {youngs_modulus: 3.0e4, poissons_ratio: 0.4, density: 500}
      attachments: [{to: arm/iiwa_flange, within: {box: {size: [1, 1, 0.01],
          pose: {position: [0, 0, -0.03]}}}}]
script:
  - {target: {joint: arm/iiwa_joint_2}, times: [0, 0.5, 1], values: [0, 1, 1]}
  - {target: {joint: arm/iiwa_joint_4}, times: [0, 0.5, 1], values: [0, -1, -1]}
probes: [{name: flange, position: {link: arm/iiwa_flange, point: [0, 0, 0]}}]
)",
                               {{"$METHOD", method()}, {"$FOLDER", PLIANT_SOURCE_DIR}}));
  const Vector3d start = ReadVector(world, "flange");
  RunUntil(1, &world);
  EXPECT_GT((ReadVector(world, "flange") - start).norm(), 0.5);
  EXPECT_LT(CalcLargestSlack(world), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Method, Attachments, testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pliant::physics
