#include <algorithm>

#include "solvers/convex/contact_law.h"

namespace pliant::solvers {
namespace {

// γ_n = n(v_n − μ ‖v_t‖_s), γ_t = −μ γ_n t̂_s with n = ((v̂_n − v_n)/R_n)₊. Like the cone, a
// sliding contact glides on a gap in proportion to its slip.
class Similar final : public ContactLaw {
 public:
  std::string_view name() const override { return "SIMILAR"; }
  ContactResponse Respond(const ContactAt& at) const override {
    const SoftSpeed slip(at.v_t, at.slip);
    const double n = std::max(at.y_n + at.mu * slip.speed / at.R_n, 0.0);
    ContactResponse r;
    r.gamma << -at.mu * n * slip.t, n;
    r.cost = 0.5 * at.R_n * n * n;
    r.G.setZero();
    if (n == 0) return r;
    const double stiffness = 1 / at.R_n;
    r.G.topLeftCorner<2, 2>() =
        at.mu * n * slip.curvature + at.mu * at.mu * stiffness * (slip.t * slip.t.transpose());
    r.G.topRightCorner<2, 1>() = -at.mu * stiffness * slip.t;
    r.G.bottomLeftCorner<1, 2>() = r.G.topRightCorner<2, 1>().transpose();
    r.G(2, 2) = stiffness;
    return r;
  }
};

}  // namespace

const ContactLaw* SimilarLaw() {
  static const Similar law;
  return &law;
}

}  // namespace pliant::solvers
