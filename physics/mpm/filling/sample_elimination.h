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
// points     candidates, a few times as many as are chosen. The first `num_fixed` are always
//            chosen. The last `num_outside` lie outside the region and are never chosen: they
//            crowd the others and are eliminated like them, so that no points gather at the border
// count      maximum number of the others that are chosen
// reach      distance within which points crowd each other [m]: r_max of the paper, twice the
//            largest radius of non-overlapping discs around the chosen points
// returns    indices of the chosen points, ascending
std::vector<int> EliminateCrowded(std::span<const Eigen::Vector3d> points, int num_fixed,
                                  int num_outside, int count, double reach);

// Greedily selects points that are at least `distance` apart, in their order. Returns their
// indices.
std::vector<int> KeepApart(std::span<const Eigen::Vector3d> points, double distance);

}  // namespace pliant::physics
