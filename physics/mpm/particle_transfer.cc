#include "physics/mpm/particle_transfer.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include <Eigen/LU>

#include "physics/dynamics/block.h"
#include "physics/dynamics/parallel.h"
#include "physics/mpm/particle_internals.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Grid nodes around a surface point that have less than this fraction of the largest mass are left
// out of its interpolation: contact alone would determine their motion.
constexpr double kMinMassRatio = 1e-3;
// Particles per task.
constexpr int kParticlesPerTask = 256;
// Mass of a node, relative to the heaviest of its cell, below which the cell's liquid is more
// viscous, by this part of ρ c Δx with the speed of sound c.
constexpr double kLightNode = 0.05, kBoundaryViscosity = 0.01;

bool IsWithin(const GridOptions& grid, const Vector3d& x) {
  return (x.array() >= grid.lower.array()).all() && (x.array() <= grid.upper.array()).all();
}

}  // namespace

ParticleTransfer::ParticleTransfer(const ParticleModel* model)
    : model_(*model),
      has_liquid_(std::ranges::any_of(
          model->bodies, [](const ParticleBody& body) { return body.material->is_liquid(); })),
      walls_(model),
      spread_(model) {}

absl::Status ParticleTransfer::Begin(const BlockState& base, double h) {
  q0_.assign(base.q.begin(), base.q.end());
  node_v0_.assign(base.v.begin(), base.v.end());
  h_ = h;
  if (absl::Status status = Place(base); !status.ok()) return status;
  StartParticles(base, h);
  Collect(base.v);
  if (spreads_liquid()) {
    walls_.Clear();
    spread_.Clear();
    AddBoundaryViscosity();
  }
  return absl::OkStatus();
}

// A node whose kernel is cut by a wall or a free surface may have little mass. Contacts and
// pressures accelerate it strongly, which stirs a liquid at rest and lets it lose volume beside
// walls. Viscosity couples it to its neighbours.
void ParticleTransfer::AddBoundaryViscosity() {
  for (const ActiveGrid::Cell& cell : grid_.cells()) {
    double lightest = std::numeric_limits<double>::infinity(), heaviest = 0;
    for (const int node : cell.nodes) {
      if (masses_[node] > 0) lightest = std::min(lightest, masses_[node]);
      heaviest = std::max(heaviest, masses_[node]);
    }
    if (!(lightest < kLightNode * heaviest)) continue;
    for (int i = cell.first; i < cell.first + cell.count; ++i) {
      const int p = particle_at(i);
      const double density = model_.particle_mass[p] / model_.particle_volume[p];
      starts_[p].viscosity = kBoundaryViscosity * density * model_.grid.cell_size *
                             model_.material_of(p).CalcSoundSpeed(model_.parameters_of(p), density);
    }
  }
}

void ParticleTransfer::SetContacts(int block, std::span<const ContactPoint> contacts) {
  if (!spreads_liquid()) return;
  walls_.Find(*this, block, contacts);
  spread_.Evaluate(*this, walls_, h_);
}

double ParticleTransfer::CalcSpreadWork(const Vector3d& gravity) const {
  if (!spreads_liquid()) return 0;
  double work = 0;
  for (int p = 0; p < model_.num_particles; ++p) {
    const ParticleMaterial& material = model_.material_of(p);
    if (!is_moving(p) || !material.is_liquid()) continue;
    const double* parameters = model_.parameters_of(p);
    ParticleState state = starts_[p].state;
    const double before = material.CalcEnergy(parameters, state);
    state.J += spread_.CalcVolumeChange(p, state.J);
    work += model_.particle_volume[p] * (material.CalcEnergy(parameters, state) - before) -
            model_.particle_mass[p] * gravity.dot(spread_.displacements()[p]);
  }
  return work;
}

absl::Status ParticleTransfer::Place(const BlockState& base) {
  const GridOptions& grid = model_.grid;
  is_active_.assign(model_.num_nodes, 0);
  for (int p = 0; p < model_.num_particles; ++p) {
    if (IsFrozen(base.internals, p)) continue;
    const int node = model_.node[p];
    is_active_[node] = 1;
    const Vector3d x = PositionOf(node);
    if (grid.leaving == GridOptions::Leaving::kFreeze || IsWithin(grid, x)) continue;
    const int body = model_.body[p];
    return absl::InternalError(absl::StrCat(
        "particle ", p - model_.particles[body].first, " of \"", model_.bodies[body].name,
        "\" left the bounds of the grid at ", x[0], ", ", x[1], ", ", x[2],
        "; widen `grid: {bounds}`, or stop such particles with `leaving: FREEZE`"));
  }
  return grid_.Build(q0_, is_active_, grid.cell_size, grid.max_nodes);
}

void ParticleTransfer::StartParticles(const BlockState& base, double h) {
  starts_.resize(model_.num_particles);
  ParallelFor(model_.num_particles, kParticlesPerTask, [&](int p) {
    ParticleStart& start = starts_[p];
    start = {};
    start.state = ReadParticle(base.internals, p);
    start.h = h;
    start.is_corrected = model_.grid.is_corrected;
    model_.material_of(p).Start(model_.parameters_of(p), &start);
  });
}

// Transfers masses, momenta and velocities to the nodes (zong2024 §III-A).
void ParticleTransfer::Collect(std::span<const double> v) {
  const std::size_t n = static_cast<std::size_t>(grid_.num_nodes());
  masses_.assign(n, 0.0);
  momenta_.assign(3 * n, 0.0);
  v0_.assign(3 * n, 0.0);
  const double lumped = model_.lumped();
  for (const ActiveGrid::Cell& cell : grid_.cells()) {
    double mass[kPaddedNodes] = {};
    NodeVectors momentum, whole;
    for (int i = cell.first; i < cell.first + cell.count; ++i) {
      const int p = particle_at(i);
      const Kernel kernel = MakeKernel(p, cell);
      const Vector3d velocity = VectorAt(v, 3 * model_.node[p]);
      const Matrix3d& C = starts_[p].state.C;
      const double m = model_.particle_mass[p];
      for (int a = 0; a < kPaddedNodes; ++a) mass[a] += m * kernel.w[a];
      for (int r = 0; r < 3; ++r) {
        for (int a = 0; a < kPaddedNodes; ++a) {
          const double affine =
              C(r, 0) * kernel.arm[0][a] + C(r, 1) * kernel.arm[1][a] + C(r, 2) * kernel.arm[2][a];
          momentum.of[r][a] += m * kernel.w[a] * (velocity[r] + lumped * affine);
          whole.of[r][a] += m * kernel.w[a] * (velocity[r] + affine);
        }
      }
    }
    for (int a = 0; a < kKernelNodes; ++a) {
      const std::size_t node = cell.nodes[a];
      masses_[node] += mass[a];
      for (int r = 0; r < 3; ++r) {
        momenta_[3 * node + r] += momentum.of[r][a];
        v0_[3 * node + r] += whole.of[r][a];
      }
    }
  }
  for (std::size_t i = 0; i < v0_.size(); ++i)
    v0_[i] = masses_[i / 3] > 0 ? v0_[i] / masses_[i / 3] : 0;
}

void ParticleTransfer::Gather(const ActiveGrid::Cell& cell, std::span<const double> v,
                              NodeVectors* nodes) {
  for (int a = 0; a < kKernelNodes; ++a)
    for (int r = 0; r < 3; ++r) nodes->of[r][a] = v[3 * std::size_t(cell.nodes[a]) + r];
}

ParticleTransfer::GridWeights ParticleTransfer::FindGridWeights(int node) const {
  const bool is_particle = model_.particle_of_node[node] >= 0;
  if (is_particle && !is_active_[node]) return {};
  return FindGridWeightsAt(PositionOf(node), is_particle ? 0 : kMinMassRatio);
}

// The pressure in a liquid acts on the nodes of the grid as Σ V p ∇w. At a wall, a force with the
// weights of the place where a particle's ball touches is in equilibrium with it, once they are
// adapted to the particles that there are (LiquidWalls::CalcWeightFactor); with the weights of the
// particle itself it is not, and the liquid would flow beside the wall. A particle that moves by
// most of its distance from there in the step might pass the wall: its own motion has to stop.
ParticleTransfer::GridWeights ParticleTransfer::FindContactWeights(int node,
                                                                   const Vector3d& p_W) const {
  const int particle = model_.particle_of_node[node];
  if (particle < 0 || !is_active_[node] || !model_.grid.is_corrected ||
      !model_.material_of(particle).is_liquid()) {
    return FindGridWeights(node);
  }
  const Vector3d x = PositionOf(node), v = VectorAt(std::span<const double>(node_v0_), 3 * node);
  const double distance = std::sqrt((p_W - x).squaredNorm()),
               travel = starts_[particle].h * std::sqrt(v.squaredNorm());
  // whole up to 0.15 of the distance, none from 0.65 of it on
  const double share = distance > 0 ? std::clamp(1.3 - 2 * travel / distance, 0.0, 1.0) : 0;
  const GridWeights plain = FindGridWeightsAt(x + share * (p_W - x), 0);
  const LiquidWalls::Touch* touch = share > 0 ? walls_.FindTouch(particle, p_W) : nullptr;
  if (touch == nullptr) return plain;
  GridWeights balanced = plain;
  double sum = 0;
  for (int k = 0; k < plain.count; ++k) {
    const double factor = walls_.CalcWeightFactor(plain.nodes[k], touch->normal);
    balanced.weights[k] *= 1 + share * (factor - 1);
    sum += balanced.weights[k];
  }
  if (!(sum > 0)) return plain;
  for (int k = 0; k < balanced.count; ++k) balanced.weights[k] /= sum;
  return balanced;
}

ParticleTransfer::GridWeights ParticleTransfer::FindGridWeightsAt(const Vector3d& x,
                                                                  double min_mass_ratio) const {
  GridWeights result;
  const GridIndex cell = FindCell(x, model_.grid.cell_size);
  const Kernel kernel(x, cell, model_.grid.cell_size);
  const std::array<int, kKernelNodes> nodes = grid_.pattern().FindNodesFrom(cell);
  double heaviest = 0;
  for (const int node : nodes)
    if (node >= 0) heaviest = std::max(heaviest, masses_[node]);
  const double min_mass = min_mass_ratio * heaviest;
  double sum = 0;
  for (int a = 0; a < kKernelNodes; ++a) {
    const int i = nodes[a];
    if (i < 0 || !(masses_[i] > 0) || masses_[i] < min_mass || !(kernel.w[a] > 0)) continue;
    result.nodes[result.count] = i;
    result.weights[result.count++] = kernel.w[a];
    sum += kernel.w[a];
  }
  for (int k = 0; k < result.count; ++k) result.weights[k] /= sum;
  return result;
}

void ParticleTransfer::CalcVelocities(std::span<const double> v, std::span<double> state_v) const {
  std::ranges::fill(state_v, 0.0);
  ForEachParticle(v, [&](int p, const Kernel& kernel, const NodeVectors& nodes) {
    const Vector3d velocity = Interpolate(kernel, nodes);
    for (int r = 0; r < 3; ++r) state_v[3 * std::size_t(model_.node[p]) + r] = velocity[r];
  });
  for (int i = 0; i < model_.num_nodes; ++i) {
    if (model_.particle_of_node[i] >= 0) continue;
    const GridWeights of = FindGridWeights(i);
    for (int k = 0; k < of.count; ++k) {
      for (int r = 0; r < 3; ++r) {
        state_v[3 * std::size_t(i) + r] += of.weights[k] * v[3 * std::size_t(of.nodes[k]) + r];
      }
    }
  }
}

void ParticleTransfer::CalcAffineFields(std::span<const double> v,
                                        std::vector<double>* internals) const {
  ForEachParticle(v, [&](int p, const Kernel& kernel, const NodeVectors& nodes) {
    WriteAffine(InterpolateAffine(kernel, nodes, model_.grid.cell_size), p, *internals);
  });
}

void ParticleTransfer::Advance(std::span<const double> v, double h, MutableBlockState state) const {
  CalcVelocities(v, state.v);
  for (std::size_t i = 0; i < state.q.size(); ++i) state.q[i] += h * state.v[i];
  if (spreads_liquid()) {
    for (int p = 0; p < model_.num_particles; ++p)
      for (int r = 0; r < 3; ++r)
        state.q[3 * std::size_t(model_.node[p]) + r] += spread_.displacements()[p][r];
  }
  ForEachParticle(v, [&](int p, const Kernel& kernel, const NodeVectors& nodes) {
    ParticleState end = starts_[p].state;
    model_.material_of(p).Advance(model_.parameters_of(p), starts_[p],
                                  h * InterpolateGradient(kernel, nodes), &end);
    end.C = InterpolateAffine(kernel, nodes, model_.grid.cell_size);
    if (spreads_liquid()) end.J += spread_.CalcVolumeChange(p, starts_[p].state.J);
    WriteParticle(end, p, *state.internals);
  });
  if (model_.grid.leaving == GridOptions::Leaving::kFreeze) StopLeaving(state);
  ReturnStrayPoints(state);
}

// A surface point that has left the matter behind has no grid nodes around it: it would stand
// still, and stop whatever touches it. It returns to the nearest particle of its body.
void ParticleTransfer::ReturnStrayPoints(MutableBlockState state) const {
  for (int i = 0; i < model_.num_nodes; ++i) {
    if (model_.particle_of_node[i] >= 0) continue;
    // CalcVelocities leaves it without velocity; this saves most searches of the grid
    if (!VectorAt(std::span<const double>(state.v), 3 * i).isZero(0)) continue;
    if (FindGridWeights(i).count > 0) continue;
    const auto body = std::ranges::find_if(model_.nodes, [&](const IndexRange& nodes) {
      return i >= nodes.first && i < nodes.first + nodes.count;
    });
    const IndexRange particles = model_.particles[body - model_.nodes.begin()];
    const Vector3d x = PositionOf(i);
    int nearest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int p = particles.first; p < particles.first + particles.count; ++p) {
      const double distance2 = (PositionOf(model_.node[p]) - x).squaredNorm();
      if (!is_moving(p) || !(distance2 < least)) continue;
      least = distance2;
      nearest = model_.node[p];
    }
    if (nearest < 0) continue;  // the whole body has stopped
    for (int r = 0; r < 3; ++r) {
      state.q[3 * std::size_t(i) + r] = state.q[3 * std::size_t(nearest) + r];
      state.v[3 * std::size_t(i) + r] = state.v[3 * std::size_t(nearest) + r];
    }
  }
}

void ParticleTransfer::StopLeaving(MutableBlockState state) const {
  for (int p = 0; p < model_.num_particles; ++p) {
    const int node = model_.node[p];
    if (IsWithin(model_.grid, VectorAt(std::span<const double>(state.q), 3 * node))) continue;
    Freeze(p, *state.internals);
    for (int r = 0; r < 3; ++r) state.v[3 * std::size_t(node) + r] = 0;
  }
}

}  // namespace pliant::physics
