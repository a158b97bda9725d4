#include "physics/bodies/body_kind.h"

// Registered kinds, one line each: ADD(Clay) for ClayKind().
#define PLIANT_BODY_KINDS(ADD)

namespace pliant::physics {

#define DECLARE(Name) const BodyKind* Name##Kind();
PLIANT_BODY_KINDS(DECLARE)
#undef DECLARE

std::vector<const BodyKind*> AllBodyKinds() {
  std::vector<const BodyKind*> kinds;
#define LIST(Name) kinds.push_back(Name##Kind());
  PLIANT_BODY_KINDS(LIST)
#undef LIST
  return kinds;
}

const BodyKind* FindBodyKind(std::string_view name) {
  for (const BodyKind* kind : AllBodyKinds())
    if (kind->name() == name) return kind;
  return nullptr;
}

}  // namespace pliant::physics
