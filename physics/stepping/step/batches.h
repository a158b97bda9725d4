#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Grouping of a model's blocks into SIMD batches that are factored together. The grouping changes
// no result.
class Batches {
 public:
  // `alone` disables batches: steps in compliance form or of inertia alone have none.
  explicit Batches(const Model& model, bool alone = false);

  // Groups the awake blocks into batches, in their order. Blocks that do not profit, or have too
  // few of their kind in the model, stay alone.
  template <typename IsAwake>
  void Assemble(const IsAwake& is_awake) {
    Begin();
    for (int b = 0; b < static_cast<int>(kind_of_block_.size()); ++b)
      if (is_awake(b)) Add(b);
  }

  int count() const { return static_cast<int>(batches_.size()); }
  std::span<const int> blocks(int batch) const {
    return {batches_[batch].blocks, static_cast<std::size_t>(batches_[batch].num_blocks)};
  }
  BlockBatch* solver(int batch) const { return batches_[batch].solver; }  // null: a single block

 private:
  struct Batch {
    BlockBatch* solver = nullptr;
    int num_blocks = 0;
    int blocks[BlockBatch::kMaxMembers];
  };
  struct Kind {
    const DynamicsBlock* block;  // a block of this kind
    std::vector<std::unique_ptr<BlockBatch>> made;
    int num_used = 0;
    int open_batch = -1;  // a batch that is not full
  };

  void Begin();
  void Add(int block);

  std::vector<int> kind_of_block_;  // −1: alone
  std::vector<Kind> kinds_;
  std::vector<Batch> batches_;
};

}  // namespace pliant::physics
