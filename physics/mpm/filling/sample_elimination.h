#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// Random numbers that are the same on every machine: SplitMix64 (Steele, Lea & Flood 2014).
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}

  // Uniform in [0, 1).
  double Next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

// Chooses points that are spread evenly, a Poisson disk sample, by eliminating the most crowded
// point again and again (Yuksel 2015, Sample Elimination for Generating Poisson Disk Sample Sets).
//
// points     candidates, a few times as many as are chosen; the first `num_fixed` stay. The last
//            `num_outside` are beyond the border of a region: they crowd those within and are
//            eliminated like them, so that points do not gather at the border; none is chosen
// count      how many of the rest are kept, at most
// reach      [m] distance within which points crowd each other: twice the largest radius of discs
//            around the kept points that do not overlap
// returns    indices of the fixed and the kept points, ascending
std::vector<int> EliminateCrowded(std::span<const Eigen::Vector3d> points, int num_fixed,
                                  int num_outside, int count, double reach);

// Indices of points of which no two are nearer than `distance`: those earlier in the list win.
std::vector<int> KeepApart(std::span<const Eigen::Vector3d> points, double distance);

}  // namespace pliant::physics
