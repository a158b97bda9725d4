#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "solvers/linalg/schur_complement.h"

namespace pliant::physics {

// The tangent A of a block's momentum balance, factored with the groups in contact last. The method
// (dense, sparse, SIMD batches) is up to the implementation.
class TangentFactor {
 public:
  virtual ~TangentFactor() = default;

  // Factors A with the groups `participants` (ascending) last, and forms the Schur complement Â on
  // them (han2023 (18)). INTERNAL when A is not positive definite.
  virtual absl::Status Factor(std::span<const int> participants) = 0;

  // As Factor, for methods that need only Â and m̂: Â of a large block may then be sparse, and is
  // not factored.
  virtual absl::Status Reduce(std::span<const int> participants) { return Factor(participants); }

  // Adds to the touched groups (ascending) the groups that are cheaper to keep as unknowns than to
  // eliminate.
  virtual void ExtendParticipants(std::vector<int>* /*groups*/) const {}

  // Â, with velocities in the order of the participants: dense after Factor.
  virtual solvers::SchurComplement schur_complement() const = 0;

  // The participants' momentum balance with the other velocities eliminated, m̂(v) = Â (v −
  // reference) − linear_term. Writes both at the participants' places among all velocities and
  // leaves other entries unchanged. Needs Reduce or Factor, with participants.
  virtual void CalcReducedMomentum(std::span<double> reference,
                                   std::span<double> linear_term) const {
    CalcFreeMotion(reference);
    std::fill(linear_term.begin(), linear_term.end(), 0.0);
  }

  // v* = v0 − A⁻¹ m(v0) (han2023 (10)) of the participants, or of all velocities when there are
  // none; other entries are unchanged. Needs Factor.
  virtual void CalcFreeMotion(std::span<double> v_star) const = 0;

  // Computes all velocities from those of the participants: no contact acts on the others (han2023
  // (15)). Needs CalcFreeMotion or CalcReducedMomentum.
  virtual void Complete(std::span<const double> v_participants, std::span<double> v) const = 0;

  // The Cholesky factor of A in the lower triangle of a column-major matrix, if a block of one
  // group has computed it; empty otherwise.
  virtual std::span<const double> dense_factor() const { return {}; }
};

}  // namespace pliant::physics
