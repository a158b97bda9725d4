#pragma once

#include <memory>
#include <span>

#include "physics/fem/node_step.h"
#include "solvers/linalg/lanes/lane_cholesky.h"

namespace pliant::physics {

// A step that a FemBatch factors in a SIMD lane. A batch loads the tangents and right-hand sides of
// all bodies into lanes, where they are factored and solved; the Schur complements and completions
// follow from these.
class BatchedFemStep : public NodeStep {
 public:
  using NodeStep::NodeStep;

  // True if a lane is worth while with these participants: if they are few.
  virtual bool is_for_lanes(std::span<const int> participants) const = 0;
  // True if `lanes` hold the factor of the present tangent.
  virtual bool is_in(const solvers::LaneCholesky* lanes) const = 0;
  // Matrix to be factored: A with prescribed vertices decoupled.
  virtual const solvers::BlockMatrix& MaskTangent() = 0;
  // Takes a lane, and returns the right-hand side of the free motion; the solution replaces it.
  virtual double* LoadLane(solvers::LaneCholesky* lanes, int lane) = 0;
  // As Factor or Reduce, with the factor in the lane, or anew if that is too ill-conditioned.
  virtual absl::Status FactorInLane(std::span<const int> participants, bool is_to_reduce) = 0;
  // Writes to v the right-hand side of A δv = load + P λ, with the forces λ that give the
  // participants the velocities v_p, and returns it. The solution δv is to replace it. Null if v
  // holds δv already.
  virtual double* BeginCompletion(std::span<const double> v_p, std::span<double> v) const = 0;
  // Turns δv, in v, into velocities.
  virtual void EndCompletion(std::span<double> v) const = 0;
  // True if the last factorisation used the lane.
  virtual bool is_solved() const = 0;
  virtual int lane() const = 0;
};

// True if bodies of this shape, whose steps are linear, are worth batching: neither so small that
// most of their nodes take part in contact, nor so large that eight factors overflow the cache.
bool IsWorthFemBatch(const FemModel& model);

// A batch of up to eight FEM bodies of this shape, factored together in SIMD lanes.
std::unique_ptr<BlockBatch> MakeFemBatch(std::shared_ptr<const FemRestShape> shape);

}  // namespace pliant::physics
