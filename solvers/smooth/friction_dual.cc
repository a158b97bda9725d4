#include "solvers/smooth/friction_dual.h"

#include <cmath>

namespace pliant::solvers {
namespace {

// Length of the direction with which a slipping contact starts a solve: it may stick, or slip the
// other way, at the end.
constexpr double kInitialLength = 0.8;

}  // namespace

void FrictionDual::Update(const Eigen::Vector3d& slip) {
  const double x = std::sqrt(slip.squaredNorm());
  const double factor = CalcSlipFactor(x);
  if (is_known_) {
    // the linearised equation, solved for the direction at this slip
    w_ = (slip - w_ * slope_.dot(slip - slip_)) / resistance_;
    const double length = std::sqrt(w_.squaredNorm());
    if (length > 1) w_ /= length;
  } else {
    w_ = slip * (x < 1 ? factor : kInitialLength * factor);
    is_known_ = true;
  }
  slip_ = slip;
  resistance_ = 1 / factor;
  // g' is 1 where the contact slips, and 1/(2 − x)² where it sticks
  slope_.setZero();
  if (x > 0) slope_ = slip * ((x < 1 ? resistance_ * resistance_ : 1) / x);
}

}  // namespace pliant::solvers
