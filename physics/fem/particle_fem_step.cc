#include "physics/fem/particle_fem_step.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/dynamics/abilities/compliant_step.h"
#include "physics/fem/materials/polar_rotation.h"
#include "physics/fem/node_step.h"
#include "physics/fem/strain_rows.h"
#include "physics/fem/untangling.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Edge of a cube, by Newton's method: the last bits of a library's cube root differ between
// machines.
double CalcEdge(double volume) {
  int exponent;
  std::frexp(volume, &exponent);
  double edge = std::ldexp(1.0, exponent / 3 + 1);
  for (int k = 0; k < 12; ++k) edge -= (edge - volume / (edge * edge)) / 3;
  return edge;
}

class ParticleFemStep final : public CompliantStep<NodeStep> {
 public:
  explicit ParticleFemStep(std::shared_ptr<const FemModel> model)
      : CompliantStep<NodeStep>(std::move(model)) {
    const ElementBatches& elements = model_->elements;
    for (std::size_t b = 0; b < elements.batches.size(); ++b) {
      const ElementBatch& batch = elements.batches[b];
      Lane length;
      for (int l = 0; l < kLanes; ++l) {
        // padding has no volume
        length[l] = batch.volume[l] > 0 ? CalcEdge(batch.volume[l]) : 1;
        const int element = elements.elements[b * kLanes + l];
        set_of_.push_back(element < 0 ? -1 : static_cast<int>(sets_.size()));
        if (element < 0) continue;
        Set& set = sets_.emplace_back();
        for (int a = 0; a < 4; ++a) {
          const int node = batch.nodes[l][a];
          set[a] = model_->prescribed_index[node] >= 0 ? -1 : 3 * node;
        }
      }
      lengths_.push_back(length);
    }
    const std::size_t size = space_.num_velocities();
    for (std::vector<double>* x : {&v_star_, &q_}) x->resize(size);
    masses_.resize(9 * std::size_t(model_->num_nodes));
    inertias_.resize(masses_.size());
    R0_.resize(elements.batches.size());
    S0_.resize(elements.batches.size());
  }

  absl::Status Pose(const Stage& stage, const BlockState& base,
                    const BlockInputs& inputs) override {
    if (absl::Status status = Start(stage, base, inputs); !status.ok()) return status;
    max_projected_ = 0;

    // each node moves freely on its own
    const double alpha = model_->parameters.rayleigh_alpha, h = stage.h;
    const double scale = 1 + alpha * h;
    Vector3d acceleration = inputs.gravity;
    for (const BlockForce& applied : inputs.forces)
      if (applied.node < 0) acceleration += applied.force_W / model_->mass;
    std::fill(masses_.begin(), masses_.end(), 0.0);
    for (int i = 0; i < model_->num_nodes; ++i) {
      for (int r = 0; r < 3; ++r) {
        masses_[9 * std::size_t(i) + 4 * r] = scale * model_->node_mass[i];
        v_star_[3 * i + r] = (v0_[3 * i + r] + h * acceleration[r]) / scale;
      }
    }
    for (const BlockForce& applied : inputs.forces) {
      if (applied.node < 0) continue;
      for (int r = 0; r < 3; ++r) {
        v_star_[3 * applied.node + r] +=
            h * applied.force_W[r] / (scale * model_->node_mass[applied.node]);
      }
    }
    model_->ProjectOntoPlane(v_star_);
    ForEachPrescribed([&](int node, const Vector3d& velocity) {
      for (int r = 0; r < 3; ++r) v_star_[3 * node + r] = velocity[r];
    });
    return PoseElements();
  }

  void Complete(std::span<const double> v_p, std::span<double> v) const override {
    for (std::size_t k = 0; k < participants_.size(); ++k)
      std::copy_n(&v_p[3 * k], 3, &v[3 * std::size_t(participants_[k])]);
  }
  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = masses_[9 * (i / 3)] * x[i];
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override {
    for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = masses_[9 * (i / 3)];
  }
  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) override {
    for (std::size_t i = 0; i < v.size(); ++i)
      residual[i] = masses_[9 * (i / 3)] * (v[i] - v_star_[i]);
  }

 private:
  std::span<const double> group_mass(int group) const override {
    if (model_->prescribed_index[group] >= 0) return {};
    return {&masses_[9 * std::size_t(group)], 9};
  }
  std::span<const double> group_inertia(int group) const override {
    if (model_->prescribed_index[group] >= 0) return {};
    return {&inertias_[9 * std::size_t(group)], 9};
  }
  bool are_particles() const override { return true; }
  int max_projected() const override { return max_projected_; }
  std::span<const Set> sets() const override { return sets_; }

  bool Evaluate(std::span<const double> v, std::span<const double> forces, std::span<double> J,
                std::span<double> E, std::span<double> error) override {
    const double h = stage_.h, beta = model_->parameters.rayleigh_beta;
    for (std::size_t i = 0; i < q_.size(); ++i) q_[i] = q0_[i] + h * v[i];
    model_->CalcDeformation(q_, &at_);
    const double share = h / (h + beta);
    const std::size_t num_quadratic = model_->elements.num_quadratic;
    int num_projected = 0;
    Lane sum{};
    for (std::size_t b = 0; b < model_->elements.batches.size(); ++b) {
      const ElementBatch& batch = model_->elements.batches[b];
      const bool is_quadratic = b < num_quadratic;
      const Lane volume = batch.volume > 0 ? batch.volume : Splat(1), length = lengths_[b];
      LaneStrain force;  // −V times the stress
      for (int r = 0; r < 6; ++r) {
        for (int l = 0; l < kLanes; ++l) {
          const int set = set_of_[b * kLanes + l];
          force[r][l] = set < 0 ? 0 : forces[6 * set + r] * length[l];
        }
      }
      LaneStrain strain;  // residual of the rows
      LaneStrainMatrix C;
      LaneMatrix3 R;
      if (is_quadratic) {
        // linear in v: include damping with the strain rate
        R = R0_[b];
        LaneMatrix3 moved = model_->CalcDeformation(batch, q_);
        const LaneMatrix3 rate = CalcGradient(batch, v);
        for (int i = 0; i < 9; ++i) moved[i] += beta * rate[i];
        strain = CalcSymmetricPart(R, moved);
        for (int r = 0; r < 3; ++r) strain[r] -= 1;
        if (!pressure_.empty())
          for (int r = 0; r < 3; ++r) force[r] -= volume * pressure_[b];
        C = CalcHookeCompliance(batch.lame_mu, batch.lame_lambda);
        AddProduct(C, force, 1 / volume, &strain);
      } else {
        const LaneMatrix3& F = at_.F[b - num_quadratic];
        R = CalcPolarRotations(F);
        model_->Respond(b - num_quadratic, at_, Tangent::kExact, &response_);
        if (!pressure_.empty()) AddPressure(pressure_[b], F, Tangent::kExact, &response_);
        unsigned projected;
        C = CalcStrainCompliance(CalcStrainStiffness(R, response_.tangent), &projected);
        for (int l = 0; l < kLanes; ++l)
          num_projected += set_of_[b * kLanes + l] >= 0 && (projected >> l & 1) != 0;
        // E (c + λ), plus damping that does not resist spin
        const LaneStrain stress = CalcSymmetricPart(R, response_.stress);
        for (int r = 0; r < 6; ++r) force[r] += volume * stress[r];
        strain = {};
        if (beta != 0) {
          const LaneStrain S = CalcSymmetricPart(R, F);
          for (int r = 0; r < 6; ++r) strain[r] = beta / h * (S[r] - S0_[b][r]);
        }
        AddProduct(C, force, 1 / volume, &strain);
      }
      for (int r = 0; r < 6; ++r) {
        strain[r] *= share * length;
        sum += 0.0 * strain[r];
      }
      const Lane scale = share * length * length / volume;
      for (int l = 0; l < kLanes; ++l) {
        const int set = set_of_[b * kLanes + l];
        if (set < 0) continue;
        for (int r = 0; r < 6; ++r) error[6 * set + r] = strain[r][l];
        for (int i = 0; i < 36; ++i) E[36 * std::size_t(set) + i] = scale[l] * C[i][l];
      }
      StoreJacobian(b, R, J);
    }
    max_projected_ = std::max(max_projected_, num_projected);
    return All(sum == 0.0);
  }

  // y += scale · A x
  static void AddProduct(const LaneStrainMatrix& A, const LaneStrain& x, const Lane& scale,
                         LaneStrain* y) {
    for (int c = 0; c < 6; ++c) {
      for (int r = 0; r < 6; ++r) (*y)[r] += scale * A[6 * c + r] * x[c];
    }
  }

  // Stores the Jacobian ∂S/∂x of each node, R B_a G, times the sets' length.
  void StoreJacobian(std::size_t b, const LaneMatrix3& R, std::span<double> J) const {
    const ElementBatch& batch = model_->elements.batches[b];
    const double half = std::sqrt(0.5);
    for (int a = 0; a < 4; ++a) {
      Lane G[3];
      for (int c = 0; c < 3; ++c) G[c] = lengths_[b] * batch.gradients[a][c];
      Lane rows[6][3];
      for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c) rows[c][r] = R[3 * c + r] * G[c];
        rows[3][r] = half * (R[r] * G[1] + R[3 + r] * G[0]);
        rows[4][r] = half * (R[3 + r] * G[2] + R[6 + r] * G[1]);
        rows[5][r] = half * (R[6 + r] * G[0] + R[r] * G[2]);
      }
      if (model_->parameters.plane_strain) {
        // plane strain: no strain and no force along the normal
        const Vector3d& n = model_->plane_normal;
        for (auto& row : rows) {
          const Lane along = n[0] * row[0] + n[1] * row[1] + n[2] * row[2];
          for (int r = 0; r < 3; ++r) row[r] -= n[r] * along;
        }
      }
      for (int l = 0; l < kLanes; ++l) {
        const int set = set_of_[b * kLanes + l];
        if (set < 0) continue;
        double* to = &J[72 * std::size_t(set) + 3 * a];
        const bool is_free = sets_[set][a] >= 0;
        for (int row = 0; row < 6; ++row, to += 12) {
          for (int r = 0; r < 3; ++r) to[r] = is_free ? rows[row][r][l] : 0;
        }
      }
    }
  }

  template <typename F>
  void ForEachLane(const F& f) const {
    for (std::size_t i = 0; i < set_of_.size(); ++i)
      if (set_of_[i] >= 0) f(i / kLanes, static_cast<int>(i % kLanes), set_of_[i]);
  }

  template <typename F>
  void ForEachNodeOf(std::size_t b, const F& f) const {
    for (int l = 0; l < kLanes; ++l) {
      if (set_of_[b * kLanes + l] < 0) continue;
      for (int a = 0; a < 4; ++a) f(l, a, std::size_t(model_->elements.batches[b].nodes[l][a]));
    }
  }

  absl::Status PoseElements() {
    model_->CalcDeformation(q0_, &at_);
    Untangling untangling(*model_);
    Lane sum{};
    LaneMatrix3 K[10];
    const double scale = stage_.h * (stage_.h + model_->parameters.rayleigh_beta);
    inertias_.assign(masses_.begin(), masses_.end());
    for (std::size_t b = 0; b < R0_.size(); ++b) {
      const ElementBatch& batch = model_->elements.batches[b];
      const LaneMatrix3 F = model_->CalcDeformation(batch, q0_);
      LaneMatrix3 P;
      if (b < static_cast<std::size_t>(model_->elements.num_quadratic)) {
        R0_[b] = CalcReferenceRotation(batch, F);
        untangling.Turn(batch, q0_, F, &R0_[b]);
        P = CalcStress(batch, R0_[b], F, false);
        CalcStiffness(batch, R0_[b], 1, K);
        if (!pressure_.empty())
          for (int i = 0; i < 9; ++i) P[i] -= pressure_[b] * R0_[b][i];
      } else {
        R0_[b] = CalcPolarRotations(F);
        model_->Respond(b - model_->elements.num_quadratic, at_, Tangent::kConvex, &response_);
        if (!pressure_.empty()) AddPressure(pressure_[b], F, Tangent::kConvex, &response_);
        P = response_.stress;
        CalcStiffness(batch, response_.tangent, K);
      }
      ForEachNodeOf(b, [&](int l, int a, std::size_t node) {
        constexpr int kOwn[4] = {0, 2, 5, 9};
        for (int i = 0; i < 9; ++i) inertias_[9 * node + i] += scale * K[kOwn[a]][i][l];
      });
      S0_[b] = CalcSymmetricPart(R0_[b], F);
      for (const Lane& x : P) sum += 0.0 * x;
    }
    double others = 0;
    for (const double v : v_star_) others += 0.0 * v;
    if (All(sum == 0.0) && others == 0) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("its forces are not finite; ", model_->DescribeWorstElement(q0_)));
  }

  std::vector<Set> sets_;
  std::vector<int> set_of_;  // of each lane of each batch; −1: padding
  std::vector<Lane>
      lengths_;  // edge of a cube of the element's volume, which scales strains to lengths
  std::vector<double> masses_, inertias_;
  std::vector<LaneMatrix3> R0_;
  std::vector<LaneStrain> S0_;
  // scratch of Evaluate
  std::vector<double> q_;
  FemModel::Deformation at_;
  MaterialResponse response_;
  int max_projected_ = 0;  // max number of elements in an Evaluate of this step
};

}  // namespace

std::unique_ptr<BlockStep> MakeParticleFemStep(std::shared_ptr<const FemModel> model) {
  return std::make_unique<ParticleFemStep>(std::move(model));
}

}  // namespace pliant::physics
