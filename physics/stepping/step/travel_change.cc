#include "physics/stepping/step/travel_change.h"

#include <algorithm>
#include <cmath>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Distance of the farthest point of a shape from the origin of its frame [m].
double CalcRadius(const Shape& shape) {
  const AxisAlignedBox box = CalcBounds(shape.geometry, RigidTransform{});
  double squared = 0;
  for (int corner = 0; corner < 8; ++corner) {
    Vector3d p_S;
    for (int r = 0; r < 3; ++r) p_S[r] = (corner >> r & 1) != 0 ? box.upper[r] : box.lower[r];
    squared = std::max(squared, (shape.X_BS * p_S).squaredNorm());
  }
  return std::sqrt(squared);
}

}  // namespace

TravelChange::TravelChange(const Model& model) : model_(model), motions_(model) {
  state_.v.resize(model.velocity_offsets.back());
  block_radii_.assign(model.blocks.size(), 0.0);
  for (const Body& body : model.bodies) {
    double radius = 0;
    for (const Shape& shape : body.shapes) radius = std::max(radius, CalcRadius(shape));
    body_radii_.push_back(radius);
    if (body.block != kWorldBlock)
      block_radii_[body.block] = std::max(block_radii_[body.block], radius);
  }
}

// Whether a point of the block may change its velocity by more than `speed`: a conservative test on
// generalised velocities only.
bool TravelChange::MayChange(int block, const State& state, double speed) {
  const int first = model_.velocity_offsets[block], end = model_.velocity_offsets[block + 1];
  const BlockAbilities& of = model_.abilities[block];
  if (of.nodes != nullptr) {
    double largest = 0;
    const int end_of_nodes = first + 3 * of.nodes->num_nodes();
    for (int i = first; i < end_of_nodes; i += 3)
      largest = std::max(largest, (VectorAt(state_.v, i) - VectorAt(state.v, i)).squaredNorm());
    if (largest > speed * speed) return true;
  }
  if (of.frames == nullptr) return false;
  change_.clear();
  bool any = false;
  for (int i = first; i < end; ++i) {
    change_.push_back(state_.v[i] - state.v[i]);
    any = any || change_.back() != 0;
  }
  if (!any) return false;
  BlockState moved = model_.StateOf(state, block);
  moved.v = change_;
  return of.frames->CalcSpeedBound(moved, block_radii_[block]) > speed;
}

std::span<double> TravelChange::Velocities(int block) {
  return model_.Velocities(&state_, block);
}

bool TravelChange::Find(const State& state, const BodyMotions& motions, double h, double bound) {
  const double speed = bound / h;
  const int num_blocks = static_cast<int>(model_.blocks.size());
  changed_blocks_.assign(num_blocks, 0);
  bool any = false;
  for (int b = 0; b < num_blocks; ++b) {
    changed_blocks_[b] = MayChange(b, state, speed);
    any = any || changed_blocks_[b];
  }
  if (!any) return false;

  // exact test with the frame velocities of those blocks
  state_.q.assign(state.q.begin(), state.q.end());
  for (int b = 0; b < num_blocks; ++b)
    if (changed_blocks_[b]) motions_.Update(state_, b, nullptr);
  changed_bodies_.assign(model_.bodies.size(), 0);
  any = false;
  for (int i = 0; i < static_cast<int>(model_.bodies.size()); ++i) {
    const Body& body = model_.bodies[i];
    if (body.block == kWorldBlock || !changed_blocks_[body.block]) continue;
    changed_bodies_[i] = 1;
    if (model_.abilities[body.block].frames != nullptr) {
      const FrameMotion &before = motions[i], &after = motions_[i];
      const double change =
          std::sqrt((after.v_W - before.v_W).squaredNorm()) +
          std::sqrt((after.omega_W - before.omega_W).squaredNorm()) * body_radii_[i];
      changed_bodies_[i] = change > speed;
    }
    any = any || changed_bodies_[i];
  }
  if (!any) return false;
  for (int b = 0; b < num_blocks; ++b)
    if (!changed_blocks_[b]) motions_.Update(state_, b, nullptr);
  return true;
}

}  // namespace pliant::physics
