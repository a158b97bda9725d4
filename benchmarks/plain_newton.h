#pragma once

#include "physics/stepping/contact_problem.h"

namespace pliant::benchmarks {

// The residual of one step's problem under the forces that solved it, and under those that the
// non-smooth Newton method of Macklin et al. 2019 finds from the same start on the same budget, as
// that paper has it: steps of 0.75, a shift of the matrix by 1e-6, the last iterate, nothing else.
// It is written down here once more, in plain double precision, with the preconditioned conjugate
// residual method of textbooks on each independent part of the matrix by itself.
struct PlainComparison {
  double ours = 0, plain = 0;  // largest of the natural map over all rows [m]
};
PlainComparison CompareWithPlainNewton(const physics::ContactProblem& problem, int newton,
                                       int linear);

}  // namespace pliant::benchmarks
