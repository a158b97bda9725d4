#include "benchmarks/particles/explicit_mpm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "physics/dynamics/abilities/elements.h"
#include "physics/dynamics/abilities/nodes.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using physics::Kernel;
using physics::kKernelNodes;

// Nodes of the grid above which the particles count as blown up.
constexpr double kMaxNodes = 2e6;
// Distance from a body up to which nodes touch it, in cells: then one of the two nodes about a
// surface between them always does.
constexpr double kReach = 0.5;

// Signed distance from a body's shapes, and its gradient, W.
physics::SignedDistance CalcDistance(const Obstacle& obstacle, const Vector3d& x_W) {
  physics::SignedDistance least{std::numeric_limits<double>::infinity(), Vector3d::Zero(), x_W};
  for (const physics::Shape& shape : obstacle.shapes) {
    const physics::RigidTransform X_WS = obstacle.motion.X_WB * shape.X_BS;
    const physics::SignedDistance here = CalcSignedDistance(shape.geometry, X_WS.Inverse() * x_W);
    if (here.distance < least.distance)
      least = {here.distance, X_WS.R * here.gradient, X_WS * here.nearest};
  }
  return least;
}

}  // namespace

ExplicitParticles::ExplicitParticles(const physics::Model& model, double cell_size)
    : cell_size_(cell_size),
      gravity_(model.gravity),
      elastic_(*physics::FindParticleMaterial("LINEAR_COROTATIONAL")),
      materials_(model.bodies.size()) {
  const physics::State start = MakeInitialState(model);
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    const physics::Body& body = model.bodies[b];
    const physics::BlockAbilities& abilities = model.abilities_of(body);
    if (abilities.elements == nullptr || !abilities.elements->are_points(body.part)) continue;
    materials_[b] = {{body.youngs_modulus, body.poissons_ratio}, body.density};
    const physics::IndexRange nodes = abilities.nodes->nodes_of(body.part);
    const physics::IndexRange elements = abilities.elements->elements_of(body.part);
    const std::span<const double> q = model.Positions(start, body.block);
    for (int k = 0; k < elements.count; ++k) {
      Particle particle;
      particle.x = Eigen::Map<const Vector3d>(&q[3 * std::size_t(nodes.first + k)]);
      particle.volume = abilities.elements->element_volumes()[elements.first + k];
      particle.mass = body.density * particle.volume;
      particle.radius = body.points.radii[k];
      particle.body = static_cast<int>(b);
      particles_.push_back(particle);
    }
  }
}

double ExplicitParticles::CalcCourantLimit() const {
  double speed = 0;
  for (const Material& material : materials_)
    if (material.density > 0)
      speed = std::max(speed, elastic_.CalcSoundSpeed(material.parameters, material.density));
  return cell_size_ / speed;
}

bool ExplicitParticles::Step(double dt, std::span<const Obstacle> obstacles) {
  impulses_.clear();
  if (!PlaceGrid()) return false;
  MoveToGrid(dt);
  for (const Obstacle& obstacle : obstacles) impulses_.push_back(Exchange(obstacle));
  MoveFromGrid(dt);
  return true;
}

bool ExplicitParticles::PlaceGrid() {
  physics::AxisAlignedBox bounds;
  for (const Particle& particle : particles_) {
    if (!particle.x.allFinite() || !particle.F.allFinite()) return false;
    bounds.Include(particle.x);
  }
  const Vector3d cells = (bounds.upper - bounds.lower) / cell_size_ + Vector3d::Constant(4);
  if (cells.prod() > kMaxNodes) return false;
  low_ = physics::FindCell(bounds.lower, cell_size_);
  const physics::GridIndex high = physics::FindCell(bounds.upper, cell_size_);
  for (int r = 0; r < 3; ++r) size_[r] = high[r] - low_[r] + 3;
  const std::size_t count = static_cast<std::size_t>(size_[0]) * size_[1] * size_[2];
  masses_.assign(count, 0);
  velocities_.assign(count, Vector3d::Zero());
  normals_.assign(count, Vector3d::Zero());
  return true;
}

Kernel ExplicitParticles::MakeKernel(const Particle& particle) const {
  return {particle.x, physics::FindCell(particle.x, cell_size_), cell_size_};
}

template <typename Visit>
void ExplicitParticles::ForEachNode(const Particle& particle, const Visit& visit) const {
  const physics::GridIndex cell = physics::FindCell(particle.x, cell_size_);
  for (int a = 0; a < kKernelNodes; ++a) {
    const int i = cell[0] - low_[0] + a / 9, j = cell[1] - low_[1] + a / 3 % 3,
              k = cell[2] - low_[2] + a % 3;
    visit((i * size_[1] + j) * size_[2] + k, a);
  }
}

Vector3d ExplicitParticles::PositionOf(int node) const {
  const int k = node % size_[2], j = node / size_[2] % size_[1], i = node / size_[2] / size_[1];
  return cell_size_ * Vector3d(low_[0] + i, low_[1] + j, low_[2] + k);
}

void ExplicitParticles::MoveToGrid(double dt) {
  for (const Particle& particle : particles_) {
    const Kernel kernel = MakeKernel(particle);
    physics::ParticleState state;
    state.F = particle.F;
    // τ = J σ
    const Matrix3d tau =
        particle.F.determinant() * elastic_.CalcStress(materials_[particle.body].parameters, state);
    ForEachNode(particle, [&](int node, int a) {
      const Vector3d arm(kernel.arm[0][a], kernel.arm[1][a], kernel.arm[2][a]);
      const Vector3d gradient(kernel.gradient[0][a], kernel.gradient[1][a], kernel.gradient[2][a]);
      masses_[node] += kernel.w[a] * particle.mass;
      // momenta, for now
      velocities_[node] += kernel.w[a] * particle.mass * (particle.v + particle.C * arm) -
                           dt * particle.volume * (tau * gradient);
    });
  }
  for (std::size_t i = 0; i < masses_.size(); ++i)
    if (masses_[i] > 0) velocities_[i] = velocities_[i] / masses_[i] + dt * gravity_;
}

void ExplicitParticles::FindTouches(const Obstacle& obstacle) {
  touches_.clear();
  physics::AxisAlignedBox near;
  for (const physics::Shape& shape : obstacle.shapes)
    near.Include(CalcBounds(shape.geometry, obstacle.motion.X_WB * shape.X_BS));
  near.Grow(cell_size_);
  for (std::size_t p = 0; p < particles_.size(); ++p) {
    const Particle& particle = particles_[p];
    if (!near.Overlaps({particle.x, particle.x})) continue;
    const physics::SignedDistance at = CalcDistance(obstacle, particle.x);
    if (at.distance <= particle.radius) touches_.push_back({static_cast<int>(p), at.gradient});
  }
}

ObstacleImpulse ExplicitParticles::Exchange(const Obstacle& obstacle) {
  FindTouches(obstacle);

  // normals of the nodes that are touched
  nodes_.clear();
  for (const Touch& touch : touches_) {
    const Particle& particle = particles_[touch.particle];
    const Kernel kernel = MakeKernel(particle);
    ForEachNode(particle, [&](int node, int a) {
      if (normals_[node].isZero(0)) nodes_.push_back(node);
      normals_[node] += kernel.w[a] * particle.mass * touch.normal;
    });
  }

  ObstacleImpulse sum;
  for (const int node : nodes_) {
    const Vector3d normal = std::exchange(normals_[node], Vector3d::Zero()).normalized();
    const Vector3d x = PositionOf(node);
    if (CalcDistance(obstacle, x).distance > kReach * cell_size_) continue;
    const Vector3d v = velocities_[node] - obstacle.motion.CalcPointVelocity(x);
    const double approach = -normal.dot(v);
    if (approach <= 0) continue;
    const Vector3d slip = v + approach * normal;
    const double stop = obstacle.friction * approach;
    const Vector3d change =
        approach * normal - (slip.norm() <= stop ? slip : stop * slip.normalized());
    velocities_[node] += change;
    const Vector3d impulse = -masses_[node] * change;
    sum.linear += impulse;
    sum.angular += (x - obstacle.center).cross(impulse);
  }
  return sum;
}

void ExplicitParticles::MoveFromGrid(double dt) {
  for (Particle& particle : particles_) {
    const Kernel kernel = MakeKernel(particle);
    physics::NodeVectors v;
    ForEachNode(particle, [&](int node, int a) {
      for (int r = 0; r < 3; ++r) v.of[r][a] = velocities_[node][r];
    });
    particle.v = Interpolate(kernel, v);
    particle.C = InterpolateAffine(kernel, v, cell_size_);
    const Matrix3d H = dt * InterpolateGradient(kernel, v);
    particle.x += dt * particle.v;
    particle.F += (H * particle.F).eval();
  }
}

}  // namespace pliant::benchmarks
