#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "physics/world/body_motion.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A body in self-contact. Its parts are selected by the rest positions of vertices.
class Folded {
 public:
  Folded(const World& world, const std::string& name) : world_(world) {
    for (std::size_t i = 0; i < world.model().bodies.size(); ++i)
      if (world.model().bodies[i].name == name) body_ = static_cast<int>(i);
  }

  const Body& body() const { return world_.model().bodies[body_]; }
  Vector3d Rest(int vertex) const { return body().mesh.vertices[vertex]; }
  Vector3d Now(int vertex) const {
    return CalcVertexPosition(world_.model(), world_.state(), body_, vertex);
  }

  // Mean height of a part [m].
  template <typename IsPart>
  double CalcHeight(const IsPart& is_part) const {
    double sum = 0;
    int count = 0;
    for (int v : body().surface.vertices) {
      if (!is_part(Rest(v))) continue;
      sum += Now(v).z();
      ++count;
    }
    return sum / count;
  }

 private:
  const World& world_;
  int body_ = -1;
};

double FindSelfPenetration(const World& world) {
  double deepest = 0;
  for (const ContactForce& contact : world.report().contacts)
    if (contact.body_a == contact.body_b) deepest = std::max(deepest, -contact.gap);
  return deepest;
}

// A strip 0.2 m long, bent into a hairpin with a gap between its arms, comes to rest on itself. The
// rest shape is flat.
std::string StripScene(const std::string& method, bool self_contact) {
  return Fill(R"(
name: strip
time_step: 0.01
method: {$METHOD: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: strip
    deformable:
      mesh: {box: {size: [0.2, 0.016, 0.006]}, edge_length: 0.008}
      pose: {position: [0, 0, 0.003]}
      material: {youngs_modulus: 2.0e4, poissons_ratio: 0.3, density: 1000}
      damping: {beta: 0.05}
      self_contact: $SELF
probes: [{name: ground, contact_force: {body: ground}}, {name: energy, energy: {kind: KINETIC}}]
)",
              {{"$METHOD", method}, {"$SELF", self_contact ? "true" : "false"}});
}

constexpr double kThickness = 0.006;

// Height of the upper arm's middle above that of the lower arm [m].
double CalcDistanceOfArms(const Folded& strip) {
  return strip.CalcHeight([](const Vector3d& X) { return X.x() > 0.04; }) -
         strip.CalcHeight([](const Vector3d& X) { return X.x() < -0.04; });
}

// Bends the strip's middle line isometrically over a half circle.
void Fold(double radius, World* world) {
  const std::string hash = world->model().hash;
  State state = ParseState(world->Save(), hash).value();
  const Body& body = world->model().bodies[1];
  const std::span<double> q = world->model().Positions(&state, body.block);
  const double half = 0.5 * kPi * radius;
  for (std::size_t v = 0; v < body.mesh.vertices.size(); ++v) {
    const Vector3d X = body.mesh.vertices[v];
    // the lower arm stays; then the bend and the upper arm
    double x = X.x(), z = X.z();
    if (X.x() > half) {
      x = -(X.x() - half) - half;
      z = 2 * radius - X.z();
    } else if (X.x() > -half) {
      const SinCos turn = CalcSinCos((X.x() + half) / radius);
      x = -half + (radius - X.z()) * turn.sin;
      z = radius - (radius - X.z()) * turn.cos;
    }
    q[3 * v] = x;
    q[3 * v + 1] = X.y();
    q[3 * v + 2] = z + 0.003;
  }
  ASSERT_TRUE(world->Restore(SerializeState(state, hash)).ok());
}

TEST(SelfContact, FoldedStripRestsOnItself) {
  for (const std::string method : {"convex", "corrective", "nonsmooth"}) {
    World world = LoadWorld(StripScene(method, true));
    Fold(0.012, &world);
    const Folded strip(world, "strip");
    int touching = 0;
    for (int step = 0; step < 150; ++step) {
      ASSERT_TRUE(world.Step().ok());
      EXPECT_LT(FindSelfPenetration(world), 1e-3) << method << " " << step;
      touching = 0;
      for (const ContactForce& contact : world.report().contacts)
        touching += contact.body_a == contact.body_b && contact.impulse_W.norm() > 0;
    }
    EXPECT_GT(touching, 3) << method;
    EXPECT_GT(CalcDistanceOfArms(strip), kThickness - 1e-3) << method;
    // the strip is at rest, and self-contact exerts no net force on the ground
    const double weight = 0.2 * 0.016 * 0.006 * 1000 * kGravity;
    EXPECT_NEAR(-ReadVector(world, "ground").z(), weight, 0.02 * weight) << method;
    EXPECT_LT(Read(world, "energy")[0], 1e-6) << method;
  }
}

TEST(SelfContact, WithoutItTheArmsSinkIntoEachOther) {
  World world = LoadWorld(StripScene("convex", false));
  Fold(0.012, &world);
  const Folded strip(world, "strip");
  for (int step = 0; step < 100; ++step) ASSERT_TRUE(world.Step().ok());
  EXPECT_LT(CalcDistanceOfArms(strip), 0.75 * kThickness);
}

std::string RingScene(bool self_contact) {
  return Fill(R"(
name: ring
time_step: 0.01
bodies:
  - name: floor
    rigid: {motion: FIXED, pose: {position: [0, 0, -0.01]},
            shapes: [{box: {size: [0.4, 0.4, 0.02]}}]}
  - name: press
    rigid: {motion: KINEMATIC, pose: {position: [0, 0, 0.108]},
            shapes: [{box: {size: [0.4, 0.4, 0.02]}}]}
  - name: ring
    deformable:
      mesh: {torus: {ring_radius: 0.04, tube_radius: 0.008}, edge_length: 0.006}
      pose: {position: [0, 0, 0.0485], rpy_degrees: [90, 0, 0]}
      material: {youngs_modulus: 5.0e4, poissons_ratio: 0.3, density: 1000}
      damping: {beta: 0.02}
      self_contact: $SELF
script:
  - {target: {pose: press}, times: [0, 1], values: [[0, 0, 0.108], [0, 0, 0.036]]}
probes: [{name: floor, contact_force: {body: floor}}]
)",
              {{"$SELF", self_contact ? "true" : "false"}});
}

// The plates come closer than four radii of the tube, so the inner sides must meet.
TEST(SelfContact, SqueezedRingDoesNotPassThroughItself) {
  double force[2], overlap[2];
  for (const bool self_contact : {true, false}) {
    World world = LoadWorld(RingScene(self_contact));
    const Folded ring(world, "ring");
    for (int step = 0; step < 100; ++step) {
      ASSERT_TRUE(world.Step().ok());
      EXPECT_LT(FindSelfPenetration(world), 1e-3);
    }
    force[self_contact] = -ReadVector(world, "floor").z();
    // the body's y axis points up
    double lowest = 1, highest = 0;
    for (int v : ring.body().surface.vertices) {
      if (std::abs(ring.Rest(v).x()) > 0.01) continue;
      const double z = ring.Now(v).z();
      if (ring.Rest(v).y() > 0) lowest = std::min(lowest, z);
      if (ring.Rest(v).y() < 0) highest = std::max(highest, z);
    }
    overlap[self_contact] = highest - lowest;
  }
  EXPECT_LT(overlap[1], 1e-3);
  EXPECT_GT(overlap[0], 3e-3);
  EXPECT_GT(force[1], 1.2 * force[0]);
}

TEST(SelfContact, BodyThatDoesNotFoldHasNone) {
  World world = LoadWorld(R"(
name: squash
time_step: 0.01
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.012}
      pose: {position: [0, 0, 0.1]}
      velocity: {linear: [0, 0, -3]}
      material: {youngs_modulus: 2.0e4, poissons_ratio: 0.4, density: 1000}
      self_contact: true
)");
  for (int step = 0; step < 60; ++step) {
    ASSERT_TRUE(world.Step().ok());
    for (const ContactForce& contact : world.report().contacts)
      EXPECT_NE(contact.body_a, contact.body_b) << step;
  }
}

}  // namespace
}  // namespace pliant::physics
