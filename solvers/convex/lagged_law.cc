#include <algorithm>

#include "solvers/convex/contact_law.h"

namespace pliant::solvers {
namespace {

// γ_n = n(v_n), γ_t = −μ n₀ t̂_s with the last step's n₀. A sliding contact does not glide on a
// gap, but it has no friction in its first step.
class Lagged final : public ContactLaw {
 public:
  std::string_view name() const override { return "LAGGED"; }
  ContactResponse Respond(const ContactAt& at) const override {
    const SoftSpeed slip(at.v_t, at.slip);
    const double n = std::max(at.y_n, 0.0), friction = at.mu * at.lagged;
    ContactResponse r;
    r.gamma << -friction * slip.t, n;
    r.cost = 0.5 * at.R_n * n * n + friction * slip.speed;
    r.G.setZero();
    r.G.topLeftCorner<2, 2>() = friction * slip.curvature;
    if (n > 0) r.G(2, 2) = 1 / at.R_n;
    return r;
  }
};

}  // namespace

const ContactLaw* LaggedLaw() {
  static const Lagged law;
  return &law;
}

}  // namespace pliant::solvers
