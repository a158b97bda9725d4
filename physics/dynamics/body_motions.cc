#include "physics/dynamics/body_motions.h"

namespace pliant::physics {

BodyMotions::BodyMotions(const Model& model) : model_(model) {
  int count = 0;
  for (const auto& block : model.blocks) {
    block_starts_.push_back(count);
    count += block->num_frames();
  }
  frames_.resize(count);
  for (const Body& body : model.bodies) {
    if (body.block != kWorldBlock && !body.deformable) {
      slots_.push_back(block_starts_[body.block] + body.frame);
      continue;
    }
    slots_.push_back(static_cast<int>(frames_.size()));
    frames_.emplace_back().X_WB = body.X_WB;
  }
}

void BodyMotions::Update(const State& state, std::span<const std::unique_ptr<BlockStep>> steps) {
  for (int b = 0; b < static_cast<int>(model_.blocks.size()); ++b) {
    const DynamicsBlock& block = *model_.blocks[b];
    if (block.num_frames() == 0) continue;
    const std::span<const double> q = model_.Positions(state, b), v = model_.Velocities(state, b);
    const std::span frames(&frames_[block_starts_[b]],
                           static_cast<std::size_t>(block.num_frames()));
    if (!steps.empty() && steps[b]->CalcFrames(q, v, frames)) continue;
    block.CalcFrames(q, v, frames);
  }
}

}  // namespace pliant::physics
