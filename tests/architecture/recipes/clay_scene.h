#pragma once

#include <string>

#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant {

// A lump falls on a slab, and a free box falls on the lump.
inline std::string ClayScene(const std::string& method) {
  return R"(
time_step: 0.002
method: {)" +
         method + R"(}
bodies:
  - name: slab
    rigid: {motion: FIXED, shapes: [{box: {size: [1, 1, 0.1]}, pose: {position: [0, 0, -0.05]}}]}
  - name: lump
    custom:
      kind: CLAY
      mesh: {box: {size: [0.12, 0.12, 0.12]}, edge_length: 0.03}
      pose: {position: [0, 0, 0.2]}
      density: 1500
      parameters: {cell_size: 0.04, bulk_modulus: 2.0e4, yield: 0.02}
  - name: cube
    rigid:
      motion: FREE
      density: 800
      pose: {position: [0.01, 0, 0.36]}
      shapes: [{box: {size: [0.08, 0.08, 0.08]}}]
probes:
  - {name: center, position: {body: lump}}
  - {name: volume, volume: {body: lump}}
  - {name: smallest, field: {body: lump, measure: VOLUME_RATIO, reduce: MIN}}
  - {name: force, contact_force: {body: lump, with: slab}}
  - {name: energy, energy: {kind: KINETIC, body: lump}}
)";
}

inline physics::World LoadWorld(const std::string& yaml) {
  const physics::SceneResult scene = physics::LoadSceneYaml(yaml, "clay.yaml");
  EXPECT_TRUE(scene.ok()) << (scene.messages.empty() ? "" : scene.messages[0].message);
  return physics::World(scene.model);
}

inline physics::World LoadClay(const std::string& method = "convex: {}") {
  return LoadWorld(ClayScene(method));
}

inline double Probe(const physics::World& world, const std::string& name, int component = 0) {
  for (const physics::Probe& probe : world.model().probes) {
    if (probe.name != name) continue;
    return physics::SampleProbe(world.model(), probe, world.state(), world.report(),
                                world.model().time_step)
        .numbers[component];
  }
  ADD_FAILURE() << name;
  return 0;
}

inline void StepTo(int step, physics::World* world) {
  while (world->state().step < step) {
    const absl::Status status = world->Step();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(world->report().converged) << world->state().step;
  }
}

}  // namespace pliant
