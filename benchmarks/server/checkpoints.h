#pragma once

namespace pliant::benchmarks {

// The world whose checkpoints are measured, in a server and without one: a block of 31³ vertices
// that falls, with 89,373 degrees of freedom.
inline constexpr char kLargeBlock[] = R"(name: block
time_step: 0.01
bodies:
  - name: block
    deformable:
      mesh: {box: {size: [1, 1, 1]}, edge_length: 0.03334}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
          density: 1000}
)";

}  // namespace pliant::benchmarks
