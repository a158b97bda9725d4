#include "physics/fem/assembly.h"

#include "physics/fem/untangling.h"

namespace pliant::physics {
namespace {

void AddTo(double* to, Lane x) {
  _mm256_storeu_pd(to, _mm256_loadu_pd(to) + x);
}

// Adds each lane's block to A at its slot, up to four contiguous numbers at a time.
void AddBlock(const LaneMatrix3& K, const int* slots, solvers::BlockMatrix* A) {
  Lane first[4] = {K[0], K[1], K[2], K[3]}, second[4] = {K[4], K[5], K[6], K[7]};
  Transpose(&first[0], &first[1], &first[2], &first[3]);
  Transpose(&second[0], &second[1], &second[2], &second[3]);
  for (int l = 0; l < kLanes; ++l) {
    double* block = &A->values[slots[l]];
    AddTo(block, first[l]);
    AddTo(block + 4, second[l]);
    block[8] += K[8][l];
  }
}

// Subtracts h f from the residual.
void AddForces(const ElementBatch& batch, const LaneMatrix3& P, double h,
               std::vector<double>* residual) {
  Lane forces[4][3];
  CalcForces(batch, P, forces);
  for (int a = 0; a < 4; ++a) {
    Lane rows[4] = {-h * forces[a][0], -h * forces[a][1], -h * forces[a][2], Lane{}};
    Transpose(&rows[0], &rows[1], &rows[2], &rows[3]);
    for (int l = 0; l < kLanes; ++l) {
      double* to = &(*residual)[3 * std::size_t(batch.nodes[l][a])];
      for (int r = 0; r < 3; ++r) to[r] += rows[l][r];
    }
  }
}

// Replaces K by P K P with P = I − n nᵀ, which has no stiffness along n.
void ProjectStiffness(const Eigen::Vector3d& n, LaneMatrix3* K) {
  for (int c = 0; c < 3; ++c) {
    Lane* column = &(*K)[3 * c];
    const Lane along = n[0] * column[0] + n[1] * column[1] + n[2] * column[2];
    for (int r = 0; r < 3; ++r) column[r] -= n[r] * along;
  }
  for (int r = 0; r < 3; ++r) {
    const Lane along = n[0] * (*K)[r] + n[1] * (*K)[3 + r] + n[2] * (*K)[6 + r];
    for (int c = 0; c < 3; ++c) (*K)[3 * c + r] -= n[c] * along;
  }
}

const int* SlotsOf(const FemModel& model, int batch) {
  return model.slots.data() + 10 * kLanes * static_cast<std::size_t>(batch);
}

// Adds the stiffness that couples the elements of each patch.
void AddPatchStiffness(const FemModel& model, double scale, FemModel::Deformation* at,
                       solvers::BlockMatrix* A) {
  const bool plane = model.parameters.plane_strain;
  model.dilatation->AddStiffness(model.elements, at->F, scale,
                                 plane ? &model.plane_normal : nullptr, &at->gradients, A);
}

}  // namespace

void AssembleQuadratic(const FemModel& model, const Stage& stage, std::span<const double> q0,
                       std::span<const double> v0, std::span<const Lane> pressure,
                       solvers::BlockMatrix* A, std::vector<double>* residual) {
  const double h = stage.impulse_scale();
  const double alpha = model.parameters.rayleigh_alpha, beta = model.parameters.rayleigh_beta;
  const double mass_scale = 1 + alpha * stage.force_rate.trial * h;
  const double stiffness_scale =
      h * (stage.force_move.trial * stage.h + beta * stage.force_rate.trial);
  // from the start of the step to where forces act
  const double duration = stage.force_move.sum() * stage.h;
  const double rate_scale = duration + beta * stage.force_rate.sum();
  const bool plane = model.parameters.plane_strain;

  Untangling untangling(model);
  const auto assemble = [&](int b) {
    LaneMatrix3 K[10];
    const ElementBatch& batch = model.elements.batches[b];
    const LaneMatrix3 F = model.CalcDeformation(batch, q0);
    const LaneMatrix3 rate = CalcGradient(batch, v0);
    LaneMatrix3 R0 = PredictReferenceRotation(batch, F, rate, duration);
    untangling.Turn(batch, q0, F, &R0);
    // the stress is linear in F, so one evaluation includes damping
    LaneMatrix3 moved;
    for (int i = 0; i < 9; ++i) moved[i] = F[i] + rate_scale * rate[i];
    LaneMatrix3 P = CalcStress(batch, R0, moved, false);
    if (!pressure.empty())
      for (int i = 0; i < 9; ++i) P[i] -= pressure[b] * R0[i];
    AddForces(batch, P, h, residual);

    CalcStiffness(batch, R0, stiffness_scale, K);
    const Lane mass = mass_scale / 20 * batch.density * batch.volume;
    const int* slot = SlotsOf(model, b);
    for (int a = 0, pair = 0; a < 4; ++a) {
      for (int c = 0; c <= a; ++c, ++pair, slot += kLanes) {
        if (plane) ProjectStiffness(model.plane_normal, &K[pair]);
        for (int r = 0; r < 3; ++r) K[pair][4 * r] += a == c ? 2 * mass : mass;
        AddBlock(K[pair], slot, A);
      }
    }
  };
  model.rest->stages.ForEach([&](int begin, int end) {
    for (int b = begin; b < end; ++b) assemble(b);
  });
}

void AssembleDamping(const FemModel& model, const Stage& stage, std::span<const double> q0,
                     std::span<const double> v0, FemModel::Deformation* at, solvers::BlockMatrix* A,
                     std::vector<double>* residual) {
  const double h = stage.impulse_scale(), rate = stage.force_rate.trial;
  const double beta = model.parameters.rayleigh_beta;
  const double mass_scale = 1 + model.parameters.rayleigh_alpha * rate * h;
  LaneMatrix3 K[10] = {};
  MaterialResponse response;
  if (beta != 0) {
    model.CalcDeformation(q0, at);
    if (model.dilatation.has_value()) {
      model.dilatation->AddForce(model.elements, at->F, h * beta, v0, &at->gradients, *residual);
      AddPatchStiffness(model, rate * h * beta, at, A);
    }
  }
  for (std::size_t k = 0; k < model.elements.nonlinear.size(); ++k) {
    const int b = model.elements.num_quadratic + static_cast<int>(k);
    const ElementBatch& batch = model.elements.batches[b];
    if (beta != 0) {
      model.Respond(k, *at, Tangent::kDamping, &response);
      LaneMatrix3 dP = ApplyTangent(response.tangent, CalcGradient(batch, v0));
      for (Lane& x : dP) x *= beta;
      AddForces(batch, dP, h, residual);
      CalcStiffness(batch, response.tangent, K);
      for (LaneMatrix3& block : K) {
        if (model.parameters.plane_strain) ProjectStiffness(model.plane_normal, &block);
        for (Lane& x : block) x *= rate * h * beta;
      }
    }
    const Lane mass = mass_scale / 20 * batch.density * batch.volume;
    const int* slot = SlotsOf(model, b);
    for (int a = 0, pair = 0; a < 4; ++a) {
      for (int c = 0; c <= a; ++c, ++pair, slot += kLanes) {
        LaneMatrix3 block = K[pair];
        for (int r = 0; r < 3; ++r) block[4 * r] += a == c ? 2 * mass : mass;
        AddBlock(block, slot, A);
      }
    }
  }
}

double AssembleNonlinear(const FemModel& model, std::span<const double> q,
                         std::span<const Lane> pressure, double h, double scale, Tangent tangent,
                         FemModel::Deformation* at, solvers::BlockMatrix* A,
                         std::vector<double>* residual) {
  Lane energy{};
  LaneMatrix3 K[10];
  MaterialResponse response;
  model.CalcDeformation(q, at);
  at->projected = 0;
  if (tangent != Tangent::kNone && model.dilatation.has_value())
    AddPatchStiffness(model, scale, at, A);
  for (std::size_t k = 0; k < model.elements.nonlinear.size(); ++k) {
    const int b = model.elements.num_quadratic + static_cast<int>(k);
    const ElementBatch& batch = model.elements.batches[b];
    model.Respond(k, *at, tangent, &response);
    if (!pressure.empty()) AddPressure(pressure[b], at->F[k], tangent, &response);
    energy += batch.volume * response.energy;
    AddForces(batch, response.stress, h, residual);
    if (tangent == Tangent::kNone) continue;

    if (tangent == Tangent::kConvex) {
      for (int l = 0; l < kLanes; ++l)
        at->projected += batch.volume[l] > 0 && (response.projected >> l & 1) != 0;
    }
    CalcStiffness(batch, response.tangent, K);
    const int* slot = SlotsOf(model, b);
    for (LaneMatrix3& block : K) {
      if (model.parameters.plane_strain) ProjectStiffness(model.plane_normal, &block);
      for (Lane& x : block) x *= scale;
      AddBlock(block, slot, A);
      slot += kLanes;
    }
  }
  return energy[0] + energy[1] + energy[2] + energy[3];
}

}  // namespace pliant::physics
