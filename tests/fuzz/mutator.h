#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pliant::fuzz {

// SplitMix64: the same seed gives the same numbers on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next();
  // Uniform in [0, n); 0 when n is 0.
  std::size_t Below(std::size_t n) { return n == 0 ? 0 : Next() % n; }
  bool OneIn(std::size_t n) { return Below(n) == 0; }

 private:
  std::uint64_t state_;
};

// FNV-1a hash of the input, for choices that depend on nothing else.
std::uint64_t HashInput(std::string_view input);

// Number of inputs that the target accepted, if it counts them. It should not stay 0.
inline std::uint64_t num_accepted = 0;

// Damages a text as people and disks do: flips bytes, swaps, repeats and drops words and lines,
// writes extreme numbers, nests deeply, splices in a part of `other`. The result is truncated to
// `max_size` bytes.
std::string Mutate(const std::string& input, const std::string& other, std::size_t max_size,
                   Random* random);

}  // namespace pliant::fuzz
