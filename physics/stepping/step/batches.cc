#include "physics/stepping/step/batches.h"

#include <algorithm>

namespace pliant::physics {
namespace {

// a batch of fewer blocks of a kind leaves too many SIMD lanes empty to gain time
constexpr int kMinBatchMembers = 3;

}  // namespace

Batches::Batches(const Model& model, bool alone) : kind_of_block_(model.blocks.size(), -1) {
  if (alone) return;
  std::vector<const void*> names;
  for (const auto& block : model.blocks) {
    const auto kind_of = [](const auto& one) -> const void* {
      const Batchable* batch = one->abilities().batch;
      return batch == nullptr ? nullptr : batch->batch_kind();
    };
    const void* name = kind_of(block);
    const auto alike = [&](const auto& other) { return kind_of(other) == name; };
    if (name == nullptr || std::ranges::count_if(model.blocks, alike) < kMinBatchMembers) continue;
    const auto known = std::ranges::find(names, name);
    kind_of_block_[&block - model.blocks.data()] = static_cast<int>(known - names.begin());
    if (known != names.end()) continue;
    names.push_back(name);
    kinds_.push_back({block.get(), {}, 0, -1});
  }
}

void Batches::Begin() {
  batches_.clear();
  for (Kind& kind : kinds_) {
    kind.num_used = 0;
    kind.open_batch = -1;
  }
}

void Batches::Add(int block) {
  const int k = kind_of_block_[block];
  if (k < 0) {
    batches_.push_back({nullptr, 1, {block}});
    return;
  }
  Kind& kind = kinds_[k];
  if (kind.open_batch < 0) {
    if (kind.num_used == static_cast<int>(kind.made.size()))
      kind.made.push_back(kind.block->abilities().batch->NewBatch());
    kind.open_batch = count();
    batches_.push_back({kind.made[kind.num_used++].get(), 0, {}});
  }
  Batch& batch = batches_[kind.open_batch];
  batch.blocks[batch.num_blocks++] = block;
  if (batch.num_blocks == BlockBatch::kMaxMembers) kind.open_batch = -1;
}

}  // namespace pliant::physics
