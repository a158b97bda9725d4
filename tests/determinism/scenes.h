#pragma once

#include <map>
#include <string>

#include "absl/strings/str_cat.h"

namespace pliant::physics {

// A soft cube on a slope with a ball above it; `more` is appended to the cube's entry.
inline std::string SoftCubeOnSlope(const std::string& name, const std::string& method,
                                   const std::string& edge_length, const std::string& more = "") {
  return absl::StrCat("name: ", name, "\ntime_step: 0.01\nmethod: ", method, R"(
contact: {friction: 0.3}
bodies:
  - name: slope
    rigid: {motion: FIXED, pose: {rpy_degrees: [0, 25, 0]}, shapes: [{half_space: {}}]}
  - name: soft
    deformable:
      pose: {position: [0.03, 0, 0.06], rpy_degrees: [0, 25, 0]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.3,
          density: 1000}
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: )",
                      edge_length, "}\n", more, R"(  - name: ball
    rigid: {motion: FREE, density: 1000, pose: {position: [0.05, 0, 0.2]},
        shapes: [{sphere: {radius: 0.04}}]}
)");
}

// Scenes of rigid, articulated and soft bodies, particles and enclosed volumes in contact, by all
// methods.
inline const std::map<std::string, std::string>& DeterminismScenes() {
  static const std::map<std::string, std::string> scenes = [] {
    std::map<std::string, std::string> all;
    all["soft ball"] = R"(
name: soft ball
time_step: 0.01
bodies:
  - name: table
    rigid: {motion: FIXED, pose: {rpy_degrees: [0, 3, 0]}, shapes: [{box: {size: [1, 1, 0.1]},
        pose: {position: [0, 0, -0.05]}}]}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.017}
      pose: {position: [0, 0, 0.08]}
      velocity: {linear: [0.1, 0, -1], angular: [0, 3, 1]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 5.0e4, poissons_ratio: 0.4,
          density: 1000}
  - name: cube
    deformable:
      mesh: {box: {size: [0.05, 0.05, 0.05]}, edge_length: 0.025}
      pose: {position: [0.01, 0, 0.17], rpy_degrees: [10, 20, 30]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.3,
          density: 500}
  - name: paddle
    rigid: {motion: KINEMATIC, pose: {position: [-0.2, 0, 0.05]}, shapes: [{capsule: {radius: 0.02,
        length: 0.1}}]}
script:
  - {target: {pose: paddle}, times: [0, 0.5],
      values: [[-0.2, 0, 0.05, 1, 0, 0, 0], [0.05, 0, 0.05, 0.8, 0, 0.6, 0]]}
  - {target: {force: ball}, times: [0.1, 0.3], values: [[0, 0, 0], [0.5, 1, 0]]}
)";
    all["rigid heap"] = R"(
name: rigid heap
time_step: 0.01
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: box
    rigid: {motion: FREE, density: 500, pose: {position: [0, 0, 0.06], rpy_degrees: [0, 0, 20]},
        shapes: [{box: {size: [0.2, 0.2, 0.1]}}]}
  - name: cylinder
    rigid: {motion: FREE, density: 800, pose: {position: [0.01, 0, 0.17]},
        shapes: [{cylinder: {radius: 0.05, length: 0.1}}]}
  - name: capsule
    rigid: {motion: FREE, density: 700, pose: {position: [0.02, 0.01, 0.27],
        rpy_degrees: [80, 0, 0]}, shapes: [{capsule: {radius: 0.03, length: 0.1}}]}
  - name: ball
    rigid: {motion: FREE, density: 1000, pose: {position: [-0.02, 0.03, 0.36]},
        shapes: [{sphere: {radius: 0.04}}], velocity: {linear: [0, 0, -1], angular: [5, 6, 7]}}
  - name: egg
    rigid: {motion: FREE, density: 900, pose: {position: [0, 0, 0.45], rpy_degrees: [30, 40, 0]},
        shapes: [{ellipsoid: {radii: [0.05, 0.03, 0.02]}}]}
)";
    all["soft mat"] = R"(
name: soft mat
time_step: 0.01
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{box: {size: [1, 1, 0.1]},
      pose: {position: [0, 0, -0.05]}}]}}
  - name: mat
    deformable:
      mesh: {box: {size: [0.4, 0.2, 0.02]}, edge_length: 0.02}
      pose: {position: [0, 0, 0.012], rpy_degrees: [0, 1, 0]}
      velocity: {linear: [0.1, 0, 0]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
          density: 1000}
  - name: box
    rigid: {motion: FREE, density: 500, pose: {position: [0, 0, 0.06], rpy_degrees: [0, 0, 20]},
        shapes: [{box: {size: [0.1, 0.1, 0.05]}}]}
  - name: cube
    deformable:
      mesh: {box: {size: [0.05, 0.05, 0.05]}, edge_length: 0.025}
      pose: {position: [0.14, 0, 0.06]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.3,
          density: 500}
)";
    all["arm and hand"] = R"(
name: arm and hand
time_step: 0.01
contact: {friction: 0.8}
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{box: {size: [1.4, 1.2, 0.04]},
      pose: {position: [0.35, 0, -0.02]}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.045}, edge_length: 0.023}
      pose: {position: [0.6, 0.04, 0.0452]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 2.5e4, poissons_ratio: 0.4,
          density: 500}
  - {name: cube, rigid: {motion: FREE, density: 600, pose: {position: [0.62, -0.04, 0.03]},
      shapes: [{box: {size: [0.06, 0.06, 0.06]}}]}}
robots:
  - name: robot
    file: )" PLIANT_SOURCE_DIR R"(/scenes/robots/iiwa_allegro.urdf
    joint_positions:
      {iiwa_joint_2: 0.6, iiwa_joint_4: -1.4, iiwa_joint_6: 1.14, index_joint_1: 0.3,
          middle_joint_1: 0.3, ring_joint_1: 0.3,
       thumb_joint_0: 1.2, thumb_joint_1: 0.4}
    actuators:
      - {joint: "iiwa_joint_.*", pd: {stiffness: 2000, damping: 60, gravity_compensation: true}}
      - {joint: "(index|middle|ring|thumb)_joint_[0-3]", pd: {stiffness: 5, damping: 0.2,
          gravity_compensation: true}, effort_limit: 0.7}
    controllers:
      - {name: tool, differential_ik: {link: iiwa_flange}}
      - {name: hand, gripper: {joints: ["(index|middle|ring)_joint_[1-3]", "thumb_joint_[23]"],
          max_force: 0.7}}
script:
  - {target: {twist: robot/tool}, times: [0, 0.4, 1.2],
      values: [[0, 0, 0, 0, 0, -0.3], [0, 0, 0.1, 0, 0, -0.4], [0.2, 0, 0, -0.1, 0.02, -0.1]]}
  - {target: {gripper: robot/hand}, times: [0.4, 1], values: [0.3, 1.2]}
)";
    all["corrective cube"] = SoftCubeOnSlope("corrective cube", "{corrective: {}}", "0.034");
    all["soft rings"] = R"(
name: soft rings
time_step: 0.01
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ring
    template: true
    deformable:
      mesh: {torus: {ring_radius: 0.4, tube_radius: 0.1, slices: 16}, edge_length: 0.1}
      velocity: {linear: [0, 0, -1], angular: [0.2, 0, 0.5]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 2.0e5, poissons_ratio: 0.3,
          density: 500}
instances:
  - of: ring
    poses:
      - {position: [0, 0, 0.52], rpy_degrees: [90, 0, 0]}
      - {position: [0, 0, 1.1], rpy_degrees: [90, 0, 90]}
      - {position: [0.1, 0, 1.6], rpy_degrees: [20, 0, 0]}
      - {position: [2, 0, 0.55], rpy_degrees: [80, 0, 0]}
)";
    // drives warm start from their last efforts, and a few iterations stop short of the solution
    all["nonsmooth hand"] = absl::StrCat(all["arm and hand"],
                                         "method: {nonsmooth: {friction: FIXED_POINT, "
                                         "newton_iterations: 6, linear_iterations: 50}}\n");
    all["nonsmooth cube"] = SoftCubeOnSlope("nonsmooth cube", "{nonsmooth: {}}", "0.034");
    all["maximal ball"] = SoftCubeOnSlope(
        "maximal ball",
        "{nonsmooth: {coordinates: MAXIMAL, newton_iterations: 6, linear_iterations: 50}}", "0.05",
        R"(      regions:
      - name: top
        within: {box: {size: [1, 1, 0.05], pose: {position: [0, 0, 0.05]}}}
        material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
)");
    all["smooth cube"] = SoftCubeOnSlope("smooth cube", "{smooth: {}}", "0.05");
    // dough, which yields, and a liquid, each under a box
    all["dough and liquid"] = R"(
name: dough and liquid
time_step: 0.01
grid: {cell_size: 0.02}
bodies:
  - {name: tray, rigid: {motion: FIXED, pose: {rpy_degrees: [0, 5, 0]}, shapes: [
      {box: {size: [0.4, 0.2, 0.1]}, pose: {position: [0, 0, -0.05]}}]}}
  - name: dough
    particles:
      fill: {box: {size: [0.06, 0.04, 0.04]}}
      per_cell: 6
      pose: {position: [-0.06, 0, 0.03]}
      material: {model: VON_MISES, youngs_modulus: 2.0e4, poissons_ratio: 0.4, yield_stress: 300,
          density: 1000}
  - name: liquid
    particles:
      fill: {sphere: {radius: 0.025}}
      per_cell: 6
      pose: {position: [0.06, 0, 0.03]}
      velocity: {linear: [-0.2, 0, 0]}
      material: {model: LIQUID, bulk_modulus: 2.0e4, viscosity: 0.1, density: 1000}
  - {name: box, rigid: {motion: FREE, density: 2000, pose: {position: [-0.06, 0, 0.08]},
      shapes: [{box: {size: [0.04, 0.04, 0.04]}}]}}
  - {name: cube, rigid: {motion: FREE, density: 500, pose: {position: [0.06, 0, 0.085]},
      shapes: [{box: {size: [0.05, 0.05, 0.05]}}]}}
)";
    // a gas, a liquid, and an energy of the whole volume
    all["inflated balls"] = R"(
name: inflated balls
time_step: 0.01
bodies:
  - {name: ground, rigid: {motion: FIXED, pose: {rpy_degrees: [0, 5, 0]},
      shapes: [{half_space: {}}]}}
  - name: ball
    template: true
    deformable:
      mesh: {hollow_sphere: {radius: 0.1, wall_thickness: 0.02}, edge_length: 0.04}
      velocity: {linear: [0, 0, -1], angular: [0, 3, 1]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 5.0e4, poissons_ratio: 0.4,
          density: 500}
instances:
  - {of: ball, poses: [{position: [0, 0, 0.13]}, {position: [0.03, 0, 0.35]},
      {position: [0.4, 0, 0.1]}]}
constraints:
  - {name: air, volume: {body: ball_0, cavity: true, law: IDEAL_GAS, gauge_pressure: 2.0e3}}
  - {name: water, volume: {body: ball_1, cavity: true, law: LIQUID, bulk_modulus: 1.0e6}}
  - {name: rubber, volume: {body: ball_2, law: QUADRATIC, bulk_modulus: 1.0e6}}
script:
  - {target: {pressure: air}, times: [0, 0.3], values: [2.0e3, 4.0e3]}
)";
    return all;
  }();
  return scenes;
}

}  // namespace pliant::physics
