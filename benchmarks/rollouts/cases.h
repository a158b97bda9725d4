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
// has the same cases.
struct RolloutCase {
  std::string name;
  std::string scene;  // file
  std::string robot;
  std::array<double, kArmJoints> home;  // [rad]
  double amplitude;                     // of the targets about home [rad]
  int rounds;                           // steps of each world per run, from its initial state
  std::vector<std::string> probes;
  int numbers;  // in an observation: positions and velocities of all joints, and probes

  // Text of the scene. The file names in it are relative to scenes/.
  std::string ReadScene() const {
    std::ifstream file(PLIANT_SOURCE_DIR "/" + scene);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Target of a joint in step `count` of a world [rad].
  double CalcTarget(int count, int world, int joint) const {
    return home[joint] + amplitude * std::sin(0.02 * count + world + joint);
  }
};

// An arm in empty space; an arm with a hand over a soft ball, as in the Python package's grasping
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
