#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// Real-time rate of the default scene while the ball rests and while it is squeezed. Every suite
// runs only the cases whose name contains `only`.
nlohmann::ordered_json RunFoundation(const std::string& only);

// Robots and piles of boxes on the ground, compared with MuJoCo on the same model and time step:
// step time, penetration, slip of sticking contacts and drift at rest. Also the dynamics of an iiwa
// with an Allegro hand, and many independent trees.
nlohmann::ordered_json RunRobots(const std::string& only);

// Factorisation times against CHOLMOD and Eigen on the same matrices, and the cost of recording the
// Schur complement.
nlohmann::ordered_json RunLinalg(const std::string& only);

// Soft bodies compared with Drake, and with MuJoCo's flex where it supports the case: the same
// meshes, material, time step and friction.
nlohmann::ordered_json RunPeers(const std::string& only);

// The examples of Han et al. 2023 §VII with the figures of its Table I beside ours. Takes at most
// `max_steps` steps per case, or all of them if 0. With several threads, each case also runs
// single-threaded in alternation, and as several single-threaded worlds in parallel.
nlohmann::ordered_json RunHan2023(const std::string& only, int max_steps, int threads);

// Recursive corrective motion with the fast and the standard update, on boxes of the sizes in
// Table 1 of Zeng et al. 2022.
nlohmann::ordered_json RunZeng2022(const std::string& only);

// Compares the methods, each with its default budgets, on a cube that rests, creeps, breaks away
// and slides, and on every shipped scene.
nlohmann::ordered_json RunMethods(const std::string& only);

// The examples of Macklin et al. 2019 at the iteration counts of its Table 2, with the times of
// that table. Examples with many bodies also run on fewer threads.
nlohmann::ordered_json RunMacklin2019(const std::string& only, int threads);

// The shipped scenes of particles, with the figures of Table I of Zong et al. 2024 where it has
// them. Takes at most `max_steps` steps per case, or all of them if 0.
nlohmann::ordered_json RunZong2024(const std::string& only, int max_steps);

// The block slide of Larionov et al. 2023 with every integrator, implicit and lagged friction; both
// linear solvers of the smooth method on soft bodies.
nlohmann::ordered_json RunLarionov2023(const std::string& only);

// Bodies that fall onto fixed ones, over all phases of the step in which they arrive: overlap and
// rebound of every method.
nlohmann::ordered_json RunImpact(const std::string& only);

// Checkpoints of a large world: time to write and to restore one, and how long they block the
// stepping thread.
nlohmann::ordered_json RunStore(const std::string& only);

// Surfaces filled with tetrahedra, compared with fTetWild at the same number of tetrahedra: time,
// smallest dihedral angle, volume and distance from the surface.
nlohmann::ordered_json RunMeshing(const std::string& only);

// Many worlds of one robot, stepped together on all threads of this process. The suites `clients`
// and `python` step the same worlds through a server.
nlohmann::ordered_json RunRollouts(const std::string& only);

// Data for the figures in docs/benchmarks.md on Macklin et al. 2019 and Zeng et al. 2022.
nlohmann::ordered_json RunFigures(const std::string& only);

}  // namespace pliant::benchmarks
