#pragma once

#include <memory>
#include <span>

#include "absl/status/status.h"

namespace pliant::physics {

class BlockStep;

// Factors and completes the steps of several blocks of one kind in SIMD lanes. The result for a
// block is bit for bit the same alone and in any batch.
class BlockBatch {
 public:
  static constexpr int kMaxMembers = 8;
  struct Member {
    BlockStep* step;  // of a block of the batch's kind
    std::span<const int> participants;
    bool is_to_reduce;  // BlockStep::Reduce suffices
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

// A block that profits from being stepped in a batch.
class Batchable {
 public:
  virtual ~Batchable() = default;
  // Blocks of equal kind may share a batch, which any of them can create.
  virtual const void* batch_kind() const = 0;
  virtual std::unique_ptr<BlockBatch> NewBatch() const = 0;
};

}  // namespace pliant::physics
