#pragma once

#include "physics/stepping/contact_problem.h"

namespace pliant::benchmarks {

// The problem of one step with the forces that solved it, and with those that the non-smooth Newton method of Macklin et al. 2019
// finds from the same start on the same budget with the preconditioned conjugate residual method as textbooks have it: written
// down here once more, in plain double precision, on the matrix and each independent part of it by itself.
struct PlainComparison {
  double ours = 0,
         plain = 0;  // largest of the natural map over all rows [m], both by one evaluation
};
PlainComparison CompareWithPlainNewton(const physics::ContactProblem& problem, int newton,
                                       int linear);

}  // namespace pliant::benchmarks
