#pragma once

#include <span>
#include <string_view>

namespace pliant::physics {

inline constexpr double kAtmosphere = 101325;  // pressure outside of all bodies [Pa]

// A parameter of a law, given in the scene.
struct VolumeParameter {
  std::string_view name;      // as in the scene
  std::string_view expected;  // completes "expected …", with the unit
  double min, max;            // bounds, inclusive
  double example;             // a plausible value, for tests
};

inline constexpr int kMaxVolumeParameters = 8;

// State of a volume, with the parameters of its law.
struct VolumeAt {
  double V;                  // [m³]; may be zero or negative in iterates of a solver
  double V0;                 // at rest, > 0 [m³]
  double gauge;              // pressure above kAtmosphere at V = V0 [Pa]
  const double* parameters;  // in the order of VolumeLaw::parameters()
};

struct VolumeResponse {
  double energy = 0;     // W(V), 0 at V = V0 [J]
  double pressure = 0;   // gauge, p = −∂W/∂V [Pa]
  double stiffness = 0;  // ∂²W/∂V², ≥ 0 [Pa/m³]
};

// Law of the pressure in a closed volume as a function of the volume (larionov2023 §III-D). The
// pressure is uniform and follows the volume without delay. The energy is convex in V, and finite
// for any V.
class VolumeLaw {
 public:
  virtual ~VolumeLaw() = default;
  virtual std::string_view name() const = 0;
  virtual std::span<const VolumeParameter> parameters() const = 0;
  // True if the law is of a gas, whose absolute pressure is positive.
  virtual bool is_gas() const { return false; }
  virtual VolumeResponse Respond(const VolumeAt& at) const = 0;
};

// All laws, in the order of their registration.
std::span<const VolumeLaw* const> AllVolumeLaws();
// Finds a law by name; null when there is none.
const VolumeLaw* FindVolumeLaw(std::string_view name);

// The parameter bulk_modulus, 1/κ_v of (16), which several laws share.
std::span<const VolumeParameter> BulkModulus();

}  // namespace pliant::physics
