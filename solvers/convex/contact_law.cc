#include "solvers/convex/contact_law.h"

namespace pliant::solvers {

// A new law is listed here by name and defined in its own file.
#define PLIANT_CONTACT_LAWS(ADD) \
  ADD(Similar)                   \
  ADD(Lagged)

#define PLIANT_DECLARE(NAME) const ContactLaw* NAME##Law();
#define PLIANT_CALL(NAME) NAME##Law(),
PLIANT_CONTACT_LAWS(PLIANT_DECLARE)

std::span<const ContactLaw* const> AllContactLaws() {
  static const ContactLaw* const kAll[] = {PLIANT_CONTACT_LAWS(PLIANT_CALL)};
  return kAll;
}
#undef PLIANT_DECLARE
#undef PLIANT_CALL
#undef PLIANT_CONTACT_LAWS

const ContactLaw* FindContactLaw(std::string_view name) {
  for (const ContactLaw* law : AllContactLaws()) {
    if (law->name() == name) return law;
  }
  return nullptr;
}

}  // namespace pliant::solvers
