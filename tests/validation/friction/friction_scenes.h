#pragma once

#include <string>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {

// Scene entries of a slope of `angle` [rad] that falls towards +x, and of a cube of 0.1 m and 1 kg,
// rigid or of 1 MPa, that starts 0.1 mm above it.
inline std::string CubeOnSlope(bool soft, double angle) {
  return Fill(soft ? R"(
  - name: slope
    rigid: {motion: FIXED, pose: {rpy_degrees: [0, $DEGREES, 0]}, shapes: [{half_space: {}}]}
  - name: cube
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: $P, rpy_degrees: [0, $DEGREES, 0]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e6, poissons_ratio: 0.3,
          density: 1000}
)"
                   : R"(
  - name: slope
    rigid: {motion: FIXED, pose: {rpy_degrees: [0, $DEGREES, 0]}, shapes: [{half_space: {}}]}
  - name: cube
    rigid:
      motion: FREE
      density: 1000
      pose: {position: $P, rpy_degrees: [0, $DEGREES, 0]}
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]
)",
              {{"$DEGREES", Number(angle * 180 / kPi)}, {"$P", List(0.0501 * SlopeNormal(angle))}});
}

// A flat block that slides over the ground at friction 0.5 with initial `velocity` [m/s]; probes
// `p` and `v`.
inline World LoadSlidingBlock(const Eigen::Vector3d& velocity, bool anchored, double h) {
  return LoadWorld(Fill(
      R"(
name: sliding block
time_step: $H
contact: {friction: 0.5, anchored: $ANCHORED}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: block
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.01]}, velocity: {linear: $V},
            shapes: [{box: {size: [0.1, 0.1, 0.02]}}]}
probes: [{name: p, position: {body: block}}, {name: v, velocity: {body: block}}]
)",
      {{"$H", Number(h)}, {"$ANCHORED", anchored ? "true" : "false"}, {"$V", List(velocity)}}));
}

}  // namespace pliant::physics
