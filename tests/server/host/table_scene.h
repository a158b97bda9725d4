#pragma once

namespace pliant::server {

// A table, a kinematic paddle, a free cube and a coarse soft ball (h = 10 ms): every kind of body,
// at a few milliseconds of computing time per step.
inline constexpr char kTestScene[] = R"(name: bench
time_step: 0.01
bodies:
  - name: table
    rigid: {motion: FIXED, pose: {position: [0, 0, -0.05]}, shapes: [{box: {size: [2, 2, 0.1]}}]}
  - name: paddle
    rigid: {motion: KINEMATIC, pose: {position: [-0.5, 0, 0.2]},
        shapes: [{box: {size: [0.02, 0.2, 0.2]}}]}
  - name: cube
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
        shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.04}
      pose: {position: [0.3, 0, 0.06]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
          density: 1000}
)";

}  // namespace pliant::server
