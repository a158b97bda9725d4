#include "physics/fem/element_stages.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace pliant::physics {
namespace {

// Number of batches, of four elements each, below which threads cost more than they save, and
// number of batches in a stretch.
constexpr int kMinParallelBatches = 1000, kBatchesPerTask = 100;
constexpr int kMaxStages = 64;

}  // namespace

ElementStages::ElementStages(std::span<const ElementBatch> batches, int num_nodes) {
  const int count = static_cast<int>(batches.size());
  stretches_ = {{0, count}};
  stage_starts_ = {0, 1};
  if (count < kMinParallelBatches) return;

  // each stretch goes to the first stage that has none of its nodes
  std::vector<std::uint64_t> stages(num_nodes, 0);  // per node, one bit per stage
  std::vector<std::vector<Stretch>> found;
  for (int begin = 0; begin < count; begin += kBatchesPerTask) {
    const Stretch stretch{begin, std::min(begin + kBatchesPerTask, count)};
    std::uint64_t taken = 0;
    const auto for_each_node = [&](const auto& visit) {
      for (int b = stretch.begin; b < stretch.end; ++b)
        for (const auto& nodes : batches[b].nodes)
          for (const int node : nodes) visit(stages[node]);
    };
    for_each_node([&](std::uint64_t of_node) { taken |= of_node; });
    const int stage = std::countr_one(taken);
    // too many stages, as for unordered nodes: use a single stretch
    if (stage == kMaxStages) return;
    for_each_node([&](std::uint64_t& of_node) { of_node |= std::uint64_t{1} << stage; });
    if (stage == static_cast<int>(found.size())) found.emplace_back();
    found[stage].push_back(stretch);
  }
  stretches_.clear();
  stage_starts_ = {0};
  for (const auto& stage : found) {
    stretches_.insert(stretches_.end(), stage.begin(), stage.end());
    stage_starts_.push_back(static_cast<int>(stretches_.size()));
  }
}

}  // namespace pliant::physics
