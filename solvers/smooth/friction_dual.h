#pragma once

#include <Eigen/Core>

#include "solvers/smooth/contact_law.h"

namespace pliant::solvers {

// The direction w of a contact's friction as an unknown of Newton's method, which is eliminated: a
// primal-dual method, as Chan, Golub and Mulet (1999) use for total variation in images.
//
// Slip s, in units of the stick speed, determines the direction by g(‖s‖) w = s with g = 1 /
// CalcSlipFactor. Newton's method for this equation and the balance of forces is that for the
// balance alone, except for the derivative of the direction: ∂w/∂s = (1 − g' w sᵀ/‖s‖)/g with the
// iterate w, which is at most 1 long, in place of s/g. Both methods have the same solution and
// converge quadratically near it. Before that, a contact that slips but will stick also resists
// changes of its sliding speed. Plain Newton's method takes its friction for a constant force.
class FrictionDual {
 public:
  // Takes the slip of the next iterate of Newton's method. The first call begins a solve.
  void Update(const Eigen::Vector3d& slip);

  // The direction at the slip of the last Update, with the derivatives above.
  template <typename T>
  Eigen::Matrix<T, 3, 1> CalcDirection(const Eigen::Matrix<T, 3, 1>& slip) const {
    using std::sqrt;
    const T resistance = T(1) / CalcSlipFactor(T(sqrt(slip.squaredNorm())));
    return (slip - w_.cast<T>() * T(resistance - T(resistance_))) / T(resistance_);
  }

 private:
  bool is_known_ = false;
  Eigen::Vector3d w_ = Eigen::Vector3d::Zero();
  // at the last Update: s, g(‖s‖) and g'(‖s‖) s/‖s‖
  Eigen::Vector3d slip_ = Eigen::Vector3d::Zero(), slope_ = Eigen::Vector3d::Zero();
  double resistance_ = 1;
};

}  // namespace pliant::solvers
