// The contact model of docs/extending.md is registered; the tests of all contact laws cover it.

#include <gtest/gtest.h>

#include "solvers/convex/contact_law.h"

namespace pliant::solvers {

TEST(Chapter, AddsAContactModel) {
  EXPECT_NE(FindContactLaw("OILED"), nullptr);
}

}  // namespace pliant::solvers
