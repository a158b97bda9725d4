#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// The default scene at rest and squeezed against real time. Only the cases whose name contains
// `only`.
nlohmann::ordered_json RunFoundation(const std::string& only);

// Robots and piles of boxes on the ground, step by step beside MuJoCo with the same model and step:
// time, penetration, slip of sticking contacts and drift at rest; the dynamics of iiwa and Allegro
// hand; many independent trees.
nlohmann::ordered_json RunRobots(const std::string& only);

// The factorisation beside CHOLMOD's and Eigen's on the same matrices, and what recording the Schur
// complement costs.
nlohmann::ordered_json RunLinalg(const std::string& only);

// Soft bodies beside Drake, and MuJoCo's flex where it can follow: the same meshes, material, step
// and friction.
nlohmann::ordered_json RunPeers(const std::string& only);

// The examples of Han et al. 2023 §VII beside the figures of its Table I. At most `most_steps`
// steps a case; 0: the whole run. On several threads each runs on one, too, in turns, and on as
// many worlds of one thread side by side.
nlohmann::ordered_json RunHan2023(const std::string& only, int most_steps, int threads);

// Recursive corrective motion with the fast and the standard update on boxes of the sizes of Table
// 1 of Zeng et al. 2022.
nlohmann::ordered_json RunZeng2022(const std::string& only);

// The methods beside each other, each with its default budgets: a cube that rests, creeps, breaks
// away and slides; every shipped scene.
nlohmann::ordered_json RunMethods(const std::string& only);

// The examples of Macklin et al. 2019 at the iteration counts of its Table 2, beside that; those of
// many bodies on fewer threads too.
nlohmann::ordered_json RunMacklin2019(const std::string& only, int threads);

// What the figures of docs/benchmarks.md on Macklin et al. 2019 and Zeng et al. 2022 are drawn
// from.
nlohmann::ordered_json RunFigures(const std::string& only);

}  // namespace pliant::benchmarks
