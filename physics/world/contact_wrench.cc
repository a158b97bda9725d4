#include "physics/world/body_motion.h"
#include "physics/world/probes.h"

namespace pliant::physics {

ContactWrench CalcContactWrench(const Model& model, const State& state, const StepReport& report,
                                int body, int other, double h) {
  ContactWrench wrench;
  // contact points are those at the start of the step, so take the centre of mass there too
  const Eigen::Vector3d p_WBcm =
      CalcCenterOfMass(model, state, body) - h * CalcCenterOfMassVelocity(model, state, body);
  for (const ContactForce& contact : report.contacts) {
    if (contact.body_a == contact.body_b) continue;
    const bool on_b = contact.body_b == body;
    if (!on_b && contact.body_a != body) continue;
    const int partner = on_b ? contact.body_a : contact.body_b;
    if (other >= 0 && partner != other) continue;

    const Eigen::Vector3d force = (on_b ? 1.0 : -1.0) / h * contact.impulse_W;
    wrench.force += force;
    wrench.torque += (contact.p_W - p_WBcm).cross(force);
    ++wrench.contacts;
  }
  return wrench;
}

}  // namespace pliant::physics
