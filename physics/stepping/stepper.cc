#include "physics/stepping/stepper.h"

#include <utility>

#include "physics/spatial/demand.h"
#include "physics/stepping/convex_stepper.h"
#include "physics/stepping/corrective_stepper.h"
#include "physics/stepping/nonsmooth_stepper.h"
#include "physics/stepping/smooth/smooth_stepper.h"
#include "physics/stepping/substeps.h"

namespace pliant::physics {

namespace {

// The only function that names the methods.
std::unique_ptr<Stepper> MakeMethod(const Model& model) {
  switch (model.method.kind) {
    case MethodKind::kConvex:
      return MakeConvexStepper(model);
    case MethodKind::kCorrective:
      return MakeCorrectiveStepper(model);
    case MethodKind::kNonsmooth:
      return MakeNonsmoothStepper(model);
    case MethodKind::kSmooth:
      return MakeSmoothStepper(model);
  }
  PLIANT_DEMAND(!"every method has a stepper");
  return nullptr;
}

}  // namespace

std::unique_ptr<Stepper> MakeStepper(const Model& model) {
  std::unique_ptr<Stepper> method = MakeMethod(model);
  if (model.max_substeps < 2) return method;
  return MakeSubdividingStepper(model, std::move(method),
                                model.method.kind == MethodKind::kCorrective);
}

}  // namespace pliant::physics
