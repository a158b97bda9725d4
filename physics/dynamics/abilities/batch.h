#pragma once

#include <memory>
#include <span>

#include "absl/status/status.h"

namespace pliant::physics {

class BlockStep;

// Factors and completes the steps of several alike blocks side by side, in the lanes of vectors.
// The result for a block is the same, bit for bit, as alone and in any other batch.
class BlockBatch {
 public:
  static constexpr int kMaxMembers = 8;
  struct Member {
    BlockStep* step;  // of a block of the batch's kind
    std::span<const int> participants;
    bool is_to_reduce;  // BlockStep::Reduce will do
    absl::Status* status;
  };
  struct Completion {
    const BlockStep* step;
    std::span<const double> v_participants;
    std::span<double> v;
  };
  virtual ~BlockBatch() = default;

  // TangentFactor::Factor, or Reduce, and Complete of all members.
  virtual void Factor(std::span<const Member> members) = 0;
  virtual void Complete(std::span<const Completion> members) = 0;
};

// A block that is stepped faster in a batch than alone.
class Batchable {
 public:
  virtual ~Batchable() = default;
  // Blocks of one kind may be in one batch, which any of them makes.
  virtual const void* batch_kind() const = 0;
  virtual std::unique_ptr<BlockBatch> NewBatch() const = 0;
};

}  // namespace pliant::physics
