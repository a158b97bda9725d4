// docs/extending.md, "A contact model": it is registered; the tests of all laws run on it.

#include <gtest/gtest.h>

#include "solvers/convex/contact_law.h"

namespace pliant::solvers {

TEST(Chapter, AddsAContactModel) {
  EXPECT_NE(FindContactLaw("OILED"), nullptr);
}

}  // namespace pliant::solvers
