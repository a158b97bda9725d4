#include "physics/fem/assembly.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "physics/fem/untangling.h"

namespace pliant::physics {
namespace {

// Change of the deformation gradients in a step up to which the energy error of lagged rotations is
// negligible: the strain that they cause is of second order in it.
constexpr double kSmallChange = 0.1;
// Weight of a body's energies before and after a step in the energy that it exchanges.
constexpr double kBackground = 1;

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
                       std::span<const double> v0, std::span<const double> q_turn,
                       std::span<const Lane> pressure, solvers::BlockMatrix* A,
                       std::vector<double>* residual) {
  const double h = stage.impulse_scale();
  const double alpha = model.parameters.rayleigh_alpha, beta = model.parameters.rayleigh_beta;
  const double mass_scale = 1 + alpha * stage.force_rate.trial * h;
  const double elastic_scale = h * stage.force_move.trial * stage.h,
               damping_scale = h * beta * stage.force_rate.trial;
  const double duration = stage.force_move.sum() * stage.h,
               damping_rate = beta * stage.force_rate.sum();
  const bool plane = model.parameters.plane_strain;

  const bool is_ahead = q_turn.data() != q0.data();
  Untangling untangling(model);
  const auto assemble = [&](int b) {
    LaneMatrix3 K[10];
    const ElementBatch& batch = model.elements.batches[b];
    const LaneMatrix3 F = model.CalcDeformation(batch, q0);
    const LaneMatrix3 rate = CalcGradient(batch, v0);
    const LaneMatrix3 F_turn = is_ahead ? model.CalcDeformation(batch, q_turn) : F;
    LaneMatrix3 R0 = CalcReferenceRotation(batch, F_turn);
    untangling.Turn(batch, q_turn, F_turn, &R0);
    // The stress is linear in F, so one evaluation includes damping. With rotations of the end of
    // the step, a rotating body appears to shrink, which damping must not resist: damping uses the
    // rotations of the start.
    const double with_elastic = is_ahead ? 0 : damping_rate;
    LaneMatrix3 moved;
    for (int i = 0; i < 9; ++i) moved[i] = F[i] + (duration + with_elastic) * rate[i];
    LaneMatrix3 P = CalcStress(batch, R0, moved, false);
    const LaneMatrix3 R_start = is_ahead ? CalcReferenceRotation(batch, F) : R0;
    if (is_ahead) {
      const LaneMatrix3 of_rate = CalcStress(batch, R_start, rate, true);
      for (int i = 0; i < 9; ++i) P[i] += damping_rate * of_rate[i];
    }
    if (!pressure.empty())
      for (int i = 0; i < 9; ++i) P[i] -= pressure[b] * R0[i];
    AddForces(batch, P, h, residual);

    CalcStiffness(batch, R0, is_ahead ? elastic_scale : elastic_scale + damping_scale, K);
    if (is_ahead && damping_scale != 0) {
      LaneMatrix3 of_damping[10];
      CalcStiffness(batch, R_start, damping_scale, of_damping);
      for (int pair = 0; pair < 10; ++pair)
        for (int i = 0; i < 9; ++i) K[pair][i] += of_damping[pair][i];
    }
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

double CalcRelativeGain(const FemModel& model, const Stage& stage, std::span<const double> q0,
                        std::span<const double> v0, std::span<const double> q_turn,
                        std::span<const double> v, const std::function<double()>& calc_work) {
  const double h = stage.h, beta = model.parameters.rayleigh_beta;
  const bool is_ahead = q_turn.data() != q0.data();
  const auto batches = std::span(model.elements.batches).first(model.elements.num_quadratic);
  // in most steps, deformations change little
  const bool changes = std::ranges::any_of(batches, [&](const ElementBatch& batch) {
    const LaneMatrix3 rate = CalcGradient(batch, v);
    Lane squares{};
    for (const Lane& x : rate) squares += x * x;
    return !All(h * h * squares <= kSmallChange * kSmallChange);
  });
  if (!changes) return 0;

  // energy taken by the elements' forces; change and sum of their elastic energy
  Lane taken{}, elastic{}, stored{};
  for (const ElementBatch& batch : batches) {
    const LaneMatrix3 F = model.CalcDeformation(batch, q0), rate0 = CalcGradient(batch, v0),
                      rate = CalcGradient(batch, v);
    const LaneMatrix3 R_start = CalcReferenceRotation(batch, F);
    const LaneMatrix3 R0 =
        is_ahead ? CalcReferenceRotation(batch, model.CalcDeformation(batch, q_turn)) : R_start;
    LaneMatrix3 at_end, at_force, damped;
    for (int i = 0; i < 9; ++i) {
      at_end[i] = F[i] + h * (stage.move.trial * rate[i] + stage.move.base * rate0[i]);
      at_force[i] =
          F[i] + h * (stage.force_move.trial * rate[i] + stage.force_move.base * rate0[i]);
      damped[i] = beta * (stage.force_rate.trial * rate[i] + stage.force_rate.base * rate0[i]);
      // the stress is linear in F
      if (!is_ahead) at_force[i] += damped[i];
    }
    LaneMatrix3 P = CalcStress(batch, R0, at_force, false);
    if (is_ahead) {
      const LaneMatrix3 of_damping = CalcStress(batch, R_start, damped, true);
      for (int i = 0; i < 9; ++i) P[i] += of_damping[i];
    }
    Lane power{};
    for (int i = 0; i < 9; ++i) power += P[i] * (rate0[i] + rate[i]);
    const Lane before = CalcEnergyDensity(batch, R_start, F),
               after = CalcEnergyDensity(batch, CalcReferenceRotation(batch, at_end), at_end);
    taken += 0.5 * stage.impulse_scale() * batch.volume * power;
    elastic += batch.volume * (after - before);
    stored += batch.volume * (after + before);
  }
  const auto sum = [](const Lane& x) { return x[0] + x[1] + x[2] + x[3]; };
  if (!(sum(elastic) > sum(taken))) return 0;
  const double work = calc_work();
  std::vector<double> momentum(v.size());
  const auto kinetic = [&](std::span<const double> of) {
    model.MultiplyMass(of, momentum);
    double twice = 0;
    for (std::size_t i = 0; i < of.size(); ++i) twice += of[i] * momentum[i];
    return 0.5 * twice;
  };
  const double start = kinetic(v0), end = kinetic(v);
  // energy that contacts and constraints add is no gain; energy that they take offsets one
  const double of_contacts = end - start + sum(taken) - work;
  const double gain = sum(elastic) - sum(taken) + std::min(0.0, of_contacts);
  return gain / (std::abs(end - start) + std::abs(sum(elastic)) +
                 kBackground * (start + end + sum(stored)) + std::numeric_limits<double>::min());
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

namespace {

// A += scale · K for a batch with this tangent.
void AddStiffness(const FemModel& model, int b, const std::array<Lane, 81>& tangent, double scale,
                  solvers::BlockMatrix* A) {
  LaneMatrix3 K[10];
  CalcStiffness(model.elements.batches[b], tangent, K);
  const int* slot = SlotsOf(model, b);
  for (LaneMatrix3& block : K) {
    if (model.parameters.plane_strain) ProjectStiffness(model.plane_normal, &block);
    for (Lane& x : block) x *= scale;
    AddBlock(block, slot, A);
    slot += kLanes;
  }
}

}  // namespace

double AssembleNonlinear(const FemModel& model, std::span<const double> q,
                         std::span<const Lane> pressure, double h, double scale, Tangent tangent,
                         FemModel::Deformation* at, solvers::BlockMatrix* A,
                         std::vector<double>* residual) {
  model.CalcDeformation(q, at);
  if (tangent != Tangent::kNone && model.dilatation.has_value())
    AddPatchStiffness(model, scale, at, A);
  std::atomic<int> projected = 0;
  const Lane energy = model.rest->nonlinear_stages.Sum([&](int begin, int end) {
    Lane sum{};
    MaterialResponse response;
    int of_stretch = 0;
    for (int k = begin; k < end; ++k) {
      const int b = model.elements.num_quadratic + k;
      const ElementBatch& batch = model.elements.batches[b];
      model.Respond(k, *at, tangent, &response);
      if (!pressure.empty()) AddPressure(pressure[b], at->F[k], tangent, &response);
      sum += batch.volume * response.energy;
      AddForces(batch, response.stress, h, residual);
      if (tangent == Tangent::kNone) continue;

      if (tangent == Tangent::kConvex) {
        for (int l = 0; l < kLanes; ++l)
          of_stretch += batch.volume[l] > 0 && (response.projected >> l & 1) != 0;
      }
      AddStiffness(model, b, response.tangent, scale, A);
    }
    projected += of_stretch;
    return sum;
  });
  at->projected = projected;
  return energy[0] + energy[1] + energy[2] + energy[3];
}

double AssembleExactCorotational(const FemModel& model, std::span<const double> q,
                                 std::span<const Lane> pressure, double h, double scale,
                                 Tangent tangent, solvers::BlockMatrix* A,
                                 std::vector<double>* residual) {
  static const Material* const corotational = FindMaterial("COROTATIONAL");
  static const Material* const linear = FindMaterial("LINEAR");
  const Lane energy = model.rest->stages.Sum([&](int begin, int end) {
    Lane sum{};
    MaterialResponse turned{}, still{};
    for (int b = begin; b < end; ++b) {
      const ElementBatch& batch = model.elements.batches[b];
      const LaneMatrix3 F = model.CalcDeformation(batch, q);
      const Lane moduli = batch.lame_lambda + batch.lame_mu;
      const Lane parameters[kMaxParameters] = {
          batch.lame_mu * (3 * batch.lame_lambda + 2 * batch.lame_mu) / moduli,
          batch.lame_lambda / (2 * moduli)};
      const bool turns = Any(batch.corotates > 0.5), stays = Any(batch.corotates < 0.5);
      if (turns) corotational->Respond(parameters, F, tangent, &turned);
      if (stays) linear->Respond(parameters, F, tangent, &still);
      MaterialResponse response = turns ? turned : still;
      if (turns && stays) {
        const auto does = batch.corotates > 0.5;
        response.energy = does ? turned.energy : still.energy;
        for (int i = 0; i < 9; ++i) response.stress[i] = does ? turned.stress[i] : still.stress[i];
        if (tangent != Tangent::kNone) {
          for (int i = 0; i < 81; ++i)
            response.tangent[i] = does ? turned.tangent[i] : still.tangent[i];
        }
      }
      if (!pressure.empty()) AddPressure(pressure[b], F, tangent, &response);
      sum += batch.volume * response.energy;
      AddForces(batch, response.stress, h, residual);
      if (tangent != Tangent::kNone) AddStiffness(model, b, response.tangent, scale, A);
    }
    return sum;
  });
  return energy[0] + energy[1] + energy[2] + energy[3];
}

StrainRateDamping::StrainRateDamping(const FemModel& model) {
  const double beta = model.parameters.rayleigh_beta;
  if (beta == 0) return;
  for (const ElementBatch& batch : model.elements.batches) {
    const std::size_t b = viscosities_.size();
    Lame moduli{batch.lame_mu, batch.lame_lambda};
    if (b >= static_cast<std::size_t>(model.elements.num_quadratic)) {
      const NonlinearMaterial& of = model.elements.nonlinear[b - model.elements.num_quadratic];
      moduli = CalcRestLame(*of.material, of.parameters);
      if (model.dilatation.has_value())
        moduli.lambda -= of.material->CalcVolumetricStiffness(of.parameters);
    }
    viscosities_.push_back({beta * moduli.mu, beta * moduli.lambda});
  }
}

namespace {

// 2μ E' + λ tr(E') I with E' = sym(Fᵀ F').
LaneMatrix3 CalcViscousStress(const Lame& viscosity, const LaneMatrix3& F,
                              const LaneMatrix3& rate) {
  LaneMatrix3 S;
  Lane trace{};
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) {
      Lane twice{};  // E'_rc
      for (int k = 0; k < 3; ++k)
        twice += F[3 * r + k] * rate[3 * c + k] + rate[3 * r + k] * F[3 * c + k];
      S[3 * c + r] = viscosity.mu * twice;
      if (r == c) trace += 0.5 * twice;
    }
  }
  for (int r = 0; r < 3; ++r) S[4 * r] += viscosity.lambda * trace;
  return S;
}

void Multiply(const LaneMatrix3& A, const Lane x[3], Lane y[3]) {
  for (int r = 0; r < 3; ++r) y[r] = A[r] * x[0] + A[3 + r] * x[1] + A[6 + r] * x[2];
}

Lane Dot(const Lane x[3], const Lane y[3]) {
  return x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
}

}  // namespace

void StrainRateDamping::AddForces(const FemModel& model, std::span<const double> q,
                                  std::span<const double> v, std::vector<double>* residual) const {
  if (is_zero()) return;
  model.ForEachBatch([&](int b) {
    const ElementBatch& batch = model.elements.batches[b];
    const LaneMatrix3 F = model.CalcDeformation(batch, q);
    const LaneMatrix3 S = CalcViscousStress(viscosities_[b], F, CalcGradient(batch, v));
    LaneMatrix3 P;
    for (int c = 0; c < 3; ++c) Multiply(F, &S[3 * c], &P[3 * c]);
    physics::AddForces(batch, P, 1, residual);
  });
}

// If node d moves by m x and its velocity changes by c x, F changes by m x G_dᵀ, F' by c x G_dᵀ and
// E' by the symmetric part of G_d xᵀ H, with H = c F + m F'. Minus the force on node a changes by V
// times
//   [m (G_a·S G_d) I + μ (G_a·G_d) F Hᵀ + μ (F G_d)(H G_a)ᵀ + λ (F G_a)(H G_d)ᵀ] x.
void StrainRateDamping::Differentiate(const FemModel& model, std::span<const double> q,
                                      std::span<const double> v, double c, double move,
                                      solvers::BlockMatrix* lower,
                                      solvers::BlockMatrix* upper) const {
  model.ForEachBatch([&](int b) {
    const ElementBatch& batch = model.elements.batches[b];
    const LaneMatrix3 F = model.CalcDeformation(batch, q), rate = CalcGradient(batch, v);
    const LaneMatrix3 S = CalcViscousStress(viscosities_[b], F, rate);
    LaneMatrix3 H, FH{};  // F Hᵀ
    for (int i = 0; i < 9; ++i) H[i] = c * F[i] + move * rate[i];
    for (int k = 0; k < 3; ++k) {
      for (int j = 0; j < 3; ++j)
        for (int r = 0; r < 3; ++r) FH[3 * j + r] += F[3 * k + r] * H[3 * k + j];
    }
    Lane f[4][3], g[4][3], s[4][3];  // F G_a, H G_a, S G_a
    for (int a = 0; a < 4; ++a) {
      Multiply(F, batch.gradients[a], f[a]);
      Multiply(H, batch.gradients[a], g[a]);
      Multiply(S, batch.gradients[a], s[a]);
    }
    const Lane mu = batch.volume * viscosities_[b].mu,
               lambda = batch.volume * viscosities_[b].lambda;
    // derivative of minus the force on node a with respect to the motion x of node d
    const auto block_of = [&](int a, int d) {
      const Lane across = mu * Dot(batch.gradients[a], batch.gradients[d]);
      LaneMatrix3 block;
      for (int j = 0; j < 3; ++j) {
        for (int r = 0; r < 3; ++r) {
          block[3 * j + r] =
              across * FH[3 * j + r] + mu * f[d][r] * g[a][j] + lambda * f[a][r] * g[d][j];
        }
      }
      const Lane stressed = move * batch.volume * Dot(batch.gradients[a], s[d]);
      for (int r = 0; r < 3; ++r) block[4 * r] += stressed;
      if (model.parameters.plane_strain) ProjectStiffness(model.plane_normal, &block);
      return block;
    };
    const int* slot = SlotsOf(model, b);
    for (int a = 0; a < 4; ++a) {
      for (int d = 0; d <= a; ++d, slot += kLanes) {
        AddBlock(block_of(a, d), slot, lower);
        const LaneMatrix3 opposite = block_of(d, a);
        LaneMatrix3 transposed;
        for (int j = 0; j < 3; ++j)
          for (int r = 0; r < 3; ++r) transposed[3 * j + r] = opposite[3 * r + j];
        AddBlock(transposed, slot, upper);
      }
    }
  });
}

}  // namespace pliant::physics
