#include "tests/validation/random_worlds/random_world.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <Eigen/Core>

#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kMaxSpeed = 4;       // [m/s]
constexpr double kMaxSpin = 10;       // [rad/s]
constexpr double kHalfWidth = 0.25;   // of the region in which bodies start [m]
constexpr double kStartHeight = 0.5;  // [m]; higher where there is no room
constexpr double kClearance = 0.01;   // between bodies at the start [m]

// A generator with the same numbers everywhere (SplitMix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  double Uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(Next() >> 11) * 0x1p-53;
  }
  // evenly in the exponent
  double Scale(double low, double high) {
    return low * std::exp2(Uniform(0, std::log2(high / low)));
  }
  int Below(int count) { return static_cast<int>(Next() % static_cast<std::uint64_t>(count)); }
  bool Chance(double probability) { return Uniform(0, 1) < probability; }
  Vector3d InBall(double radius) {
    Vector3d p;
    do {
      p = {Uniform(-1, 1), Uniform(-1, 1), Uniform(-1, 1)};
    } while (p.squaredNorm() > 1);
    return radius * p;
  }

 private:
  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  std::uint64_t state_;
};

// Rounded to four digits, so that scenes are readable.
std::string Text(double x) {
  return absl::StrCat(std::strtod(absl::StrFormat("%.4g", x).c_str(), nullptr));
}

std::string Text(const Vector3d& v) {
  return absl::StrCat("[", Text(v.x()), ", ", Text(v.y()), ", ", Text(v.z()), "]");
}

// A geometry, and the radius of a ball about its origin that holds it [m].
struct Extent {
  std::string text;
  double radius;
};

}  // namespace

class WorldMaker {
 public:
  WorldMaker(Dice* dice, RandomWorld* world) : dice_(*dice), world_(*world) {}

  void Make() {
    DrawSurroundings();
    const int count = 3 + dice_.Below(7);
    while (num_bodies_ < count) {
      const double kind = dice_.Uniform(0, 1);
      part_ = {};
      if (kind < 0.5) {
        AddRigid();
      } else if (kind < 0.8) {
        AddSoft();
      } else if (kind < 0.88) {
        AddJointed();
      } else if (kind < 0.95) {
        AddHandled();
      } else {
        AddRobot();
      }
      world_.parts_.push_back(part_);
    }
  }

  void MakeWithParticles() {
    DrawSurroundings();
    world_.cell_size_ = dice_.Uniform(0.018, 0.03);
    const int of_particles = 1 + dice_.Below(3), others = dice_.Below(5);
    while (num_bodies_ < of_particles + others) {
      part_ = {};
      if (num_bodies_ < of_particles) {
        AddParticles();
      } else if (dice_.Chance(0.8)) {
        AddRigid();
      } else {
        AddSoft();
      }
      world_.parts_.push_back(part_);
    }
  }

 private:
  void DrawSurroundings() {
    constexpr double kSteps[] = {0.002, 0.005, 0.01}, kFrictions[] = {0, 0.3, 0.8};
    world_.time_step_ = kSteps[dice_.Below(3)];
    world_.friction_ = kFrictions[dice_.Below(3)];
    world_.ground_ = dice_.Chance(0.5)
                         ? "{half_space: {}}"
                         : "{box: {size: [6, 6, 0.4]}, pose: {position: [0, 0, -0.2]}}";
  }

  // A place for a ball of this radius that holds no other one.
  Vector3d FindPlace(double radius) {
    double top = kStartHeight;
    while (true) {
      const Vector3d p(dice_.Uniform(-kHalfWidth, kHalfWidth),
                       dice_.Uniform(-kHalfWidth, kHalfWidth),
                       dice_.Uniform(radius + kClearance, radius + top));
      const bool is_free = std::ranges::all_of(taken_, [&](const auto& other) {
        const double least = radius + other.second + kClearance;
        return (p - other.first).squaredNorm() > least * least;
      });
      if (is_free) {
        taken_.emplace_back(p, radius);
        return p;
      }
      top += 0.02;
    }
  }

  std::string Pose(const Vector3d& p) {
    return absl::StrCat("pose: {position: ", Text(p), ", rpy_degrees: [",
                        Text(dice_.Uniform(-180, 180)), ", ", Text(dice_.Uniform(-90, 90)), ", ",
                        Text(dice_.Uniform(-180, 180)), "]}");
  }
  std::string Thrown() {
    const Vector3d spin = dice_.Chance(0.5) ? dice_.InBall(kMaxSpin) : Vector3d(Vector3d::Zero());
    return absl::StrCat("velocity: {linear: ", Text(dice_.InBall(kMaxSpeed)),
                        ", angular: ", Text(spin), "}");
  }
  std::string Name(const char* kind) { return absl::StrCat(kind, "_", num_bodies_++); }

  Extent Shape() {
    const double r = dice_.Uniform(0.02, 0.06);
    switch (dice_.Below(6)) {
      case 0:
        return {absl::StrCat("{sphere: {radius: ", Text(r), "}}"), r};
      case 1: {
        const double length = dice_.Uniform(0.5, 2) * r;
        return {absl::StrCat("{capsule: {radius: ", Text(r), ", length: ", Text(length), "}}"),
                r + 0.5 * length};
      }
      case 2: {
        const double length = dice_.Uniform(0.4, 3) * r;
        return {absl::StrCat("{cylinder: {radius: ", Text(r), ", length: ", Text(length), "}}"),
                std::sqrt(r * r + 0.25 * length * length)};
      }
      case 3: {
        const Vector3d radii = r * Vector3d(1, dice_.Uniform(0.5, 1), dice_.Uniform(0.5, 1));
        return {absl::StrCat("{ellipsoid: {radii: ", Text(radii), "}}"), r};
      }
      case 4: {
        // two boxes that make an L
        const double thick = 0.6 * r;
        return {
            absl::StrCat("{box: {size: ", Text(Vector3d(2 * r, thick, thick)),
                         "}}, {box: {size: ", Text(Vector3d(thick, thick, 1.4 * r)),
                         "}, pose: {position: ", Text(Vector3d(r - 0.5 * thick, 0, 0.7 * r)), "}}"),
            1.8 * r};
      }
      default: {
        const Vector3d size = 2 * r * Vector3d(1, dice_.Uniform(0.2, 1), dice_.Uniform(0.2, 1));
        return {absl::StrCat("{box: {size: ", Text(size), "}}"),
                0.5 * std::sqrt(size.squaredNorm())};
      }
    }
  }

  Extent SoftMesh() {
    const double r = dice_.Uniform(0.03, 0.06);
    const std::string edge = absl::StrCat(", edge_length: ", Text(dice_.Uniform(0.5, 0.8) * r));
    switch (dice_.Below(3)) {
      case 0:
        return {absl::StrCat("{sphere: {radius: ", Text(r), "}", edge, "}"), r};
      case 1:
        return {absl::StrCat("{cylinder: {radius: ", Text(0.7 * r), ", length: ", Text(1.4 * r),
                             "}", edge, "}"),
                r};
      default: {
        const Vector3d size =
            2 * r * Vector3d(0.58, dice_.Uniform(0.3, 0.58), dice_.Uniform(0.3, 0.58));
        return {absl::StrCat("{box: {size: ", Text(size), "}", edge, "}"), r};
      }
    }
  }

  std::string Material() {
    constexpr const char* kModels[] = {"LINEAR_COROTATIONAL", "LINEAR_COROTATIONAL", "COROTATIONAL",
                                       "NEO_HOOKEAN"};
    return absl::StrCat("{model: ", kModels[dice_.Below(4)],
                        ", youngs_modulus: ", Text(dice_.Scale(2e4, 3e6)),
                        ", poissons_ratio: ", Text(dice_.Uniform(0.2, 0.45)),
                        ", density: ", Text(dice_.Scale(300, 2000)), "}");
  }

  std::string Rigid(const std::string& name, const Extent& shape, const Vector3d& p,
                    const std::string& thrown) {
    return absl::StrCat("{name: ", name,
                        ", rigid: {motion: FREE, density: ", Text(dice_.Scale(100, 1e4)),
                        ", shapes: [", shape.text, "], ", Pose(p), ", ", thrown, "}}");
  }

  void AddRigid() {
    const Extent shape = Shape();
    const Vector3d p = FindPlace(shape.radius);
    part_.bodies.push_back(Rigid(Name("rigid"), shape, p, Thrown()));
  }

  void AddSoft() {
    const Extent mesh = SoftMesh();
    const Vector3d p = FindPlace(mesh.radius);
    part_.bodies.push_back(absl::StrCat(
        "{name: ", Name("soft"), ", deformable: {mesh: ", mesh.text, ", material: ", Material(),
        dice_.Chance(0.2) ? ", self_contact: true, " : ", ", Pose(p), ", ", Thrown(), "}}"));
  }

  Extent Fill() {
    const double r = dice_.Uniform(1.5, 2.4) * world_.cell_size_;
    switch (dice_.Below(4)) {
      case 0:
        return {absl::StrCat("{sphere: {radius: ", Text(r), "}}"), r};
      case 1:
        return {absl::StrCat("{torus: {ring_radius: ", Text(0.65 * r),
                             ", tube_radius: ", Text(0.35 * r), "}}"),
                r};
      case 2: {
        const Vector3d radii = r * Vector3d(1, dice_.Uniform(0.6, 1), dice_.Uniform(0.6, 1));
        return {absl::StrCat("{ellipsoid: {radii: ", Text(radii), "}}"), r};
      }
      default: {
        const Vector3d size = r * Vector3d(1.5, dice_.Uniform(0.7, 1.2), dice_.Uniform(0.7, 1.2));
        return {absl::StrCat("{box: {size: ", Text(size), "}}"),
                0.5 * std::sqrt(size.squaredNorm())};
      }
    }
  }

  std::string ParticleMaterial() {
    const std::string density = absl::StrCat(", density: ", Text(dice_.Scale(100, 3000)), "}");
    constexpr const char* kSolids[] = {"LINEAR_COROTATIONAL", "NEO_HOOKEAN", "VON_MISES"};
    const int model = dice_.Below(4);
    if (model == 3) {
      constexpr double kViscosities[] = {0, 0, 0.1, 5};
      return absl::StrCat("{model: LIQUID, bulk_modulus: ", Text(dice_.Scale(1e3, 2e5)),
                          ", viscosity: ", Text(kViscosities[dice_.Below(4)]), density);
    }
    return absl::StrCat(
        "{model: ", kSolids[model], ", youngs_modulus: ", Text(dice_.Scale(3e3, 3e6)),
        ", poissons_ratio: ", Text(dice_.Uniform(0.2, 0.49)),
        model == 2 ? ", yield_stress: " + Text(dice_.Scale(100, 1e4)) : "", density);
  }

  void AddParticles() {
    const Extent fill = Fill();
    // closer than two cells, bodies stick together
    const Vector3d p = FindPlace(fill.radius + world_.cell_size_);
    part_.bodies.push_back(absl::StrCat(
        "{name: ", Name("particles"), ", particles: {fill: ", fill.text, ", per_cell: ",
        4 + 2 * dice_.Below(4), dice_.Chance(0.5) ? ", layout: LATTICE" : ", layout: POISSON_DISK",
        ", material: ", ParticleMaterial(), ", ", Pose(p), ", ", Thrown(), "}}"));
  }

  // Two bodies side by side with a joint between them.
  void AddJointed() {
    const Extent a = Shape(), b = Shape();
    const double radius = a.radius + b.radius + kClearance;
    const Vector3d center = FindPlace(radius);
    const Vector3d p_a = center - Vector3d(b.radius + kClearance, 0, 0),
                   p_b = center + Vector3d(a.radius + kClearance, 0, 0);
    const std::string thrown =
        absl::StrCat("velocity: {linear: ", Text(dice_.InBall(kMaxSpeed)), "}");
    const std::string name_a = Name("jointed"), name_b = Name("jointed");
    part_.bodies.push_back(Rigid(name_a, a, p_a, thrown));
    part_.bodies.push_back(Rigid(name_b, b, p_b, thrown));
    constexpr const char* kKinds[] = {"ball", "weld", "distance"};
    part_.constraints.push_back(absl::StrCat("{name: of_", name_a, ", ", kKinds[dice_.Below(3)],
                                             ": {a: ", name_a, ", b: ", name_b, "}}"));
  }

  // A soft box of which one end is attached to a rigid handle.
  void AddHandled() {
    const double r = dice_.Uniform(0.02, 0.035);
    const Vector3d center = FindPlace(4.5 * r);
    const std::string thrown =
        absl::StrCat("velocity: {linear: ", Text(dice_.InBall(kMaxSpeed)), "}");
    const std::string handle = Name("handle"), soft = Name("attached");
    part_.bodies.push_back(absl::StrCat(
        "{name: ", handle, ", rigid: {motion: FREE, density: ", Text(dice_.Scale(300, 4000)),
        ", shapes: [{box: {size: ", Text(Vector3d(1.5 * r, 2 * r, 2 * r)),
        "}}], pose: {position: ", Text(center - Vector3d(2.25 * r, 0, 0)), "}, ", thrown, "}}"));
    part_.bodies.push_back(absl::StrCat(
        "{name: ", soft, ", deformable: {mesh: {box: {size: ", Text(Vector3d(3 * r, r, r)),
        "}, edge_length: ", Text(0.75 * r), "}, material: ", Material(),
        ", pose: {position: ", Text(center), "}, ", thrown, ", attachments: [{to: ", handle,
        ", within: {box: {size: ", Text(Vector3d(0.2 * r, 2 * r, 2 * r)),
        ", pose: {position: ", Text(Vector3d(-1.5 * r, 0, 0)), "}}}}]}}"));
  }

  // A gripper that is thrown and closes in flight.
  void AddRobot() {
    const double radius = 0.22;
    const std::string name = Name("robot");
    part_.robots.push_back(
        absl::StrCat("{name: ", name, ", file: ", PLIANT_SOURCE_DIR,
                     "/scenes/robots/wsg50.urdf, base: FREE, ", Pose(FindPlace(radius)),
                     ", actuators: [{joint: \".*\", pd: {stiffness: 500, damping: 10}}]}"));
    world_.has_drives_ = true;
  }

  Dice& dice_;
  RandomWorld& world_;
  RandomWorld::Part part_;
  int num_bodies_ = 0;
  std::vector<std::pair<Vector3d, double>> taken_;  // centres and radii
};

RandomWorld::RandomWorld(std::uint64_t seed, Kind kind) : seed_(seed) {
  Dice dice(seed);
  WorldMaker maker(&dice, this);
  kind == Kind::kMeshes ? maker.Make() : maker.MakeWithParticles();
}

std::string RandomWorld::ToYaml(const std::string& method, const std::vector<int>& kept) const {
  std::string text =
      absl::StrCat("name: random_", seed_, "\ntime_step: ", time_step_, "\nmethod: {", method,
                   ": {}}\ncontact: {friction: ", friction_, "}\n");
  if (cell_size_ > 0) absl::StrAppend(&text, "grid: {cell_size: ", Text(cell_size_), "}\n");
  absl::StrAppend(&text, "bodies:\n  - {name: ground, rigid: {motion: FIXED, shapes: [", ground_,
                  "]}}\n");
  const auto append = [&](const char* key, const std::vector<std::string> Part::*entries) {
    bool is_first = key != nullptr;
    for (const int part : kept) {
      for (const std::string& entry : parts_[part].*entries) {
        if (is_first) absl::StrAppend(&text, key, ":\n");
        is_first = false;
        absl::StrAppend(&text, "  - ", entry, "\n");
      }
    }
  };
  append(nullptr, &Part::bodies);
  append("robots", &Part::robots);
  append("constraints", &Part::constraints);
  append("script", &Part::scripts);
  return text;
}

std::string RandomWorld::ToYaml(const std::string& method) const {
  std::vector<int> all;
  for (int i = 0; i < num_parts(); ++i) all.push_back(i);
  return ToYaml(method, all);
}

WorldVerdict RunScene(const std::string& yaml, double duration) {
  WorldVerdict verdict;
  const SceneResult scene = LoadSceneYaml(yaml, "random.yaml");
  if (!scene.ok()) {
    for (const SceneMessage& message : scene.messages)
      if (message.error) absl::StrAppend(&verdict.fault, Format(message), "\n");
    return verdict;
  }
  World world(scene.model);
  world.WatchEnergy(true);
  double start = 0;
  while (world.state().time < duration - 1e-9) {
    if (const absl::Status status = world.Step(); !status.ok()) {
      verdict.fault = std::string(status.message());
      return verdict;
    }
    ++verdict.steps;
    verdict.missed += !world.report().converged;
    const EnergyBalance& balance = world.report().energy;
    if (verdict.steps == 1) start = balance.before;
    const double gain = balance.gain() / start;
    verdict.largest_gain = std::max(verdict.largest_gain, gain);
    verdict.total_gain += std::max(0.0, gain);
  }
  Probe probe;
  probe.kind = Probe::Kind::kPenetration;
  verdict.overlap =
      SampleProbe(world.model(), probe, world.state(), world.report(), world.model().time_step)
          .numbers.front();
  return verdict;
}

}  // namespace pliant::physics
