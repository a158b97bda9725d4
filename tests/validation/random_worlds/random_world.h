#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pliant::physics {

// A world drawn at random from a seed: bodies of many shapes, sizes and densities that are thrown
// onto the ground and at each other. The same seed gives the same world on every machine.
class RandomWorld {
 public:
  enum class Kind {
    kMeshes,     // rigid and soft bodies, joints and robots
    kParticles,  // up to three bodies of particles, of all materials, among up to four other bodies
  };
  explicit RandomWorld(std::uint64_t seed, Kind kind = Kind::kMeshes);

  // Number of parts that are kept or left out as a whole: a body, a pair with a joint, a soft body
  // on its handle, or a robot.
  int num_parts() const { return static_cast<int>(parts_.size()); }
  bool has_drives() const { return has_drives_; }

  // The scene under a method, with the parts that `kept` lists.
  std::string ToYaml(const std::string& method, const std::vector<int>& kept) const;
  std::string ToYaml(const std::string& method) const;

 private:
  struct Part {
    std::vector<std::string> bodies, robots, constraints, scripts;  // entries of the scene
  };

  std::uint64_t seed_;
  double time_step_, friction_;
  double cell_size_ = 0;  // of the grid of particles; 0: there are none [m]
  bool has_drives_ = false;
  std::string ground_;
  std::vector<Part> parts_;

  friend class WorldMaker;
};

// Result of the run of a world.
struct WorldVerdict {
  std::string fault;  // empty: none
  int steps = 0;
  int missed = 0;  // steps that did not converge
  // Largest gain of energy in one step beyond the work done on the bodies, and the sum of all
  // gains, relative to the energy at the start, which is measured from the level of the ground.
  double largest_gain = 0, total_gain = 0;
  double overlap = 0;  // at the end [m]
};

// Steps the world of a scene for a duration [s].
WorldVerdict RunScene(const std::string& yaml, double duration);

// Returns a small list of parts with which a world still fails, found by leaving out one part after
// another. `fails` returns true if the world of a scene fails.
template <typename Fails>
std::vector<int> FindFewestParts(const RandomWorld& world, const std::string& method,
                                 const Fails& fails) {
  std::vector<int> kept;
  for (int i = 0; i < world.num_parts(); ++i) kept.push_back(i);
  for (bool is_smaller = true; is_smaller && kept.size() > 1;) {
    is_smaller = false;
    for (std::size_t k = 0; k < kept.size() && kept.size() > 1; ++k) {
      std::vector<int> fewer = kept;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      if (!fails(world.ToYaml(method, fewer))) continue;
      kept = fewer;
      is_smaller = true;
      --k;
    }
  }
  return kept;
}

}  // namespace pliant::physics
