#include "physics/stepping/step/residual.h"

#include <algorithm>
#include <cmath>

namespace pliant::physics {
namespace {

// a smaller residual is rounding, as in a world at rest without gravity
constexpr double kAbsoluteTolerance = 1e-14;

// Subtracts the exerted impulses from a block's residual. Returns their squared norm, scaled by
// 1/diagonal.
double SubtractExerted(const StepBlocks& blocks, const Participation& participation, int b,
                       std::span<const double> exerted, std::span<const double> diagonal,
                       std::span<double> residual) {
  if (participation.index_of_block[b] < 0) return 0;
  const Participation::Block& block = participation.blocks[participation.index_of_block[b]];
  double square = 0;
  for (int g = block.first_group; g < block.first_group + block.num_groups; ++g) {
    const int offset = blocks.steps[b]->space().group_offset(participation.groups[g]);
    for (int i = 0; i < participation.size_of_group(g); ++i) {
      const double impulse = exerted[participation.group_velocities[g] + i];
      residual[offset + i] -= impulse;
      square += impulse * impulse / diagonal[offset + i];
    }
  }
  return square;
}

}  // namespace

double CalcResidual(std::span<const double> v, std::span<const double> exerted, double size,
                    const StepBlocks& blocks, const Participation& participation,
                    ResidualScratch* scratch) {
  for (auto* x : {&scratch->residual, &scratch->momentum, &scratch->diagonal}) x->resize(v.size());
  scratch->squares.assign(blocks.count(), {});
  blocks.ForEachBlock([&](int b) {
    if (blocks.sleeping.sleeps(b)) return;
    const std::span<double> residual = blocks.spaces.Part(b, scratch->residual),
                            momentum = blocks.spaces.Part(b, scratch->momentum),
                            diagonal = blocks.spaces.Part(b, scratch->diagonal);
    blocks.steps[b]->CalcResidualTerms(blocks.spaces.Part(b, v), residual, momentum, diagonal);
    ResidualScratch::Squares& sum = scratch->squares[b];
    if (const NonlinearBalance* nonlinear = blocks.abilities[b].nonlinear) {
      const NonlinearBalance::ResidualScale scale = nonlinear->CalcResidualScale();
      sum.rounding = scale.rounding;
      sum.force = scale.force;
    }
    sum.impulse = SubtractExerted(blocks, participation, b, exerted, diagonal, residual);
    for (std::size_t i = 0; i < residual.size(); ++i) {
      const double weight = 1 / diagonal[i];
      sum.error += residual[i] * residual[i] * weight;
      sum.momentum += momentum[i] * momentum[i] * weight;
    }
  });
  double error = 0, momentum_size = 0, impulse_size = 0, force_size = 0, rounding = 0;
  for (const ResidualScratch::Squares& sum : scratch->squares) {
    error += sum.error;
    momentum_size += sum.momentum;
    impulse_size += sum.impulse;
    force_size += sum.force;
    rounding += sum.rounding;
  }
  if (error <= std::max(kAbsoluteTolerance * kAbsoluteTolerance, rounding)) return 0;
  return std::sqrt(error / std::max({momentum_size, impulse_size, force_size, size * size}));
}

}  // namespace pliant::physics
