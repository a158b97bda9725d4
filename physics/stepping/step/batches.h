#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Which of a model's blocks are factored together, in the lanes of one SIMD batch. The batch that a
// block is in changes no result: a batch gives each block what any other would.
class Batches {
 public:
  // With `alone`, each block for itself: steps in compliance form have no batches.
  explicit Batches(const Model& model, bool alone = false);

  // Puts the blocks that are awake into batches, in their order; those that are best alone, or have
  // too few like them in the model, stand alone.
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
  BlockBatch* solver(int batch) const {
    return batches_[batch].solver;
  }  // null: of one block alone

 private:
  struct Batch {
    BlockBatch* solver = nullptr;
    int num_blocks = 0;
    int blocks[BlockBatch::kMaxMembers];
  };
  struct Kind {
    const DynamicsBlock* block;  // one of them
    std::vector<std::unique_ptr<BlockBatch>> made;
    int num_used = 0;
    int open_batch = -1;  // with room for one more
  };

  void Begin();
  void Add(int block);

  std::vector<int> kind_of_block_;  // −1: alone
  std::vector<Kind> kinds_;
  std::vector<Batch> batches_;
};

}  // namespace pliant::physics
