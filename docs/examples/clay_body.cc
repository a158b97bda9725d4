#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <Eigen/Dense>

#include "physics/bodies/body_kind.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr BodyParameter kClayParameters[] = {
    // name in scenes, expected value, minimum, maximum
    {"cell_size", "the edge of a grid cell, a positive length in metres", 1e-6, 1e6},
    {"bulk_modulus", "a modulus in pascals", 0, 1e12},
    {"yield", "the compression beyond which volume is lost, from 0 to 1", 0, 1},
};

struct Clay {
  BodyDescription of;
  std::vector<double> vertex_mass;      // [kg]
  std::vector<double> volumes;          // of tetrahedra at rest [m³]
  std::vector<Matrix3d> edge_inverses;  // of tetrahedra at rest, F = edges · inverse
  double mass = 0;

  double cell_size() const { return of.parameters[0]; }
  double bulk_modulus() const { return of.parameters[1]; }
  double yield() const { return of.parameters[2]; }
  int num_vertices() const { return static_cast<int>(of.mesh.vertices.size()); }

  Matrix3d CalcDeformation(int e, std::span<const double> q) const {
    const std::array<int, 4>& t = of.mesh.tetrahedra[e];
    Matrix3d edges;
    for (int k = 0; k < 3; ++k) edges.col(k) = VectorAt(q, 3 * t[k + 1]) - VectorAt(q, 3 * t[0]);
    return edges * edge_inverses[e];
  }
};

// Velocities are unknowns on the nodes of the grid cells that contain a vertex; these nodes change
// from step to step.
class ClayStep final : public BlockStep, public VelocityMap {
 public:
  explicit ClayStep(const Clay& clay) : clay_(clay) {}

  StepAbilities abilities() override { return {.map = this}; }
  std::span<const double> start_velocities() const override { return v0_; }

  absl::Status Pose(const Stage& stage, const BlockState& base,
                    const BlockInputs& inputs) override {
    stage_ = stage;
    FindActiveNodes(base.q);
    space_ = VelocitySpace::MakeUniform(static_cast<int>(masses_.size()), 3);

    // transfer momentum and forces from vertices to nodes; forces are those at the step's start
    const std::vector<Vector3d> forces = CalcForces(base, inputs);
    v0_.assign(3 * masses_.size(), 0.0);
    v_star_ = v0_;
    for (int p = 0; p < clay_.num_vertices(); ++p) {
      for (const auto& [node, weight] : cells_[p]) {
        for (int r = 0; r < 3; ++r) {
          v0_[3 * node + r] += weight * clay_.vertex_mass[p] * base.v[3 * p + r] / masses_[node];
          v_star_[3 * node + r] += stage.impulse_scale() * weight * forces[p][r] / masses_[node];
        }
      }
    }
    for (std::size_t i = 0; i < v0_.size(); ++i) v_star_[i] += v0_[i];
    for (const double v : v_star_)
      if (!std::isfinite(v)) return absl::InternalError("its forces are not finite");
    return absl::OkStatus();
  }

  // A is diagonal, so participants are not coupled to the other nodes
  absl::Status Factor(std::span<const int> participants) override {
    participants_.assign(participants.begin(), participants.end());
    const std::size_t n = 3 * participants_.size();
    schur_.assign(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) schur_[i * (n + 1)] = masses_[participants_[i / 3]];
    return absl::OkStatus();
  }
  solvers::SchurComplement schur_complement() const override {
    return std::span<const double>(schur_);
  }
  void CalcFreeMotion(std::span<double> v_star) const override {
    std::copy(v_star_.begin(), v_star_.end(), v_star.begin());
  }
  void Complete(std::span<const double> v_participants, std::span<double> v) const override {
    std::copy(v_star_.begin(), v_star_.end(), v.begin());
    for (std::size_t k = 0; k < participants_.size(); ++k)
      std::copy_n(&v_participants[3 * k], 3, &v[3 * std::size_t(participants_[k])]);
  }

  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) override {
    for (std::size_t i = 0; i < v.size(); ++i) residual[i] = masses_[i / 3] * (v[i] - v_star_[i]);
  }
  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = masses_[i / 3] * x[i];
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override {
    for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = masses_[i / 3];
  }

  // a vertex moves with the eight nodes around it
  void AppendRows(const Attachment& attachment, BlockRows* rows) const override {
    ForEachNode(attachment, [&](int vertex, double share) {
      for (const auto& [node, weight] : cells_[vertex]) {
        double* J = rows->Append(node, 3);
        J[0] = J[4] = J[8] = share * weight;
      }
    });
  }

  // velocities of vertices from those of nodes
  void CalcStateVelocities(std::span<const double> v, std::span<double> state_v) const override {
    std::fill(state_v.begin(), state_v.end(), 0.0);
    for (std::size_t p = 0; p < cells_.size(); ++p) {
      for (const auto& [node, weight] : cells_[p])
        for (int r = 0; r < 3; ++r) state_v[3 * p + r] += weight * v[3 * node + r];
    }
  }

  void Integrate(std::span<const double> v, MutableBlockState state) const override {
    const std::vector<double> v0(state.v.begin(), state.v.end());
    CalcStateVelocities(v, state.v);
    for (std::size_t i = 0; i < v0.size(); ++i)
      state.q[i] += stage_.h * stage_.move(v0[i], state.v[i]);
    // volume compressed beyond the yield is lost for good
    for (std::size_t e = 0; e < state.internals->size(); ++e) {
      double& rest = (*state.internals)[e];
      const double ratio = clay_.CalcDeformation(static_cast<int>(e), state.q).determinant();
      rest = std::max(0.2, std::min(rest, ratio / (1 - std::min(clay_.yield(), 0.9))));
    }
  }

 private:
  struct Share {
    int node;
    double weight;
  };

  template <typename Visit>
  static void ForEachNode(const Attachment& attachment, const Visit& visit) {
    for (int k = 0; k < attachment.nodes.size(); ++k)
      visit(attachment.nodes.node(k), attachment.nodes.weight(k));
  }

  void FindActiveNodes(std::span<const double> q) {
    using Key = std::array<int, 3>;
    std::vector<Key> keys;
    const auto corner = [&](int p, int k) {
      const Vector3d x = VectorAt(q, 3 * p) / clay_.cell_size();
      return Key{static_cast<int>(std::floor(x[0])) + (k & 1),
                 static_cast<int>(std::floor(x[1])) + (k >> 1 & 1),
                 static_cast<int>(std::floor(x[2])) + (k >> 2 & 1)};
    };
    for (int p = 0; p < clay_.num_vertices(); ++p)
      for (int k = 0; k < 8; ++k) keys.push_back(corner(p, k));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());

    masses_.assign(keys.size(), 0.0);
    cells_.assign(clay_.num_vertices(), {});
    for (int p = 0; p < clay_.num_vertices(); ++p) {
      for (int k = 0; k < 8; ++k) {
        const Key key = corner(p, k);
        double weight = 1;
        for (int r = 0; r < 3; ++r)
          weight *= std::max(1e-3, 1 - std::abs(q[3 * p + r] / clay_.cell_size() - key[r]));
        const auto found = std::lower_bound(keys.begin(), keys.end(), key);
        cells_[p][k] = {static_cast<int>(found - keys.begin()), weight};
      }
      // the lower bound of 1e-3 avoids massless nodes; normalise the weights to sum to one
      double sum = 0;
      for (const Share& share : cells_[p]) sum += share.weight;
      for (Share& share : cells_[p]) share.weight /= sum;
      for (const Share& share : cells_[p])
        masses_[share.node] += share.weight * clay_.vertex_mass[p];
    }
  }

  // Force on each vertex: gravity, applied forces, and the pressure κ (J / J_rest − 1) of
  // compressed elements.
  std::vector<Vector3d> CalcForces(const BlockState& base, const BlockInputs& inputs) const {
    std::vector<Vector3d> forces(clay_.num_vertices());
    Vector3d acceleration = inputs.gravity;
    for (const BlockForce& force : inputs.forces)
      if (force.node < 0) acceleration += force.force_W / clay_.mass;
    for (int p = 0; p < clay_.num_vertices(); ++p) forces[p] = clay_.vertex_mass[p] * acceleration;
    for (const BlockForce& force : inputs.forces)
      if (force.node >= 0) forces[force.node] += force.force_W;
    for (std::size_t e = 0; e < clay_.volumes.size(); ++e) {
      const Matrix3d F = clay_.CalcDeformation(static_cast<int>(e), base.q);
      const double ratio = F.determinant() / base.internals[e];
      // cof F maps the pressure to forces on the faces
      Matrix3d cofactor;
      for (int k = 0; k < 3; ++k) cofactor.col(k) = F.col((k + 1) % 3).cross(F.col((k + 2) % 3));
      const Matrix3d H = clay_.volumes[e] * clay_.bulk_modulus() * std::min(ratio - 1, 0.0) *
                         cofactor * clay_.edge_inverses[e].transpose();
      const std::array<int, 4>& t = clay_.of.mesh.tetrahedra[e];
      for (int k = 0; k < 3; ++k) {
        forces[t[k + 1]] -= H.col(k);
        forces[t[0]] += H.col(k);
      }
    }
    return forces;
  }

  const Clay& clay_;
  Stage stage_;
  std::vector<std::array<Share, 8>> cells_;  // of each vertex
  std::vector<double> masses_;               // of each active node
  std::vector<double> v0_, v_star_, schur_;
  std::vector<int> participants_;
};

class ClayBlock final : public DynamicsBlock, public NodeSet, public ElementSet {
 public:
  explicit ClayBlock(BodyDescription of) {
    clay_.of = std::move(of);
    const TetrahedralMesh& mesh = clay_.of.mesh;
    clay_.vertex_mass.assign(mesh.vertices.size(), 0.0);
    for (const std::array<int, 4>& t : mesh.tetrahedra) {
      Matrix3d edges;
      for (int k = 0; k < 3; ++k) edges.col(k) = mesh.vertices[t[k + 1]] - mesh.vertices[t[0]];
      clay_.volumes.push_back(edges.determinant() / 6);
      clay_.edge_inverses.push_back(edges.inverse());
      for (const int vertex : t)
        clay_.vertex_mass[vertex] += 0.25 * clay_.of.density * clay_.volumes.back();
    }
    for (const double mass : clay_.vertex_mass) clay_.mass += mass;
  }

  int num_positions() const override { return 3 * num_nodes(); }
  int num_velocities() const override { return 3 * num_nodes(); }
  int num_nodes() const override { return clay_.num_vertices(); }
  int num_elements() const override { return static_cast<int>(clay_.volumes.size()); }
  std::span<const double> element_volumes() const override { return clay_.volumes; }
  BlockAbilities abilities() const override { return {.nodes = this, .elements = this}; }
  std::unique_ptr<BlockStep> NewStep() const override { return std::make_unique<ClayStep>(clay_); }

  void SetInitialState(MutableBlockState state) const override {
    for (int p = 0; p < num_nodes(); ++p) {
      const Vector3d x = clay_.of.X_WB * clay_.of.mesh.vertices[p];
      for (int r = 0; r < 3; ++r) state.q[3 * p + r] = x[r];
    }
    const Vector3d center = CalcCenterOfMass(state, 0);
    for (int p = 0; p < num_nodes(); ++p) {
      const Vector3d arm = VectorAt(state.q, 3 * p) - center;
      const Vector3d v = clay_.of.linear_velocity + clay_.of.angular_velocity.cross(arm);
      for (int r = 0; r < 3; ++r) state.v[3 * p + r] = v[r];
    }
    // fraction of its volume to which each element springs back
    state.internals->assign(num_elements(), 1.0);
  }

  double mass(int) const override { return clay_.mass; }
  Vector3d CalcCenterOfMass(const BlockState& state, int) const override {
    Vector3d sum = Vector3d::Zero();
    for (int p = 0; p < num_nodes(); ++p) sum += clay_.vertex_mass[p] * VectorAt(state.q, 3 * p);
    return sum / clay_.mass;
  }
  Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int) const override {
    Eigen::Matrix<double, 6, 1> sum = Eigen::Matrix<double, 6, 1>::Zero();
    for (int p = 0; p < num_nodes(); ++p) {
      const Vector3d momentum = clay_.vertex_mass[p] * VectorAt(state.v, 3 * p);
      sum.head<3>() += momentum;
      sum.tail<3>() += VectorAt(state.q, 3 * p).cross(momentum);
    }
    return sum;
  }
  Energies CalcEnergies(const BlockState& state, const Vector3d& gravity, int) const override {
    Energies energies;
    for (int p = 0; p < num_nodes(); ++p)
      energies.kinetic += 0.5 * clay_.vertex_mass[p] * VectorAt(state.v, 3 * p).squaredNorm();
    energies.potential = -clay_.mass * gravity.dot(CalcCenterOfMass(state, 0));
    return energies;
  }

  Vector3d CalcPointVelocity(const BlockState& state, const Attachment& point) const override {
    Vector3d velocity = Vector3d::Zero();
    for (int k = 0; k < point.nodes.size(); ++k)
      velocity += point.nodes.weight(k) * VectorAt(state.v, 3 * point.nodes.node(k));
    return velocity;
  }
  Vector3d CalcAngularVelocity(const BlockState& state, int) const override {
    const Vector3d center = CalcCenterOfMass(state, 0);
    Matrix3d inertia = Matrix3d::Zero();
    Vector3d momentum = Vector3d::Zero();
    for (int p = 0; p < num_nodes(); ++p) {
      const Vector3d r = VectorAt(state.q, 3 * p) - center;
      inertia +=
          clay_.vertex_mass[p] * (r.squaredNorm() * Matrix3d::Identity() - r * r.transpose());
      momentum += clay_.vertex_mass[p] * r.cross(VectorAt(state.v, 3 * p));
    }
    return inertia.inverse() * momentum;
  }

  void CalcElementField(FieldMeasure measure, const BlockState& state,
                        std::span<double> values) const override {
    const std::size_t size = CountComponents(measure);
    for (int e = 0; e < num_elements(); ++e) {
      const Matrix3d F = clay_.CalcDeformation(e, state.q);
      CalcMeasure(measure, F, Matrix3d::Zero(), values.subspan(size * e, size));
    }
  }
  double CalcVolume(const BlockState& state, int) const override {
    double volume = 0;
    for (int e = 0; e < num_elements(); ++e)
      volume += clay_.volumes[e] * clay_.CalcDeformation(e, state.q).determinant();
    return volume;
  }

 private:
  Clay clay_;
};

class ClayBodies final : public BodyKind {
 public:
  std::string_view name() const override { return "CLAY"; }
  std::span<const BodyParameter> parameters() const override { return kClayParameters; }
  std::shared_ptr<const DynamicsBlock> MakeBlock(BodyDescription description) const override {
    return std::make_shared<ClayBlock>(std::move(description));
  }
  // every vertex touches, as a ball half a cell wide
  TouchingPoints MakePoints(const BodyDescription& description) const override {
    TouchingPoints points;
    points.nodes.resize(description.mesh.vertices.size());
    std::iota(points.nodes.begin(), points.nodes.end(), 0);
    points.radii.assign(points.nodes.size(), 0.25 * description.parameters[0]);
    return points;
  }
};

}  // namespace

const BodyKind* ClayKind() {
  static const ClayBodies kind;
  return &kind;
}

}  // namespace pliant::physics
