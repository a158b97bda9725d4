#include "physics/stepping/integrators/integrator.h"

// Registered integrators, one line each.
#define PLIANT_INTEGRATORS(ADD) \
  ADD(ImplicitEuler)            \
  ADD(Midpoint)

namespace pliant::physics {

#define DECLARE(Name) const Integrator* Name##Integrator();
PLIANT_INTEGRATORS(DECLARE)
#undef DECLARE

std::vector<const Integrator*> AllIntegrators() {
  std::vector<const Integrator*> integrators;
#define LIST(Name) integrators.push_back(Name##Integrator());
  PLIANT_INTEGRATORS(LIST)
#undef LIST
  return integrators;
}

const Integrator* FindIntegrator(std::string_view name) {
  for (const Integrator* integrator : AllIntegrators())
    if (integrator->name() == name) return integrator;
  return nullptr;
}

}  // namespace pliant::physics
