#pragma once

#include <memory>
#include <string>

#include "physics/dynamics/model.h"
#include "physics/scene/scene.h"
#include "tests/server/host/table_scene.h"

namespace pliant::server {

// No step in contact converges, since the method is limited to one iteration.
inline constexpr char kFaultyScene[] = R"(name: faulty
time_step: 0.01
method: {convex: {max_iterations: 1, tolerance: 1.0e-12, warm_start: false}}
bodies:
  - name: table
    rigid: {motion: FIXED, pose: {position: [0, 0, -0.05], rpy_degrees: [0, 20, 0]},
        shapes: [{box: {size: [2, 2, 0.1]}}]}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.04}
      pose: {position: [0, 0, 0.06]}
      velocity: {linear: [1, 0, -1], angular: [0, 20, 0]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
          density: 1000}
)";

inline std::shared_ptr<const physics::Model> LoadTestModel(const std::string& yaml = kTestScene) {
  return physics::LoadSceneYaml(yaml, "test.yaml").model;
}

}  // namespace pliant::server
