#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/convex/contact_law.h"
#include "solvers/convex/sap.h"
#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {

// The impulses of regularised contacts at y = R⁻¹ (v̂ − v_c), and along a change of v_c: four
// contacts side by side in SIMD lanes. Sums run over the contacts in a fixed order. Keeps its
// memory.
class ContactLanes {
 public:
  // Of these, at y = 0.
  void Start(std::span<const ConvexProblem::Contact> contacts, const ContactLaw* law);

  // y of `velocity` = v̂ − v_c, and the direction in which v_c is about to change.
  void SetVelocity(int contact, const Eigen::Vector3d& velocity);
  void SetChange(int contact, const Eigen::Vector3d& change);

  // Moves v_c by α of its change.
  void Advance(double alpha);
  // Projects every y. Returns the cost: Σ ½ γᵀRγ of cones.
  double Project();

  // As if every contact with an expected impulse stuck or slid as that impulse says, along the way
  // it moves now: G of there, and the γ that is linear with it from there to y. Those with none, as
  // Project. False when none has one.
  bool ProjectExpected(std::span<const ConvexProblem::Contact> contacts);

  // What follows Project when a step is to be found from its γ and G.
  void LinearizeHere();

  // In its place, Newton's step whole, rather than as far along the change as a line search went:
  // as if every contact were where it would be after `left` more of its change, and the γ linear
  // from there to y. One that would slide the other way by then sticks instead: no line search
  // passes through its standstill, and hardly any linearisation at either side predicts it. False,
  // with nothing done, for a law.
  bool ProjectAhead(double left);

  // Whether some G differs from when this was asked before.
  bool TakeChanges();
  Eigen::Vector3d gamma(int contact) const;
  // Columns of −∂γ/∂v_c, symmetric; zero where the contact is open.
  Eigen::Matrix3d G(int contact) const;
  bool is_open(int contact) const {
    const ConeSlope<Lanes>& G = fours_[contact / kLanes].G;
    return G.nn[contact % kLanes] == 0 && G.xx[contact % kLanes] == 0;
  }

  // −Σ dᵀγ and Σ dᵀ G d after α of the change d, and the cost there.
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
    Lanes at[3];  // the y that it was taken as linear at when a step was last to be found
    ConeSlope<Lanes> G, taken;

    // G of there, and the γ that is linear with it from there to y
    void LinearizeAt(Lanes x, Lanes y, Lanes n);
  };

  struct Ahead;
  // What a four adds to a sum over the contacts.
  struct Sum {
    Lanes slope, curvature;
  };
  template <typename F>
  void ForEachFour(const F& f) const;
  template <typename F>
  double SumOverFours(const F& term) const;
  // Of a law, one contact at a time: α of the change ahead.
  ContactResponse Respond(std::size_t contact, double alpha) const;
  double ProjectByLaw();

  std::vector<Four> fours_;
  mutable std::vector<Sum> sums_;
  const ContactLaw* law_ = nullptr;    // the cone
  std::vector<double> slip_, lagged_;  // for a law
};

}  // namespace pliant::solvers
