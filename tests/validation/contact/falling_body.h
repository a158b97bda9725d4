#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"

#include "tests/validation/contact/box_surface.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {

// A body that falls flat. Its origin is `height` over its lowest point.
struct FallingBody {
  const char* name;
  const char* body;
  double height;
};

inline constexpr FallingBody kFallingBodies[] = {
    {"Cube", "rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.1, 0.1, 0.1]}}]", 0.05},
    {"Ball", "rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}}]", 0.05},
    {"Plate", "rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.1, 0.1, 0.004]}}]",
     0.002},
    {"Capsule",
     "rigid: {motion: FREE, density: 1000, shapes: [{capsule: {radius: 0.03, length: 0.1}}]", 0.08},
    {"Cylinder",
     "rigid: {motion: FREE, density: 1000, shapes: [{cylinder: {radius: 0.04, length: 0.06}}]",
     0.03},
    {"Ellipsoid",
     "rigid: {motion: FREE, density: 1000, shapes: [{ellipsoid: {radii: [0.06, 0.05, 0.03]}}]",
     0.03},
};

// Kinds of ground, with their upper sides at z = 0.
inline constexpr const char* kHalfSpaceGround = "{half_space: {}}";
inline constexpr const char* kBoxGround =
    "{box: {size: [1, 1, 0.2]}, pose: {position: [0, 0, -0.1]}}";
inline constexpr const char* kMeshGround = "{mesh: {file: slab.obj, convex: false}}";

// Scene of a body that is `above` [m] over the ground and falls at `speed` [m/s].
inline std::string ImpactScene(const std::string& method, const FallingBody& body,
                               const std::string& ground, double h, double above, double speed) {
  return Fill(R"(
name: impact
time_step: $H
sleeping: false
method: {$METHOD: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [$GROUND]}}
  - {name: body, $BODY, pose: {position: [0, 0, $Z]}, velocity: {linear: [0, 0, $V]}}}
probes:
  - {name: position, position: {body: body}}
  - {name: velocity, velocity: {body: body}}
)",
              {{"$METHOD", method},
               {"$GROUND", ground},
               {"$BODY", body.body},
               {"$H", Number(h)},
               {"$Z", Number(body.height + above)},
               {"$V", Number(-speed)}});
}

// Loads a scene that may name the slab; the running test has a folder of its own for its files.
inline World LoadOnSlab(const std::string& yaml) {
  if (!absl::StrContains(yaml, "slab.obj")) return LoadWorld(yaml);
  const std::filesystem::path folder = PathOfTest("slab");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "slab.obj") << MakeBoxObj({-0.5, -0.5, -0.2}, {0.5, 0.5, 0});
  std::ofstream(folder / "scene.yaml") << yaml;
  return MakeWorld(LoadSceneFile((folder / "scene.yaml").string()));
}

// True if a contact of the last step exerted an impulse.
inline bool IsPushed(const World& world) {
  return std::ranges::any_of(world.report().contacts, [](const ContactForce& contact) {
    return contact.impulse_W.norm() > 0;
  });
}

// Maximum gap, at the end of a step, of a body on which a contact acted in it [m].
inline constexpr double kHeldOpen = 2e-5;
// Slower separation counts as none [m/s].
inline constexpr double kMinReboundSpeed = 1e-3;

// Lets a body fall in `phases` runs that differ in the part of a step at which it arrives. A gap
// that closes within the step is a contact before the bodies overlap, overlap causes no rebound,
// and nothing stops a body that does not arrive.
inline void TestImpacts(const std::string& method, const FallingBody& body,
                        const std::string& ground, double speed, double h, int phases) {
  SCOPED_TRACE(absl::StrCat(method, ": ", body.name, " at ", speed, " m/s, h = ", h));
  // overlap at rest: the compliance of the method
  World resting = LoadOnSlab(ImpactScene(method, body, ground, h, 0, 0));
  for (int s = 0; s < 200; ++s) ASSERT_TRUE(resting.Step().ok());
  const double rest = std::max(0.0, body.height - ReadVector(resting, "position").z());
  for (int phase = 0; phase < phases; ++phase) {
    const double above = (1.0 + (phase + 0.5) / phases) * h * speed;
    World world = LoadOnSlab(ImpactScene(method, body, ground, h, above, speed));
    for (int s = 0; s < std::max(12, static_cast<int>(0.1 / h)); ++s) {
      const std::string where = absl::StrCat("step ", s, ", phase ", phase, " on ", ground);
      ASSERT_TRUE(world.Step().ok());
      ASSERT_TRUE(world.report().converged) << where;
      const double z = ReadVector(world, "position").z();
      if (IsPushed(world)) {
        ASSERT_LT(z, body.height + kHeldOpen) << where;
      }
      ASSERT_GT(z, body.height - 1.01 * rest - 1e-5) << where;
      ASSERT_LT(ReadVector(world, "velocity").z(), std::max(kMinReboundSpeed, 1e-4 * speed))
          << where;
    }
  }
}

// Meshes of soft bodies of 1 MPa whose lowest nodes are 5 cm below their origins.
inline constexpr FallingBody kFallingSoftBodies[] = {
    {"SoftBox", "box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05", 0.05},
    {"SoftBall", "sphere: {radius: 0.05}, edge_length: 0.03", 0.05}};

// Lets a soft body fall in `phases` runs that differ in the part of a step at which it arrives. It
// bounces, but no node is ever below the ground.
inline void TestSoftImpacts(const std::string& method, const FallingBody& body,
                            const std::string& ground, double speed, double h, int phases) {
  SCOPED_TRACE(absl::StrCat(method, ": ", body.name, " at ", speed, " m/s, h = ", h));
  // near-rigid contacts are compliant, also under the impact force of a soft body
  const double allowed = method == "convex" ? 3e-5 : 1e-5;
  for (int phase = 0; phase < phases; ++phase) {
    const double above = (1.0 + (phase + 0.5) / phases) * h * speed;
    World world = LoadWorld(Fill(R"(
name: impact
time_step: $H
sleeping: false
method: {$METHOD: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [$GROUND]}}
  - name: body
    deformable:
      mesh: {$MESH}
      material:
        {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}
      pose: {position: [0, 0, $Z]}
      velocity: {linear: [0, 0, $V]}
)",
                                 {{"$METHOD", method},
                                  {"$GROUND", ground},
                                  {"$MESH", body.body},
                                  {"$H", Number(h)},
                                  {"$Z", Number(body.height + above)},
                                  {"$V", Number(-speed)}}));
    for (int s = 0; s < std::max(12, static_cast<int>(0.05 / h)); ++s) {
      ASSERT_TRUE(world.Step().ok());
      ASSERT_TRUE(world.report().converged);
      const auto q = world.model().Positions(world.state(), world.model().bodies[1].block);
      for (std::size_t i = 2; i < q.size(); i += 3)
        ASSERT_GT(q[i], -allowed) << "step " << s << ", phase " << phase << " on " << ground;
    }
  }
}

}  // namespace pliant::physics
