#include "physics/stepping/stepper.h"

#include <utility>

#include "physics/spatial/demand.h"
#include "physics/stepping/convex_stepper.h"
#include "physics/stepping/corrective_stepper.h"
#include "physics/stepping/nonsmooth_stepper.h"

namespace pliant::physics {

void StepReport::Clear() {
  StepReport fresh;
  const auto keep = [](auto& list, auto& fresh_list) {
    list.clear();
    fresh_list.swap(list);
  };
  keep(contacts, fresh.contacts);
  keep(constraint_forces, fresh.constraint_forces);
  keep(efforts, fresh.efforts);
  keep(applied, fresh.applied);
  keep(v_start, fresh.v_start);
  keep(iteration_residuals, fresh.iteration_residuals);
  keep(linear_residuals, fresh.linear_residuals);
  *this = std::move(fresh);
}

// the one place that names the methods
std::unique_ptr<Stepper> MakeStepper(const Model& model) {
  switch (model.method.kind) {
    case MethodKind::kConvex:
      return MakeConvexStepper(model);
    case MethodKind::kCorrective:
      return MakeCorrectiveStepper(model);
    case MethodKind::kNonsmooth:
      return MakeNonsmoothStepper(model);
  }
  PLIANT_DEMAND(!"every method has a stepper");
  return nullptr;
}

}  // namespace pliant::physics
