#include "physics/dynamics/body_motions.h"

namespace pliant::physics {

BodyMotions::BodyMotions(const Model& model) : model_(model) {
  int count = 0;
  for (const auto& block : model.blocks) {
    block_starts_.push_back(count);
    const FrameSet* frames = block->abilities().frames;
    count += frames == nullptr ? 0 : frames->num_frames();
  }
  block_starts_.push_back(count);
  frames_.resize(count);
  for (const Body& body : model.bodies) {
    if (model.abilities_of(body).frames != nullptr) {
      slots_.push_back(block_starts_[body.block] + body.frame);
      continue;
    }
    slots_.push_back(static_cast<int>(frames_.size()));
    frames_.emplace_back().X_WB = body.X_WB;
  }
}

void BodyMotions::Update(const State& state) {
  for (int b = 0; b < static_cast<int>(model_.blocks.size()); ++b) Update(state, b, nullptr);
}

void BodyMotions::Update(const State& state, int b, FrameStep* step) {
  const int count = block_starts_[b + 1] - block_starts_[b];
  if (count == 0) return;
  const BlockState of_block = model_.StateOf(state, b);
  const std::span frames(&frames_[block_starts_[b]], static_cast<std::size_t>(count));
  if (step == nullptr || !step->CalcFrames(of_block, frames))
    model_.abilities[b].frames->CalcFrames(of_block, frames);
}

}  // namespace pliant::physics
