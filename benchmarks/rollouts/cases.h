#pragma once

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace pliant::benchmarks {

constexpr int kRolloutWorlds = 64;
constexpr int kArmJoints = 7;

// Worlds of one robot, whose arm has a moving target for each joint. benchmarks/python/lockstep.py
// has the same.
struct RolloutCase {
  std::string name;
  std::string scene;  // file
  std::string robot;
  std::array<double, kArmJoints> home;  // [rad]
  double amplitude;                     // of the targets about home [rad]
  int rounds;                           // steps of each world in a turn, from its start
  std::vector<std::string> probes;
  int numbers;  // of an observation: positions and velocities of all joints, and probes

  // The files that it names are in scenes/.
  std::string ReadScene() const {
    std::ifstream file(PLIANT_SOURCE_DIR "/" + scene);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  double CalcTarget(int count, int world, int joint) const {
    return home[joint] + amplitude * std::sin(0.02 * count + world + joint);
  }
};

// An arm in empty space, and the arm with a hand over a soft ball of the Python package's grasping
// task.
inline const std::vector<RolloutCase> kRolloutCases = {
    {"rollouts_arm", "benchmarks/rollouts/arm.yaml", "arm", {}, 0.3, 3000, {"tip"}, 17},
    {"rollouts_grasp",
     "scenes/iiwa_allegro.yaml",
     "robot",
     {0, 0.6, 0, -1.4, 0, 1.14, 0},
     0.1,
     150,
     {"ball", "strain"},
     50}};

}  // namespace pliant::benchmarks
