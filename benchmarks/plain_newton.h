#pragma once

#include "physics/stepping/contact_problem.h"

namespace pliant::benchmarks {

// Residuals of one step's problem for two sets of forces: those that solved it, and those that the
// non-smooth Newton method of Macklin et al. 2019 finds from the same start with the same number of
// iterations. The latter is the method as published: steps of 0.75, a shift of the matrix by 1e-6,
// the last iterate, and no other safeguards. It is implemented here independently, in plain double
// precision, with the textbook preconditioned conjugate residual method on each independent part
// of the matrix.
struct PlainComparison {
  double ours = 0, plain = 0;  // largest entry of the natural map [m]
};
PlainComparison CompareWithPlainNewton(const physics::ContactProblem& problem, int newton,
                                       int linear);

}  // namespace pliant::benchmarks
