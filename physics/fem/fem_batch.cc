#include "physics/fem/fem_batch.h"

#include <algorithm>
#include <vector>

#include "solvers/linalg/parallel.h"

namespace pliant::physics {
namespace {

using solvers::LaneCholesky;

// Sizes of bodies that are faster in a batch.
constexpr int kMinBatchedNodes = 100, kMaxBatchedNodes = 400;

class FemBatch final : public BlockBatch {
 public:
  explicit FemBatch(std::shared_ptr<const FemRestShape> shape)
      : shape_(std::move(shape)), lanes_(shape_->lane_layout()) {}

  void Factor(std::span<const Member> members) override {
    // bodies with many participants are faster alone
    in_lanes_.clear();
    bool are_factored = true;
    for (const Member& member : members) {
      auto* step = static_cast<BatchedFemStep*>(member.step);
      if (!step->is_for_lanes(member.participants)) continue;
      in_lanes_.push_back(step);
      are_factored = are_factored && step->is_in(&lanes_);
    }
    // participants may change while the tangents stay
    if (!are_factored) {
      tangents_.clear();
      loads_.clear();
      for (BatchedFemStep* step : in_lanes_) {
        tangents_.push_back(&step->MaskTangent());
        loads_.push_back(step->LoadLane(&lanes_, static_cast<int>(loads_.size())));
      }
      lanes_.Factor(tangents_);
      lanes_.Solve(loads_);
    }
    // the rest runs in parallel over bodies: there are too few batches to keep all threads busy
    solvers::ParallelForWithin(static_cast<int>(members.size()), 1, [&](int k) {
      const Member& member = members[k];
      auto* step = static_cast<BatchedFemStep*>(member.step);
      if (step->is_for_lanes(member.participants)) {
        *member.status = step->FactorInLane(member.participants, member.is_to_reduce);
      } else {
        *member.status = member.is_to_reduce ? step->Reduce(member.participants)
                                             : step->Factor(member.participants);
      }
    });
  }

  void Complete(std::span<const Completion> members) override {
    loads_.assign(kMaxMembers, nullptr);
    for (const Completion& member : members) {
      const auto* step = static_cast<const BatchedFemStep*>(member.step);
      if (!step->is_solved()) {
        step->Complete(member.v_participants, member.v);
        continue;
      }
      loads_[step->lane()] = step->BeginCompletion(member.v_participants, member.v);
    }
    if (std::ranges::any_of(loads_, [](const double* load) { return load != nullptr; }))
      lanes_.Solve(loads_);
    for (const Completion& member : members) {
      const auto* step = static_cast<const BatchedFemStep*>(member.step);
      if (step->is_solved()) step->EndCompletion(member.v);
    }
  }

 private:
  std::shared_ptr<const FemRestShape> shape_;
  LaneCholesky lanes_;
  std::vector<BatchedFemStep*> in_lanes_;
  std::vector<const solvers::BlockMatrix*> tangents_;
  std::vector<double*> loads_;
};

}  // namespace

bool IsWorthFemBatch(const FemModel& model) {
  return model.is_linear() && model.num_nodes >= kMinBatchedNodes &&
         model.num_nodes <= kMaxBatchedNodes;
}

std::unique_ptr<BlockBatch> MakeFemBatch(std::shared_ptr<const FemRestShape> shape) {
  return std::make_unique<FemBatch>(std::move(shape));
}

}  // namespace pliant::physics
