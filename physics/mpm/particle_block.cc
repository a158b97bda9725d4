#include "physics/mpm/particle_block.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "physics/mpm/particle_internals.h"
#include "physics/mpm/particle_model.h"
#include "physics/mpm/particle_step.h"
#include "physics/spatial/cube_root.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Matrix3d CrossMatrix(const Vector3d& w) {
  Matrix3d m;
  m << 0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0;
  return m;
}

class ParticleBlock final : public DynamicsBlock, public NodeSet, public ElementSet {
 public:
  ParticleBlock(GridOptions grid, std::vector<ParticleBody> bodies)
      : model_(std::make_shared<ParticleModel>()) {
    ParticleModel& m = *model_;
    m.grid = grid;
    m.bodies = std::move(bodies);
    for (std::size_t b = 0; b < m.bodies.size(); ++b) {
      const ParticleBody& body = m.bodies[b];
      const int count = static_cast<int>(body.positions.size()),
                points = static_cast<int>(body.surface.size());
      m.nodes.push_back({m.num_nodes, count + points});
      m.particles.push_back({m.num_particles, count});
      for (int i = 0; i < count; ++i) {
        m.node.push_back(m.num_nodes + i);
        m.body.push_back(static_cast<int>(b));
        m.particle_of_node.push_back(m.num_particles + i);
        m.particle_volume.push_back(body.volumes[i]);
        m.particle_mass.push_back(body.density * body.volumes[i]);
        m.mass += m.particle_mass.back();
      }
      m.particle_of_node.insert(m.particle_of_node.end(), points, -1);
      m.num_nodes += count + points;
      m.num_particles += count;
    }
  }

  int num_positions() const override { return 3 * num_nodes(); }
  int num_velocities() const override { return 3 * num_nodes(); }
  BlockAbilities abilities() const override { return {.nodes = this, .elements = this}; }
  std::unique_ptr<BlockStep> NewStep() const override { return MakeParticleStep(model_); }

  void SetInitialState(MutableBlockState state) const override {
    state.internals->assign(static_cast<std::size_t>(model_->num_particles) * kParticleInternals,
                            0.0);
    for (std::size_t b = 0; b < model_->bodies.size(); ++b) {
      const ParticleBody& body = model_->bodies[b];
      const int first = model_->nodes[b].first, count = static_cast<int>(body.positions.size());
      Vector3d center = Vector3d::Zero();
      double volume = 0;
      for (int i = 0; i < count; ++i) {
        center += body.volumes[i] * body.positions[i];
        volume += body.volumes[i];
      }
      center /= volume;
      for (int i = 0; i < model_->nodes[b].count; ++i) {
        const Vector3d& x = i < count ? body.positions[i] : body.surface[i - count];
        const Vector3d v = body.linear_velocity + body.angular_velocity.cross(x - center);
        for (int r = 0; r < 3; ++r) {
          state.q[3 * std::size_t(first + i) + r] = x[r];
          state.v[3 * std::size_t(first + i) + r] = v[r];
        }
      }
      ParticleState particle;
      particle.C = CrossMatrix(body.angular_velocity);
      const IndexRange particles = model_->particles[b];
      for (int p = particles.first; p < particles.first + particles.count; ++p)
        WriteParticle(particle, p, *state.internals);
    }
  }

  double CalcInnerSpeed(const BlockState& state) const override {
    double fastest = 0;
    for (int p = 0; p < model_->num_particles; ++p) {
      const double* C = &state.internals[static_cast<std::size_t>(p) * kParticleInternals];
      for (int k = 0; k < 9; ++k) fastest = std::max(fastest, std::abs(C[k]));
    }
    return fastest * model_->grid.cell_size;
  }

  double mass(int part) const override {
    double sum = 0;
    ForEach(part, [&](int p) { sum += model_->particle_mass[p]; });
    return sum;
  }
  Vector3d CalcCenterOfMass(const BlockState& state, int part) const override {
    Vector3d sum = Vector3d::Zero();
    double mass = 0;
    ForEach(part, [&](int p) {
      sum += model_->particle_mass[p] * VectorAt(state.q, 3 * model_->node[p]);
      mass += model_->particle_mass[p];
    });
    return sum / mass;
  }
  // Momentum of the grid. Only the lumped part of the mass has angular momentum in the affine
  // field.
  Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int part) const override {
    Eigen::Matrix<double, 6, 1> sum = Eigen::Matrix<double, 6, 1>::Zero();
    ForEach(part, [&](int p) {
      if (IsFrozen(state.internals, p)) return;
      const double m = model_->particle_mass[p];
      const Vector3d v = VectorAt(state.v, 3 * model_->node[p]);
      const Matrix3d C = ReadParticle(state.internals, p).C;
      sum.head<3>() += m * v;
      sum.tail<3>() += m * VectorAt(state.q, 3 * model_->node[p]).cross(v) +
                       m * model_->affine_inertia() *
                           Vector3d(C(2, 1) - C(1, 2), C(0, 2) - C(2, 0), C(1, 0) - C(0, 1));
    });
    return sum;
  }
  Energies CalcEnergies(const BlockState& state, const Vector3d& gravity, int part) const override {
    Energies energies;
    ForEach(part, [&](int p) {
      const double m = model_->particle_mass[p];
      const ParticleState particle = ReadParticle(state.internals, p);
      energies.potential -= m * gravity.dot(VectorAt(state.q, 3 * model_->node[p]));
      energies.elastic += model_->particle_volume[p] *
                          model_->material_of(p).CalcEnergy(model_->parameters_of(p), particle);
      if (IsFrozen(state.internals, p)) return;
      energies.kinetic += 0.5 * m *
                          (VectorAt(state.v, 3 * model_->node[p]).squaredNorm() +
                           model_->affine_inertia() * particle.C.squaredNorm());
    });
    return energies;
  }

  int num_nodes() const override { return model_->num_nodes; }
  IndexRange nodes_of(int part) const override {
    return part == kWholeBlock ? IndexRange{0, model_->num_nodes} : model_->nodes[part];
  }
  Vector3d CalcPointVelocity(const BlockState& state, const Attachment& point) const override {
    Vector3d velocity = Vector3d::Zero();
    for (int k = 0; k < point.nodes.size(); ++k)
      velocity += point.nodes.weight(k) * VectorAt(state.v, 3 * point.nodes.node(k));
    return velocity;
  }
  Vector3d CalcAngularVelocity(const BlockState& state, int part) const override {
    const Vector3d center = CalcCenterOfMass(state, part);
    Matrix3d inertia = Matrix3d::Zero();
    Vector3d momentum = Vector3d::Zero();
    ForEach(part, [&](int p) {
      const double m = model_->particle_mass[p], affine = m * model_->affine_inertia();
      const Vector3d r = VectorAt(state.q, 3 * model_->node[p]) - center;
      const Matrix3d C = ReadParticle(state.internals, p).C;
      inertia += (m * r.squaredNorm() + 2 * affine) * Matrix3d::Identity() - m * r * r.transpose();
      momentum += m * r.cross(VectorAt(state.v, 3 * model_->node[p])) +
                  affine * Vector3d(C(2, 1) - C(1, 2), C(0, 2) - C(2, 0), C(1, 0) - C(0, 1));
    });
    return inertia.inverse() * momentum;
  }

  // Largest norm of a particle's velocity gradient.
  double CalcRotationRate(const BlockState& state) const override {
    double fastest = 0;
    for (int p = 0; p < model_->num_particles; ++p)
      fastest = std::max(fastest, ReadParticle(state.internals, p).C.squaredNorm());
    return std::sqrt(fastest);
  }

  int num_elements() const override { return model_->num_particles; }
  IndexRange elements_of(int part) const override {
    return part == kWholeBlock ? IndexRange{0, model_->num_particles} : model_->particles[part];
  }
  bool are_points(int) const override { return true; }
  std::span<const double> element_volumes() const override { return model_->particle_volume; }
  std::span<const double> element_masses() const override { return model_->particle_mass; }
  bool HasField(FieldMeasure measure, int part) const override {
    if (IsOfContact(measure)) return false;
    // a liquid has a volume, a stress and a velocity, but no strain
    return !model_->bodies[part].material->is_liquid() || measure == FieldMeasure::kVolumeRatio ||
           measure == FieldMeasure::kSpeed || IsOfStress(measure);
  }
  double CalcVolume(const BlockState& state, int part) const override {
    double volume = 0;
    ForEach(part, [&](int p) {
      volume += model_->particle_volume[p] * CalcGradient(p, state).determinant();
    });
    return volume;
  }
  void CalcElementField(FieldMeasure measure, const BlockState& state,
                        std::span<double> values) const override {
    const std::size_t size = CountComponents(measure);
    for (int p = 0; p < model_->num_particles; ++p) {
      const std::span<double> of_particle = values.subspan(size * p, size);
      const ParticleState particle = ReadParticle(state.internals, p);
      if (measure == FieldMeasure::kPlasticStrain) {
        of_particle[0] = particle.plastic_strain;
        continue;
      }
      if (measure == FieldMeasure::kSpeed) {
        of_particle[0] = std::sqrt(VectorAt(state.v, 3 * model_->node[p]).squaredNorm());
        continue;
      }
      const Matrix3d F = CalcGradient(p, state);
      Matrix3d P = Matrix3d::Zero();
      if (IsOfStress(measure)) {
        const Matrix3d stress =
            model_->material_of(p).CalcStress(model_->parameters_of(p), particle);
        P = F.determinant() * stress * F.inverse().transpose();
      }
      CalcMeasure(measure, F, P, of_particle);
    }
  }

 private:
  template <typename Visit>
  void ForEach(int part, const Visit& visit) const {
    const IndexRange range = elements_of(part);
    for (int p = range.first; p < range.first + range.count; ++p) visit(p);
  }
  // Elastic deformation gradient; J^(1/3) I for a liquid.
  Matrix3d CalcGradient(int particle, const BlockState& state) const {
    const ParticleState of = ReadParticle(state.internals, particle);
    if (!model_->material_of(particle).is_liquid()) return of.F;
    return CalcCubeRoot(of.J) * Matrix3d::Identity();
  }

  std::shared_ptr<ParticleModel> model_;
};

}  // namespace

std::shared_ptr<const DynamicsBlock> MakeParticleBlock(GridOptions grid,
                                                       std::vector<ParticleBody> bodies) {
  return std::make_shared<ParticleBlock>(std::move(grid), std::move(bodies));
}

}  // namespace pliant::physics
