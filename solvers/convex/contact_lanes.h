#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/convex/contact_law.h"
#include "solvers/convex/sap.h"
#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {

// Impulses of regularised contacts at y = R⁻¹ (v̂ − v_c) and along a change of v_c, four contacts
// at a time in SIMD lanes. Sums run over the contacts in a fixed order. Keeps its memory.
class ContactLanes {
 public:
  // Starts with these contacts at y = 0. `law` replaces the friction cone; null keeps the cone.
  void Start(std::span<const ConvexProblem::Contact> contacts, const ContactLaw* law);

  // Sets y = R⁻¹ `velocity` with `velocity` = v̂ − v_c, and the search direction of v_c.
  void SetVelocity(int contact, const Eigen::Vector3d& velocity);
  void SetChange(int contact, const Eigen::Vector3d& change);

  // Moves v_c by α times its change.
  void Advance(double alpha);
  // Projects every y: sets γ and G. Returns the cost, Σ ½ γᵀRγ for cones.
  double Project();

  // Predicts each contact's mode from its expected impulse: it sticks or slides as that impulse
  // says. Linearises the law there: sets G at that point, and γ by extrapolation to y. False if no
  // contact has an expected impulse, or with a `law`.
  //
  // kAsGiven: a contact slides along its present y, and without an expected impulse it is handled
  // as in Project. kAsExpected: it slides against its expected friction, at its expected slip
  // speed, and is open without an expected impulse.
  enum class Slip { kAsGiven, kAsExpected };
  bool ProjectExpected(std::span<const ConvexProblem::Contact> contacts, Slip slip);

  // Marks the present y as the point of linearisation. Call it after Project, before a step is
  // computed from γ and G.
  void LinearizeHere();

  // Alternative to LinearizeHere after a line search cut Newton's step short: linearises each
  // contact at the end of the full step, after `left` more of its change, and extrapolates γ from
  // there to y. A contact with friction that would reverse its direction of sliding by then is
  // treated as sticking: line searches hardly pass through standstill, and a linearisation at
  // either side seldom predicts it. With a `law`, does nothing and returns false.
  bool ProjectAhead(double left);

  // Whether any G has changed since the last call.
  bool TakeChanges();
  Eigen::Vector3d gamma(int contact) const;
  // Columns of −∂γ/∂v_c, symmetric; zero where the contact is open.
  Eigen::Matrix3d G(int contact) const;
  bool is_open(int contact) const {
    const ConeSlope<Lanes>& G = fours_[contact / kLanes].G;
    return G.nn[contact % kLanes] == 0 && G.xx[contact % kLanes] == 0;
  }

  // −Σ dᵀγ and Σ dᵀ G d after α times the change d, and the cost there.
  struct Slope {
    double slope, curvature;
  };
  Slope CalcSlope(double alpha) const;
  double CalcCost(double alpha) const;

 private:
  static constexpr int kLanes = sizeof(Lanes) / sizeof(double);
  struct Four {
    ConeLaw<Lanes> law;
    Lanes y[3], change[3], gamma[3];
    Lanes at[3];  // the y at which it was last linearised
    ConeSlope<Lanes> G, taken;

    // G at (x, y, n), and γ extrapolated linearly from there to this->y
    void LinearizeAt(Lanes x, Lanes y, Lanes n);
    // the same at the y of the mode that an impulse (e_x, e_y, e_n) has, sliding along the present
    // y or at a slip speed; see ProjectExpected
    void LinearizeAtExpected(Lanes e_x, Lanes e_y, Lanes e_n);
    void LinearizeAtExpected(Lanes e_x, Lanes e_y, Lanes e_n, Lanes slip);
  };

  struct Ahead;
  // Contribution of a group of four to a sum over the contacts.
  struct Sum {
    Lanes slope, curvature;
  };
  template <typename F>
  void ForEachFour(const F& f) const;
  template <typename F>
  double SumOverFours(const F& term) const;
  // Response of law_ for one contact, after α times its change.
  ContactResponse Respond(std::size_t contact, double alpha) const;
  double ProjectByLaw();

  std::vector<Four> fours_;
  mutable std::vector<Sum> sums_;
  const ContactLaw* law_ = nullptr;    // null: the friction cone
  std::vector<double> slip_, lagged_;  // used by law_
};

}  // namespace pliant::solvers
