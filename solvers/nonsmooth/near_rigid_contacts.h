#pragma once

#include <cstddef>
#include <vector>

#include "solvers/nonsmooth/nonsmooth_newton.h"
#include "solvers/problem/near_rigid.h"

namespace pliant::solvers {

// Gives the rigid contacts of a problem `stiffer` times the R of near-rigid ones. Returns whether
// there are any.
inline bool MakeNearRigid(double stiffer, double beta, NonsmoothProblem* problem) {
  const double h = problem->h;
  bool is_any_rigid = false;
  for (std::size_t c = 0; c < problem->contacts.size(); ++c) {
    NonsmoothProblem::Contact& contact = problem->contacts[c];
    if (contact.compliance > 0) continue;
    contact.compliance =
        stiffer * h * h * NearRigid(problem->island.contact(static_cast<int>(c)).W, beta);
    is_any_rigid = true;
  }
  return is_any_rigid;
}

// Gets the normal impulses of a problem's contacts as the speeds that each would cause alone [m/s],
// for IsSqueezed.
inline void GetPressures(const NonsmoothProblem& problem, const NonsmoothResult& result,
                         std::vector<double>* pressed) {
  pressed->clear();
  for (std::size_t c = 0; c < problem.contacts.size(); ++c) {
    const double W = problem.island.contact(static_cast<int>(c)).W(2, 2);
    pressed->push_back(problem.h * W * result.contact_forces[c].z());
  }
}

}  // namespace pliant::solvers
