#pragma once

#include <cmath>
#include <span>
#include <string_view>

#include <Eigen/Core>

namespace pliant::solvers {

// Inputs of a contact law.
struct ContactAt {
  Eigen::Vector2d v_t;  // slip velocity [m/s]
  double y_n;           // (v̂_n − v_n) / R_n: positive in compression [N·s]
  double R_n;           // [1/kg]
  double mu;            // coefficient of friction
  double slip;          // ε > 0: the speed below which friction may be softened [m/s]
  double lagged;        // n₀: normal impulse of the last step, 0 when the contact is new [N·s]
};

struct ContactResponse {
  Eigen::Vector3d gamma;  // impulse, (t1, t2, n) [N·s]
  Eigen::Matrix3d G;      // −∂γ/∂v_c, symmetric positive semi-definite
  double cost;            // potential ℓ with γ = −∂ℓ/∂v_c [J]
};

// Impulse of a regularised contact as a function of its velocity, as an alternative to the built-in
// cone: minus the gradient of a convex potential, smooth enough for Newton's method.
class ContactLaw {
 public:
  virtual ~ContactLaw() = default;
  virtual std::string_view name() const = 0;  // as used in scenes
  virtual ContactResponse Respond(const ContactAt& at) const = 0;
};

std::span<const ContactLaw* const> AllContactLaws();
const ContactLaw* FindContactLaw(std::string_view name);  // nullptr if unknown

// A speed softened at rest: ‖v_t‖_s = √(‖v_t‖² + ε²) − ε, its gradient t̂_s and its second
// derivative.
struct SoftSpeed {
  SoftSpeed(const Eigen::Vector2d& v_t, double epsilon) {
    const double length = std::sqrt(v_t.squaredNorm() + epsilon * epsilon);
    speed = length - epsilon;
    t = v_t / length;
    curvature = (Eigen::Matrix2d::Identity() - t * t.transpose()) / length;
  }
  double speed;
  Eigen::Vector2d t;
  Eigen::Matrix2d curvature;
};

}  // namespace pliant::solvers
