#include "physics/mpm/nonlinear_part.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "physics/mpm/kernel.h"

namespace pliant::physics {

using Eigen::Matrix3d;

namespace {

// A : B
double Contract(const Matrix3d& A, const Matrix3d& B) {
  return A.cwiseProduct(B).sum();
}

// D : A
Matrix3d Apply(const Eigen::Matrix<double, 9, 9>& D, const Matrix3d& A) {
  Matrix3d result;
  Eigen::Map<Eigen::Matrix<double, 9, 1>>(result.data()).noalias() =
      D * Eigen::Map<const Eigen::Matrix<double, 9, 1>>(A.data());
  return result;
}

// Remainder of a response beyond its second-order expansion at `start`, with H changed by `change`.
struct Excess {
  Excess(const ParticleResponse& response, const ParticleResponse& start, const Matrix3d& change) {
    const Matrix3d linear = Apply(start.tangent, change);
    energy = response.energy - start.energy - Contract(start.stress + 0.5 * linear, change);
    stress = response.stress - start.stress - linear;
  }
  double energy;
  Matrix3d stress;
};

}  // namespace

NonlinearPart::NonlinearPart(const ParticleModel* model, const ParticleTransfer* transfer,
                             const std::vector<int>* places, PlasticFlow* flow)
    : model_(*model), transfer_(*transfer), places_(*places), flow_(*flow) {
  for (const ParticleBody& body : model->bodies) {
    const ParticleMaterial& material = *body.material;
    if (material.is_quadratic(model->grid.is_corrected)) {
      kinds_.push_back(Kind::kNone);
    } else {
      kinds_.push_back(material.is_quadratic_but_for_dilation() ? Kind::kDilation
                                                                : Kind::kGradient);
    }
    is_any_ = is_any_ || kinds_.back() != Kind::kNone;
    is_convex_ = is_convex_ && material.is_convex();
  }
}

void NonlinearPart::Start(double h) {
  h_ = h;
  const auto has = [this](Kind kind) { return std::ranges::find(kinds_, kind) != kinds_.end(); };
  dilated_.resize(has(Kind::kDilation) ? model_.num_particles : 0);
  deformed_.resize(has(Kind::kGradient) ? model_.num_particles : 0);
}

void NonlinearPart::Linearise(int particle, const Matrix3d& H, const ParticleResponse& response) {
  const Kind kind = kinds_[model_.body[particle]];
  if (kind == Kind::kGradient) deformed_[particle] = {H, response};
  if (kind != Kind::kDilation) return;
  const double dilation = H.trace();
  dilated_[particle] = {dilation,
                        model_.material_of(particle).RespondToDilation(
                            model_.parameters_of(particle), transfer_.start(particle), dilation)};
}

template <typename ByDilation, typename ByGradient>
void NonlinearPart::ForEachParticle(int cell, const ByDilation& by_dilation,
                                    const ByGradient& by_gradient) const {
  const ActiveGrid::Cell& of = transfer_.grid().cells()[cell];
  for (int i = of.first; i < of.first + of.count; ++i) {
    const int p = transfer_.particle_at(i);
    const Kind kind = kinds_[model_.body[p]];
    if (kind == Kind::kDilation) by_dilation(p);
    if (kind == Kind::kGradient) by_gradient(p);
  }
}

ParticleResponse NonlinearPart::Respond(int particle, const Matrix3d& H,
                                        ParticleTangent tangent) const {
  ParticleResponse response;
  model_.material_of(particle).Respond(model_.parameters_of(particle), transfer_.start(particle), H,
                                       tangent, &response);
  return response;
}

ParticleResponse NonlinearPart::RespondForNewton(int particle, const Matrix3d& H,
                                                 ParticleTangent tangent) const {
  if (tangent == ParticleTangent::kAbsolute) return Respond(particle, H, tangent);
  ParticleResponse response;
  flow_.Respond(particle, H, &response);
  return response;
}

double NonlinearPart::CalcDilationChange(int particle, const Kernel& kernel,
                                         const NodeVectors& v) const {
  return h_ * InterpolateDivergence(kernel, v) - dilated_[particle].dilation;
}

DilationResponse NonlinearPart::RespondBeyond(int particle, double change) const {
  const auto& [dilation, start] = dilated_[particle];
  const DilationResponse r = model_.material_of(particle).RespondToDilation(
      model_.parameters_of(particle), transfer_.start(particle), dilation + change);
  return {r.energy - start.energy - change * (start.slope + 0.5 * change * start.curvature),
          r.slope - start.slope - change * start.curvature, r.curvature - start.curvature};
}

bool NonlinearPart::IsLinear(int particle, const Matrix3d& H) const {
  return model_.material_of(particle).IsQuadraticBetween(
      model_.parameters_of(particle), transfer_.start(particle), deformed_[particle].H, H);
}

double NonlinearPart::AddGradient(std::span<const double> v, std::span<double> gradient) const {
  double sum = 0;
  const std::span<const ActiveGrid::Cell> cells = transfer_.grid().cells();
  const auto compute = [&](int cell, CellTerms* terms) {
    terms->force = {};
    terms->along.value = 0;
    NodeVectors nodes;
    ParticleTransfer::Gather(cells[cell], v, &nodes);
    ForEachParticle(
        cell,
        [&](int p) {
          const Kernel kernel = MakeKernel(p, cell);
          const DilationResponse beyond = RespondBeyond(p, CalcDilationChange(p, kernel, nodes));
          const double V = model_.particle_volume[p];
          terms->along.value += V * beyond.energy;
          AddPressure(kernel, V * h_ * beyond.slope, &terms->force);
        },
        [&](int p) {
          const Kernel kernel = MakeKernel(p, cell);
          const Deformed& at = deformed_[p];
          const Matrix3d H = h_ * InterpolateGradient(kernel, nodes), change = H - at.H;
          if (IsLinear(p, H)) return;
          const Excess excess(Respond(p, H, ParticleTangent::kNone), at.response, change);
          const double V = model_.particle_volume[p];
          terms->along.value += V * excess.energy;
          AddStress(kernel, V * h_ * excess.stress, &terms->force);
        });
  };
  transfer_.ForEachCell(&terms_, compute, [&](int cell, const CellTerms& terms) {
    sum += terms.along.value;
    for (int a = 0; a < kKernelNodes; ++a) {
      for (int r = 0; r < 3; ++r)
        gradient[3 * std::size_t(cells[cell].nodes[a]) + r] += terms.force.of[r][a];
    }
  });
  return sum;
}

void NonlinearPart::StartLine(std::span<const double> v, std::span<const double> d) {
  dilation_lines_.resize(dilated_.size());
  gradient_lines_.resize(deformed_.size());
  const std::span<const ActiveGrid::Cell> cells = transfer_.grid().cells();
  const auto compute = [&](int cell, CellTerms* /*terms*/) {
    NodeVectors nodes, direction;
    ParticleTransfer::Gather(cells[cell], v, &nodes);
    ParticleTransfer::Gather(cells[cell], d, &direction);
    ForEachParticle(
        cell,
        [&](int p) {
          const Kernel kernel = MakeKernel(p, cell);
          dilation_lines_[p] = {CalcDilationChange(p, kernel, nodes),
                                h_ * InterpolateDivergence(kernel, direction)};
        },
        [&](int p) {
          const Kernel kernel = MakeKernel(p, cell);
          gradient_lines_[p] = {h_ * InterpolateGradient(kernel, nodes),
                                h_ * InterpolateGradient(kernel, direction)};
          flow_.Advance(p, gradient_lines_[p].H, gradient_lines_[p].along);
        });
  };
  transfer_.ForEachCell(&terms_, compute, [](int /*cell*/, const CellTerms& /*terms*/) {});
}

NonlinearPart::Along NonlinearPart::CalcAlong(double alpha) const {
  Along sum;
  const auto compute = [&](int cell, CellTerms* terms) {
    terms->along = {};
    ForEachParticle(
        cell,
        [&](int p) {
          const auto& [change, along] = dilation_lines_[p];
          const DilationResponse beyond = RespondBeyond(p, change + alpha * along);
          const double V = model_.particle_volume[p];
          terms->along.value += V * beyond.energy;
          terms->along.slope += V * beyond.slope * along;
          terms->along.curvature += V * beyond.curvature * along * along;
        },
        [&](int p) {
          const auto& [start, along] = gradient_lines_[p];
          const Deformed& at = deformed_[p];
          const Matrix3d H = start + alpha * along, change = H - at.H;
          if (IsLinear(p, H)) return;
          ParticleResponse response;
          const double curvature = model_.material_of(p).RespondOnLine(
              model_.parameters_of(p), transfer_.start(p), H, along, &response);
          const Excess excess(response, at.response, change);
          const double V = model_.particle_volume[p];
          terms->along.value += V * excess.energy;
          terms->along.slope += V * Contract(excess.stress, along);
          terms->along.curvature +=
              V * (curvature - Contract(Apply(at.response.tangent, along), along));
        });
  };
  transfer_.ForEachCell(&terms_, compute, [&](int /*cell*/, const CellTerms& terms) {
    sum.value += terms.along.value;
    sum.slope += terms.along.slope;
    sum.curvature += terms.along.curvature;
  });
  return sum;
}

void NonlinearPart::AddHessian(std::span<const double> v, bool is_far, std::span<double> A) const {
  const std::span<const ActiveGrid::Cell> cells = transfer_.grid().cells();
  const auto compute = [&](int cell, CellTerms* terms) {
    terms->matrix.Clear();
    NodeVectors nodes;
    ParticleTransfer::Gather(cells[cell], v, &nodes);
    std::array<CellMatrix::Dilation, CellMatrix::kMaxDilations> dilations{};
    int count = 0;
    const auto add_dilations = [&] {
      for (; count < CellMatrix::kMaxDilations; ++count) dilations[count].scale = 0;
      terms->matrix.AddDilations(dilations);
      count = 0;
    };
    ForEachParticle(
        cell,
        [&](int p) {
          const Kernel kernel = MakeKernel(p, cell);
          const double change = CalcDilationChange(p, kernel, nodes);
          if (change == 0) return;
          CellMatrix::Dilation& added = dilations[count++];
          added.scale = model_.particle_volume[p] * h_ * h_ * RespondBeyond(p, change).curvature;
          std::memcpy(added.gradient, kernel.gradient, sizeof(added.gradient));
          if (count == CellMatrix::kMaxDilations) add_dilations();
        },
        [&](int p) {
          const Kernel kernel = MakeKernel(p, cell);
          const Deformed& at = deformed_[p];
          const Matrix3d H = h_ * InterpolateGradient(kernel, nodes);
          const ParticleTangent tangent = is_far && !model_.material_of(p).is_convex()
                                              ? ParticleTangent::kAbsolute
                                              : ParticleTangent::kConvex;
          // the linearisation has the convex tangent
          if ((tangent == ParticleTangent::kConvex && H == at.H) || IsLinear(p, H)) return;
          terms->matrix.Add(kernel, model_.particle_volume[p] * h_ * h_,
                            RespondForNewton(p, H, tangent).tangent - at.response.tangent, 0);
        });
    if (count > 0) add_dilations();
  };
  transfer_.ForEachCell(&terms_, compute, [&](int cell, const CellTerms& terms) {
    terms.matrix.Scatter(
        std::span(places_).subspan(static_cast<std::size_t>(cell) * kCellBlocks, kCellBlocks), A);
  });
}

}  // namespace pliant::physics
